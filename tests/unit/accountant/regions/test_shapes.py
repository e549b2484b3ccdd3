"""Which queries one row can be in together: every maximal set is named, or none is."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accountant.regions import shapes
from accountant.regions.regions import Not, Region
from accountant.regions.shapes import MOST_CLASSES, Shape, row_classes

CONDITIONS = [
    *({}, {"x": 0}, {"x": Not(0)}, {"x": {0, 1}}, {"x": (1, 4)}),
    *({"y": "a"}, {"y": Not("a"), "x": {1, 2}}, {"z": True}, {"z": False, "y": {"a", "b"}}),
    {"x": set()},
]
POOL = [Shape(Region.of(one).canonical, grouping) for one in CONDITIONS for grouping in ("", "g")]
ROWS = [{"x": x, "y": y, "z": z} for x in range(5) for y in ("a", "b", "c") for z in (False, True)]

some_shapes = st.frozensets(st.sampled_from(POOL), max_size=9)


@pytest.fixture(autouse=True)
def _forget():
    """Keep answers under another limit out of the cache."""
    row_classes.cache_clear()
    yield
    row_classes.cache_clear()


def by_hand(asked):
    """Return the maximal sets of shapes over all rows there are."""
    found = {frozenset(one for one in asked if one.as_region.contains(row)) for row in ROWS}
    return {one for one in found if one and not any(one < other for other in found)}


@settings(max_examples=150)
@given(some_shapes)
def test_every_maximal_set_is_named(asked):
    """The sets are those that looking at every row finds."""
    found = row_classes(asked)
    assert set(found) == by_hand(asked)
    assert len(found) == len(set(found))


@settings(max_examples=150)
@given(some_shapes, st.integers(0, 5))
def test_giving_up_never_ends_with_more_shapes(asked, most):
    """Where too many sets cannot be named, those of more shapes cannot be named either."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shapes, "MOST_CLASSES", most)
        row_classes.cache_clear()
        order = sorted(asked)
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
