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

    from operators.conditions.condition import Aim, Condition
    from stream.model.alarm import AggregateSpec, Alarm

__all__ = [
    "aim_with",
    "highest_tolerance",
    "mapping_text",
    "room_of",
    "tolerance_text",
]

_ANY: Final = 1 << 62


def tolerance_text(alarm: Alarm, tolerances: Sequence[int]) -> str:
    """Return tolerances as a configuration writes them, in the fields' own units.

    Args:
        alarm: the alarm.
        tolerances: per atom, in units of its statistic.
    """
    written = alarm.by_comparison(tolerances)
    return decimal(*written.values()) if len(written) == 1 else mapping_text(written)


def mapping_text(written: Mapping[str, Fraction]) -> str:
    """Return numbers by comparison as YAML on one line."""
    pairs = (f"{quoted(text)}: {decimal(value)}" for text, value in written.items())
    return "{" + ", ".join(pairs) + "}"


def aim_with(alarm: Alarm, tolerances: Sequence[int]) -> Aim:
    """Return what the alarm would ask for with other tolerances written into its configuration.

    Args:
        alarm: the alarm.
        tolerances: per atom, in units of its statistic.
    """
    written = mechanism_of(alarm.mechanism)
    return replace(
        alarm.aim,
        tolerances=tuple(tolerances),
        first_tolerances=alarm.first.beside(tolerances) if written.first_phase else (),
        levels=alarm.aim.levels if "levels" in written.keys else None,
    )


def highest_tolerance(alarm: Alarm, atom: str) -> int:
    """Return the largest tolerance of an atom that a configuration may ask for.

    What is never below zero leaves an alarm for more than c of it no room for a tolerance beyond c.

    Args:
        alarm: the alarm.
        atom: name of the atom in the alarm's formula.
    """
    spec = alarm.aggregates[alarm.condition.atoms[atom].statistic]
    looks_twice = bool(alarm.aim.first_tolerances)
    return max(room_of(alarm.condition, atom, spec, looks_twice=looks_twice), 0)


def room_of(condition: Condition, atom: str, spec: AggregateSpec, *, looks_twice: bool) -> int:
    """Return the largest tolerance by which an empty cell is not free to ring.

    Below 0 where it rings anyway; beyond all tolerances where an empty cell bounds nothing: the
    statistic may be negative, only the atom's negation is asked for, or a quorum is.

    Args:
        condition: of the alarm.
        atom: name of one of its atoms.
        spec: the statistic that it tests.
        looks_twice: whether the mechanism has a first phase, which asks for no quorum.
    """
    quorum = atom in condition.extremes and not looks_twice
    if quorum or atom not in condition.formula.literals or not spec.never_negative:
        return _ANY
    return int(condition.atoms[atom].thresholds.min()) - 1
