"""Expected cells within an interval, against the laws summed up."""

from __future__ import annotations

import math

import numpy as np
import pytest

from operators.noise.likely import likely_inside, likely_inside_afresh


@pytest.mark.parametrize("likely", [likely_inside, likely_inside_afresh])
def test_likelihoods_agree_with_the_laws_summed_up(likely):
    """The law of the finer value given the coarser one, by convolution of the noises."""
    coarse, fine, low, high = 0.3, 0.8, -4, 3
    z = np.arange(-150, 151)

    def law(t):
        return math.tanh(t / 2) * np.exp(-t * np.abs(z))

    if likely is likely_inside_afresh:
        moved = np.convolve(law(coarse), law(fine), mode="same")
    else:
        stay = (math.sinh(coarse / 2) / math.sinh(fine / 2)) ** 2
        moved = stay * (z == 0) + (1 - stay) * law(coarse)
    read = np.arange(-20, 21)
    expected = [moved[(z >= low - at) & (z < high - at)].sum() for at in read.tolist()]
    assert likely(coarse, fine, low, high, read) == pytest.approx(np.array(expected), abs=1e-12)
