"""Gradual release: one noise at several rates, where the finest value read is all that is paid.

The noise is drawn at the finest level and blurred step by step. Every coarser value is then a
function of a finer one and of fresh randomness, so whoever reads levels from coarse to fine and
stops has lost the rate of the level where he stopped. The proof is in
``docs/research/proofs/gradual.md``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from accountant.errors import ArgumentError
from operators.noise.certified import CertifiedProbability, exp_neg_bounds

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from operators.noise.source import NoiseSource

__all__ = ["GradualNoise", "stay_probability"]


@dataclass(frozen=True, slots=True)
class GradualNoise:
    """A Markov chain of discrete Laplaces, one per level, drawn from the finest to the coarsest.

    ``eta_m ~ DLap(t_m)``; ``eta_j = eta_(j+1) + Z`` with Z = 0 with probability
    ``(q_(j+1) / q_j) ((1 - q_j) / (1 - q_(j+1)))^2`` and Z ~ DLap(t_j) otherwise, q = exp(-t).

    Guarantee: ``eta_j ~ DLap(t_j)`` exactly, and given ``eta_j`` the coarser levels don't depend on
    the finer ones. Added to a statistic of sensitivity one, the values at levels 1..j together are
    t_j-differentially private; so is any walk that stops at level j, for every transcript, however
    it chose its levels from what it had read (of other cells too).

    Args:
        levels: the rates t_1 < ... < t_m, coarsest first, each at least 2^-40; exact.

    Raises:
        ValueError: no levels, or levels that don't rise from above 0.

    Source: PrivRelax as used by MIDE, Algorithm 2; its coin (t_j / t_(j+1))^2 is for continuous
    noise and reports too small a loss on integers.
    """

    levels: tuple[Fraction, ...]
    _stays: tuple[CertifiedProbability, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check the levels and prepare the coins."""
        if not self.levels or self.levels[0] <= 0:
            raise ArgumentError("gradual release has at least one level, all of them above 0")
        if any(coarse >= fine for coarse, fine in pairwise(self.levels)):
            raise ArgumentError("levels of gradual release rise strictly")
        stays = tuple(stay_probability(*pair) for pair in pairwise(self.levels))
        object.__setattr__(self, "_stays", stays)

    def draw(self, noise: NoiseSource, cells: int) -> NDArray[np.int64]:
        """Draw one chain per cell, independently.

        Args:
            noise: the cryptographic source.
            cells: how many, >= 0.

        Returns:
            Shape (levels, cells), int64, coarsest level first.

        Raises:
            ValueError: a level below 2^-40.
        """
        drawn = np.empty((len(self.levels), cells), dtype=np.int64)
        drawn[-1] = noise.discrete_laplace(self.levels[-1], cells)
        for at in reversed(range(len(self._stays))):
            moves = np.flatnonzero(~noise.certified(self._stays[at], cells))
            drawn[at] = drawn[at + 1]
            drawn[at, moves] += noise.discrete_laplace(self.levels[at], moves.size)
        return drawn


def stay_probability(coarse: Fraction, fine: Fraction) -> CertifiedProbability:
    """Return the probability that the noise stays put from rate ``fine`` to rate ``coarse``.

    It is ``a(coarse) / a(fine)`` with ``a(t) = (1 - q)^2 / q``; transcendental, so that its digits
    never run into a tie for good.

    Args:
        coarse: the lower rate, > 0.
        fine: the higher rate, > coarse.
    """
    # Bits that cancel in 1 - q at a low rate, and bits that q itself loses at a high one.
    lost = 2 * (coarse.denominator // coarse.numerator).bit_length()
    lost += 2 * (fine.numerator // fine.denominator) + 16

    def bounds(bits: int) -> tuple[int, int]:
        one = 1 << bits + lost
        coarse_lo, coarse_hi = exp_neg_bounds(coarse, bits + lost)
        fine_lo, fine_hi = exp_neg_bounds(fine, bits + lost)
        # a falls as q rises.
        lo = (fine_lo * (one - coarse_hi) ** 2 << bits) // (coarse_hi * (one - fine_lo) ** 2)
        hi = -((-fine_hi * (one - coarse_lo) ** 2 << bits) // (coarse_lo * (one - fine_hi) ** 2))
        return lo, min(hi, 1 << bits)

    return CertifiedProbability(bounds)
