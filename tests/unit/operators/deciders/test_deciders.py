"""Deciders: what they need, what they refuse, what they choose."""

import re
from fractions import Fraction

import numpy as np
import pytest

from accountant.errors import ConfigError
from accountant.units import from_loss_units
from operators.base import Promise
from operators.conditions.weights import Weight
from operators.deciders import (
    DECIDERS,
    Count,
    ExponentialQuantileBand,
    HistogramBand,
    LaplaceBand,
    PrivateBound,
    Quantile,
    RaceBand,
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
from stream.config.loading import examine
from tests.statistical.deciders_law import raised
from tests.support.tree import ROOT

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


def refuses(message, call, *arguments, **more):
    """Ask for what cannot be had: refused with a sentence about the configuration and a hint."""
    with pytest.raises(ConfigError, match=message) as caught:
        call(*arguments, **more)
    assert caught.value.hint


def every(kind, tau=6):
    """Plan every decider of an aggregate."""
    return [planned(name, kind, EPSILON, tau) for name in DECIDERS[type(kind)]]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_one_unit_moves_every_statistic_by_its_sensitivity_at_most(
    kind,
):
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


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_arrays_of_another_shape_or_type_are_refused(kind):
    """Rows missing, cells missing, floats, references out of reach."""
    for decider in every(kind):
        rows = len(decider.statistics)
        references = np.array([3, 4])
        fine = np.zeros((rows, 2), int)
        answers = decider.decide(fine, references, KeyedNoise(b"u"))
        assert (answers.shape, answers.dtype) == ((2,), np.bool_)
        wrong = [
            (np.zeros((rows + 1, 2), int), references),
            (np.zeros((rows, 3), int), references),
            (fine.astype(np.float64), references),
            (fine, references.astype(np.int32)),
            (fine, references[np.newaxis]),
            (fine, np.array([1 << 60, 0])),
            (fine, np.array([0, -(1 << 62)])),
        ]
        for statistics, given in wrong:
            with pytest.raises(ValueError, match=r"int64|2\^60"):
                decider.decide(statistics, given, KeyedNoise(b"u"))


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_no_cells_no_answers_and_no_overflow(kind):
    """An empty window has no answers; statistics at the ends of int64 are outside every band."""
    ends = np.iinfo(np.int64)
    for decider in every(kind):
        rows = len(decider.statistics)
        empty = np.zeros((rows, 0), int)
        assert decider.decide(empty, np.zeros(0, int), KeyedNoise(b"u")).size == 0
        full = np.array([[ends.max, ends.min]] * rows)
        answers = decider.decide(full, np.array([(1 << 60) - 1, 1 - (1 << 60)]), KeyedNoise(b"u"))
        if decider.name in ("tight", "lm", "r2t") and not isinstance(kind, Quantile):
            assert not answers.any()  # em keeps a residual error however far, svt a bound's


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_the_charge_is_epsilon_rounded_up(kind):
    """Loss units never fall short of the epsilon that the noise is made for."""
    for name in DECIDERS[type(kind)]:
        epsilon = Fraction(1, 3)
        units = planned(name, kind, epsilon, 6).units
        assert from_loss_units(units - 1) < epsilon <= from_loss_units(units)


@pytest.mark.parametrize(
    ("name", "kind", "epsilon", "tau", "message"),
    [
        ("lm", Count(), Fraction(0), 3, "epsilon"),
        ("em", Count(), ONE, 0, "tau"),
        ("tight", Count(), ONE, 1 << 61, "tau"),
        ("hist", Count(), ONE, 3, "decider hist does not support COUNT"),
        ("lm", MEDIAN, ONE, 3, "decider lm does not support QUANTILE"),
        ("r2t", Sum(-1, 5), ONE, 3, "never negative"),
        ("svt", Sum(-5, 0), ONE, 3, "never negative"),
        ("lm", Sum(0, 1 << 50), ONE, 3, "2\\^40"),
        ("r2t", Sum(0, 1 << 39), ONE, 3, "2\\^40"),
        ("em", Quantile(EPSILON, range(1 << 17)), ONE, 3, "more than 65,536 steps"),
    ],
)
def test_plans_that_cannot_be_kept_are_refused(name, kind, epsilon, tau, message):
    """With a sentence about the configuration and a hint."""
    refuses(message, planned, name, kind, epsilon, tau)


def test_options_out_of_range_are_refused():
    """Boundary, delta and share have ranges of their own."""
    ends = (Fraction(0), ONE)
    for call, *arguments in (
        *((TightBand.planned, Count(), EPSILON, 3, wrong) for wrong in ends),
        (TightBand.planned, Count(), EPSILON, 3, Fraction(-1, 2)),
        (TightBand.planned, Count(), EPSILON, 3, Fraction(1, 1 << 65)),
        *((RaceBand.planned, Sum(0, 4), EPSILON, 3, wrong) for wrong in ends),
        *((PrivateBound, wrong) for wrong in ends),
        (LaplaceBand.planned, MEDIAN, EPSILON, 3),
        (HistogramBand.planned, Count(), EPSILON, 3),
        (ExponentialQuantileBand.planned, Count(), EPSILON, 3),
        *((choose, Count(), EPSILON, 3, delta) for delta in (Fraction(0), EPSILON)),
    ):
        with pytest.raises(ConfigError):
            call(*arguments)
    with pytest.raises(ValueError, match="svt"):
        tau_min("svt", Sum(0, 4), EPSILON, DELTA)
    with pytest.raises(TypeError):
        TightBand.planned(MEDIAN, EPSILON, 3).error(0)


def test_aggregates_that_make_no_sense_are_refused():
    """Caps below one, clips that are empty or leave int64, shares and domains out of range."""
    for make in (
        lambda: Count(0),
        lambda: Sum(3, 2),
        lambda: Sum(0, 0),
        lambda: Sum(0, 1 << 61),
        lambda: Quantile(Fraction(0), range(4)),
        lambda: Quantile(Fraction(1, 10**6), range(4)),
        lambda: Quantile(EPSILON, range(0)),
        lambda: Quantile(EPSILON, range(4, 0, -1)),
        lambda: Quantile(EPSILON, range(1 << 62, (1 << 62) + 2)),
    ):
        with pytest.raises(
            ValueError, match=r"events|cap|sum|quantile is not between 0 and 1|domain"
        ):
            make()


def test_caps_end_at_the_largest_value():
    """Powers of two, then the clip itself."""
    found = [levels_of(Sum(0, high)) for high in (1, 2, 3, 16, 17)]
    assert found == [(1,), (2,), (2, 3), (2, 4, 8, 16), (2, 4, 8, 16, 17)]
    assert len(levels_of(Sum(0, 2_000_000))) == 21


@pytest.mark.parametrize(("rate", "questions"), [(TENTH, 4), (ONE, 1), (3, 20)])
def test_the_correction_is_least(rate, questions):
    """It is the one of ``svt_law``: one less would ring more often than once in so many."""
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
    """A cell so many events away from the other answer is wrong with probability <= delta."""
    kind, epsilon = Quantile(share, range(10)), ONE
    needed = units_min(epsilon, DELTA, kind)
    band = TightBand.planned(kind, epsilon, 2)
    total = np.arange(0, 200)
    for low, high in ((0, 0), (1, 0), (0, 1)):
        rows = np.array([total, total * low, total * high])
        x = band.steps(rows, np.full(total.size, 5))
        # All events in the band, or all beyond one end: count units by adding events elsewhere.
        for n, step in zip(total.tolist(), x.tolist(), strict=True):
            a, b = share.numerator, share.denominator
            if low == high == 0 and n:
                away = min((a * n - 1) // (b - a), (b - a) * n // a) + 1
                away = min(away, n)
            elif low:
                away = (b - a) * n // a + 1 if n else 0
            else:
                away = -(-a * n // (b - a)) if n else 0
            if away >= needed:
                assert band.error_at(step) <= float(DELTA)


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


@pytest.mark.parametrize("kind", [Count(), Sum(0, 4)], ids=str)
def test_a_promise_about_no_cell_is_refused(kind):
    """Where no aggregate is more than twice the tolerance inside, ringing always is for nothing."""
    promise = Promise(max_fnr=DELTA, tolerance=4)
    for tau in (1, 8):
        refuses("tolerance is half of tau or more", TightBand.promised, kind, tau, promise)
    assert TightBand.promised(kind, 9, promise).units > 0


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_epsilons_out_of_range_are_refused(kind):
    """No bare overflow from planning, choosing or thresholds."""
    for epsilon in (Fraction(10**400), Fraction(1, 10**400)):
        for name in DECIDERS[type(kind)]:
            refuses("epsilon", planned, name, kind, epsilon, 3)
            if not isinstance(kind, Quantile) and name != "svt":
                refuses("epsilon", tau_min, name, kind, epsilon, DELTA, largest=2)
        refuses("epsilon", choose, kind, epsilon, 3, DELTA)


def test_a_largest_value_beyond_the_clip_is_refused():
    """Values are clipped: none is larger."""
    for largest in (41, 10**6):
        refuses("clip", tau_min, "r2t", Sum(0, 40), EPSILON, DELTA, largest=largest)
        refuses("clip", choose, Sum(0, 40), EPSILON, 3, DELTA, largest=largest)
    assert tau_min("r2t", Sum(0, 40), EPSILON, DELTA, largest=40) > 1


@pytest.mark.long
@pytest.mark.parametrize("epsilon", [Fraction(1, 10_000), Fraction(1, 50_000)], ids=str)
def test_thresholds_of_small_epsilons_hold(epsilon):
    """The table reaches as far as the thresholds say, on both sides of the end."""
    least = tau_min("tight", Count(), epsilon, DELTA)
    band = TightBand.planned(Count(), epsilon, least)
    assert max(band.error(0), band.error(2 * least)) <= 0.05
    assert band.threshold(DELTA) == least
    assert band.probabilities.size >= 2 * MOST_REACH
    steps = band.probabilities.astype(np.float64) / 2**64
    assert ((steps[1:] - steps[:-1]) >= 0).all()
    assert -band.lowest >= MOST_REACH
    mirrored = 1 - steps[::-1]  # at the default boundary, about one half, both sides are alike
    inside = -band.lowest
    same = min(inside, steps.size - inside - 1)
    outer, inner = steps[inside : inside + same], mirrored[steps.size - inside :][:same]
    assert np.abs(outer - inner).max() < 1e-9


def test_thresholds_that_no_table_reaches_are_refused():
    """Below some epsilon tight has no threshold, is not chosen by it, and says so."""
    epsilon = Fraction(1, 10**6)
    says = "too small for tight"
    refuses(says, tau_min, "tight", Count(), epsilon, DELTA)
    refuses(says, units_min, epsilon, DELTA, MEDIAN)
    refuses(says, choose, MEDIAN, epsilon, 3, DELTA)
    assert choose(Count(), epsilon, 10**7, DELTA).decider == "em"
    for kind in (Count(), MEDIAN):
        kept = choose(kind, epsilon, 10**7, DELTA, boundary=DELTA)
        assert (kept.decider, kept.threshold) == ("tight", None)
        assert not kept.effective
        assert "no tau" in kept.why


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("boundary", [None, DELTA, Fraction(1, 5)], ids=str)
def test_the_threshold_is_that_of_what_is_planned(kind, boundary):
    """Both errors of the very band that is planned are kept from there on, and not before."""
    choice = choose(kind, EPSILON, 50, DELTA, boundary=boundary)
    least = TightBand.planned(kind, EPSILON, 1, boundary).threshold(DELTA)
    assert choice.decider == "tight"
    assert choice.threshold == least
    assert least is not None
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


@pytest.mark.parametrize("aggregate", ["COUNT(*)", "SUM(paid)"])
def test_note_and_warning_of_a_band_name_one_threshold(tmp_path, aggregate):
    """Beside max_fnr at the end of the band, in the units of the aggregate."""
    page = (ROOT / "docs" / "how-to" / "deviation-alarms.md").read_text()
    example, *_ = re.findall(r"```yaml\n(.*?)```", page, flags=re.DOTALL)
    example = example.replace("COUNT(*)", aggregate).replace(">= 50", ">= 2")
    (tmp_path / "usual.csv").write_text("shop,orders\nnorth,200\nsouth,150\n", encoding="utf-8")
    (tmp_path / "alarms.yaml").write_text(example, encoding="utf-8")
    report = examine(tmp_path / "alarms.yaml", environ={})
    (note,) = [each for each in report.notes if "At the reference" in each.message]
    (warning,) = [each for each in report.warnings if "the band is narrow" in each.message]
    said = re.search(
        r"fires with probability 0.05 or less if tau is ([\d.]+) or more;", note.message
    )
    warned = re.search(r"or less only with a tau of ([\d.]+) or more", warning.message)
    assert said[1] == warned[1]
    assert "tau = 2 is too small" in note.message
