"""One neighbour moves no cell by more than its share, and no other cell at all.

The same check runs over the real counter, which must pass, and over counters that are broken on
purpose, each of which it must catch.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accountant.units import PrivacyUnit
from operators.conditions.weights import Weight
from stream.counting.bounding import Bounds, Contributions
from stream.model.feeds import Domain
from tests.support import reference
from tests.support.contributions import random_rows
from tests.support.reference import Counted, Event, cell_and_weights, is_member, statistics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from stream.model.alarm import Alarm
    from stream.model.alarms import Budget

    Case = tuple[reference.Scene, Alarm, Budget, list[Event]]
    Counter = Callable[[Alarm, Budget, list[Event], range], dict[int, Counted]]
    Membership = Callable[[Alarm, list[Event], int], list[Event]]
    Bounding = Callable[[Alarm, Budget, list[Event]], list[list[Event]]]

SCENES = reference.scenes()
SMALL = SCENES[:4]


def neighbours(budget: Budget, log: list[Event]) -> Iterator[tuple[list[Event], list[Event]]]:
    """Yield every log with one privacy unit less, and the events that are gone."""
    if budget.unit is PrivacyUnit.EVENT:
        for at, event in enumerate(log):
            yield log[:at] + log[at + 1 :], [event]
        return

    def person(event: Event) -> tuple[str, int | None]:
        valid = 0 <= event.time_ms < reference.LIMIT_MS
        return event.unit, reference.period_of(budget, event) if valid else None

    for gone in dict.fromkeys(person(event) for event in log):
        yield (
            [event for event in log if person(event) != gone],
            [event for event in log if person(event) == gone],
        )


def breach(
    count: Counter, scene: reference.Scene, query: Alarm, budget: Budget, log: list[Event]
) -> str:
    """Return how a counter lets one neighbour do more than it may; empty when it does not."""
    user = budget.unit is PrivacyUnit.USER
    events = budget.contribution.events_per_cell if user else 1
    cells_allowed = budget.contribution.predicates_per_window if user else 1
    most = [
        spec.largest * (1 if spec.kind is Weight.DISTINCT_UNITS else events)
        for spec in query.aggregates
    ]
    full = count(query, budget, log, scene.indexes)
    for rest, gone in neighbours(budget, log):
        less = count(query, budget, rest, scene.indexes)
        own = [cell_and_weights(query, event) for event in gone]
        reachable = {found[0] for found in own if found}
        windows_moved = 0
        for index in scene.indexes:
            here, there = full[index].values, less[index].values
            moved = {
                divmod(place, len(query.counted)): here.get(place, 0) - there.get(place, 0)
                for place in here.keys() | there.keys()
                if here.get(place, 0) != there.get(place, 0)
            }
            cells = {cell for _, cell in moved}
            windows_moved += bool(moved)
            start_ms, end_ms = query.calendar.bounds(index)
            if moved and not any(start_ms <= event.time_ms < end_ms for event in gone):
                return "a window moved that the neighbour is not in"
            if not cells <= reachable:
                return "a cell moved that the neighbour is not in"
            if len({cell // len(query.members) for cell in cells}) > cells_allowed:
                return "too many cells moved"
            if any(abs(change) > most[statistic] for (statistic, _), change in moved.items()):
                return "a cell moved too far"
        if not user and windows_moved > query.calendar.overlap:
            return "too many windows moved"
    return ""


def random_case(
    seed: int,
    unit: PrivacyUnit,
    *,
    ids: bool,
    kind: Weight | None = None,
    statistics: int = 0,
) -> Case:
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


def each_window(members: Membership, bounded: Bounding) -> Counter:
    """Build a counter from a rule of membership and a rule of bounding."""

    def count(query: Alarm, budget: Budget, log: list[Event], indexes: range) -> dict[int, Counted]:
        found = {}
        for index in indexes:
            counted = bounded(query, budget, members(query, log, index))
            found[index] = Counted(statistics(query, counted), -1, -1)
        return found

    return count


def honest_members(query: Alarm, log: list[Event], index: int) -> list[Event]:
    """Return the events of a window, each judged alone."""
    return [event for event in log if is_member(query, event, index)]


def duplicates_by_id(query: Alarm, budget: Budget, members: list[Event]) -> list[list[Event]]:
    """Broken: an id is taken for the same event whoever sent it."""
    first = {event.id: event for event in reversed(members)}
    unique = [event for event in members if first[event.id] is event]
    return reference.bounded(query, budget, unique)


def duplicates_across_periods(
    query: Alarm, budget: Budget, members: list[Event]
) -> list[list[Event]]:
    """Broken: an event of another period makes this one a duplicate."""
    seen, unique = set(), []
    for event in members:
        copy = (event.unit, cell_and_weights(query, event), event.id)
        if copy not in seen:
            seen.add(copy)
            unique.append(event)
    return reference.bounded(query, budget, unique)


def duplicates_before_membership(
    query: Alarm, budget: Budget, log: list[Event], indexes: range
) -> dict[int, Counted]:
    """Broken: a copy that the window does not contain makes the one it contains a duplicate."""
    usable = [event for event in log if cell_and_weights(query, event)]
    (unique,) = reference.bounded(query, budget, usable)
    return each_window(honest_members, reference.bounded)(query, budget, unique, indexes)


def caps_before_membership(
    query: Alarm, budget: Budget, log: list[Event], indexes: range
) -> dict[int, Counted]:
    """Broken: rows that the window does not contain use up its caps."""
    valid = [event for event in log if 0 <= event.time_ms < reference.LIMIT_MS]
    usable = [event for event in valid if cell_and_weights(query, event)]
    (unique,) = reference.bounded(query, budget, usable)
    return each_window(honest_members, reference.bounded)(query, budget, unique, indexes)


@pytest.mark.long
@settings(max_examples=40)
@given(
    st.integers(0, 2**32),
    st.sampled_from(PrivacyUnit),
    st.booleans(),
    st.sampled_from(list(Weight)),
)
def test_one_neighbour_moves_only_its_own_cells(
    seed: int, unit: PrivacyUnit, ids: bool, kind: Weight
) -> None:
    """No event, and no person within one period, moves more than sensitivity says."""
    case = random_case(seed, unit, ids=ids, kind=kind)
    assert not breach(reference.count, *case)


@pytest.mark.parametrize("scene", SCENES[4:], ids=lambda scene: scene.name)
@pytest.mark.parametrize("unit", PrivacyUnit)
def test_one_neighbour_moves_only_its_own_cells_on_real_calendars(
    scene: reference.Scene, unit: PrivacyUnit
) -> None:
    """The same holds over schedules, clock changes and skipped days."""
    query = reference.make_query(scene, Weight.COUNT, grace=1, skew=1, ids=True)
    budget = reference.make_budget(unit, scene.periods, 2, 2)
    log = reference.random_log(scene, 15, random.Random(11))
    assert not breach(reference.count, scene, query, budget, log)


@pytest.mark.parametrize(
    ("twin", "unit"),
    [
        (each_window(honest_members, duplicates_by_id), PrivacyUnit.EVENT),
        (each_window(honest_members, duplicates_by_id), PrivacyUnit.USER),
        (duplicates_before_membership, PrivacyUnit.EVENT),
    ],
    ids=[
        "duplicates by id, event",
        "duplicates by id, user",
        "duplicates before membership",
    ],
)
def test_the_check_catches_broken_counters(twin: Counter, unit: PrivacyUnit) -> None:
    """A counter in which events decide over each other is caught, the real one is not."""
    for seed in range(60):
        case = random_case(seed, unit, ids=True)
        if breach(twin, *case):
            assert not breach(reference.count, *case)
            return
    pytest.fail("the broken counter passed")


def test_the_check_catches_duplicates_across_periods() -> None:
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
    log = [
        Event(at, time_ms, time_ms, "P", name, room, 1.0, open=True)
        for at, (time_ms, name, room) in enumerate(
            [(3, "a", b"attic"), (8, "a", b"attic"), (9, "b", b"bar")]
        )
    ]
    twin = each_window(honest_members, duplicates_across_periods)
    assert breach(twin, scene, query, budget, log) == "a cell moved that the neighbour is not in"
    assert not breach(reference.count, scene, query, budget, log)
    assert reference.count(query, budget, log, range(1))[0].values == {0: 2}


def test_caps_before_membership_are_caught() -> None:
    """Late rows that use up a cap make a window differ from the reference.

    They belong to the same person, so no neighbour moves more than it may: what breaks is the
    exact count, and only the comparison with the reference sees it.
    """
    caught = 0
    for seed in range(40):
        scene, query, budget, log = random_case(seed, PrivacyUnit.USER, ids=False)
        expected = reference.expect(query, budget, log, scene.indexes)
        broken = caps_before_membership(query, budget, log, scene.indexes)
        assert reference.count(query, budget, log, scene.indexes) == expected
        caught += any(broken[at].values != expected[at].values for at in scene.indexes)
    assert caught > 10


@given(
    st.integers(0, 2**32),
    st.booleans(),
    st.lists(st.booleans(), min_size=1, max_size=3),
    st.booleans(),
)
def test_compacting_first_changes_nothing(
    seed: int, per_user: bool, distinct: list[bool], deduplicate: bool
) -> None:
    """Bounding the union of compacted groups equals bounding the union of all their rows."""
    rng = np.random.default_rng(seed)
    rules = Bounds(per_user, tuple(distinct), deduplicate, *rng.integers(1, 4, 2).tolist())
    size = int(rng.integers(1, 80))
    rows = random_rows(rng, size, rules)
    group = rng.integers(0, 3, size)
    parts = [rules.compact(rows.take(group == at)) for at in range(3)]
    whole, joined = rules.apply(rows), rules.apply(Contributions.join(parts))
    assert joined.sequence.tolist() == whole.sequence.tolist()
    assert joined.counts.tolist() == whole.counts.tolist()


def without_cap(
    query: Alarm, budget: Budget, log: list[Event], indexes: range
) -> dict[int, Counted]:
    """Broken: as nothing of a person's groups is dropped, nothing is dropped of outer ones."""
    return reference.count(query, capped_at(budget, 99), log, indexes)


def capped_at(budget: Budget, groups: int) -> Budget:
    """Return a budget with another cap on groups."""
    caps = replace(budget.contribution, predicates_per_window=groups)
    return replace(budget, contribution=caps)


@pytest.mark.parametrize("outer", [False, True])
@pytest.mark.parametrize("unit", PrivacyUnit)
def test_groups_are_counted_whole_within_the_groups_that_are_capped(
    unit: PrivacyUnit, outer: bool
) -> None:
    """As brute force has it, with duplicates and late rows; inner groups use up no cap."""
    forgotten = dropped = 0
    for seed in range(12):
        kind = (Weight.COUNT, Weight.DISTINCT_UNITS, Weight.SUM)[seed % 3]
        scene, query, budget, log = random_case(seed, unit, ids=bool(seed % 2), kind=kind)
        budget, query = capped_at(budget, 1), reference.counting_groups(query, outer=outer)
        found = reference.count(query, budget, log, scene.indexes)
        assert found == reference.expect(query, budget, log, scene.indexes)
        assert not breach(reference.count, scene, query, budget, log)
        forgotten += bool(breach(without_cap, scene, query, budget, log))
        cells = replace(query, domain=query.counted, members=Domain((), ()))
        dropped += reference.count(cells, budget, log, scene.indexes) != found
    assert bool(forgotten) == (outer and unit is PrivacyUnit.USER)
    assert bool(dropped) == (unit is PrivacyUnit.USER)  # twin: a cap on inner groups
