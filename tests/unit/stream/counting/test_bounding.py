"""One neighbour moves no cell by more than its share, and no other cell at all.

The same check runs over the real counter, which must pass, and over counters that are broken on
purpose, each of which it must catch.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accountant.units import PrivacyUnit
from operators.conditions.weights import Weight
from tests.support import reference
from tests.support.reference import Counted, Event, cell_and_weights, is_member, statistics

if TYPE_CHECKING:
    from collections.abc import Callable

    from stream.model.alarm import Alarm
    from stream.model.alarms import Budget

    Case = tuple[reference.Scene, Alarm, Budget, list[Event]]
    Counter = Callable[[Alarm, Budget, list[Event], range], dict[int, Counted]]
    Membership = Callable[[Alarm, list[Event], int], list[Event]]
    Bounding = Callable[[Alarm, Budget, list[Event]], list[list[Event]]]

SMALL = reference.scenes()[:4]


def neighbours(budget, log):
    """Yield every log with one privacy unit less, and the events that are gone."""

    def unit(at, event):
        if budget.unit is PrivacyUnit.EVENT:
            return at
        valid = 0 <= event.time_ms < reference.LIMIT_MS
        return event.unit, reference.period_of(budget, event) if valid else None

    units = [unit(at, event) for at, event in enumerate(log)]
    for gone in dict.fromkeys(units):
        yield (
            [event for event, of in zip(log, units, strict=True) if of != gone],
            [event for event, of in zip(log, units, strict=True) if of == gone],
        )


def breach(count, scene, query, budget, log):
    """Return how a counter lets one neighbour do more than it may; empty when it does not."""
    user, caps = budget.unit is PrivacyUnit.USER, budget.contribution
    events, groups = (caps.events_per_cell, caps.predicates_per_window) if user else (1, 1)
    most = [
        spec.largest * (1 if spec.kind is Weight.DISTINCT_UNITS else events)
        for spec in query.aggregates
    ]
    full = count(query, budget, log, scene.indexes)
    for rest, gone in neighbours(budget, log):
        less = count(query, budget, rest, scene.indexes)
        reachable = {found[0] for event in gone if (found := cell_and_weights(query, event))}
        windows = 0
        for index in scene.indexes:
            here, there = full[index].values, less[index].values
            moved = {
                divmod(place, len(query.counted)): here.get(place, 0) - there.get(place, 0)
                for place in here.keys() | there.keys()
                if here.get(place, 0) != there.get(place, 0)
            }
            cells = {cell for _, cell in moved}
            windows += bool(moved)
            start_ms, end_ms = query.calendar.bounds(index)
            if moved and not any(start_ms <= event.time_ms < end_ms for event in gone):
                return "a window moved that the neighbour is not in"
            if not cells <= reachable:
                return "a cell moved that the neighbour is not in"
            if len({cell // len(query.members) for cell in cells}) > groups:
                return "too many cells moved"
            if any(abs(change) > most[statistic] for (statistic, _), change in moved.items()):
                return "a cell moved too far"
        if not user and windows > query.calendar.overlap:
            return "too many windows moved"
    return ""


def random_case(seed, unit, *, ids, kind=None, statistics=0):
    """Return a scene, a query, a budget and a log.

    The query has so many statistics of any kind; where none are asked for, one plain one.
    """
    rng = random.Random(seed)
    scene = rng.choice(SMALL)
    several = [reference.random_spec(rng) for _ in range(statistics)]
    query = reference.make_query(
        scene,
        *(several or [kind or rng.choice(list(Weight))]),
        grace=rng.randrange(4),
        skew=rng.randrange(4),
        ids=ids,
    )
    caps = rng.randint(1, 3), rng.randint(1, 3)
    budget = reference.make_budget(unit, scene.periods, *caps)
    return scene, query, budget, reference.random_log(scene, 24, rng)


def each_window(members, bounded):
    """Build a counter from a rule of membership and a rule of bounding."""

    def count(query, budget, log, indexes):
        found = {}
        for index in indexes:
            counted = bounded(query, budget, members(query, log, index))
            found[index] = Counted(statistics(query, counted), -1, -1)
        return found

    return count


def honest_members(query, log, index):
    """Return the events of a window, each judged alone."""
    return [event for event in log if is_member(query, event, index)]


def duplicates(key):
    """Return a broken rule: members with the same key are copies of the first of them."""

    def bounded(query, budget, members):
        first = {}
        for event in members:
            first.setdefault(key(query, event), event)
        return reference.bounded(query, budget, list(first.values()))

    return bounded


by_id = each_window(honest_members, duplicates(lambda _, event: event.id))
across_periods = each_window(
    honest_members,
    duplicates(lambda query, event: (event.unit, cell_and_weights(query, event), event.id)),
)


def duplicates_before_membership(query, budget, log, indexes):
    """Broken: a copy that the window does not contain makes the one it contains a duplicate."""
    usable = [event for event in log if cell_and_weights(query, event)]
    (unique,) = reference.bounded(query, budget, usable)
    return each_window(honest_members, reference.bounded)(query, budget, unique, indexes)


@pytest.mark.long
@settings(max_examples=60)
@given(
    st.integers(0, 2**32),
    st.sampled_from(PrivacyUnit),
    st.booleans(),
    st.sampled_from(list(Weight)),
    st.sampled_from([None, False, True]),
)
def test_one_neighbour_moves_only_its_own_cells(seed, unit, ids, kind, outer):
    """No event, and no person within one period, moves more than sensitivity says.

    Nor where groups are counted whole, within outer groups or without.
    """
    scene, query, budget, log = random_case(seed, unit, ids=ids, kind=kind)
    if outer is not None and query.aggregates[0].pivots is None:
        query = reference.counting_groups(query, outer=outer)
    assert not breach(reference.count, scene, query, budget, log)


@pytest.mark.parametrize(
    ("twin", "unit"),
    [
        (by_id, PrivacyUnit.EVENT),
        (by_id, PrivacyUnit.USER),
        (duplicates_before_membership, PrivacyUnit.EVENT),
    ],
    ids=["by id, event", "by id, user", "before membership"],
)
def test_the_check_catches_broken_counters(twin, unit):
    """A counter in which events decide over each other is caught."""
    assert any(breach(twin, *random_case(seed, unit, ids=True)) for seed in range(60))


def test_the_check_catches_duplicates_across_periods():
    """A copy in the next period is another event: else leaving out a period moves a foreign cell.

    ::

        period     [---0---)[---1---)       caps: 1 room, 1 event
        window     [--------0---------)
        person P     attic   attic bar      honest: attic twice, in each period; no bar
                     (id a)  (id a)         broken: the second attic is a copy, bar gets its place
    """
    scene = SMALL[0]
    query = reference.make_query(scene, Weight.COUNT, ids=True)
    budget = reference.make_budget(PrivacyUnit.USER, scene.periods, 1, 1)
    first = Event(0, 3, 3, "P", "a", b"attic", 1.0, open=True)
    copy = replace(first, offset=1, time_ms=8, append_ms=8)
    log = [first, copy, replace(copy, offset=2, id="b", room=b"bar")]
    found = breach(across_periods, scene, query, budget, log)
    assert found == "a cell moved that the neighbour is not in"
    assert not breach(reference.count, scene, query, budget, log)
    assert reference.count(query, budget, log, range(1))[0].values == {0: 2}
