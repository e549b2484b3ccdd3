"""Which queries one row can be in together: every maximal set is named, or none is."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accountant.regions import shapes
from accountant.regions.regions import Region
from accountant.regions.shapes import MOST_CLASSES, Shape, row_classes
from tests.support.smallrows import ROWS, random_query

queries = st.lists(
    st.randoms().map(lambda rng: random_query(rng, "q", opaque=0.5, least=0)), max_size=9
)


@pytest.fixture(autouse=True)
def _forget():
    """Keep answers under another limit out of the cache."""
    row_classes.cache_clear()
    yield
    row_classes.cache_clear()


@settings(max_examples=150)
@given(queries)
def test_every_maximal_set_is_named(asked):
    """The sets are those that looking at every row finds."""
    of_rows = {
        frozenset(one.shape for one in asked if one.inside[at]) for at in range(len(ROWS))
    } - {frozenset()}
    found = row_classes(frozenset(one.shape for one in asked))
    assert set(found) == {one for one in of_rows if not any(one < other for other in of_rows)}
    assert len(found) == len(set(found))


@settings(max_examples=150)
@given(queries, st.integers(0, 5))
def test_giving_up_never_ends_with_more_shapes(asked, most):
    """Where too many sets cannot be named, those of more shapes cannot be named either."""
    order = [one.shape for one in asked]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shapes, "MOST_CLASSES", most)
        row_classes.cache_clear()
        gave_up = [row_classes(frozenset(order[:n])) is None for n in range(len(order) + 1)]
        assert gave_up == sorted(gave_up)
    row_classes.cache_clear()


def test_many_attributes_are_too_many_to_name():
    """Eleven pairs of disjoint regions have 2,048 maximal sets: none is named."""
    pairs = [
        Shape(Region.of({f"a{number}": side}).canonical) for number in range(11) for side in (0, 1)
    ]
    assert row_classes(frozenset(pairs)) is None
    found = row_classes(frozenset(pairs[:20]))
    assert len(found) == MOST_CLASSES


def test_unreadable_regions_are_refused():
    """A text that is no region does not pass for one."""
    with pytest.raises(ValueError, match="JSON"):
        row_classes(frozenset([Shape("{")]))
