"""What one neighbour differs in, and how losses are counted.

Losses are exact: a rational number of epsilon while they are computed, a whole number of *loss
units* (a trillionth of an epsilon) once they are stored, always rounded towards more loss. Under a
Gaussian promise what is counted so is ``mu^2 / 2`` instead (:mod:`accountant.loss.gaussian`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from accountant.arguments import EXACT, WHOLE, expect
from accountant.errors import ArgumentError

__all__ = [
    "UNITS_PER_EPSILON",
    "Contribution",
    "PrivacyUnit",
    "floor_loss_units",
    "from_loss_units",
    "to_loss_units",
]

UNITS_PER_EPSILON = 10**12
"""Loss units in one epsilon: a 64-bit integer holds nine million epsilons of them."""


class PrivacyUnit(StrEnum):
    """What one neighbouring stream may lack or have in addition."""

    EVENT = "event"
    """One event, anywhere in the stream."""
    USER = "user"
    """Every event of one person within one budget period."""


@dataclass(frozen=True, slots=True)
class Contribution:
    """How much of one person windows let in (unit ``user`` only).

    Args:
        predicates_per_window: most predicates a person reaches in one window of one query.
        events_per_cell: most events of a person that one cell counts.
        windows_per_period: most windows of one query that a person counts in, of those that touch a
            budget period: the first that they have events in; ``None`` for all.
    """

    predicates_per_window: int = 1
    events_per_cell: int = 1
    windows_per_period: int | None = None

    def __post_init__(self) -> None:
        """Refuse caps below one."""
        expect(
            WHOLE,
            predicates_per_window=self.predicates_per_window,
            events_per_cell=self.events_per_cell,
        )
        most = 1 if self.windows_per_period is None else self.windows_per_period
        expect(WHOLE, windows_per_period=most)
        if min(self.predicates_per_window, self.events_per_cell, most) < 1:
            raise ArgumentError(
                "contribution caps are whole numbers of at least 1",
                hint="write Contribution(predicates_per_window=1, events_per_cell=1), or more",
            )


def to_loss_units(epsilon: Fraction) -> int:
    """Return ``epsilon`` in loss units, rounded up (towards more loss)."""
    if type(epsilon) is not Fraction:
        expect(EXACT, epsilon=epsilon)
    return -(-epsilon.numerator * UNITS_PER_EPSILON // epsilon.denominator)


def floor_loss_units(epsilon: Fraction) -> int:
    """Return ``epsilon`` in loss units, rounded down (a smaller budget)."""
    expect(EXACT, epsilon=epsilon)
    return epsilon.numerator * UNITS_PER_EPSILON // epsilon.denominator


def from_loss_units(units: int) -> Fraction:
    """Return the exact epsilon of a whole number of loss units."""
    if type(units) is not int:
        expect(WHOLE, units=units)
    return Fraction(units, UNITS_PER_EPSILON)
