"""What quiet cells leave of a run: against every course that a small run can take."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np
import pytest

from operators.svt.endurance import endurance, missed_in_silence
from tests.statistical.svt_law import at_once, law, missed_given
from tests.statistical.svt_law import terms as terms_of

plan = partial(terms_of, opening=Fraction(1), monotone=True, correction=-1)
"""Terms of a run whose noise is a few steps wide."""


def courses(terms, steps, windows):
    """Return rings, spent and missed by walking every course of a run, question by question."""
    run, last = at_once(terms), windows * len(steps) - 1
    every = law(run, steps * windows)
    before = [*steps * (windows - 1), *steps]
    before.pop(last - len(steps) + 1 + steps.index(min(steps)))  # the quietest, at its threshold
    due = law(run, (*before, 0))
    return (
        sum(mass * sum(rang for _, rang in said) for said, mass in every.items()),
        sum(mass for said, mass in due.items() if said[-1][0] != last),
        sum(mass for said, mass in due.items() if (last, True) not in said),
    )


@pytest.mark.parametrize("terms", [plan(), plan(1), plan(questions=2, correction=1)])
def test_endurance_is_the_sum_over_every_course(terms):
    """Rings, spent runs and misses are those of an enumeration without any law of sums."""
    lasts = endurance(terms, np.array([-3, -6, -3]), 2)
    found = lasts.rings, lasts.spent, lasts.missed
    assert found == pytest.approx(courses(terms, (-3, -6, -3), 2), abs=1e-9)


def test_questions_that_were_taken_as_independent_would_be_caught():
    """The broken twin spends a run by the mean rate: far from what a shared threshold does."""
    steps, terms = np.array([-3, -6, -3]), plan()
    near, far = (endurance(terms, steps[at : at + 1], 1).unlimited for at in (0, 1))
    rates = [near, far, near, near, near]  # the quietest of the last window is not asked before
    none = math.prod(1 - rate for rate in rates)
    one = sum(none * rate / (1 - rate) for rate in rates)
    assert abs((1 - none - one) - endurance(terms, steps, 2).spent) > 1e-3


def test_a_run_without_end_of_alarms_rings_by_the_mean_rate():
    """Expected rings add up, however the questions hang together."""
    terms, steps = plan(6), np.array([-2, -5])
    lasts = endurance(terms, steps, 3)
    apart = sum(endurance(terms, np.array([step]), 1).unlimited for step in steps)
    assert lasts.unlimited == pytest.approx(3 * apart)
    assert lasts.rings <= lasts.unlimited + 1e-9


@pytest.mark.parametrize("terms", [plan(), plan(questions=2, correction=1), plan(correction=3)])
@pytest.mark.parametrize(("distance", "asked"), [(1, 0), (1, 5), (3, 40), (6, 7), (2, 1_000)])
def test_misses_given_silence_are_the_sum_over_the_threshold(terms, distance, asked):
    """Exactly, for any number of silent questions; an unconditional miss rate is caught."""
    said = missed_in_silence(terms, distance, asked)
    assert said == pytest.approx(missed_given(terms, [-distance] * asked), rel=1e-9)
    if asked > 1:
        assert said > missed_in_silence(terms, distance, 0) * 1.001


def test_no_run_of_cells_farther_away_misses_more():
    """Lower cells, fewer of them and alarms among them: all below the bound, and near cells not."""
    terms = plan(4)
    bound = missed_in_silence(terms, 3, 12)
    quiets = [-3] * 12, [-3] * 5 + [-9] * 7, [-3, -4, -5, -6] * 3, [-3] * 4, []
    for quiet, fired in product(quiets, ([], [-3], [-8, -3], [0, 0, -1])):
        assert missed_given(terms, quiet[: 12 - len(fired)], fired) <= bound * (1 + 1e-12)
    assert missed_given(terms, [-2] * 12) > bound * 1.01


def test_very_long_silences_reach_far():
    """A million silent questions next to the threshold: beyond where the noise had its mass."""
    assert missed_in_silence(plan(), 1, 10**6) > 0.99
    far, alone = (missed_in_silence(plan(), 60, asked) for asked in (10**3, 0))
    assert far == pytest.approx(alone, rel=1e-4)
