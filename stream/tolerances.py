"""Tolerances as configurations and alarms write them: one number, or one per comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from stream.aims import never_negative
from stream.declare import decimal
from stream.statistics import per_unit

if TYPE_CHECKING:
    from stream.model import Query

__all__ = ["highest_tolerance", "tolerance_json", "tolerance_text"]

_ANY: Final = 1 << 62


def tolerance_json(query: Query) -> int | dict[str, int]:
    """Return the tolerances in units of the statistics, by comparison where there are several."""
    tolerances = query.aim.tolerances
    if len(tolerances) == 1:
        return tolerances[0]
    return dict(zip(query.texts, tolerances, strict=True))


def tolerance_text(query: Query, tolerances: tuple[int, ...]) -> str:
    """Return tolerances as a configuration writes them, in the fields' own units.

    Args:
        query: the alarm.
        tolerances: per atom, in units of its statistic.
    """
    formula, atoms = query.condition.formula, query.condition.atoms
    written = [
        decimal(tolerance * per_unit(query.aggregates[atoms[name].statistic]))
        for name, tolerance in zip(formula.atoms, tolerances, strict=True)
    ]
    if len(written) == 1:
        return written[0]
    pairs = (f'"{text}": {value}' for text, value in zip(query.texts, written, strict=True))
    return "{" + ", ".join(pairs) + "}"


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
