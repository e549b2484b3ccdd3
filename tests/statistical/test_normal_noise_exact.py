"""Normal draws that are only compared: the law of every answer, exactly; twins must be caught.

A draw is a uniform real of which 64 bits are known at first. Which answers its further bits give is
compared with another computation of the normal law.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from operators.noise.normal import NormalDraws, Quantiles
from tests.statistical.enumeration import ONE, ints
from tests.support.normal import normal

POINTS = [Fraction(*pair) for pair in ((0, 1), (1, 3), (-7, 5), (29, 10), (-61, 10), (17, 2))]


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
