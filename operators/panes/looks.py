"""When a window over panes rings that is looked at while it fills: a law for plans, by floats.

What noisy panes add up to is followed from look to look on a grid, without what has rung. The exact
law of whether it rings at all is in ``operators.panes.law``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["first_rings"]

_POINTS: Final = 4096  # on either side of zero
_BEYOND: Final = 40.0  # exp(-40) of a tail is not missed


def first_rings(rate: float, between: int, needed: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return how likely each look is the first that rings.

    Args:
        rate: of the noise of a pane, above 0.
        between: panes from one look to the next, at least 1.
        needed: shape (looks,), int64: the least sum of noises with which each look rings.

    Returns:
        Shape (looks,), within about 1e-3; to the rounding of floats where noise is narrow enough
        for whole numbers to be the grid.
    """
    reach = (_BEYOND + 4 * math.sqrt(between * len(needed))) / rate
    stride = max(1, math.ceil(reach / _POINTS))
    grid = np.arange(-_POINTS, _POINTS + 1)
    fading = np.exp(-rate * stride * np.abs(grid))
    size = 1 << (4 * _POINTS + 1).bit_length()
    turned = np.fft.rfft(fading / fading.sum(), size)
    state = np.zeros(len(grid))
    state[_POINTS] = 1
    found = np.zeros(len(needed))
    for look, least in enumerate(needed.tolist()):
        for _ in range(between):
            moved = np.fft.irfft(np.fft.rfft(state, size) * turned, size)
            state = np.maximum(moved[_POINTS : _POINTS + len(grid)], 0)
        rings = grid * stride >= least
        found[look] = state[rings].sum()
        state[rings] = 0
    return found
