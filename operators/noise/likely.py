"""How likely a value is to be inside an interval at a finer level, given a coarser one.

All step counts count as equally likely beforehand. Floats: they guide which level a walk reads
next, which any rule may choose (``docs/research/proofs/progressive.md``).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["expected_count", "laplace_at_most", "likely_inside", "likely_inside_afresh"]

_FINEST: Final = 1 << 38  # parts of one that are added up: 2^24 cells, the most, fit int64


def likely_inside(
    coarse: float, fine: float, low: int, high: int, read: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the probability that the value at a finer level lies in ``low..high - 1``.

    For the chain of gradual release: the finer value is the coarser one, with the chain's
    probability of staying put, or else that less a discrete Laplace of the coarser rate.

    Args:
        coarse: rate of the level read.
        fine: rate of the finer one.
        low: first value inside.
        high: first value beyond.
        read: values at the coarse level, shape (cells,), int64.

    Returns:
        Shape (cells,).
    """
    stay = _spread(coarse) / _spread(fine)
    moved = _within(coarse, low, high, read)
    return stay * ((read >= low) & (read < high)) + (1 - stay) * moved


def likely_inside_afresh(
    coarse: float, fine: float, low: int, high: int, read: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the same where the finer level has noise of its own.

    The finer value is the coarser one, less its noise, plus the new one. The law of two discrete
    Laplaces together is a difference of multiples of theirs, by partial fractions of its
    characteristic function.

    Args:
        coarse: rate of the level read.
        fine: rate of the finer one, another.
        low: first value inside.
        high: first value beyond.
        read: values at the coarse level, shape (cells,), int64.

    Returns:
        Shape (cells,).
    """
    weight = 1 / (1 - _spread(coarse) / _spread(fine))
    wide, narrow = (_within(rate, low, high, read) for rate in (coarse, fine))
    return weight * wide + (1 - weight) * narrow


def expected_count(likely: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum of probabilities, to 2^-39 each and the same in whatever order they stand.

    Args:
        likely: shape (..., cells), in [0, 1].

    Returns:
        Shape (...).
    """
    parts = np.rint(likely * _FINEST).astype(np.int64)
    return np.asarray(parts.sum(axis=-1) / _FINEST)


def laplace_at_most(x: NDArray[np.int64], t: float) -> NDArray[np.float64]:
    """Return P[DLap(t) <= x].

    Args:
        x: any shape, int64.
        t: rate, > 0.
    """
    tail = np.exp(-t * np.where(x < 0, -x, x + 1).astype(np.float64)) / (1 + math.exp(-t))
    return np.where(x < 0, tail, 1 - tail)


def _spread(t: float) -> float:
    """Return a(t) / 4, the characteristic function of DLap(t) being a / (a + 2 - 2 cos)."""
    return math.sinh(t / 2) ** 2


def _within(t: float, low: int, high: int, read: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return P[low <= read - DLap(t) < high]."""
    return laplace_at_most(read - low, t) - laplace_at_most(read - high, t)
