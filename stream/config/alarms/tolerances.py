"""Tolerances as configurations and alarms write them: one number, or one per comparison."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from stream.config.alarms.statistics import per_unit
from stream.config.declarations import decimal
from stream.config.yamlfile import quoted
from stream.model.firstphase import PHASED
from stream.model.queries import AggregateKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    from operators.conditions.condition import Aim
    from stream.model.queries import AggregateSpec, Query

__all__ = [
    "aim_with",
    "highest_tolerance",
    "mapping_text",
    "never_negative",
    "tolerance_json",
    "tolerance_text",
]

_ANY: Final = 1 << 62


def tolerance_json(query: Query) -> str | dict[str, str]:
    """Return the tolerances in the fields' own units, by comparison where there are several.

    Returns:
        Exact decimal numbers, or fractions ``a/b`` where decimals do not end; ``0`` for a band.
    """
    if query.band is not None:
        return "0"
    written = _written(query, query.aim.tolerances)
    if len(written) == 1:
        return decimal(*written.values())
    return {text: decimal(value) for text, value in written.items()}


def tolerance_text(query: Query, tolerances: Sequence[int]) -> str:
    """Return tolerances as a configuration writes them, in the fields' own units.

    Args:
        query: the alarm.
        tolerances: per atom, in units of its statistic.
    """
    written = _written(query, tolerances)
    return decimal(*written.values()) if len(written) == 1 else mapping_text(written)


def mapping_text(written: Mapping[str, Fraction]) -> str:
    """Return numbers by comparison as YAML on one line."""
    pairs = (f"{quoted(text)}: {decimal(value)}" for text, value in written.items())
    return "{" + ", ".join(pairs) + "}"


def aim_with(query: Query, tolerances: Sequence[int], mechanism: str | None = None) -> Aim:
    """Return what the alarm would ask for with other tolerances written into its configuration.

    A first phase has the tolerance that is written for it, never below the other, or its default.

    Args:
        query: the alarm.
        tolerances: per atom, in units of its statistic.
        mechanism: written instead of its own.
    """
    mechanism = mechanism or query.mechanism
    return replace(
        query.aim,
        tolerances=tuple(tolerances),
        first_tolerances=query.first.beside(tolerances) if mechanism in PHASED else (),
        refine=query.aim.refine if mechanism == "probe" else "gradual",
    )


def highest_tolerance(query: Query, atom: str) -> int:
    """Return the largest tolerance of an atom that a configuration may ask for.

    What is never below zero leaves an alarm for more than c of it no room for a tolerance beyond c.

    Args:
        query: the alarm.
        atom: name of the atom in the query's formula.
    """
    bound = query.condition.atoms[atom]
    plain = atom in query.condition.formula.literals
    if not plain or not never_negative(query.aggregates[bound.statistic]):
        return _ANY
    return max(int(bound.thresholds.min()) - 1, 0)


def never_negative(spec: AggregateSpec) -> bool:
    """Tell whether a statistic has no negative weights: an empty cell is then its least value."""
    match spec.kind:
        case AggregateKind.SUM:
            return spec.lo >= 0
        case AggregateKind.RANK:
            return min(spec.above, spec.not_above) >= 0
        case kind:
            return kind is not AggregateKind.OFFSET


def _written(query: Query, tolerances: Sequence[int]) -> dict[str, Fraction]:
    """Return tolerances by comparison, in the fields' own units."""
    formula, atoms = query.condition.formula, query.condition.atoms
    return {
        text: tolerance * per_unit(query.aggregates[atoms[name].statistic])
        for text, name, tolerance in zip(query.texts, formula.atoms, tolerances, strict=True)
    }
