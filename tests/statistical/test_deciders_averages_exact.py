"""Deciders of means: what neighbours lose, by every small data set and every point of the noise."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from operators.conditions.weights import Statistic
from operators.deciders import Average, AverageLaplaceBand, TightBand
from operators.deciders.averages import end_sensitivities
from tests.statistical.deciders_law import (
    SLACK,
    Data,
    enumerated,
    loss,
    multisets,
    rows_of,
    worst,
)
from tests.statistical.enumeration import ONE

VALUES = range(-1, 3)
BANDS = [  # kind, reference, tau: within the clip, over its end, beyond it, and at a finer scale
    (Average(-1, 2), 0, 1),
    (Average(-1, 2), 2, 2),
    (Average(-1, 2), 5, 2),
    (Average(-1, 2, scale=4), 3, 2),
    (Average(-1, 2, scale=10), -7, 5),
]


def within(data: Data, kind: Average, reference: int, tau: int) -> bool:
    """Evaluate the band on the mean itself, which no data have none of."""
    if not data:
        return False
    return abs(Fraction(kind.scale * sum(data), len(data)) - reference) < tau


def step(band: TightBand, data: Data, reference: int) -> int:
    """Return how far a cell is from the end of its band."""
    return int(band.steps(rows_of(band, data, reference), np.array([reference]))[0])


@pytest.mark.parametrize(("kind", "reference", "tau"), BANDS, ids=str)
def test_tight_means_lose_at_most_their_charge(kind: Average, reference: int, tau: int) -> None:
    """Neighbours' steps are at most one apart, the sign is the truth, the curve does the rest."""
    band = TightBand.planned(kind, Fraction(1), tau)
    moved = set()
    for data in multisets(VALUES, 4):
        here = step(band, data, reference)
        assert (here < 0) == within(data, kind, reference, tau)
        moved |= {here - step(band, (*data, value), reference) for value in VALUES}
    assert moved <= {-1, 0, 1}
    entries = band.probabilities
    steepest = max(
        max(int(b) / int(a), (ONE - int(a)) / (ONE - int(b))) for a, b in pairwise(entries)
    )
    assert steepest == pytest.approx(math.e, rel=1e-9)


@pytest.mark.parametrize(("kind", "reference", "tau"), BANDS, ids=str)
def test_an_event_that_counts_in_one_row_alone_moves_one_step(
    kind: Average, reference: int, tau: int
) -> None:
    """One that repeats an id with another value adds to the sum and not to the number."""
    band = TightBand.planned(kind, Fraction(1), tau)
    for data in multisets(VALUES, 4):
        rows = rows_of(band, data, reference)
        for value in VALUES:
            alone = np.array([[0], [kind.scale * value - kind.centre]])
            further = int(band.steps(rows + alone, np.array([reference]))[0])
            assert abs(further - step(band, data, reference)) <= 1


def test_a_step_as_wide_as_the_clip_is_caught() -> None:
    """Twin: half of the clip's width as the sensitivity of both ends lets neighbours lose more."""
    kind, reference, tau = Average(-1, 2), 1, 1
    assert (end_sensitivities(kind, np.array([reference + tau])) > kind.farthest).all()

    def twin(data: Data) -> int:
        number, total = np.array([len(data)]), np.array([sum(data)])
        ends = (number * (reference + tau) - total, total - number * (reference - tau))
        return int(min(((end - 1) // kind.farthest).item() for end in ends))

    apart = max(abs(twin(d) - twin((*d, x))) for d in multisets(VALUES, 4) for x in VALUES)
    assert apart > 1


def test_saturated_rows_move_no_further() -> None:
    """Where the sum stands still at the end of 64 bits, or the number does, one step is enough."""
    kind = Average(1 << 30, (1 << 30) + 9, 3, 10)
    limit = (1 << 62) - 1
    for reference, tau in ((10 << 30, 7), ((10 << 30) + 88, 30), ((10 << 30) - 500, 40)):
        band = TightBand.planned(kind, Fraction(1), tau)
        rows = band.statistics
        for number in (1, 5, 1 << 40, (1 << 58) - 1, 1 << 61, limit - 3):
            for mean in (-kind.farthest, -1, 0, 3, kind.farthest):
                for value in (kind.low, kind.low + 4, kind.high):
                    unit = [row.total(np.full(3, value), reference) for row in rows]
                    here = np.array([[number], [number * mean]], dtype=object)
                    there = here + np.array(unit, dtype=object)[:, np.newaxis]
                    steps = [
                        int(
                            band.steps(
                                np.clip(each, -limit, limit).astype(np.int64),
                                np.array([reference]),
                            )[0]
                        )
                        for each in (here, there)
                    ]
                    assert abs(steps[1] - steps[0]) <= 1, (number, mean, value)


def test_sums_that_are_not_centred_are_caught() -> None:
    """Twin: were the middle of the clip at 0, a saturated sum would let the number move alone."""
    kind = Average(1 << 30, (1 << 30) + 9)
    ends = np.array([(1 << 30) + 5])
    assert (ends > 10**7 * end_sensitivities(kind, ends)).all()
    assert (np.abs(ends - kind.centre) <= end_sensitivities(kind, ends)).all()


@pytest.mark.parametrize(("kind", "reference", "tau"), BANDS[:1] + BANDS[3:4], ids=str)
def test_lm_of_a_mean_loses_at_most_its_charge(kind: Average, reference: int, tau: int) -> None:
    """Enumerated over the noise of both rows; with half of it for each, neighbours lose more."""
    epsilon = Fraction(1)
    band = AverageLaplaceBand.planned(kind, epsilon, tau)
    datasets = multisets(VALUES, 2)

    def law(of: AverageLaplaceBand) -> float:
        return worst(lambda d: enumerated(of, d, reference, 90), datasets, VALUES)

    assert law(band) <= float(epsilon) + SLACK
    loud = AverageLaplaceBand.planned(kind, 4 * epsilon, tau)  # as if each row might spend it all
    assert law(loud) > float(epsilon)


def test_lm_of_a_mean_is_right_without_noise() -> None:
    """At a large epsilon it is the truth about every small data set, none included."""
    for kind, reference, tau in BANDS:
        band = AverageLaplaceBand.planned(kind, Fraction(10**6), tau)
        for data in multisets(VALUES, 4):
            found = enumerated(band, data, reference, 1)
            assert found == pytest.approx(float(within(data, kind, reference, tau)), abs=1e-9)


def test_rows_do_not_know_the_reference() -> None:
    """So they can be counted before it is known, and one person moves each by what it says."""
    kind = Average(-1, 2, 2, 10)
    rows = TightBand.planned(kind, Fraction(1), 3).statistics
    assert not any(row.relative or row.widths for row in rows)
    values = np.array([-1, 0, 2])
    with pytest.raises(ValueError, match="int64"):
        Average(0, 1 << 61)
    assert [row.total(values, 99) for row in rows] == [3, 10 - 3 * kind.centre]
    reached = [max(abs(row.total(np.array([x, x]), 0)) for x in VALUES) for row in rows]
    assert reached == [row.sensitivity for row in rows]
    assert replace(rows[0]) == Statistic(sensitivity=2)


def test_the_loss_of_two_answers_is_symmetric() -> None:
    """The yardstick: telling apart 1/2 and 1/4 costs ln 2, whichever comes first."""
    assert loss(0.5, 0.25) == pytest.approx(math.log(2))
    assert loss(0.25, 0.5) == pytest.approx(math.log(2))
