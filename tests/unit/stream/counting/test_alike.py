"""Queries are taken for alike only if nothing that counting may look at tells them apart."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

from operators.conditions.weights import Weight
from stream.counting.alike import Counting, Selection, counting_key, selection_key
from stream.model.alarm import AggregateSpec
from stream.model.feeds import Domain
from stream.windows.calendars import FixedCalendar
from tests.support import reference

_QUERY = reference.make_query(reference.scenes()[0], Weight.RANK)
_OTHERS = {
    "where": reference.OPEN,
    "domain": Domain(("room",), (("bar",),)),
    "aggregates": (AggregateSpec(Weight.COUNT),),
    "calendar": FixedCalendar(10, 5),
    "grace_ms": 7,
}


def members(protocol):
    """Return what a protocol lets its users read."""
    found = (vars(each).items() for each in protocol.__mro__)
    return {name for items in found for name, value in items if isinstance(value, property)}


@pytest.mark.parametrize("name", [each.name for each in fields(_QUERY)])
def test_a_key_holds_all_that_counting_may_read_and_nothing_else(name):
    """Another value of a field makes another key, iff the protocol has the field; a feed is one."""
    other = replace(_QUERY, **{name: _OTHERS.get(name, object())})
    selects = selection_key(other) != selection_key(_QUERY)
    counts = counting_key(other) != counting_key(_QUERY)
    assert selects == (name in members(Selection))
    assert counts == (name in members(Counting) - members(Selection) - {"feed"})


@pytest.mark.parametrize("name", [each.name for each in fields(AggregateSpec)])
def test_every_field_of_a_statistic_is_part_of_the_key(name):
    """Statistics have no equality of their own, because of their arrays: those count by value."""
    (spec,) = _QUERY.aggregates
    same = replace(spec, pivots=spec.pivots.copy())
    assert selection_key(replace(_QUERY, aggregates=(same,))) == selection_key(_QUERY)
    pivots = spec.pivots + np.array([0, 0, 0, 1], np.int64)
    another = replace(spec, **{name: pivots if name == "pivots" else "another"})
    assert selection_key(replace(_QUERY, aggregates=(another,))) != selection_key(_QUERY)
