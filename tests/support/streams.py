"""Noise whose variates do not depend on how many are asked for at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from operators.noise.source import KeyedNoise

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray


class OneByOne(KeyedNoise):
    """One stream of discrete Laplaces, drawn one by one."""

    def token(self, size: int) -> bytes:
        """Return bytes that are no part of the stream."""
        return bytes(size)

    def discrete_laplace(self, t: Fraction, n: int) -> NDArray[np.int64]:
        """Return the next ``n``."""
        one = super().discrete_laplace
        return np.concatenate([np.zeros(0, np.int64), *(one(t, 1) for _ in range(n))])
