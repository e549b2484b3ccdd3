"""Every aggregate of a HAVING clause as one integer test, every test of sensitivity one.

An atom compares an integer statistic ``s`` with an integer threshold ``c``. Dividing the distance
to the threshold by the sensitivity, and rounding down, keeps the truth of the test exactly and lets
one neighbour move the result by at most one step: mechanisms then work on that step count alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from accountant.arguments import INTEGERS, WHOLE, expect, instance_of
from accountant.errors import ArgumentError
from operators.conditions.comparison import Comparison

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["IntegerTest", "freeze"]

_LOWEST = np.int64(np.iinfo(np.int64).min)
_HIGHEST = np.int64(np.iinfo(np.int64).max)


@dataclass(frozen=True, slots=True, eq=False)
class IntegerTest:
    """One query's atom: ``statistic <comparison> threshold``, per cell.

    Args:
        comparison: one of >, >=, < and <=; an empty cell counts 0.
        thresholds: shape (cells,), int64, in units of the statistic; copied and made read-only.
        sensitivity: how far one neighbour moves a statistic, D >= 1, contribution caps included.

    Raises:
        ValueError: another comparison, thresholds of another shape or type, or a sensitivity below
            1 or beyond int64.
    """

    comparison: Comparison
    thresholds: NDArray[np.int64]
    sensitivity: int

    def __post_init__(self) -> None:
        """Check the parts and freeze the thresholds."""
        expect(instance_of(Comparison), comparison=self.comparison)
        expect(INTEGERS, thresholds=self.thresholds)
        expect(WHOLE, sensitivity=self.sensitivity)
        if self.comparison in {Comparison.EQ, Comparison.NE}:
            raise ArgumentError("an integer test compares by >, >=, < or <=")
        if self.thresholds.ndim != 1 or not self.thresholds.size:
            raise ArgumentError(
                "thresholds are one-dimensional, one per cell, at least one",
                hint="write np.full(cells, 120), or np.array([120, 80])",
            )
        if self.thresholds.dtype != np.int64:
            raise ArgumentError("thresholds are int64")
        if not 1 <= self.sensitivity <= int(_HIGHEST):
            raise ArgumentError(
                "sensitivity is a whole number of at least 1 that fits int64",
                hint="write by how much one neighbour moves the statistic: 1 for persons",
            )
        freeze(self, "thresholds")

    def __eq__(self, other: object) -> bool:
        """Compare by value."""
        return isinstance(other, IntegerTest) and (
            self.comparison is other.comparison
            and self.sensitivity == other.sensitivity
            and np.array_equal(self.thresholds, other.thresholds)
        )

    def __hash__(self) -> int:
        """Hash by value."""
        return hash((self.comparison, self.sensitivity, self.thresholds.tobytes()))

    @property
    def cells(self) -> int:
        """Number of cells (predicates) of the query."""
        return int(self.thresholds.size)

    def at(self, cells: NDArray[np.intp]) -> IntegerTest:
        """Return the test of some cells.

        Args:
            cells: shape (n,), at least one: which, in this order, as often as they are named.
        """
        return replace(self, thresholds=self.thresholds[cells])

    def quantise(self, statistics: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the step count ``s' = floor((sign s - c' - 1) / D)`` of every cell.

        ``s'`` is at least 0 exactly where the test is true, and neighbours (statistics at most D
        apart) have step counts at most 1 apart. Distances beyond int64 saturate, which keeps both:
        clamping is monotone and brings no two values further apart.

        Args:
            statistics: shape (cells,), int64.

        Returns:
            Shape (cells,), int64.

        Raises:
            ValueError: statistics of another shape or type.
        """
        self._check(statistics)
        high, low = self._ordered(statistics)
        # ~low is -low - 1, which always fits.
        distance = _sum(high, ~low) if self.comparison.strict else _difference(high, low)
        if self.sensitivity > 1:
            distance //= np.int64(self.sensitivity)
        return distance

    def truth(self, statistics: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Evaluate the test directly (for tests and simulation; never released).

        Args:
            statistics: shape (cells,), int64.

        Returns:
            Shape (cells,), bool.

        Raises:
            ValueError: statistics of another shape or type.
        """
        self._check(statistics)
        high, low = self._ordered(statistics)
        return high > low if self.comparison.strict else high >= low

    def steps(self, tolerance: int) -> int:
        """Return k, the steps from "must fire" (s' >= 0) down to "must not fire" (s' <= -k).

        A tolerance ``u`` shifts the threshold by u and leaves u on either side of the shifted one
        (MIDE, section on the threshold-shift Laplace mechanism, "uncertain region"): for ``s > c``
        the values c - 2u + 1 .. c may be answered either way, and c - 2u is the first that must
        not fire.

        Args:
            tolerance: u >= 0, in units of the statistic.
        """
        expect(WHOLE, tolerance=tolerance)
        return -(-(2 * tolerance + 1) // self.sensitivity)

    def _ordered(self, statistics: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
        """Return statistics and thresholds, first what the test wants to be the larger."""
        pair = (statistics, self.thresholds)
        return pair if self.comparison.upward else pair[::-1]

    def _check(self, statistics: NDArray[np.int64]) -> None:
        expect(INTEGERS, statistics=statistics)
        if statistics.shape != self.thresholds.shape or statistics.dtype != np.int64:
            raise ArgumentError(
                "statistics are int64, one per threshold",
                hint="give one row of int64, as long as `thresholds`",
            )


def freeze(of: object, name: str) -> None:
    """Give a frozen dataclass an array of its own that nobody can write to.

    Args:
        of: the dataclass.
        name: of its field, an array.
    """
    frozen = getattr(of, name).copy()
    frozen.setflags(write=False)
    object.__setattr__(of, name, frozen)


def _difference(a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return ``a - b``, clamped to int64."""
    wrapped = a - b
    # Two's complement: it wrapped iff the signs differ and the result left a's side.
    return _clamped(wrapped, ((a ^ b) & (a ^ wrapped)) < 0, a)


def _sum(a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return ``a + b``, clamped to int64."""
    wrapped = a + b
    # Two's complement: it wrapped iff the result left the side that a and b share.
    return _clamped(wrapped, ((a ^ wrapped) & (b ^ wrapped)) < 0, a)


def _clamped(
    wrapped: NDArray[np.int64], overflow: NDArray[np.bool_], side: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Replace what overflowed by the end of int64 on its side."""
    if overflow.any():
        return np.where(overflow, np.where(side < 0, _LOWEST, _HIGHEST), wrapped)
    return wrapped
