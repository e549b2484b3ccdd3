"""Exact normal draws: nothing is rounded, as no draw is ever written down.

A draw is a uniform real, known to as many bits as the questions need that are asked of it; it lies
below a quantile where it is below the normal law's distribution function there, which is bounded by
integers on both sides. Bits that fall between the bounds are extended. So every answer, and all
answers together, have the law of the continuous normal. The proof is in
``docs/research/proofs/gaussian.md``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.costs.normal import normal_bounds

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from numpy.typing import NDArray

__all__ = ["NormalDraws", "Quantiles"]

_BITS: Final = 64
_MOST_KEPT: Final = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class Quantiles:
    """Quantiles on a line, ``top + step * apart``, and bounds of the probabilities below them.

    Args:
        top: the one of step 0.
        apart: between two steps; of either sign.
    """

    top: Fraction
    apart: Fraction
    _known: dict[int, tuple[int, int]] = field(default_factory=dict, init=False, repr=False)

    def bounds(self, step: int, bits: int) -> tuple[int, int]:
        """Return certified integers around ``2^bits Phi(top + step * apart)``."""
        return normal_bounds(self.top + step * self.apart, bits)

    def first_bounds(self, steps: NDArray[np.int64]) -> tuple[NDArray[np.uint64], ...]:
        """Return the lower bounds in units of 2^-64, and the upper ones less one.

        Args:
            steps: shape (n,), int64.

        Returns:
            Two arrays of shape (n,), uint64.
        """
        distinct, place = np.unique(steps, return_inverse=True)
        if len(self._known) > _MOST_KEPT:
            self._known.clear()
        both = [self._first(step) for step in distinct.tolist()]
        low = np.array([lo for lo, _ in both], dtype=np.uint64)
        high = np.array([hi - 1 for _, hi in both], dtype=np.uint64)
        return low[place], high[place]

    def _first(self, step: int) -> tuple[int, int]:
        known = self._known.get(step)
        if known is None:
            lo, hi = self.bounds(step, _BITS)  # close to the ends, by a unit or two beyond them
            known = self._known[step] = max(lo, 0), min(max(hi, 1), 1 << _BITS)
        return known


class NormalDraws:
    """Independent draws of N(0, 1), of which may be asked on which side of a quantile they lie.

    All answers about one draw are about the same number. Private as the noise is.

    Args:
        words: shape (n,), uint64: the first 64 bits of uniform reals.
        more: returns 64 fresh bits.
    """

    def __init__(self, words: NDArray[np.uint64], more: Callable[[], int]) -> None:
        """Keep what is known of every draw: its first bits."""
        self._words = words
        self._more = more
        self._longer: dict[int, tuple[int, int]] = {}

    def below(self, quantiles: Quantiles, steps: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which draws lie below the quantiles of their own steps.

        Args:
            quantiles: the line they are on.
            steps: shape (n,), int64: one per draw.

        Returns:
            Shape (n,), bool.
        """
        low, high = quantiles.first_bounds(steps)
        under = self._words < low  # the whole interval of the bits lies below the lower bound
        for at in np.flatnonzero(~under & (self._words <= high)).tolist():
            under[at] = self._settled(at, quantiles, int(steps[at]))
        return under

    def _settled(self, at: int, quantiles: Quantiles, step: int) -> bool:
        """Compare one draw by as many bits as it takes, and keep them."""
        prefix, bits = self._longer.get(at, (int(self._words[at]), _BITS))
        while True:
            lo, hi = quantiles.bounds(step, bits)
            if prefix < lo or prefix >= hi:
                return prefix < lo
            prefix, bits = prefix << _BITS | self._more(), bits + _BITS
            self._longer[at] = prefix, bits
