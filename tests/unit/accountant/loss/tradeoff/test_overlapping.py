"""The maximum overlap of trade-off functions beside the product of every row by brute force."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from accountant.errors import ArgumentError
from accountant.loss.tradeoff import (
    Between,
    TradeOff,
    approximate,
    identity,
    lower_envelope,
    overlapping,
    pure,
    tensor,
)
from accountant.regions.regions import Region
from tests.support.laws import random_law
from tests.support.overlaps import rows_of, workload


def curves_for(seed, count):
    """Return curves of random laws, some of them alike."""
    rng = random.Random(seed)
    kinds = [TradeOff.of_laws(random_law(rng, 3), random_law(rng, 3)) for _ in range(2)]
    return [rng.choice(kinds) for _ in range(count)]


def worst(regions, curves):
    """Return the envelope of what every row loses, exactly."""
    rows = [[curves[at] for at in members] for members in rows_of(regions)]
    return lower_envelope([tensor(row, 4_096).low for row in rows] or [identity()])


@pytest.mark.parametrize("seed", range(24))
def test_the_overlap_is_the_envelope_over_all_rows(seed):
    """Theorem 6, exactly, for regions that overlap in whatever way."""
    regions = workload(seed, regions=5)
    curves = curves_for(seed, len(regions))
    truth = worst(regions, curves)
    assert overlapping(regions, curves, 4_096) == Between(truth, truth)


def test_disjoint_regions_take_the_envelope_and_a_product_is_caught():
    """Theorem 5, and the broken twin that adds where the maximum belongs."""
    curves = [approximate(0, Fraction(1, 5)), pure(1), pure(Fraction(1, 2))]
    days = [Region.where(day=[day]) for day in ("mon", "tue", "wed")]
    found = overlapping(days, curves)
    assert found == Between(lower_envelope(curves), lower_envelope(curves))
    added = tensor(curves).low
    assert found.low.at_least(added)
    assert not added.at_least(found.low)


def test_one_domain_takes_the_product_and_an_envelope_is_caught():
    """Theorem 6 where nothing is disjoint, and the broken twin that forgets to compose."""
    curves = [pure(1), pure(1), pure(Fraction(1, 2))]
    found = overlapping([Region.everything()] * 3, curves)
    assert found == tensor(curves)
    assert not found.low.at_least(lower_envelope(curves))


def test_many_kinds_of_rows_are_bounded_safely():
    """Beyond 32 kinds: below the truth, above the product of everything, and high is a row's."""
    rng = random.Random(1)
    regions = [
        Region.where(x=rng.sample(range(8), 3), y=rng.sample(range(8), 3)) for _ in range(20)
    ]
    curves = [pure(Fraction(rng.randint(10, 60), 100)) for _ in regions]
    rows = {frozenset(members) for members in rows_of(regions)}
    assert len([row for row in rows if not any(row < other for other in rows)]) > 32
    found = overlapping(regions, curves, 16)
    products = [tensor([curves[at] for at in row], 16) for row in rows]
    assert all(each.high.at_least(found.low) for each in products)
    assert any(found.high.at_least(each.low) for each in products)
    assert not tensor(curves, 16).low.at_least(found.low)


def test_empty_regions_and_free_mechanisms_count_nothing():
    """Nobody is in an empty region, and the identity gives nothing away."""
    nobody = Region.where(x=[])
    assert overlapping([nobody], [pure(1)]) == Between(identity(), identity())
    assert overlapping([Region.everything()], [identity()]).low == identity()
    with pytest.raises(ArgumentError):
        overlapping([nobody], [])
