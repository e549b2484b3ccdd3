"""Exact draws of Bernoullis whose probability is known through certified bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from operators.noise.source import NoiseSource

__all__ = ["WORD_BITS", "settle"]

WORD_BITS: Final = 64
_GUARD_BITS: Final = 32


def settle(word: int, bounds: Callable[[int], tuple[int, int]], noise: NoiseSource) -> bool:
    """Return whether a uniform real whose first 64 bits are ``word`` lies below a probability.

    Guarantee: over a uniform word and further uniform bits, true with exactly that probability.
    Both the real and the bounds are refined until they no longer overlap, which they do with
    probability one; a probability with finitely many bits needs no special case.

    Args:
        word: 64 uniform bits.
        bounds: ``bounds(bits)`` returns integers with ``lo <= 2^bits p <= hi`` whose distance stays
            below 2^16 or so as ``bits`` grows.
        noise: source of further bits.
    """
    known = WORD_BITS
    while True:
        lo, hi = bounds(known + _GUARD_BITS)
        if (word + 1) << _GUARD_BITS <= lo:
            return True
        if word << _GUARD_BITS >= hi:
            return False
        word = word << WORD_BITS | int(noise.uint64(1)[0])
        known += WORD_BITS
