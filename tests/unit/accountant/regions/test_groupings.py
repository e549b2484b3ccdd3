"""What cells are is written down once, and read as it was written."""

from __future__ import annotations

from dataclasses import replace

import pytest

from accountant.regions.groupings import LONGEST_TEXT, Grouping, cells_key, grouping_of
from accountant.regions.valuesets import ValueSet

ROOMS = Grouping(
    "rooms",
    ("room", "floor"),
    ((ValueSet.of("lab"), ValueSet.of("hall")), (ValueSet.integers(1), ValueSet.nothing())),
)


def test_a_grouping_reads_as_it_was_written():
    """Attributes, values and their order survive, and so does a value that no row has."""
    assert grouping_of(ROOMS.text) == ROOMS
    assert ROOMS.cells == 4
    other = replace(ROOMS, attributes=("room", "floor as timestamp"))
    assert len({cells_key(each) for each in (ROOMS.text, other.text, ROOMS.name)}) == 3
    single = Grouping("", (), ())
    assert (grouping_of(single.text), single.cells) == (single, 1)


def test_a_name_alone_is_opaque():
    """Digests of older ledgers, and none at all, tell nothing of cells."""
    for text in ("", "f00d", "room"):
        assert grouping_of(text) is None
        assert cells_key(text) == text


def test_many_values_are_not_written_down():
    """A text that would be too long is the name."""
    many = Grouping("many", ("x",), (tuple(map(ValueSet.integers, range(LONGEST_TEXT // 8))),))
    assert many.text == "many"


@pytest.mark.parametrize(
    "text",
    [
        *("{", "{}", '{"name":"x"}', '{"name":"x","by":[[1]]}', '{"name":"x","by":[["a",[[]]]]}'),
        Grouping("x", ("a", "a"), ((), ())).text,
        Grouping("x", ("a",), ((ValueSet.of(1), ValueSet.of(1, 2)),)).text,
    ],
)
def test_what_is_no_grouping_is_refused(text):
    """A damaged text does not pass for one whose cells are not known."""
    with pytest.raises(ValueError, match=r"grouping|set of values"):
        grouping_of(text)
