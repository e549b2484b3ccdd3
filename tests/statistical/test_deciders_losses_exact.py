"""What neighbours lose of every decider, over its law at many data sets; broken twins are caught.

Of ``tight`` they lose what its table does, where their steps are at most one apart.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest

from accountant.errors import ConfigError
from operators.conditions.weights import Statistic
from operators.deciders import (
    Average,
    AverageLaplaceBand,
    Count,
    Decider,
    ExponentialBand,
    ExponentialQuantileBand,
    HistogramBand,
    LaplaceBand,
    LevelBound,
    PrivateBound,
    Quantile,
    RaceBand,
    SparseBand,
    Sum,
    TightBand,
    planned,
)
from operators.deciders.averages import end_sensitivities
from tests.statistical.deciders_law import (
    HALF,
    SHARES,
    SLACK,
    Data,
    Scripted,
    each,
    mean_within,
    multisets,
    quantile_within,
    rows_of,
    step,
    svt_law,
    within,
    worst,
)
from tests.statistical.enumeration import ONE, exp_bounds


class Straight(RaceBand):
    """A race without the factor L: every cap is charged as if it were alone."""

    def rate(self, level):
        """Return L times the rate."""
        return self.epsilon / (self.kind.events * self.levels[level])


@dataclass(frozen=True)
class Losing:
    """A decider, neighbours of some data sets, and what they may lose.

    Args:
        decider: the sound one.
        charge: that neighbours lose at most.
        data: that something is added to.
        added: by a neighbour.
        reference: of every cell.
        attained: whether the charge is lost by somebody.
        twin: a broken one, of the same charge.
        least: what some neighbours of the twin lose, at least.
        reach: of the noise that is enumerated.
        fixed: draws that are given instead.
    """

    decider: Decider
    charge: float
    data: Iterable[Data]
    added: Iterable[Data]
    reference: int
    attained: bool = False
    twin: Decider | None = None
    least: float | None = None
    reach: int = 20
    fixed: dict[int, int] | None = None

    def most(self, decider):
        """Return the largest loss of neighbours."""
        return worst(
            lambda data: within(decider, data, self.reference, self.reach, self.fixed),
            self.data,
            self.added,
        )


def ones(most):
    """Return cells of so many events."""
    return [(1,) * count for count in range(most)]


ONE_MORE, VALUES, MEANS = [(1,)], range(4), range(-1, 3)
E, TWO, SIX = Fraction(1), Fraction(2), Fraction(6)
MEDIAN = Quantile(HALF, range(10))
BANDS = [  # kind, reference, tau: within the clip, over its end, beyond it, and at a finer scale
    (Average(-1, 2), 0, 1),
    (Average(-1, 2), 2, 2),
    (Average(-1, 2), 5, 2),
    (Average(-1, 2, scale=4), 3, 2),
    (Average(-1, 2, scale=10), -7, 5),
]
CELLS = [(), (1,), (4,), (1, 2, 2), (1, 1, 4, 4), (4, 4, 4), (2,) * 5, (1,) * 6 + (4,)]
PAIRS = [(x, y) for x in VALUES for y in range(x, 4)]
FEW = [(), (1,), (0, 1, 3), (1, 1, 2, 3, 3), (0, 0, 1, 3, 3)]
LEFT = SparseBand.planned(Sum(0, 4), SIX, 3, PrivateBound(epsilon=Fraction(4)))
USUAL = SparseBand.planned(Sum(0, 4), SIX, 3)
UNTOLD = replace(USUAL, bound=replace(USUAL.bound, share=LEFT.bound.share))
"""Its bound has 4, and its answers are drawn as if that had left 4 of 6, not 2."""
SPENT = {0: 0, 1: 10**6, 2: 0}
LOSING = {
    **{
        f"lm, {epsilon}, {tau}": Losing(
            LaplaceBand.planned(Count(), epsilon, tau),
            float(epsilon),
            ones(30),
            ONE_MORE,
            12,
            attained=True,
            twin=LaplaceBand.planned(Count(), 2 * epsilon, tau),
            least=1.9 * float(epsilon),
            reach=160,
        )
        for epsilon, tau in product((HALF, TWO), (1, 4))
    },
    "lm of a sum": Losing(  # which moves by its clip
        LaplaceBand.planned(Sum(-3, 5), TWO, 4),
        2,
        each(range(-30, 35)),
        each(range(1, 6)),
        6,
        attained=True,
        reach=120,
    ),
    "lm of capped persons": Losing(
        LaplaceBand.planned(Count(3), TWO, 4),
        2,
        ones(40),
        [(1,) * moved for moved in range(1, 4)],
        12,
        attained=True,
        reach=120,
    ),
    **{
        f"lm of a mean, {kind}": Losing(  # twin: each row spends all
            AverageLaplaceBand.planned(kind, E, tau),
            1,
            multisets(MEANS, 2),
            each(MEANS),
            reference,
            twin=AverageLaplaceBand.planned(kind, 4 * E, tau),
            reach=90,
        )
        for kind, reference, tau in (BANDS[0], BANDS[3])
    },
    **{
        f"em of a quantile, {share}": Losing(
            ExponentialQuantileBand.planned(Quantile(share, VALUES), Fraction(3), 1),
            3,
            multisets(VALUES, 6),
            each(VALUES),
            1,
            twin=ExponentialQuantileBand.planned(Quantile(share, VALUES), SIX, 1),
        )
        for share in SHARES
    },
    "hist": Losing(
        HistogramBand.planned(MEDIAN, TWO, 2),
        2,
        [(0,) * a + (4,) * b + (9,) * c for a, b, c in product(VALUES, VALUES, (0, 1, 4))],
        each((0, 4, 9)),
        4,
        twin=HistogramBand.planned(MEDIAN, Fraction(8), 2),
        least=2.1,
        reach=16,
    ),
    "r2t": Losing(
        RaceBand.planned(Sum(0, 8), TWO, 25),
        2,
        [(1,) * a + (8,) * b for a in range(0, 160, 8) for b in range(0, 14, 2)],
        each((1, 2, 5, 8)),
        30,
        twin=Straight.planned(Sum(0, 8), TWO, 25),
        least=2.1,
    ),
    **{
        f"svt after a bound of {spent}, cap {cap}": Losing(  # one threshold noise and one yes
            SparseBand.planned(Sum(0, 4), SIX, 3, PrivateBound(epsilon=Fraction(spent))),
            6 - spent + 1e-6,
            CELLS,
            each((1, 4)),
            8,
            twin=UNTOLD if (cap, spent) == (1, 4) else None,
            least=2,
            reach=8,
            fixed=SPENT | {1: 10**6 if cap else -(10**6)},
        )
        for cap, spent in ((0, 2), (1, 2), (1, 3), (1, 4))
    },
    **{
        f"persons with two events, {decider.name}": Losing(decider, 2, FEW, PAIRS, reference)
        for decider, reference in (
            (ExponentialQuantileBand.planned(Quantile(HALF, VALUES, 2), TWO, 1), 1),
            (HistogramBand.planned(Quantile(HALF, VALUES, 2), TWO, 1), 1),
            (TightBand.planned(Quantile(HALF, VALUES, 2), TWO, 1), 1),
            (RaceBand.planned(Sum(0, 4, 2), TWO, 6), 8),
        )
    },
}


@pytest.mark.parametrize("name", LOSING)
def test_neighbours_lose_at_most_the_charge(name):
    """Over every data set and all noise; where a twin is named, it loses more."""
    of = LOSING[name]
    found = of.most(of.decider)
    assert found <= of.charge + SLACK
    assert not of.attained or found > of.charge * (1 - 1e-6)
    if of.twin is not None:
        assert of.most(of.twin) > (of.charge + SLACK if of.least is None else of.least)


def em_violations(band, charge):
    """Count neighbouring counts whose certified laws are further apart than the charge."""
    bits, laws = 600, []
    for distance in range(3 * band.tau):
        lo, hi = band.wrong(abs(min(distance, 2 * band.tau) - band.tau), bits)
        inside = (lo, hi) if distance >= band.tau else ((1 << bits) - hi, (1 << bits) - lo)
        laws.append([inside, ((1 << bits) - inside[1], (1 << bits) - inside[0])])
    bound = exp_bounds(charge)[1]
    return sum(
        Fraction(one[0], other[1]) > bound or Fraction(other[0], one[1]) > bound
        for pair in pairwise(laws)
        for one, other in zip(*pair, strict=True)
    )


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(3, 2)])
def test_em_loses_at_most_its_charge(epsilon):
    """Certified bounds to 600 bits: no neighbours of ``em`` are further apart than the charge."""
    assert not em_violations(ExponentialBand.planned(Count(), epsilon, 7), epsilon)
    assert em_violations(ExponentialBand.planned(Count(), 2 * epsilon, 7), epsilon)  # half scores


def bound_law(bound, data, reach):
    """Return the law of the private bound over its caps."""
    noise = Scripted(reach)
    rows = rows_of(bound, data, 0)
    bound.find(rows, noise)
    masses = noise.spread()
    found = bound.find(np.repeat(rows, masses.size, axis=1), noise)
    return np.array([masses[found == index].sum() for index in range(len(bound.levels))])


def test_the_private_bound_loses_at_most_its_charge():
    """Every cap is as likely for neighbours, within the charge; ten times the rate is caught."""
    bound = LevelBound((2, 4), 1, Fraction(3), Fraction(3, 4))

    def apart(of, data, value, reach):
        one, other = bound_law(of, data, reach), bound_law(of, (*data, value), reach)
        return float(np.abs(np.log(one / other)).max())

    assert max(apart(bound, data, value, 14) for data in CELLS for value in (1, 4)) < 3 + SLACK
    assert apart(replace(bound, epsilon=Fraction(30)), (4, 4, 4), 1, 8) > 3


def test_bounds_that_leave_nothing_are_refused():
    """Of all that a decider has, or of one that finds no bound."""
    says = "the bound's epsilon is not between 0 and the alarm's epsilon"
    for wrong in (Fraction(0), SIX, Fraction(7)):
        with pytest.raises(ConfigError, match=says):
            SparseBand.planned(Sum(0, 4), SIX, 3, PrivateBound(epsilon=wrong))
    with pytest.raises(ConfigError, match="decider lm has no key bound"):
        planned("lm", Sum(0, 4), SIX, 3, bound=PrivateBound())
    assert LEFT.bound.epsilon == 4


def test_svt_without_threshold_noise_is_caught():
    """Without threshold noise the passes lose more than what they are charged."""

    def law(data):
        return min(max(within(USUAL, data, 8, 8, SPENT | {3: 0}), 1e-300), 1 - 1e-16)

    assert worst(law, CELLS, each((1, 4))) > 4.5


def test_svt_as_a_whole_loses_at_most_its_charge():
    """Bound, threshold and answers together, over cells of many sizes."""
    band = SparseBand.planned(Sum(0, 8), SIX, 8)
    datasets = [(1,) * a + (8,) * b for a in range(0, 60, 12) for b in range(5)]
    assert worst(lambda data: svt_law(band, data, 20), datasets, each((1, 3, 8))) < 6 + 1e-6


# --- tight: neighbours' steps

TIGHT = [
    *((*of, MEANS, 4) for of in BANDS),
    *((Quantile(share, range(5)), 2, 1, range(5), 4) for share in SHARES),
]


@pytest.mark.parametrize(("kind", "reference", "tau", "values", "most"), TIGHT, ids=str)
def test_tight_loses_at_most_its_charge_on_small_data(kind, reference, tau, values, most):
    """Neighbours' steps are at most one apart, the sign is the truth, the curve does the rest.

    Also for an event that repeats an id with another value, and adds to the sum of a mean alone.
    """
    band, moved = TightBand.planned(kind, E, tau), set()
    for data in multisets(values, most):
        rows = rows_of(band, data, reference)
        here = step(band, rows, reference)
        if isinstance(kind, Average):
            truth = mean_within(data, kind.scale, reference, tau)
        else:
            truth = quantile_within(data, kind.share, reference, tau)
        assert (here < 0) == truth
        for value in values:
            after = [rows_of(band, (*data, value), reference)]
            if isinstance(kind, Average):
                after.append(rows + np.array([[0], [kind.scale * value - kind.centre]]))
            moved |= {here - step(band, more, reference) for more in after}
    assert moved <= {-1, 0, 1}
    steepest = max(
        max(int(b) / int(a), (ONE - int(a)) / (ONE - int(b)))
        for a, b in pairwise(band.probabilities)
    )
    assert steepest == pytest.approx(math.e, rel=1e-9)


def test_a_step_as_wide_as_the_clip_is_caught():
    """Twin: half of the clip's width as the sensitivity of both ends lets neighbours lose more."""
    kind, reference, tau = Average(-1, 2), 1, 1
    assert (end_sensitivities(kind, np.array([reference + tau])) > kind.farthest).all()

    def twin(data):
        number, total = np.array([len(data)]), np.array([sum(data)])
        ends = (number * (reference + tau) - total, total - number * (reference - tau))
        return int(min(((end - 1) // kind.farthest).item() for end in ends))

    assert max(abs(twin(d) - twin((*d, x))) for d in multisets(MEANS, 4) for x in MEANS) > 1


def test_saturated_rows_move_no_further():
    """Where the sum stands still at the end of 64 bits, or the number does, one step is enough."""
    kind = Average(1 << 30, (1 << 30) + 9, 3, 10)
    limit = (1 << 62) - 1
    numbers = (1, 5, 1 << 40, (1 << 58) - 1, 1 << 61, limit - 3)
    means = (-kind.farthest, -1, 0, 3, kind.farthest)
    for reference, tau in ((10 << 30, 7), ((10 << 30) + 88, 30), ((10 << 30) - 500, 40)):
        band = TightBand.planned(kind, E, tau)

        def saturated(rows, band=band, reference=reference):
            return step(band, np.clip(rows, -limit, limit).astype(np.int64), reference)

        for number, mean, value in product(numbers, means, (kind.low, kind.low + 4, kind.high)):
            unit = [row.total(np.full(3, value), reference) for row in band.statistics]
            here = np.array([[number], [number * mean]], dtype=object)
            there = here + np.array(unit, dtype=object)[:, np.newaxis]
            assert abs(saturated(there) - saturated(here)) <= 1, (number, mean, value)


def test_sums_that_are_not_centred_are_caught():
    """Twin: were the middle of the clip at 0, a saturated sum would let the number move alone."""
    kind = Average(1 << 30, (1 << 30) + 9)
    ends = np.array([(1 << 30) + 5])
    assert (ends > 10**7 * end_sensitivities(kind, ends)).all()
    assert (np.abs(ends - kind.centre) <= end_sensitivities(kind, ends)).all()


@pytest.mark.parametrize("share", [HALF, Fraction(1, 3), Fraction(9999, 10_000)], ids=str)
@pytest.mark.parametrize("events", [1, 2])
def test_quantiles_keep_neighbours_together_where_counts_are_clamped(share, events):
    """Around 2^36 events, at and past the clamp, one unit moves no step and no score further."""
    kind = Quantile(share, range(3), events)
    tight = TightBand.planned(kind, E, 1, Fraction(1, 20))
    em = ExponentialQuantileBand.planned(kind, E, 1)
    clamp, (a, b) = 1 << 36, share.as_integer_ratio()
    units = [u for n in range(1, events + 1) for u in product(range(3), repeat=n)]
    sizes = (clamp - 3, clamp, clamp + 5, clamp + 10**6, 3 * clamp)
    for size, near, shift in product(sizes, (a, b - a), range(-3, 4)):
        beyond = max(0, near * min(size, clamp) // b + shift)
        rest = size - beyond
        for cell in ((beyond, rest, 0), (0, rest, beyond), (beyond, 0, rest)):
            seen = []
            for unit in [(), *units]:
                low, middle, high = (cell[x] + unit.count(x) for x in range(3))
                upto = np.array([[low], [low + middle], [low + middle + high]])
                rows = np.array([upto[2], [low], [high]])
                seen.append((step(tight, rows, 1), em.distances(upto)[:, 0]))
            for one, scores in seen[1:]:
                assert abs(one - seen[0][0]) <= 1
                assert np.abs(scores - seen[0][1]).max() <= kind.sensitivity


def test_rows_do_not_know_the_reference():
    """So they can be counted before it is known, and one person moves each by what it says."""
    kind = Average(-1, 2, 2, 10)
    rows = TightBand.planned(kind, E, 3).statistics
    assert not any(row.relative or row.widths for row in rows)
    with pytest.raises(ValueError, match="int64"):
        Average(0, 1 << 61)
    values = np.array([-1, 0, 2])
    assert [row.total(values, 99) for row in rows] == [3, 10 - 3 * kind.centre]
    reached = [max(abs(row.total(np.array([x, x]), 0)) for x in MEANS) for row in rows]
    assert reached == [row.sensitivity for row in rows]
    assert replace(rows[0]) == Statistic(sensitivity=2)
