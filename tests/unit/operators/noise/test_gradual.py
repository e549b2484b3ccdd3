"""Gradual release: shapes, refusals and repeatability; its law is tested by enumeration."""

from fractions import Fraction

import numpy as np

from operators.noise.gradual import GradualNoise
from operators.noise.source import KeyedNoise


def test_a_single_level_is_plain_discrete_laplace():
    """Without a coarser level, nothing else is drawn."""
    drawn = GradualNoise((Fraction(1, 2),)).draw(KeyedNoise(b"one"), 100)
    assert np.array_equal(drawn[0], KeyedNoise(b"one").discrete_laplace(Fraction(1, 2), 100))
