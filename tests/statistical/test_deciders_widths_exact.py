"""Half-widths that are a share of the reference: what neighbours lose, and what would leak."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from operators.deciders import (
    Count,
    HistogramBand,
    OverDomain,
    Quantile,
    Relative,
    Sum,
    TightBand,
    half_widths,
    planned,
)
from tests.statistical.deciders_law import (
    SHARES,
    SLACK,
    Scripted,
    each,
    enumerated,
    loss,
    multisets,
    quantile_within,
    rows_of,
    worst,
)

QUARTER = Relative(Fraction(1, 4))
WHOLE = Fraction(1)
REFERENCES = (-9, -4, 0, 1, 4, 7, 40)


def test_a_share_of_whole_numbers_is_rounded_up():
    """Beyond the paper's interval lies what is as far as the whole number above its half-width."""
    for share in (Fraction(1, 20), Fraction(1, 3), Fraction(999_999, 10**6), WHOLE):
        for reference in (*range(-70, 71), (1 << 60) - 1, 1 - (1 << 60)):
            (found,) = half_widths(Relative(share), np.array([reference])).tolist()
            assert found == max(1, math.ceil(share * abs(reference)))
            if reference and abs(reference) < 70:
                for number in range(-150, 150):
                    distance = abs(number - reference)
                    assert (distance < found) == (distance < share * abs(reference))
        from_here = Relative(share).reached_from(50)
        assert math.ceil(share * from_here) >= 50 > math.ceil(share * (from_here - 1))
    assert Relative(Fraction(1, 2)).reached_from(1) == 0


@pytest.mark.parametrize("reference", REFERENCES)
@pytest.mark.parametrize("name", ["tight", "lm", "em", "r2t"])
def test_every_public_reference_leaves_the_charge(name, reference):
    """With its own half-width, a cell loses what it would with that number written down."""
    kind = Sum(0, 4)
    (tau,) = half_widths(QUARTER, np.array([reference])).tolist()
    relative, fixed = (planned(name, kind, WHOLE, each) for each in (QUARTER, tau))
    laws = []
    for band in (relative, fixed):

        def law(data, band=band):
            found = band.chances(rows_of(band, data, reference), np.array([reference]))
            return float(found[0])

        laws.append([law(data) for data in multisets(range(5), 3)])
        if name != "r2t":  # whose law of far references is one in floats
            assert worst(law, multisets(range(5), 3), each(range(5))) <= 1 + SLACK
    assert laws[0] == laws[1]


def test_a_private_reference_would_leak_its_own_half_width():
    """Twin: one event of the *reference* moves the distance by one and the half-width by another.

    The two steps cost twice the charge. So no reference is read off protected events: they would
    have to be charged, and these two steps be known.
    """
    epsilon = WHOLE
    band = planned("tight", Count(), epsilon, Relative(Fraction(1, 2)))
    chances = [
        float(found[0])
        for reference in range(2, 80)
        for found in [band.chances(np.array([[10]]), np.array([reference]))]
        if found is not None
    ]
    losses = [loss(one, other) for one, other in pairwise(chances)]
    assert max(losses) == pytest.approx(2 * float(epsilon), rel=1e-6)


@pytest.mark.parametrize("share", SHARES, ids=str)
def test_quantiles_count_around_every_half_width(share):
    """The rows of a share are those of its number, and without noise the answer is the truth."""
    kind = Quantile(share, range(9))
    for reference in (0, 3, 8):
        (tau,) = half_widths(QUARTER, np.array([reference])).tolist()
        relative, fixed = (TightBand.planned(kind, WHOLE, each) for each in (QUARTER, tau))
        for data in multisets(range(0, 9, 2), 3):
            rows = rows_of(relative, data, reference)
            assert (rows == rows_of(fixed, data, reference)).all()
            inside = int(relative.steps(rows, np.array([reference]))[0]) < 0
            assert inside == quantile_within(data, share, reference, tau)


@pytest.mark.parametrize("tau", [2, QUARTER], ids=str)
def test_rows_over_a_domain_are_those_of_the_decider(tau):
    """At every reference, beyond the domain too, for every small data set."""
    inner = TightBand.planned(Quantile(Fraction(1, 2), range(2, 7)), WHOLE, tau)
    band = OverDomain(inner)
    assert (band.name, band.epsilon, band.tau) == ("tight", 1, tau)
    assert band.units == inner.units
    for reference in range(-3, 14):
        at = np.array([reference])
        for data in multisets(range(2, 7), 3):
            found = band.rows(rows_of(band, data, reference), at)
            assert (found == rows_of(inner, data, reference)).all()
    with pytest.raises(ValueError, match="only quantiles"):
        OverDomain(TightBand.planned(Count(), WHOLE, 2))


@pytest.mark.parametrize("name", ["tight", "hist"])
def test_a_repeated_id_over_a_domain_is_two_events(name):
    """It adds to ranks and not to the number: planned for two events the charge holds, for one not.

    An event that repeats an id with the value x counts at or below every point from x on where the
    first, of a larger value, did not; the number stands still.
    """
    epsilon, reference, tau = WHOLE, 2, 1

    def most(events):
        planner = TightBand if name == "tight" else HistogramBand
        band = OverDomain(planner.planned(Quantile(Fraction(1, 4), range(5), events), epsilon, tau))
        found = 0.0
        for data in multisets(range(5), 2):
            rows = rows_of(band, data, reference)
            for value in range(4):
                more = rows + (np.arange(5) >= value)[:, np.newaxis]
                more[-1] = rows[-1]
                found = max(found, loss(*(_chance(band, each, reference) for each in (rows, more))))
        return found

    assert most(2) <= float(epsilon) + SLACK
    if name == "tight":
        assert most(1) > float(epsilon)


def _chance(band, rows, reference):
    """Return P["outside"] by its law, or of ``hist`` with its noise enumerated."""
    at = np.array([reference])
    found = band.chances(rows, at)
    if found is not None:
        return float(found[0])
    noise, read = Scripted(12), band.rows(rows, at)
    band.inner.decide(read, at, noise)
    masses = noise.spread()
    within = band.inner.decide(
        np.repeat(read, masses.size, axis=1), np.full(masses.size, reference), noise
    )
    return float(1 - masses[within].sum())


def test_lm_of_a_share_is_enumerated():
    """Run on every point of the noise grid it is what its law says."""
    band = planned("lm", Count(), WHOLE, QUARTER)
    for reference in (0, 8, 17):
        for number in (0, 9, 14):
            data = (1,) * number
            found = band.chances(rows_of(band, data, reference), np.array([reference]))
            assert 1 - found[0] == pytest.approx(enumerated(band, data, reference, 60), abs=1e-9)
