"""Normal draws that are only compared: the law of every answer, exactly; twins must be caught.

A draw is a uniform real of which 64 bits are known at first. Which answers its further bits give is
compared with another computation of the normal law; what its rounded values tell of a count is
compared with what Gaussian privacy allows, over all events at two neighbours.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest

from accountant.loss.gaussian import delta_bounds
from accountant.units import to_loss_units
from operators.noise.normal import NormalDraws, Quantiles
from operators.noise.rounded import rounded_normal
from operators.noise.source import KeyedNoise
from tests.statistical.enumeration import ONE, exp_bounds, ints
from tests.support.normal import MARGIN, normal

POINTS = [Fraction(*pair) for pair in ((0, 1), (1, 3), (-7, 5), (29, 10), (-61, 10), (17, 2))]
HALF = MU = Fraction(1, 2)
EPSILONS = [Fraction(*pair) for pair in ((0, 1), (1, 10), (1, 2), (1, 1), (2, 1))]


def scripted(word, *more):
    """Return one draw whose bits are known: the first 64, and what is asked for of the rest."""
    script = list(more)
    return NormalDraws(np.array([word], dtype=np.uint64), lambda: script.pop(0))


def certain(words):
    """Return draws of which no further bit may be asked for."""
    return NormalDraws(np.array(words, np.uint64), lambda: pytest.fail("no bit is needed"))


def below(draws, at):
    """Ask a single draw."""
    return bool(draws.below(Quantiles(at, Fraction(1)), np.zeros(1, int))[0])


@pytest.mark.parametrize("at", POINTS)
def test_every_word_is_settled_by_as_many_bits_as_it_takes(at):
    """Words about the bound, and what follows them: as the exact distribution function says."""
    exact = normal(at) * ONE
    head = math.floor(exact)
    for word in range(max(head - 3, 0), min(head + 4, ONE)):
        turns = math.floor((exact - word) * ONE)  # where the next word of bits decides
        for more in (turns - 9, turns + 9) if word < exact < word + 1 else (9, ONE - 9):
            assert below(scripted(word, more), at) == (word + Fraction(more, ONE) < exact)


def test_all_answers_of_a_draw_are_about_one_number():
    """What was read to settle one question is kept for the next: bits are not drawn again."""
    at = Fraction(1, 3)
    head, rest = divmod(normal(at) * ONE, 1)
    draws = scripted(head, math.floor(rest * ONE) - 5)
    # After the first answer the script is empty: another bit would fail.
    assert [below(draws, each) for each in (at, at, at + 1, at - 1)] == [True, True, True, False]


def test_far_quantiles_are_certain_at_once():
    """No bit is needed a billion deviations away, and none that is there is taken for a tail."""
    line = Quantiles(Fraction(0), Fraction(1, 3))
    steps = ints([-(1 << 62), -(10**9), 10**9, 1 << 62])
    draws = certain([ONE // 2] * 4)
    assert draws.below(line, steps).tolist() == [False, False, True, True]


def cells(mu, reach):
    """Return the exact law of normal noise of deviation ``1 / mu``, rounded; tails in both ends."""
    cuts = [normal((each + HALF) * mu) for each in range(-reach, reach)]
    masses = [high - low for low, high in pairwise([Fraction(0), *cuts, Fraction(1)])]
    return dict(zip(range(-reach, reach + 1), masses, strict=True))


def line_of(mu):
    """Return where cells end."""
    return Quantiles(mu / 2, mu)


@pytest.mark.parametrize("mu", [Fraction(2), MU, Fraction(3, 17)])
def test_rounded_draws_change_where_cells_end(mu):
    """On either side of every end of a cell, whatever a float would have said."""
    reach = math.floor(6 / mu)
    ends = [math.floor(normal((each + HALF) * mu) * ONE) for each in range(-reach, reach)]
    low, high = (certain([end + by for end in ends]).cells(line_of(mu)) for by in (-2, 3))
    assert low.tolist() == list(range(-reach, reach))
    assert (high == low + 1).all()


def test_the_farthest_draws_are_rounded_as_well():
    """The first and the last of all words: a float proposes too little, and is put right."""
    words = np.array([0, ONE - 1], dtype=np.uint64)
    found = NormalDraws(words, lambda: 1 << 62).cells(line_of(MU)).tolist()
    drawn = [Fraction(1, 1 << 66), 1 - Fraction(3, 1 << 66)]
    for each, at in zip(found, drawn, strict=True):
        assert normal((each - HALF) * MU) < at < normal((each + HALF) * MU)


@pytest.mark.parametrize("mu", [Fraction(2), MU, Fraction(3, 17)])
def test_what_is_released_are_such_draws(mu):
    """Word for word; rounded down, or of another deviation, they are others."""
    released = rounded_normal(mu, 100_000, KeyedNoise(b"normal"))
    lines = (line_of(mu), Quantiles(Fraction(0), mu), line_of(mu * 9 / 10))
    draws = [KeyedNoise(b"normal").normal(100_000).cells(line) for line in lines]
    assert [np.array_equal(released, each) for each in draws] == [True, False, False]


def told_apart(law, mu):
    """Count epsilons at which some event of a noisy count tells neighbours apart better than mu."""
    units, found = to_loss_units(mu**2 / 2), 0
    for epsilon, move in product(EPSILONS, (-1, 1)):
        grown = exp_bounds(epsilon)[1]
        there = [(mass, law[at + move]) for at, mass in law.items() if at + move in law]
        delta = sum(max(mass - grown * other, Fraction(0)) for mass, other in there)
        found += delta > delta_bounds(epsilon, units)[1] + MARGIN
    return found


def discrete(mu, reach):
    """Return the discrete Gaussian's law."""
    weights = {at: exp_bounds(-((at * mu) ** 2) / 2)[0] for at in range(-reach, reach + 1)}
    total = sum(weights.values())
    return {at: weight / total for at, weight in weights.items()}


@pytest.mark.parametrize("mu", [Fraction(2), MU, Fraction(1, 5)])
def test_a_rounded_count_is_gaussian_private_and_a_discrete_gaussian_is_not(mu):
    """Over all events, both ways round; the same noise passes for no smaller mu."""
    reach = math.ceil(10 / mu)
    law = cells(mu, reach)
    assert not told_apart(law, mu)
    assert told_apart(law, mu * 9 / 10)
    assert told_apart(discrete(mu, reach), mu)


@pytest.mark.parametrize("mu", [Fraction(0), Fraction(-1), Fraction(1, 1 << 41), Fraction(1 << 21)])
def test_noise_that_is_none_or_leaves_int64_is_refused(mu):
    """Also of a mu that is no privacy at all."""
    with pytest.raises(ValueError, match=r"2\^-40"):
        rounded_normal(mu, 1, KeyedNoise(bytes(32)))
