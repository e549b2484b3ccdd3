"""Panes: the joint law of all windows over shared noise, enumerated, with twins that break it."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from accountant.units import from_loss_units
from operators.conditions.comparison import Comparison
from operators.panes import LaplaceSum, Panes
from tests.statistical.enumeration import GivenNoise, ints
from tests.statistical.panes_law import (
    BOX,
    RATE,
    Window,
    asked,
    decided,
    exact_tail,
)
from tests.support.exact import worst_ratio

Q = Fraction(1, 3)
COUNTS = (1, 0, 2)
WINDOWS = (
    Window(0, (0, 1)),
    Window(0, (1, 2)),
    Window(1, (0, 1, 2)),
    Window(2, (0,)),
    Window(2, (1,)),
    Window(2, (2,)),
    Window(3, (0, 1, 2)),
)
"""HOP of two panes, a window of three with two thresholds, and every pane alone."""


def questions(sensitivity=1):
    """Return what ``WINDOWS`` ask."""
    return [
        asked(2, sensitivity=sensitivity),
        asked(3, threshold=5, sensitivity=sensitivity),
        asked(1, threshold=1, sensitivity=sensitivity),
        asked(3, threshold=2, comparison=Comparison.LE, sensitivity=sensitivity),
    ]


@pytest.mark.parametrize("released", [False, True])
@pytest.mark.parametrize("pane", range(3))
def test_all_windows_together_lose_what_one_pane_is_charged(pane, released):
    """An event more in one pane: no outcome of seven windows is likelier by more than 1 / q."""
    panes = Panes.planned(questions())
    more = tuple(count + (at == pane) for at, count in enumerate(COUNTS))
    laws = [decided(panes, WINDOWS, each, Q, BOX, released=released) for each in (COUNTS, more)]
    assert len(laws[0]) > 20
    assert min(sum(law.values()) for law in laws) > Fraction(97, 100)
    worst = worst_ratio(*laws)
    # Where all is released the charge is met, so nothing less would do.
    assert Fraction(99, 100) / Q < worst <= 1 / Q
    assert worst == 1 / Q or not released


@pytest.mark.parametrize("apart", [1, 2, 3])
def test_a_pane_that_moves_by_its_sensitivity_loses_epsilon(apart):
    """At sensitivity 3 the noise is three times as wide: a move by d loses d / 3 of epsilon."""
    panes = Panes.planned(questions(sensitivity=3))
    assert panes.rate == panes.plan.epsilon / 3
    laws = [decided(panes, WINDOWS, each, Q, BOX) for each in (COUNTS, (1, apart, 2))]
    worst = worst_ratio(*laws)
    assert (1 / Q) ** (apart - 1) < worst <= (1 / Q) ** apart


def test_what_is_released_depends_on_count_and_noise_by_their_sum_alone():
    """At the ends too, where both saturate: else a neighbour's noise would not be one step away."""
    far, farther = 2**52, 2**63 - 1
    counts = ints([-far, -far - 9, far, 0, -far, far, 5])
    noises = ints([far + 10, far + 10, far, -far - 1, farther, -farther, -7])
    panes = Panes.planned([asked(1, cells=counts.size)])
    released = panes.release(counts[None], GivenNoise(noises))[0].tolist()
    near = np.clip(counts, -far, far).tolist()
    assert released == [
        max(-far, min(far, count + noise))
        for count, noise in zip(near, noises.tolist(), strict=True)
    ]


def test_a_person_capped_over_a_block_loses_epsilon_in_all_its_panes_together():
    """Two events a block at sensitivity 2: in two panes or in one, it is the same loss."""
    panes = Panes.planned(questions(sensitivity=2))
    without = decided(panes, WINDOWS, COUNTS, Q, BOX, released=True)
    # The last is a broken twin: the cap forgotten in one pane.
    for counts, lost in (((2, 1, 2), 2), ((1, 2, 2), 2), ((2, 1, 3), 3)):
        there = decided(panes, WINDOWS, counts, Q, BOX, released=True)
        assert worst_ratio(without, there) == Q**-lost


def test_noise_that_is_drawn_again_after_a_crash_is_caught():
    """A broken twin: two draws of one pane, both of which left, lose it twice."""
    panes = Panes.planned([asked(1, threshold=1, cells=len(BOX) ** 2)])
    twice = (Window(0, (0,)), Window(0, (1,)))
    laws = [decided(panes, twice, each, Q, BOX) for each in ((0, 0), (1, 1))]
    assert worst_ratio(*laws) > 1 / Q


TABLE = {
    5: (0.415, 0.817, 1.351, 2.529),
    9: (0.242, 0.482, 0.822, 1.686),
    20: (0.112, 0.225, 0.390, 0.852),
}


@pytest.mark.parametrize("tolerance", TABLE)
def test_the_least_epsilons(tolerance):
    """What 1, 4, 12 and 60 panes cost at max_fnr 0.05; one loss unit less misses too often."""
    for terms, wanted in zip((1, 4, 12, 60), TABLE[tolerance], strict=True):
        panes = Panes.planned([asked(terms, tolerance, cells=1)])
        assert round(float(panes.plan.epsilon), 3) == wanted
        assert panes.shifts == (tolerance,)
        assert exact_tail(panes.plan.epsilon, terms, tolerance + 1) <= Decimal("0.05")
        less = from_loss_units(panes.units - 1)
        assert exact_tail(less, terms, tolerance + 1) > Decimal("0.05")
        assert all(error <= RATE for error in panes.errors(0))


FIRST = {
    Comparison.GT: (4, 1),
    Comparison.GE: (3, 1),
    Comparison.LT: (2, -1),
    Comparison.LE: (3, -1),
}
"""The first value that is true, and which way the others lie."""


@pytest.mark.parametrize("comparison", FIRST)
def test_the_worst_corners_keep_the_promise_of_every_comparison(comparison):
    """At the first true value a miss, 2u + 1 below it a false alarm: as promised, and no better."""
    rare, (first, way), far = Fraction(1, 1000), FIRST[comparison], np.arange(-16, 17)
    panes = Panes.planned(
        [asked(4, 6, comparison=comparison, sensitivity=3, max_fpr=rare, cells=far.size)]
    )
    law, (shift,) = LaplaceSum(panes.rate, 4), panes.shifts
    least = -shift - far  # sum of noises, seen from the test's side, that fires
    for noise, fires in ((least, True), (least - 1, False)):
        sums = np.zeros((4, far.size), int)
        sums[0] = first + way * (far + noise)
        assert (panes.decide(0, sums) == fires).all()
    tails = [float(law.tail(each)[0]) for each in least.tolist()]
    assert panes.chances(0, far) == pytest.approx(tails, rel=1e-9)
    misses, alarms = law.tail(shift + 1)[1], law.tail(13 - shift)[1]
    assert (misses, alarms) == panes.errors(0)
    assert misses <= RATE
    assert alarms <= rare
    less = LaplaceSum(from_loss_units(panes.units - 1) / 3, 4)
    assert all(less.tail(h + 1)[0] > RATE or less.tail(13 - h)[0] > rare for h in range(13))


def test_a_threshold_one_lower_is_caught():
    """A broken twin: firing strictly above the offset misses more than was promised."""
    panes = Panes.planned([asked(12, 9, cells=1)])
    assert LaplaceSum(panes.rate, 12).tail(panes.shifts[0])[0] > RATE
