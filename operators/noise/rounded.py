"""Rounded normal noise: whole numbers whose sum with a count is exactly Gaussian private.

For who releases a noisy count under a Gaussian promise. Decisions need none of it: they compare
draws and round nothing. The proof is in ``docs/research/proofs/gaussian.md``.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Final

from accountant.arguments import EXACT, NATURAL, expect
from accountant.errors import ArgumentError
from operators.noise.normal import Quantiles
from operators.noise.source import SOURCE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from operators.noise.source import NoiseSource

__all__ = ["rounded_normal"]

_SMALLEST_MU: Final = Fraction(1, 1 << 40)
_LARGEST_MU: Final = 1 << 20


def rounded_normal(mu: Fraction, n: int, noise: NoiseSource) -> NDArray[np.int64]:
    """Draw ``n`` independent normals of standard deviation ``1 / mu``, rounded: exactly.

    Guarantee: added to an integer statistic of sensitivity one, the sum is mu-GDP, exactly: a
    whole number and a rounded normal are the rounded sum of both. A discrete Gaussian is not: its
    sum is zCDP only.

    Args:
        mu: from 2^-40 to 2^20.
        n: how many, >= 0.
        noise: the cryptographic source.

    Returns:
        Shape (n,), int64.

    Raises:
        ValueError: another mu.
    """
    expect(EXACT, mu=mu)
    expect(NATURAL, n=n)
    expect(SOURCE, noise=noise)
    if not _SMALLEST_MU <= mu <= _LARGEST_MU:
        raise ArgumentError(
            "the mu of rounded normal noise lies between 2^-40 and 2^20",
            hint="write the sensitivity over the deviation: Fraction(1, 10)",
        )
    mu = Fraction(mu)
    return noise.normal(n).cells(Quantiles(mu / 2, mu))
