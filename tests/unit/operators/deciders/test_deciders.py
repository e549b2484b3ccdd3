"""Deciders: what they need, what they refuse, what they choose."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from accountant.units import from_loss_units
from operators.base import Promise
from operators.conditions.weights import Weight
from operators.deciders import (
    DECIDERS,
    Count,
    Quantile,
    Statistic,
    Sum,
    TightBand,
    choose,
    levels_of,
    planned,
    tau_min,
    units_min,
)
from operators.deciders.base import counted_up_to
from operators.deciders.bounds import correction
from operators.deciders.draws import settle
from operators.deciders.tight import MOST_REACH
from operators.noise.source import KeyedNoise
from tests.statistical.deciders_law import raised

EPSILON = Fraction(1, 2)
DELTA, TENTH, ONE = Fraction(1, 20), Fraction(1, 10), Fraction(1)
MEDIAN = Quantile(EPSILON, range(100))
KINDS = [
    Count(),
    Count(3),
    Sum(0, 40),
    Sum(0, 40, 3),
    Quantile(Fraction(1, 4), range(40)),
    Quantile(Fraction(9, 10), range(40), 2),
]
of_every_kind = pytest.mark.parametrize("kind", KINDS, ids=str)


def every(kind, epsilon=EPSILON):
    """Plan every decider of an aggregate."""
    return [planned(name, kind, epsilon, 6) for name in DECIDERS[type(kind)]]


@of_every_kind
def test_one_unit_moves_every_statistic_by_its_sensitivity_at_most(kind):
    """Over random cells and units, and some unit moves some statistic that far."""
    rng = np.random.default_rng(3)
    high = kind.high if isinstance(kind, Sum) else 39
    for decider in every(kind):
        reached = 0.0
        for _ in range(60):
            cell = rng.integers(0, high + 1, rng.integers(0, 30))
            unit = np.full(kind.events, rng.choice([0, 1, high // 2, high]))
            for row in decider.statistics:
                moved = row.total(np.concatenate([cell, unit]), 20) - row.total(cell, 20)
                assert 0 <= moved <= row.sensitivity
                reached = max(reached, moved / row.sensitivity)
        assert reached == 1


def test_statistics_are_what_they_say():
    """Counts, sums and caps on either side of a bound, fixed or relative to the reference."""
    values = np.array([1, 5, 5, 9])
    for statistic, reference, total in (
        (Statistic(), 0, 4),
        (Statistic(Weight.SUM), 0, 20),
        (Statistic(Weight.SUM, cap=4), 0, 13),
        (counted_up_to(5, 1), 0, 3),
        (counted_up_to(-1, 1, relative=True), 6, 3),
        (Statistic(Weight.RANK, pivot=2, relative=True), 6, 1),
        (Statistic(Weight.RANK, pivot=4, above=3, not_above=-2), 0, 7),
    ):
        assert statistic.total(values, reference) == total


@of_every_kind
def test_a_window_has_answers_or_is_refused(kind):
    """Empty ones and the ends of int64 are decided; rows or cells missing, floats, far ones not."""
    noise, ends = KeyedNoise(b"u"), np.iinfo(np.int64)
    far = np.array([(1 << 60) - 1, 1 - (1 << 60)])
    for decider in every(kind):
        rows = len(decider.statistics)
        fine = np.zeros((rows, 2), int)
        assert decider.decide(fine[:, :0], far[:0], noise).size == 0
        answers = decider.decide(np.array([[ends.max, ends.min]] * rows), far, noise)
        assert (answers.shape, answers.dtype) == ((2,), np.bool_)
        if decider.name in ("tight", "lm", "r2t") and not isinstance(kind, Quantile):
            assert not answers.any()  # em keeps a residual error however far, svt a bound's
        for statistics, references in (
            (np.zeros((rows + 1, 2), int), far),
            (np.zeros((rows, 3), int), far),
            (fine.astype(np.float64), far),
            (fine, far.astype(np.float64)),
            (fine, far[np.newaxis]),
            (fine, np.array([1 << 60, 0])),
            (fine, np.array([0, -(1 << 62)])),
        ):
            with pytest.raises(ValueError, match=r"int64|2\^60"):
                decider.decide(statistics, references, noise)


@of_every_kind
def test_the_charge_is_epsilon_rounded_up(kind):
    """Loss units never fall short of the epsilon that the noise is made for."""
    epsilon = Fraction(1, 3)
    for decider in every(kind, epsilon):
        assert from_loss_units(decider.units - 1) < epsilon <= from_loss_units(decider.units)


def test_what_is_next_to_a_refusal_is_planned():
    """A tolerance just below half of tau, a largest value at the end of the clip."""
    for kind in (Count(), Sum(0, 4)):
        assert TightBand.promised(kind, 9, Promise(max_fnr=DELTA, tolerance=4)).units > 0
    assert tau_min("r2t", Sum(0, 40), EPSILON, DELTA, largest=40) > 1


def test_caps_end_at_the_largest_value():
    """Powers of two, then the clip itself."""
    found = [levels_of(Sum(0, high)) for high in (1, 2, 3, 16, 17)]
    assert found == [(1,), (2,), (2, 3), (2, 4, 8, 16), (2, 4, 8, 16, 17)]
    assert len(levels_of(Sum(0, 2_000_000))) == 21


@pytest.mark.parametrize(("rate", "questions"), [(TENTH, 4), (ONE, 1), (3, 20)])
def test_the_correction_is_least(rate, questions):
    """It is the one of ``svt_law``: one less would fire more often than once in so many."""
    assert correction(Fraction(rate), questions) == raised(float(rate), questions)


def test_settling_refines_both_sides():
    """A probability of finitely many bits, and one that starts with 200 zeros."""

    def half(bits):
        return (1 << bits - 1,) * 2

    assert settle(1 << 62, half, KeyedNoise(b"s"))
    assert not settle(1 << 63, half, KeyedNoise(b"s"))
    assert not settle(0, lambda bits: (0, max(1, 1 << max(0, bits - 200))), KeyedNoise(b"s"))


def test_auto_takes_the_least_threshold_and_says_why():
    """COUNT and quantiles: the extremal curve; SUM: a race where values are known to be small."""
    count = choose(Count(), TENTH, 20, DELTA)
    assert (count.decider, count.effective) == ("tight", False)
    assert "tight" in count.why
    assert "is too small" in count.why
    assert choose(Count(), TENTH, 50, DELTA).effective
    wide = Sum(0, 2_000_000)
    assert choose(wide, TENTH, 10**7, DELTA).decider == "tight"
    small = choose(wide, TENTH, 4 * 10**7, DELTA, largest=9_000)
    assert (small.decider, small.effective) == ("r2t", True)
    assert choose(wide, TENTH, 10**7, DELTA, largest=2_000_000).decider == "tight"
    assert choose(Sum(-5, 5), TENTH, 500, DELTA, largest=2).decider == "tight"
    median = choose(MEDIAN, TENTH, 5, DELTA)
    assert (median.decider, median.effective) == ("tight", None)
    assert median.threshold == units_min(TENTH, DELTA, MEDIAN)


@pytest.mark.parametrize("share", [EPSILON, Fraction(1, 4), Fraction(9, 10)], ids=str)
def test_so_many_units_make_a_quantile_sure(share):
    """Where it errs more often than delta, fewer units than that make the other answer true."""
    kind = Quantile(share, range(10))
    band, needed = TightBand.planned(kind, ONE, 2), units_min(ONE, DELTA, kind)
    events = np.array([(1, 0, 0), (1, 1, 0), (1, 0, 1)])  # in the band, below it, above it

    def steps(cells):
        return band.steps(np.array(cells).T, np.full(len(cells), 5))

    for number, own in product(range(60), events):
        cell = number * own
        if band.error_at(steps([cell])[0]) > DELTA:
            added = [cell + more * each for more in range(needed) for each in events]
            left = [cell - fewer * own for fewer in range(min(needed, number + 1))]
            assert len({step < 0 for step in steps(added + left).tolist()}) == 2


@pytest.mark.parametrize("kind", [Count(), Count(2), Sum(0, 4), MEDIAN], ids=str)
def test_a_promised_band_keeps_its_rates(kind):
    """An alarm for leaving the band keeps both its rates, and one loss unit less does not."""
    promise = Promise(max_fnr=DELTA, tolerance=4, max_fpr=Fraction(1, 100))
    band = TightBand.promised(kind, 20, promise)
    steps = -(-9 // kind.sensitivity)
    assert max(band.error_at(x) for x in range(50)) <= 0.05
    assert max(band.error_at(-x) for x in range(steps, 50)) <= 0.01
    less = TightBand.planned(kind, from_loss_units(band.units - 1), 20, DELTA)
    assert int(less.probabilities[-steps - less.lowest]) * 100 > 1 << 64


@pytest.mark.long
@pytest.mark.parametrize("epsilon", [Fraction(1, 10_000), Fraction(1, 50_000)], ids=str)
def test_thresholds_of_small_epsilons_hold(epsilon):
    """The table reaches as far as the thresholds say, on both sides of the end, and alike."""
    least = tau_min("tight", Count(), epsilon, DELTA)
    band = TightBand.planned(Count(), epsilon, least)
    assert max(band.error(0), band.error(2 * least)) <= 0.05
    assert band.threshold(DELTA) == least
    steps = band.probabilities.astype(np.float64) / 2**64
    outside, inside = steps[-band.lowest :], steps[: -band.lowest][::-1]
    assert inside.size >= MOST_REACH
    assert steps.size >= 2 * MOST_REACH
    assert (np.diff(steps) >= 0).all()
    same = min(outside.size, inside.size)
    assert np.abs(outside[:same] + inside[:same] - 1).max() < 1e-9


def test_auto_takes_another_where_no_table_reaches():
    """Below some epsilon tight has no threshold; only where a boundary is kept it is taken."""
    epsilon = Fraction(1, 10**6)
    assert choose(Count(), epsilon, 10**7, DELTA).decider == "em"
    for kind in (Count(), MEDIAN):
        kept = choose(kind, epsilon, 10**7, DELTA, boundary=DELTA)
        assert (kept.decider, kept.threshold) == ("tight", None)
        assert not kept.effective
        assert "no tau" in kept.why


@of_every_kind
@pytest.mark.parametrize("boundary", [None, DELTA, Fraction(1, 5)], ids=str)
def test_the_threshold_is_that_of_what_is_planned(kind, boundary):
    """Both errors of the very band that is planned are kept from there on, and not before."""
    choice = choose(kind, EPSILON, 50, DELTA, boundary=boundary)
    least = TightBand.planned(kind, EPSILON, 1, boundary).threshold(DELTA)
    assert (choice.decider, choice.threshold) == ("tight", least)
    assert str(least) in choice.why
    if isinstance(kind, Quantile):
        assert boundary is not None or least == units_min(EPSILON, DELTA, kind)
        return
    assert boundary is not None or least == tau_min("tight", kind, EPSILON, DELTA)

    def worst(tau):
        band = TightBand.planned(kind, EPSILON, tau, boundary)
        return max(band.error(0), band.error(2 * tau), band.error(2 * tau + 1))

    assert worst(least) <= 0.05 < worst(least - 1)
    assert choice.effective == (least <= 50)
