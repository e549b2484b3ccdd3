"""Windows hold exactly what the row-by-row reference says, however the log arrives."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accountant.units import PrivacyUnit
from operators.conditions.weights import Weight
from stream.counting.bounding import Capped
from stream.counting.counter import WindowCounter
from stream.counting.projection import Columns, project
from stream.counting.sums import SUM_LIMIT, Sums
from stream.events.units import Roster, Units
from stream.model.alarm import AggregateSpec
from stream.model.feeds import Domain
from tests.support import reference
from tests.support.contributions import rows_of

if TYPE_CHECKING:
    from stream.model.alarm import Alarm
    from stream.model.alarms import Budget
    from tests.support.reference import Event

    Case = tuple[reference.Scene, Alarm, Budget, list[Event]]

SCENES = reference.scenes()
TUMBLING = SCENES[0]
EVENT = reference.make_budget(PrivacyUnit.EVENT)


def some_case(rng):
    """Return a scene, a query of one statistic or of several, a budget and a log."""
    scene = rng.choice(SCENES)
    several = [reference.random_spec(rng) for _ in range(rng.randrange(5))]
    query = reference.make_query(
        scene,
        *(several or [rng.choice(list(Weight))]),
        grace=rng.randrange(4),
        skew=rng.randrange(4),
        ids=rng.random() < 0.5,
        filtered=rng.random() < 0.5,
    )
    pivots = any(spec.pivots is not None for spec in query.aggregates)
    outer = rng.choice([None, False] if pivots else [None, False, True])
    if outer is not None:
        query = reference.counting_groups(query, outer=outer)
    periods = rng.choice([scene.periods, reference.Periods.lifetime()])
    caps = rng.randint(1, 3), rng.randint(1, 3)
    budget = reference.make_budget(rng.choice(list(PrivacyUnit)), periods, *caps)
    return scene, query, budget, reference.random_log(scene, rng.randrange(51), rng)


@pytest.mark.long
@settings(max_examples=400)
@given(st.integers(0, 2**32), st.booleans())
def test_every_window_equals_the_reference(seed, often):
    """Every window of every shape holds what the reference finds, however the log is split.

    Whatever was cut before, in any order, or forgotten; also if rows are compacted after every one,
    or none is.
    """
    rng = random.Random(seed)
    scene, query, budget, log = some_case(rng)
    splits = sorted(rng.randrange(len(log) + 1) for _ in range(rng.randrange(5)))
    counter, floor = WindowCounter(query, budget, whole=rng.random() < 0.3), scene.indexes[0]
    with pytest.MonkeyPatch.context() as patch:
        if often:
            patch.setattr("stream.counting.counter._COMPACT_ROWS", 0)
            patch.setattr("stream.counting.counter._CHUNK_ROWS", 3)
        for start, end in pairwise((0, *splits, len(log))):
            rows, _ = project(query, reference.decoded(log[start:end]))
            counter.add(rows)
            counter.cuts(rng.choice(scene.indexes[floor - scene.indexes[0] :]))
            if rng.random() < 0.2:
                floor = max(floor, rng.choice(scene.indexes))
                counter.forget_before(floor)
    for index in (at for at in scene.indexes if at >= floor):
        expected = reference.expect_window(query, budget, log, index)
        assert reference.cut(counter, index) == expected


def test_cells_of_several_fields_number_as_the_domain_does():
    """The cell of a row is the index under which the domain names its values."""
    domain = Domain(("floor", "lit", "room"), (("1", "-2"), ("true", "false"), ("x", "y", "z")))
    rows = columns_of(
        floor=[1, -2, -2, 7, None], lit=[True, False, True, True, True], room=[*"yzxxx"]
    )
    cell, known = Columns(rows).cells(domain)
    assert known.tolist() == [True, True, True, False, False]
    named = [list(domain.group(at).values()) for at in cell[known].tolist()]
    assert named == [["1", "true", "y"], ["-2", "false", "z"], ["-2", "true", "x"]]


def columns_of(**columns):
    """Return rows of these columns."""
    return pa.record_batch({name: pa.array(values) for name, values in columns.items()})


@given(
    st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-50, 50), min_size=1, max_size=20),
    st.fractions(min_value=Fraction(1, 100), max_value=100, max_denominator=100)
    | st.sampled_from([Fraction(2**62, 3), Fraction(1, 2**61), Fraction(5)]),
    st.integers(-(2**62), 0) | st.integers(-9, 0),
    st.integers(0, 2**62) | st.integers(0, 9),
)
def test_integers_become_granules_exactly(values, resolution, lo, hi):
    """Whole numbers are divided by the resolution exactly, halves to even, and clipped."""
    spec = AggregateSpec(Weight.SUM, "size", lo, hi, resolution)
    found = Columns(columns_of(size=[*values, None])).granules(spec)[:-1]
    assert found.tolist() == [min(max(round(value / resolution), lo), hi) for value in values]


TERMS = st.tuples(st.integers(0, 39), st.integers(-(2**62), 2**62) | st.integers(-9, 9))


@given(st.lists(st.lists(TERMS, max_size=20), max_size=3), st.integers(40, 400))
def test_sums_saturate_only_when_read(parts, cells):
    """Sums beyond 2**62 on the way come back exactly, and saturate at the end."""
    whole, exact = Sums(cells), Counter[int]()
    for terms in parts:
        part = Sums(cells)
        for cell, weight in terms:
            part.add(np.array([cell]), np.array([weight]))
            exact[cell] += weight
        whole.merge(part)
    at, values = whole.nonzero()
    assert list(zip(at.tolist(), values.tolist(), strict=True)) == [
        (cell, max(-SUM_LIMIT, min(total, SUM_LIMIT)))
        for cell, total in sorted(exact.items())
        if total
    ]


def test_an_event_is_dropped_by_bounds_if_it_counts_in_no_statistic():
    """A person's further events, unless a statistic beside the distinct count has them."""
    opened = AggregateSpec(Weight.COUNT, where=reference.OPEN)
    query = reference.make_query(TUMBLING, Weight.DISTINCT_UNITS, opened)
    event = reference.Event(0, 0, 0, "P", "a", b"bar", None, open=False)
    log = [replace(event, offset=at, open=at == 2) for at in range(5)]
    counter = WindowCounter(query, EVENT, whole=True)
    counter.add(project(query, reference.decoded(log))[0])
    assert counter.capped(0) == Capped(repeats=3)
    assert reference.cut(counter, 0) == reference.expect_window(query, EVENT, log, 0)


def test_rows_out_of_log_order_are_refused():
    """A row that comes twice, or again after a seek, cannot be counted twice."""
    counter = WindowCounter(reference.make_query(TUMBLING, Weight.COUNT), EVENT)
    counter.add(rows_of(3, offset=np.array([4, 4, 5])))
    counter.add(rows_of(1, offset=np.array([5])))
    for offsets in ([4], [6, 5]):
        with pytest.raises(ValueError, match="log order"):
            counter.add(rows_of(len(offsets), offset=np.array(offsets)))
    assert counter.cuts(0)[0].value.tolist() == [4]


def test_what_would_count_wrongly_is_refused():
    """Windows that are forgotten, and weights whose sums could not be told."""
    counter = WindowCounter(reference.make_query(TUMBLING, Weight.COUNT), EVENT)
    counter.forget_before(5)
    counter.forget_before(3)
    with pytest.raises(ValueError, match="forgotten"):
        counter.cuts(4)
    boundless = reference.make_query(TUMBLING, Weight.SUM, span=(0, 2**62 + 1))
    with pytest.raises(ValueError, match="weights"):
        WindowCounter(boundless, EVENT)


def kept(counter):
    """Return all rows that a counter keeps, part by part."""
    return [part for group in counter._groups.values() for part in group.parts]


def test_memory_is_bounded_by_people_and_cells():
    """A hundred thousand events of three people leave no more rows than caps allow."""
    query = reference.make_query(TUMBLING, Weight.COUNT)
    budget = reference.make_budget(PrivacyUnit.USER, TUMBLING.periods, 1, 2)
    counter, rng = WindowCounter(query, budget), np.random.default_rng(5)
    people = Roster(np.arange(6, dtype=np.uint64).reshape(3, 2))
    for start in range(0, 100_000, 1_000):
        units, cell = Units(rng.integers(0, 3, 1_000), people), rng.integers(0, 4, 1_000)
        counter.add(rows_of(1_000, offset=np.arange(start, start + 1_000), cell=cell, unit=units))
    assert sum(map(len, kept(counter))) <= 16_384 + 3 * 4 * 2
    assert int(counter.cuts(0)[0].value.sum()) == 3 * 2


def test_a_few_rows_do_not_hold_everybody_who_was_met():
    """What a window keeps is its own people, however many a reader has met; many rows share."""
    query = reference.make_query(TUMBLING, Weight.DISTINCT_UNITS)
    met = Roster(np.arange(2_000, dtype=np.uint64).reshape(1_000, 2))
    for count, held in ((5, 5), (500, 1_000)):
        counter = WindowCounter(query, EVENT)
        counter.add(rows_of(count, unit=Units(np.arange(count), met)))
        assert [len(part.unit.roster) for part in kept(counter)] == [held]
        assert int(counter.cuts(0)[0].value.sum()) == count


def test_late_rows_in_a_large_domain_stay_small():
    """A row in a domain of a million groups costs no dense array."""
    sums = Sums(1_000_000)
    for cell in (999_999, 5, 999_999):
        sums.add(np.array([cell]), None)
    assert sums._words.shape == (2, 2)
    assert [found.tolist() for found in sums.nonzero()] == [[5, 999_999], [1, 2]]
