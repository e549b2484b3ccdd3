"""Conditions that formulas are tried on, and their aims."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from operators.conditions.condition import Aim, Condition
from operators.conditions.formula import Formula
from operators.single.ladder import Grid
from tests.support.formulas import BETA

ONE = 1 << 64
FAR = 10**6
SLACK = 1e-10
# Formulas with, per atom, its statistic and threshold; step counts below are those of channels.
TWO_OF_THREE = ("(a AND b) OR c", {"a": (0, 0), "b": (1, 0), "c": (2, 0)})
CHOICE = ("(a AND b) OR (NOT a AND c)", {"a": (0, 0), "b": (1, 0), "c": (2, 0)})
BOTH = ("a AND b", {"a": (0, 0), "b": (1, 0)})
BETWEEN = ("a AND NOT b", {"a": (0, 0), "b": (0, 4)})
BETWEEN_OR = ("(a AND NOT b) OR c", {"a": (0, 0), "b": (0, 3), "c": (1, 0)})
THREE = Grid(first=Fraction(2, 5), rounds=2, refinement=2, finest_share=Fraction(1, 4))


def aim_of(text: str, steps: int = 3, **more: object) -> Aim:
    """Return an aim of k = ``steps`` (odd) for every atom, its first phase five times as wide."""
    atoms = len(Formula.parse(text).atoms)
    tolerance = (steps - 1) // 2
    aim = Aim(BETA, (tolerance,) * atoms, first_tolerances=(5 * tolerance + 2,) * atoms)
    return replace(aim, **more)  # type: ignore[arg-type]  # fields of an aim


def positions(condition: Condition) -> list[list[int]]:
    """Return, per channel, the statistic at and just below every threshold, and far away."""
    return [
        sorted(
            {
                int(condition.atoms[name].thresholds[0]) - below
                for name in channel.offsets
                for below in (0, 1)
            }
            | {-FAR, FAR}
        )
        for channel in condition.channels
    ]
