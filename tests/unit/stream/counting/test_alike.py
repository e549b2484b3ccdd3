"""Queries are taken for alike only if nothing that counting may look at tells them apart."""

from __future__ import annotations

import random
from dataclasses import fields, replace

import numpy as np
import pytest

from accountant.units import PrivacyUnit
from operators.conditions.weights import Weight
from stream.counting.alike import counting_key, selection_key
from stream.counting.counter import WindowCounter
from stream.counting.projection import project
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


ROWS = {"where", "domain", "members", "aggregates"}
WINDOWS = {"calendar", "grace_ms", "firsts"}


class Only:
    """An alarm of which some fields can be read, and what follows from these alone."""

    def __init__(self, alarm, *names):
        for name in names:
            setattr(self, name, getattr(alarm, name))

    @property
    def counted(self):
        """The cells: ``domain`` and ``members``."""
        return type(_QUERY).counted.fget(self)


@pytest.mark.parametrize("name", [each.name for each in fields(_QUERY)])
def test_a_key_holds_these_fields_and_nothing_else(name):
    """Another value of a field makes another key, iff counting may read the field."""
    other = replace(_QUERY, **{name: _OTHERS.get(name, object())})
    assert (selection_key(other) != selection_key(_QUERY)) == (name in ROWS)
    assert (counting_key(other) != counting_key(_QUERY)) == (name in WINDOWS)


@pytest.mark.parametrize("unit", PrivacyUnit)
@pytest.mark.parametrize("scene", reference.scenes(), ids=lambda scene: scene.name)
def test_counting_reads_nothing_else(scene, unit):
    """Rows are made of the fields of one key, windows of those of both and of the feed."""
    query = reference.make_query(scene, *map(spec_of, Weight), skew=1, ids=True, filtered=True)
    log = reference.random_log(scene, 50, random.Random(scene.name))
    rows, _ = project(Only(query, *ROWS), reference.decoded(log))
    budget = reference.make_budget(unit, scene.periods)
    counter = WindowCounter(Only(query, *ROWS, *WINDOWS, "feed"), budget)
    counter.add(rows)
    for index in scene.indexes:
        expected = reference.expect_window(query, budget, log, index)
        assert reference.cut(counter, index) == expected


def spec_of(kind):
    """Return a statistic of a kind."""
    return reference.spec_of(kind, (-3, 4))


@pytest.mark.parametrize("name", [each.name for each in fields(AggregateSpec)])
def test_every_field_of_a_statistic_is_part_of_the_key(name):
    """Statistics have no equality of their own, because of their arrays: those count by value."""
    (spec,) = _QUERY.aggregates
    same = replace(spec, pivots=spec.pivots.copy())
    assert selection_key(replace(_QUERY, aggregates=(same,))) == selection_key(_QUERY)
    pivots = spec.pivots + np.array([0, 0, 0, 1], np.int64)
    another = replace(spec, **{name: pivots if name == "pivots" else "another"})
    assert selection_key(replace(_QUERY, aggregates=(another,))) != selection_key(_QUERY)
