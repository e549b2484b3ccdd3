"""Tolerances as configurations and alarms write them: one number, or one per comparison."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from operators.registry import mechanism_of
from stream.config.yamlfile import quoted
from stream.model.numbers import decimal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    from operators.conditions.condition import Aim
    from stream.model.queries import Query

__all__ = [
    "aim_with",
    "highest_tolerance",
    "mapping_text",
    "tolerance_text",
]

_ANY: Final = 1 << 62


def tolerance_text(query: Query, tolerances: Sequence[int]) -> str:
    """Return tolerances as a configuration writes them, in the fields' own units.

    Args:
        query: the alarm.
        tolerances: per atom, in units of its statistic.
    """
    written = query.by_comparison(tolerances)
    return decimal(*written.values()) if len(written) == 1 else mapping_text(written)


def mapping_text(written: Mapping[str, Fraction]) -> str:
    """Return numbers by comparison as YAML on one line."""
    pairs = (f"{quoted(text)}: {decimal(value)}" for text, value in written.items())
    return "{" + ", ".join(pairs) + "}"


def aim_with(query: Query, tolerances: Sequence[int], mechanism: str | None = None) -> Aim:
    """Return what the alarm would ask for with other tolerances written into its configuration.

    Args:
        query: the alarm.
        tolerances: per atom, in units of its statistic.
        mechanism: written instead of its own.
    """
    written = mechanism_of(mechanism or query.mechanism)
    return replace(
        query.aim,
        tolerances=tuple(tolerances),
        first_tolerances=query.first.beside(tolerances) if written.first_phase else (),
        levels=query.aim.levels if "levels" in written.keys else None,
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
    if atom in query.condition.extremes and not query.aim.first_tolerances:
        return _ANY
    if not plain or not query.aggregates[bound.statistic].never_negative:
        return _ANY
    return max(int(bound.thresholds.min()) - 1, 0)
