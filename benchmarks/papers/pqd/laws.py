"""Exact probabilities of "within", for deciders as this library has them and as DP-PQD prints them.

Where the library has a law it is taken; ``hist`` and ``svt`` have none, and are added up here over
the noise that their questions share, given which the questions are independent.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.papers.pqd.originals import BETA
from benchmarks.papers.pqd.originals import SHARE as THETA
from operators.deciders import (
    ExponentialBand,
    ExponentialQuantileBand,
    HistogramBand,
    LaplaceBand,
    RaceBand,
    SparseBand,
    TightBand,
    half_widths,
)
from operators.deciders.bounds import correction

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from numpy.typing import NDArray

    from benchmarks.papers.pqd.originals import Band, Truncated
    from operators.deciders import Decider
    from operators.deciders.bounds import LevelBound

REACH: Final = 36.0
"""Noise is added up to where its law has fallen by e to the power of this."""

_WORD: Final = 1 << 64
_CELLS: Final = 50  # of real noise, per scale


def within(
    decider: Decider, column: NDArray[np.int64], references: NDArray[np.int64], distance: int
) -> float:
    """Return the probability of "within" of a decider of this library.

    Args:
        decider: planned.
        column: its statistics, shape (statistics, 1).
        references: shape (1,).
        distance: of the answer from the reference.

    Raises:
        TypeError: a decider without a law.
    """
    if isinstance(decider, LaplaceBand | ExponentialBand):
        error = decider.error(distance)
        inside = distance < int(half_widths(decider.tau, references)[0])
        return 1 - error if inside else error
    if isinstance(decider, RaceBand):
        return decider.law(tuple(column[:, 0].tolist()), int(references[0]))
    if isinstance(decider, TightBand):
        return 1 - int(decider.law(column, references)[0]) / _WORD
    if isinstance(decider, ExponentialQuantileBand):
        low, high = decider.law(column, references, 64)[0]
        return (low + high) / 2 / _WORD
    if isinstance(decider, HistogramBand):
        return _histogram(decider, column[:, 0])
    if isinstance(decider, SparseBand):
        return _sparse(decider, column[:, 0], int(references[0]))
    raise TypeError(f"no law of {type(decider).__name__}")


def printed_race(read: Truncated, band: Band) -> float:
    """Return the probability of "within" of R2T as the paper prints it, over real noise."""
    count = len(read.levels)
    scales = read.levels * count / band.epsilon
    lowered = read.sums - scales * math.log(count / BETA)

    def up_to(x: int) -> float:
        return float(np.prod(1 - _above((x - lowered) / scales))) if x >= 0 else 0.0

    return up_to(band.reference + band.tau) - up_to(band.reference - band.tau)


def printed_sparse(read: Truncated, band: Band) -> float:
    """Return the probability of "within" of SVT as the paper prints it, over real noise.

    The noise that questions share is cut into fiftieths of its scale.
    """
    ninth, third = 9 / band.epsilon, 3 / band.epsilon
    wanted, masses = _cells(ninth, lambda x: _above_both(x / ninth))
    reached = _above((wanted + THETA * read.rows - read.counts[:, np.newaxis]) / ninth)
    bound = _stops(reached) @ masses
    threshold, shares = _cells(third, lambda x: _above(x / third))

    def asked(end: int) -> NDArray[np.float64]:
        steps = ((read.sums - end) / read.levels)[:, np.newaxis]
        return np.asarray(np.cumprod(1 - _above((threshold - steps) / third), axis=0))

    low = band.reference - band.tau + 1
    return _passed(bound, asked(band.reference + band.tau), asked(low), shares)


def _histogram(decider: HistogramBand, column: NDArray[np.int64]) -> float:
    rate = decider.epsilon / 2 / decider.kind.events
    drawn, masses = _whole(rate)
    total, low, high = column.tolist()
    a, b = decider.kind.share.numerator, decider.kind.share.denominator
    wanted = total + drawn
    below = -(-a * wanted // b) - 1 - low  # the largest z1 with b (low + z1) < a wanted
    above = (b - a) * wanted // b - high
    return float(masses @ (_at_most(float(rate), below) * _at_most(float(rate), above)))


def _sparse(decider: SparseBand, column: NDArray[np.int64], reference: int) -> float:
    split = 1 + len(decider.levels)
    bound = _bound(decider.bound, column[:split])
    half = (decider.epsilon - decider.bound.epsilon) / 2
    threshold, masses = _whole(half)
    widths = decider.kind.events * np.array(decider.levels, dtype=np.int64)
    tau = int(half_widths(decider.tau, np.array([reference]))[0])

    def asked(end: int) -> NDArray[np.float64]:
        steps = ((column[split:] - end) // widths)[:, np.newaxis]
        short = threshold + correction(half, len(widths)) - steps
        return np.asarray(np.cumprod(1 - _reaches(float(half), short), axis=0))

    return _passed(bound, asked(reference + tau), asked(reference - tau + 1), masses)


def _bound(bound: LevelBound, column: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the law of the index of the cap that is chosen, shape (levels,).

    Raises:
        ValueError: more than one event of a unit, where rows and noise do not come apart.
    """
    if bound.events != 1:
        raise ValueError("the law of a bound is for one event of a unit")
    third = bound.epsilon / 3
    drawn, masses = _whole(third)
    a, b = bound.share.numerator, bound.share.denominator
    least = -a * (int(column[0]) + drawn) // b  # falls with the noise
    bases = np.bincount(least - least.min(), weights=masses)
    both = np.convolve(bases, masses)  # less the threshold's noise, which is symmetric
    shift = least.min() + drawn.min() + np.arange(both.size)
    short = correction(third, len(bound.levels)) - column[1:, np.newaxis] - shift
    return np.asarray(_stops(_reaches(float(third), short)) @ both)


def _stops(yes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the chance that each question is the first yes; the last one's also where none is."""
    none = np.cumprod(1 - yes, axis=0)
    before = np.vstack([np.ones_like(none[:1]), none[:-1]])
    found = before * yes
    found[-1] = before[-1]
    return found


def _passed(
    bound: NDArray[np.float64],
    none_over: NDArray[np.float64],
    none_above: NDArray[np.float64],
    masses: NDArray[np.float64],
) -> float:
    """Return the chance that nothing reaches the upper end and something passes the lower one.

    Args:
        bound: law of the last question that counts, shape (levels,).
        none_over: that no question so far reached the upper end, shape (levels, noises).
        none_above: the same of the lower end.
        masses: of the shared noise, shape (noises,).
    """
    return float(bound @ ((none_over * (1 - none_above)) @ masses))


def _whole(rate: Fraction) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the discrete Laplace: its values, and their probabilities."""
    t = float(rate)
    reach = math.ceil(REACH / t)
    drawn = np.arange(-reach, reach + 1)
    masses = math.tanh(t / 2) * np.exp(-t * np.abs(drawn))
    return drawn, masses / masses.sum()


def _at_most(rate: float, x: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return P[z <= x] of the discrete Laplace."""
    q = math.exp(-rate)
    tail = np.exp(-rate * np.where(x < 0, -x, x + 1)) / (1 + q)
    return np.asarray(np.where(x < 0, tail, 1 - tail))


def _reaches(rate: float, x: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return P[v >= x] of the geometric that starts at 0."""
    return np.asarray(np.exp(-rate * np.maximum(x, 0)))


def _above(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return P[z > x] of the Laplace of scale 1."""
    tail = np.exp(-np.abs(x)) / 2
    return np.asarray(np.where(x < 0, 1 - tail, tail))


def _above_both(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return P[THETA z + z' > x] of two Laplaces of scale 1."""
    squares = 1 - THETA**2
    tail = (np.exp(-np.abs(x)) - THETA**2 * np.exp(-np.abs(x) / THETA)) / 2 / squares
    return np.asarray(np.where(x < 0, 1 - tail, tail))


def _cells(
    scale: float, above: Callable[..., NDArray[np.float64]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return real noise in cells: their middles, and their probabilities."""
    edges = scale * np.arange(-REACH * _CELLS, REACH * _CELLS + 1) / _CELLS
    masses = -np.diff(above(edges))
    return (edges[1:] + edges[:-1]) / 2, masses / masses.sum()
