"""Panes: the joint law of all windows over shared noise, enumerated, with twins that break it."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from accountant.units import from_loss_units
from operators.conditions.comparison import Comparison
from operators.noise.source import KeyedNoise
from operators.panes import LaplaceSum, Panes, Tree
from tests.statistical.enumeration import GivenNoise, bernoulli_chi_square, ints
from tests.statistical.panes_law import (
    BOX,
    RATE,
    Window,
    asked,
    decided,
    exact_tail,
    law_of,
    mass,
)
from tests.support.exact import worst_ratio

Q = Fraction(1, 3)
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
    counts = (1, 0, 2)
    more = tuple(count + (at == pane) for at, count in enumerate(counts))
    laws = [decided(panes, WINDOWS, each, Q, BOX, released=released) for each in (counts, more)]
    assert len(laws[0]) > 20
    assert min(sum(law.values()) for law in laws) > Fraction(97, 100)
    worst = worst_ratio(*laws)
    assert worst <= 1 / Q
    if released:
        assert worst == 1 / Q  # the charge is met, so nothing less would do
    else:
        assert worst > Fraction(99, 100) / Q


@pytest.mark.parametrize("apart", [1, 2, 3])
def test_a_pane_that_moves_by_its_sensitivity_loses_epsilon(apart):
    """At sensitivity 3 the noise is three times as wide: a move by d loses d / 3 of epsilon."""
    panes = Panes.planned(questions(sensitivity=3))
    assert panes.rate == panes.plan.epsilon / 3
    laws = [decided(panes, WINDOWS, each, Q, BOX) for each in ((1, 0, 2), (1, apart, 2))]
    worst = worst_ratio(*laws)
    assert (1 / Q) ** (apart - 1) < worst <= (1 / Q) ** apart


def test_what_is_released_depends_on_count_and_noise_by_their_sum_alone():
    """At the ends too, where both saturate: else a neighbour's noise would not be one step away."""
    far, farther = 2**52, 2**63 - 1
    counts = [-far, -far - 9, far, 0, -far, far, 5]
    noises = [far + 10, far + 10, far, -far - 1, farther, -farther, -7]
    panes = Panes.planned([asked(1, cells=len(counts))])
    released = panes.release(np.array([counts]), GivenNoise(np.array(noises)))[0].tolist()
    near = [max(-far, min(far, count)) for count in counts]
    sums = [count + noise for count, noise in zip(near, noises, strict=True)]
    assert released == [max(-far, min(far, each)) for each in sums]


def test_an_event_of_a_tree_loses_one_noise_of_every_level():
    """Two panes and their sum released: an event moves two nodes, and loses twice epsilon."""
    tree = Tree(branching=2, levels=2)
    panes = Panes.planned([asked(2)], tree)
    windows = (Window(0, (0,)), Window(0, (1,)), Window(0, (2,)))
    assert tree.cover(0, 2) == ((1, 0),)
    laws = [decided(panes, windows, each, Q, BOX, released=True) for each in ((1, 0, 1), (2, 0, 2))]
    assert worst_ratio(*laws) == Q**-2


def test_a_person_capped_over_a_block_loses_epsilon_in_all_its_panes_together():
    """Two events a block at sensitivity 2: in two panes or in one, it is the same loss."""
    panes = Panes.planned(questions(sensitivity=2))
    without = decided(panes, WINDOWS, (1, 0, 2), Q, BOX, released=True)
    for capped in ((2, 1, 2), (1, 2, 2)):
        assert worst_ratio(without, decided(panes, WINDOWS, capped, Q, BOX, released=True)) == Q**-2
    uncapped = decided(panes, WINDOWS, (2, 1, 3), Q, BOX, released=True)
    assert worst_ratio(without, uncapped) == Q**-3  # a broken twin: the cap forgotten in one pane


def test_noise_that_is_drawn_again_after_a_crash_is_caught():
    """A broken twin: two draws of one pane, both of which left, lose it twice."""
    panes = Panes.planned([asked(1, threshold=1, cells=len(BOX) ** 2)])
    twice = (Window(0, (0,)), Window(0, (1,)))
    laws = [decided(panes, twice, each, Q, BOX) for each in ((0, 0), (1, 1))]
    worst = worst_ratio(*laws)
    assert worst > 1 / Q


def test_noise_that_cells_share_is_caught():
    """A broken twin: the difference of two cells tells everything; no epsilon is enough."""

    def shared(first, second):
        for z in range(-20, 21):
            yield mass(z, Q), (first + z > 3, second + z > 3)

    assert worst_ratio(law_of(shared(1, 1)), law_of(shared(2, 1))) is None


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


@pytest.mark.parametrize("comparison", [Comparison.GT, Comparison.GE, Comparison.LT, Comparison.LE])
def test_the_worst_corners_keep_the_promise_of_every_comparison(comparison):
    """At the first true value a miss, 2u + 1 below it a false alarm: as promised, and no better."""
    question = asked(4, 6, comparison=comparison, sensitivity=3, max_fpr=Fraction(1, 1000), cells=1)
    panes = Panes.planned([question])
    law = LaplaceSum(panes.rate, 4)
    shift = panes.shifts[0]
    first, way = {
        Comparison.GT: (4, 1),
        Comparison.GE: (3, 1),
        Comparison.LT: (2, -1),
        Comparison.LE: (3, -1),
    }[comparison]
    for far in range(-16, 17):
        noise = -shift - far  # the least sum of noises, seen from the test's side, that fires
        for off, fires in ((0, True), (-1, False)):
            sums = ints([[first + way * (far + noise + off)], [0], [0], [0]])
            assert panes.decide(0, sums).tolist() == [fires]
        at = law.tail(noise)
        chance = panes.chances(0, np.array([far]))[0]
        assert float(at[0]) == pytest.approx(chance, rel=1e-9)
    misses, alarms = law.tail(shift + 1), law.tail(13 - shift)
    assert misses[1] <= RATE
    assert alarms[1] <= Fraction(1, 1000)
    assert (misses[1], alarms[1]) == panes.errors(0)
    narrower = from_loss_units(panes.units - 1) / 3
    kept = [
        LaplaceSum(narrower, 4).tail(h + 1)[0] <= RATE
        and LaplaceSum(narrower, 4).tail(13 - h)[0] <= Fraction(1, 1000)
        for h in range(13)
    ]
    assert not any(kept)


def test_a_threshold_one_lower_is_caught():
    """A broken twin: firing strictly above the offset misses more than was promised."""
    panes = Panes.planned([asked(12, 9, cells=1)])
    assert LaplaceSum(panes.rate, 12).tail(panes.shifts[0])[0] > RATE


def test_frequencies_follow_the_law():
    """200,000 windows of three panes agree with the exact law; one step off does not."""
    steps = np.arange(-12, 5)
    draws = 12_000
    question = asked(3, 4, threshold=50, cells=steps.size * draws)
    panes = Panes.planned([question])
    statistics = np.stack([np.repeat(51 + steps, draws), *np.zeros((2, steps.size * draws))])
    noisy = panes.release(statistics.astype(np.int64), KeyedNoise(b"panes"))
    counts = panes.decide(0, noisy).reshape(steps.size, draws).sum(axis=1)
    assert bernoulli_chi_square(counts, draws, panes.chances(0, steps)) > 1e-4
    assert bernoulli_chi_square(counts, draws, panes.chances(0, steps + 1)) < 1e-9
