"""Several statistics of one query: each as if it stood alone, and one choice of cells per person.

That windows hold what the row-by-row reference says, also with several statistics, is shown beside
the single ones, in ``test_aggregate``.
"""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accountant.units import PrivacyUnit
from operators.conditions.weights import Weight
from stream.counting.counter import Rows, WindowCounter
from stream.counting.projection import project
from stream.events.units import Roster, Units
from stream.model.alarm import AggregateSpec
from tests.support import reference
from tests.support.reference import ROOMS, Event, cell_and_weights, weight_of
from tests.unit.stream.counting.test_bounding import (
    breach,
    each_window,
    honest_members,
    random_case,
)

TUMBLING = reference.scenes()[0]
COUNT, DISTINCT, SUM, OFFSET, RANK, LINEAR = Weight
OPEN = reference.OPEN
EVENT = Event(0, 3, 3, "P", "a", b"attic", 1.0, open=True)


def spec(kind, **parts):
    """Return a statistic over ``amount``, with some parts replaced."""
    return replace(reference.spec_of(kind), **parts)


def pivots(*values):
    """Return one pivot per room."""
    return np.array(values, np.int64)


def caps_per_statistic(query, budget, members):
    """Broken: every statistic chooses the cells that a person reaches by itself."""
    found = []
    for each in query.aggregates:
        alone = replace(query, aggregates=(each,))
        usable = [event for event in members if cell_and_weights(alone, event)]
        found += reference.bounded(alone, budget, usable)
    return found


def duplicates_of_the_first_statistic(query, budget, members):
    """Broken: what one statistic takes for a copy, no statistic counts."""
    seen, unique = set(), []
    for event in members:
        cell, weights = cell_and_weights(query, event)
        copy = (event.unit, cell, weights[0], event.id)
        if copy not in seen:
            seen.add(copy)
            unique.append(event)
    return reference.bounded(query, budget, unique)


@pytest.mark.long
@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(PrivacyUnit), st.booleans(), st.integers(2, 4))
def test_one_neighbour_moves_its_cells_jointly(seed, unit, ids, statistics):
    """An event moves one cell, a person as many as the cap, over all statistics, each by its D."""
    case = random_case(seed, unit, ids=ids, statistics=statistics)
    assert not breach(reference.count, *case)


def test_cells_chosen_per_statistic_are_caught():
    """A person who may reach one cell reaches two where every statistic takes the first of its own.

    ::

        offset          0       1
        person P        attic   bar          cap: 1 room
        COUNT(*)        yes     no: 2nd room
        FILTER (open)           no: 2nd room; broken: the first that this statistic sees
    """
    query = reference.make_query(TUMBLING, spec(COUNT), spec(COUNT, where=OPEN))
    budget = reference.make_budget(PrivacyUnit.USER, TUMBLING.periods, 1, 1)
    log = [replace(EVENT, open=False), replace(EVENT, offset=1, room=b"bar")]
    twin = each_window(honest_members, caps_per_statistic)
    assert breach(twin, TUMBLING, query, budget, log) == "too many cells moved"
    assert not breach(reference.count, TUMBLING, query, budget, log)
    assert reference.count(query, budget, log, range(1))[0].values == {0: 1}


def test_duplicates_of_another_statistic_are_caught():
    """An event that is a copy to COUNT is none to SUM: else its original moves SUM by both weights.

    ::

        event   id   amount   COUNT   SUM           broken, with the first:  2
        first   a       1.0       1     2           broken, without it:     -2
        second  a      -1.0    copy    -2
    """
    query = reference.make_query(TUMBLING, COUNT, spec(SUM, lo=-2, hi=2), ids=True)
    budget = reference.make_budget(PrivacyUnit.EVENT)
    log = [EVENT, replace(EVENT, offset=1, amount=-1.0), replace(EVENT, offset=2, amount=2.0)]
    twin = each_window(honest_members, duplicates_of_the_first_statistic)
    assert breach(twin, TUMBLING, query, budget, log) == "a cell moved too far"
    assert not breach(reference.count, TUMBLING, query, budget, log)
    assert reference.count(query, budget, log, range(1))[0].values == {0: 1}


@settings(deadline=None)
@given(st.integers(0, 2**32))
def test_no_event_weighs_more_than_largest(seed):
    """The bound that sensitivities start from is reached by sums and offsets, never passed."""
    each = replace(reference.random_spec(random.Random(seed)), where=None)
    step = 1 if each.field == "size" else Fraction(1, 4)
    amounts = [at * step for at in range(-32, 33)]
    events = [replace(EVENT, **{each.field or "amount": amount}) for amount in amounts]
    found = [weight_of(each, event, cell) for event in events for cell in range(len(ROOMS))]
    weights = [abs(weight) for weight in found if weight is not None]
    assert max(weights, default=0) <= each.largest
    if each.kind in {SUM, OFFSET}:
        assert max(*weights, 1) == each.largest


@pytest.mark.parametrize(
    ("lo", "hi", "pivot", "scale"),
    [
        (0, 2**61, -(2**61), 1),
        (-(2**61), 0, 2**61, 1),
        (-(2**62), -(2**62), -(2**62), 1),
        (-(2**31), 2**31, 2**61, 2**30),
        (2**62, 2**62, 2**62, 2),  # a product that wraps, and a weight that does not
    ],
)
def test_extreme_offsets_are_exact(lo, hi, pivot, scale):
    """Weights up to 2**62 come out exactly, far values of a field included."""
    extreme = AggregateSpec(
        OFFSET, "size", lo, hi, Fraction(1), pivots=pivots(*[pivot] * 4), scale=scale
    )
    query = reference.make_query(TUMBLING, extreme)
    sizes = (-(2**63), -1, 0, 1, 2**63 - 1)
    log = [replace(EVENT, offset=at, size=size) for at, size in enumerate(sizes)]
    projected, _ = project(query, reference.decoded(log))
    exact = [scale * min(max(size, lo), hi) - pivot for size in sizes]
    assert projected.weight[:, 0].tolist() == exact
    assert max(map(abs, exact)) <= extreme.largest


@pytest.mark.parametrize(
    "broken",
    [
        spec(SUM, lo=-(2**62) - 1),
        spec(OFFSET, lo=0, hi=2**31, scale=2**31 + 1),
        spec(OFFSET, lo=0, hi=2**62, pivots=pivots(0, 0, 0, -1), scale=1),
        spec(RANK, not_above=-(2**62) - 1),
    ],
)
def test_weights_that_could_wrap_are_refused(broken):
    """A counter does not begin with statistics whose weights might not be exact."""
    query = reference.make_query(TUMBLING, spec(COUNT), broken)
    with pytest.raises(ValueError, match="weights"):
        WindowCounter(query, reference.make_budget(PrivacyUnit.EVENT))


def test_a_count_beside_a_distinct_count_keeps_no_rows():
    """Under unit event only the distinct count remembers people, the others their sums."""
    query = reference.make_query(TUMBLING, COUNT, DISTINCT, SUM)
    counter = WindowCounter(query, reference.make_budget(PrivacyUnit.EVENT))
    people = Roster(np.arange(6, dtype=np.uint64).reshape(3, 2))
    zeros, ones = np.zeros(30_000, np.int64), np.ones((30_000, 3), np.int64)
    for start in (0, 30_000):
        units = Units(np.arange(30_000) % 3, people)
        offsets = np.arange(start, start + 30_000)
        counter.add(Rows(zeros, zeros, offsets, zeros + 1, ones, ones > 0, units, None))
    (group,) = counter._groups.values()
    assert sum(map(len, group.parts)) <= 16_384 + 3
    assert reference.cut(counter, 0).values == {1: 60_000, 4 + 1: 3, 8 + 1: 60_000}
