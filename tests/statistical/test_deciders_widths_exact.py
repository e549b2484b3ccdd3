"""Half-widths that are a share of the reference: what neighbours lose, and what would leak."""

import math
from fractions import Fraction
from itertools import product

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
    each,
    multisets,
    rows_of,
    within,
    worst,
)
from tests.statistical.enumeration import odds

QUARTER = Relative(Fraction(1, 4))
WHOLE = Fraction(1)
REFERENCES = (-9, -4, 0, 1, 4, 7, 40)
KINDS = [
    *((name, Sum(0, 4)) for name in ("tight", "lm", "em", "r2t")),
    *product(("tight", "em"), (Quantile(share, range(5)) for share in SHARES)),
]


def test_a_share_of_whole_numbers_is_rounded_up():
    """Beyond the paper's interval lies what is as far as the whole number above its half-width."""
    for share in (Fraction(1, 20), Fraction(1, 3), Fraction(999_999, 10**6), WHOLE):
        for reference in (*range(-70, 71), (1 << 60) - 1, 1 - (1 << 60)):
            (found,) = half_widths(Relative(share), np.array([reference])).tolist()
            assert found == max(1, math.ceil(share * abs(reference)))
        from_here = Relative(share).reached_from(50)
        assert math.ceil(share * from_here) >= 50 > math.ceil(share * (from_here - 1))
    assert Relative(Fraction(1, 2)).reached_from(1) == 0


@pytest.mark.parametrize("reference", REFERENCES)
@pytest.mark.parametrize(("name", "kind"), KINDS, ids=str)
def test_every_public_reference_leaves_the_charge(name, kind, reference):
    """With its own half-width, a cell loses what it would with that number written down."""
    (tau,) = half_widths(QUARTER, np.array([reference])).tolist()
    laws = []
    for band in (planned(name, kind, WHOLE, width) for width in (QUARTER, tau)):

        def law(data, band=band):
            return within(band, rows_of(band, data, reference), reference, 60)

        laws.append([law(data) for data in multisets(range(5), 3)])
        if name != "r2t":  # whose law of far references is one in floats
            assert worst(law, multisets(range(5), 3), each(range(5))) <= 1 + SLACK
    assert laws[0] == laws[1]


def test_a_private_reference_would_leak_its_own_half_width():
    """Twin: one event of the *reference* moves the distance by one and the half-width by another.

    The two steps cost twice the charge. So no reference is read off protected events: they would
    have to be charged, and these two steps be known.
    """
    band, references = planned("tight", Count(), WHOLE, Relative(Fraction(1, 2))), np.arange(2, 80)
    chances = band.chances(np.full((1, references.size), 10), references)
    assert odds(chances[1:], chances[:-1]).max() == pytest.approx(2, rel=1e-6)


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


PLANNERS = {"tight": TightBand, "hist": HistogramBand}


@pytest.mark.parametrize("name", PLANNERS)
def test_a_repeated_id_over_a_domain_is_two_events(name):
    """It adds to ranks and not to the number: planned for two events the charge holds, for one not.

    An event that repeats an id with the value x counts at or below every point from x on where the
    first, of a larger value, did not; the number stands still.
    """
    reference, tau = 2, 1

    def most(events):
        kind = Quantile(Fraction(1, 4), range(5), events)
        band, found = OverDomain(PLANNERS[name].planned(kind, WHOLE, tau)), 0.0
        for data, value in product(multisets(range(5), 2), range(4)):
            rows = rows_of(band, data, reference)
            more = rows + (np.arange(5) >= value)[:, np.newaxis]
            more[-1] = rows[-1]
            chances = (within(band, each, reference, 12) for each in (rows, more))
            found = max(found, float(odds(*chances)))
        return found

    assert most(2) <= 1 + SLACK
    assert most(1) > 1 or name == "hist"
