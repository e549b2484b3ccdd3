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
)
from tests.statistical.deciders_law import (
    HALF,
    SHARES,
    SLACK,
    Data,
    Scripted,
    each,
    inside,
    likely,
    multisets,
    rows_of,
    step,
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
class Chosen(LevelBound):
    """A private bound that is known: what remains is one threshold noise and one yes."""

    cap: int

    def find(self, statistics, noise):
        """Return the cap."""
        del noise
        return np.full(statistics.shape[1], self.cap)


def bounded(spent, cap, *, left=None):
    """Return a sparse vector after a bound; a twin is drawn as if that had left more."""
    band = SparseBand.planned(Sum(0, 4), SIX, 3, PrivateBound(epsilon=Fraction(spent)))
    own = band.bound
    kept = SIX - left if left else own.epsilon
    return replace(band, bound=Chosen(own.levels, own.events, kept, own.share, cap))


class Unblurred(Scripted):
    """Noise without that of the threshold, which alone is two-sided."""

    def discrete_laplace(self, t, n):
        """Return none."""
        del t
        return np.zeros(n, int)


@dataclass(frozen=True)
class Losing:
    """A decider, neighbours of some data sets, and what they may lose.

    Args:
        decider: the sound one.
        data: that something is added to.
        added: by a neighbour.
        reference: of every cell.
        twin: a broken one, of the same charge.
        reach: of the noise that is enumerated.
        charge: that neighbours lose at most; the decider's epsilon by default.
    """

    decider: Decider
    data: Iterable[Data]
    added: Iterable[Data]
    reference: int
    twin: Decider | None = None
    reach: int = 20
    charge: float | None = None

    def most(self, decider, noise=Scripted):
        """Return the largest loss of neighbours."""

        def law(data):
            rows = rows_of(decider, data, self.reference)
            return within(decider, rows, self.reference, noise(self.reach))

        return worst(law, self.data, self.added)


def ones(counts):
    """Return cells of so many events."""
    return [(1,) * count for count in counts]


VALUES, MEANS = range(4), range(-1, 3)
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
CENTRES = [(0,) * a + (4,) * b + (9,) * c for a, b, c in product(VALUES, VALUES, (0, 1, 4))]
SMALL_AND_LARGE = [(1,) * a + (8,) * b for a in range(0, 160, 8) for b in range(0, 14, 2)]
TWICE = Quantile(HALF, VALUES, 2)  # events of a person
LOSING = {
    **{
        f"lm, {epsilon}, {tau}": Losing(
            LaplaceBand.planned(Count(), epsilon, tau),
            ones(range(30)),
            ones([1]),
            12,
            LaplaceBand.planned(Count(), 2 * epsilon, tau),
            reach=160,
        )
        for epsilon, tau in product((HALF, TWO), (1, 4))
    },
    "lm of a sum": Losing(  # which moves by its clip
        LaplaceBand.planned(Sum(-3, 5), TWO, 4),
        each(range(-30, 35)),
        each(range(1, 6)),
        6,
        reach=120,
    ),
    "lm of capped persons": Losing(
        LaplaceBand.planned(Count(3), TWO, 4), ones(range(40)), ones(VALUES), 12, reach=120
    ),
    **{
        f"lm of a mean, {kind}": Losing(  # twin: each row spends all
            AverageLaplaceBand.planned(kind, E, tau),
            multisets(MEANS, 2),
            each(MEANS),
            reference,
            AverageLaplaceBand.planned(kind, 4 * E, tau),
            reach=90,
        )
        for kind, reference, tau in (BANDS[0], BANDS[3])
    },
    **{
        f"em of a quantile, {share}": Losing(
            ExponentialQuantileBand.planned(Quantile(share, VALUES), Fraction(3), 1),
            multisets(VALUES, 6),
            each(VALUES),
            1,
            ExponentialQuantileBand.planned(Quantile(share, VALUES), SIX, 1),
        )
        for share in SHARES
    },
    "hist": Losing(
        HistogramBand.planned(MEDIAN, TWO, 2),
        CENTRES,
        each((0, 4, 9)),
        4,
        HistogramBand.planned(MEDIAN, Fraction(8), 2),
        reach=16,
    ),
    "r2t": Losing(
        RaceBand.planned(Sum(0, 8), TWO, 25),
        SMALL_AND_LARGE,
        each((1, 2, 5, 8)),
        30,
        Straight.planned(Sum(0, 8), TWO, 25),
    ),
    **{
        f"svt after a bound of {spent}, cap {cap}": Losing(  # twin: as if 4 of 6 were left, not 2
            bounded(spent, cap),
            CELLS,
            each((1, 4)),
            8,
            bounded(spent, cap, left=4) if spent == 4 else None,
            reach=8,
            charge=6 - spent + 1e-6,
        )
        for cap, spent in ((0, 2), (1, 2), (1, 3), (1, 4))
    },
    **{
        f"persons with two events, {decider.name}": Losing(decider, FEW, PAIRS, reference)
        for decider, reference in (
            (ExponentialQuantileBand.planned(TWICE, TWO, 1), 1),
            (HistogramBand.planned(TWICE, TWO, 1), 1),
            (TightBand.planned(TWICE, TWO, 1), 1),
            (RaceBand.planned(Sum(0, 4, 2), TWO, 6), 8),
        )
    },
}


@pytest.mark.parametrize("name", LOSING)
def test_neighbours_lose_at_most_the_charge(name):
    """Over every data set and all noise; where a twin is named, it loses more."""
    of = LOSING[name]
    charge = of.charge or float(of.decider.epsilon)
    found = of.most(of.decider)
    assert found <= charge + SLACK
    assert found > charge * (1 - 1e-6) or not isinstance(of.decider, LaplaceBand)
    assert of.twin is None or of.most(of.twin) > charge + SLACK


def em_violations(band, charge):
    """Count neighbouring counts whose certified laws are further apart than the charge."""
    bits, laws = 600, []
    for distance in range(3 * band.tau):
        lo, hi = band.wrong(abs(min(distance, 2 * band.tau) - band.tau), bits)
        both = (lo, hi), ((1 << bits) - hi, (1 << bits) - lo)
        laws.append(both if distance >= band.tau else both[::-1])
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


def test_the_private_bound_loses_at_most_its_charge():
    """Every cap is as likely for neighbours, within the charge; ten times the rate is caught."""
    bound = LevelBound((2, 4), 1, Fraction(3), Fraction(3, 4))

    def apart(of, data, value, reach):
        both = data, (*data, value)
        laws = [likely(of.find, rows_of(of, each, 0), Scripted(reach)) for each in both]
        return float(np.abs(np.log(laws[0] / laws[1])).max())

    assert max(apart(bound, data, value, 14) for data in CELLS for value in (1, 4)) < 3 + SLACK
    assert apart(replace(bound, epsilon=Fraction(30)), (4, 4, 4), 1, 8) > 3


def test_svt_without_threshold_noise_is_caught():
    """Without threshold noise the passes lose more than what they are charged."""
    of = LOSING["svt after a bound of 2, cap 1"]
    assert of.most(of.decider, Unblurred) > of.charge + 0.5


# --- tight: neighbours' steps

TIGHT = [
    *((*of, MEANS) for of in BANDS),
    *((Quantile(share, range(5)), 2, 1, range(5)) for share in SHARES),
]


def moves_of(kind, reference, tau, values):
    """Return by how much neighbours' steps differ, over small data; the sign is the truth.

    Also for an event that repeats an id with another value, and adds to the sum of a mean alone.
    """
    band, moved = TightBand.planned(kind, E, tau), set()
    for data in multisets(values, 4):
        rows = rows_of(band, data, reference)
        here = step(band, rows, reference)
        assert (here < 0) == inside(kind, data, reference, tau)
        for value in values:
            after = [rows_of(band, (*data, value), reference)]
            if isinstance(kind, Average):
                after.append(rows + np.array([[0], [kind.scale * value - kind.centre]]))
            moved |= {here - step(band, more, reference) for more in after}
    return moved


@pytest.mark.parametrize(("kind", "reference", "tau", "values"), TIGHT, ids=str)
def test_tight_loses_at_most_its_charge_on_small_data(kind, reference, tau, values):
    """Neighbours' steps are at most one apart, and the curve does the rest."""
    assert moves_of(kind, reference, tau, values) <= {-1, 0, 1}
    curve = TightBand.planned(kind, E, tau).probabilities.tolist()
    steepest = max(max(b / a, (ONE - a) / (ONE - b)) for a, b in pairwise(curve))
    assert steepest == pytest.approx(math.e, rel=1e-9)


def test_a_step_as_wide_as_the_clip_is_caught(monkeypatch):
    """Twin: half of the clip's width as the sensitivity of both ends lets neighbours lose more."""
    monkeypatch.setattr(
        "operators.deciders.averages.end_sensitivities",
        lambda kind, ends: np.full_like(ends, kind.farthest),
    )
    assert not moves_of(Average(-1, 2), 1, 1, MEANS) <= {-1, 0, 1}


def test_saturated_rows_move_no_further():
    """Where the sum stands still at the end of 64 bits, or the number does, one step is enough."""
    kind = Average(1 << 30, (1 << 30) + 9, 3, 10)
    limit = (1 << 62) - 1
    numbers = (1, 5, 1 << 40, (1 << 58) - 1, 1 << 61, limit - 3)
    means = (-kind.farthest, -1, 0, 3, kind.farthest)
    for reference, tau in ((10 << 30, 7), ((10 << 30) + 88, 30), ((10 << 30) - 500, 40)):
        band = TightBand.planned(kind, E, tau)
        for number, mean, value in product(numbers, means, (kind.low, kind.low + 4, kind.high)):
            here = np.array([[number], [number * mean]], dtype=object)
            there = here + rows_of(band, (value,) * 3, reference)
            both = (np.clip(rows, -limit, limit).astype(np.int64) for rows in (here, there))
            before, after = (step(band, rows, reference) for rows in both)
            assert abs(after - before) <= 1, (number, mean, value)


@pytest.mark.parametrize("share", [HALF, Fraction(1, 3), Fraction(9999, 10_000)], ids=str)
@pytest.mark.parametrize("events", [1, 2])
def test_quantiles_keep_neighbours_together_where_counts_are_clamped(share, events):
    """Around 2^36 events, at and past the clamp, one unit moves no step and no score further."""
    kind = Quantile(share, range(3), events)
    tight = TightBand.planned(kind, E, 1, Fraction(1, 20))
    em = ExponentialQuantileBand.planned(kind, E, 1)
    clamp, (a, b) = 1 << 36, share.as_integer_ratio()
    units = [u for n in range(events + 1) for u in product(range(3), repeat=n)]
    added = np.array([[unit.count(x) for unit in units] for x in range(3)])  # first: nothing
    sizes = (clamp - 3, clamp, clamp + 5, clamp + 10**6, 3 * clamp)
    for size, near, shift in product(sizes, (a, b - a), range(-3, 4)):
        beyond = max(0, near * min(size, clamp) // b + shift)
        rest = size - beyond
        for cell in ((beyond, rest, 0), (0, rest, beyond), (beyond, 0, rest)):
            upto = np.cumsum(np.array(cell)[:, None] + added, axis=0)
            rows = np.stack([upto[2], upto[0], upto[2] - upto[1]])
            steps = tight.steps(rows, np.ones(len(units), int))
            assert np.abs(steps - steps[0]).max() <= 1
            scores = em.distances(upto)
            assert np.abs(scores - scores[:, :1]).max() <= kind.sensitivity
