"""Windows hold exactly what the row-by-row reference says, however the log arrives."""

from __future__ import annotations

import random
from fractions import Fraction
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accountant.units import PrivacyUnit
from operators.conditions.weights import Weight
from stream.counting.counter import Rows, WindowCounter
from stream.counting.projection import Columns, project
from stream.counting.sums import SUM_LIMIT, Sums
from stream.events.units import Roster, Units
from stream.model.alarm import AggregateSpec
from stream.model.feeds import Domain
from stream.windows.calendars import FixedCalendar
from tests.support import reference
from tests.support.yardstick import steps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream.model.alarm import Alarm
    from stream.model.alarms import Budget
    from tests.support.reference import Event

    Case = tuple[reference.Scene, Alarm, Budget, list[Event]]

SCENES = reference.scenes()
TUMBLING = SCENES[0]
KINDS = list(Weight)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw a scene, a query of one statistic or of several, a budget and a log."""
    scene = draw(st.sampled_from(SCENES))
    rng = random.Random(draw(st.integers(0, 2**32)))
    several = [reference.random_spec(rng) for _ in range(draw(st.integers(0, 4)))]
    query = reference.make_query(
        scene,
        *(several or [draw(st.sampled_from(KINDS))]),
        grace=draw(st.integers(0, 3)),
        skew=draw(st.integers(0, 3)),
        ids=draw(st.booleans()),
        filtered=draw(st.booleans()),
    )
    budget = reference.make_budget(
        draw(st.sampled_from(PrivacyUnit)),
        draw(st.sampled_from([scene.periods, reference.Periods.lifetime()])),
        draw(st.integers(1, 3)),
        draw(st.integers(1, 3)),
    )
    log = reference.random_log(scene, draw(st.integers(0, 50)), rng)
    return scene, query, budget, log


@pytest.mark.long
@settings(max_examples=300)
@given(cases(), st.lists(st.integers(0, 60), max_size=4))
def test_every_window_equals_the_reference(case: Case, cuts: list[int]) -> None:
    """Every window of every shape holds what the reference finds, however the log is split."""
    scene, query, budget, log = case
    splits = tuple(min(at, len(log)) for at in cuts)
    found = reference.count(query, budget, log, scene.indexes, splits)
    assert found == reference.expect(query, budget, log, scene.indexes)


@settings(max_examples=80)
@given(cases(), st.randoms(use_true_random=False))
def test_compaction_cuts_and_forgetting_change_nothing(case: Case, rng: random.Random) -> None:
    """Compacting after every row, cutting in any order and forgetting leave every later window."""
    scene, query, budget, log = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("stream.counting.counter._COMPACT_ROWS", 0)
        patch.setattr("stream.counting.counter._CHUNK_ROWS", 3)
        counter = WindowCounter(query, budget)
        rows, _ = project(query, Columns(reference.decoded(log)))
        half = len(rows) // 2
        counter.add(rows.take(slice(half)))
        indexes = list(scene.indexes)
        rng.shuffle(indexes)
        for index in indexes:
            counter.cuts(index)
        middle = scene.indexes[len(scene.indexes) // 2]
        counter.forget_before(middle)
        counter.add(rows.take(slice(half, None)))
    for index in indexes:
        if index >= middle:
            expected = reference.expect_window(query, budget, log, index)
            assert reference.cut(counter, index) == expected
            assert reference.cut(counter, index) == expected


def test_cells_of_several_fields_number_as_the_domain_does() -> None:
    """The cell of a row is the index under which the domain names its values."""
    domain = Domain(("floor", "lit", "room"), (("1", "-2"), ("true", "false"), ("x", "y", "z")))
    rows: Any = [[1, -2, -2, 7, None], [True, False, True, True, True], [*"yzxxx"]]
    cell, known = Columns(batch_of(**dict(zip(domain.fields, rows, strict=True)))).cells(domain)
    assert known.tolist() == [True, True, True, False, False]
    for at, values in enumerate([["1", "true", "y"], ["-2", "false", "z"], ["-2", "true", "x"]]):
        assert list(domain.group(int(cell[at])).values()) == values


def batch_of(**columns: list[Any]) -> Any:
    """Return what projection reads of a batch of these columns."""
    return SimpleNamespace(rows=pa.record_batch({n: pa.array(v) for n, v in columns.items()}))


@given(
    st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-50, 50), min_size=1, max_size=20),
    st.fractions(min_value=Fraction(1, 100), max_value=100, max_denominator=100)
    | st.sampled_from([Fraction(2**62, 3), Fraction(1, 2**61), Fraction(5)]),
    st.integers(-(2**62), 0) | st.integers(-9, 0),
    st.integers(0, 2**62) | st.integers(0, 9),
)
def test_integers_become_granules_exactly(
    values: list[int], resolution: Fraction, lo: int, hi: int
) -> None:
    """Whole numbers are divided by the resolution exactly, halves to even, and clipped."""
    spec = AggregateSpec(Weight.SUM, "size", lo, hi, resolution)
    found = Columns(batch_of(size=[*values, None])).granules(spec)[:-1]
    assert found.tolist() == [min(max(round(value / resolution), lo), hi) for value in values]


@given(
    st.integers(1, 40),
    st.sampled_from([7, 2**40, 2**62]),
    st.lists(st.tuples(st.integers(0, 39), st.integers(-(2**62), 2**62)), max_size=40),
    st.integers(0, 40),
)
def test_sums_saturate_only_when_read(
    cells: int, largest: int, terms: list[tuple[int, int]], split: int
) -> None:
    """Sums beyond 2**62 on the way come back exactly, and saturate at the end."""
    terms = [(cell % cells, max(-largest, min(weight, largest))) for cell, weight in terms]
    parts = [Sums(cells), Sums(cells)]
    for part, some in zip(parts, (terms[:split], terms[split:]), strict=True):
        for cell, weight in some:
            part.add(np.array([cell]), np.array([weight]))
    parts[0].merge(parts[1])
    exact = [sum(weight for at, weight in terms if at == cell) for cell in range(cells)]
    clipped = {cell: max(-SUM_LIMIT, min(x, SUM_LIMIT)) for cell, x in enumerate(exact) if x}
    at, values = parts[0].nonzero()
    assert dict(zip(at.tolist(), values.tolist(), strict=True)) == clipped


def test_rows_out_of_log_order_are_refused() -> None:
    """A row that comes twice, or again after a seek, cannot be counted twice."""
    query = reference.make_query(TUMBLING, Weight.COUNT)
    counter = WindowCounter(query, reference.make_budget(PrivacyUnit.EVENT))
    counter.add(_rows(offsets=[4, 4, 5]))
    counter.add(_rows(offsets=[5]))
    for offsets in ([4], [6, 5]):
        with pytest.raises(ValueError, match="log order"):
            counter.add(_rows(offsets=offsets))
    assert counter.cuts(0)[0].value.tolist() == [4]


def test_misuse_is_refused() -> None:
    """Forgotten windows, missing ids, missing periods and boundless weights raise ValueError."""
    event, user = (reference.make_budget(unit) for unit in (PrivacyUnit.EVENT, PrivacyUnit.USER))
    query = reference.make_query(TUMBLING, Weight.COUNT, ids=True)
    counter = WindowCounter(query, event)
    with pytest.raises(ValueError, match="event ids"):
        counter.add(_rows(offsets=[1]))
    counter.forget_before(5)
    counter.forget_before(3)
    with pytest.raises(ValueError, match="forgotten"):
        counter.cuts(4)
    with pytest.raises(ValueError, match="periods"):
        WindowCounter(query, user)
    boundless = reference.make_query(TUMBLING, Weight.SUM, span=(0, 2**62 + 1))
    with pytest.raises(ValueError, match="weights"):
        WindowCounter(boundless, event)


def test_memory_is_bounded_by_people_and_cells() -> None:
    """A hundred thousand events of three people leave no more rows than caps allow."""
    query = reference.make_query(TUMBLING, Weight.COUNT)
    budget = reference.make_budget(PrivacyUnit.USER, TUMBLING.periods, 1, 2)
    counter = WindowCounter(query, budget)
    rng = np.random.default_rng(5)
    people = rng.integers(0, 2**63, (3, 2)).astype(np.uint64)
    for start in range(0, 100_000, 1_000):
        units = Units(rng.integers(0, 3, 1_000), Roster(people))
        counter.add(_rows(range(start, start + 1_000), rng.integers(0, 4, 1_000), units))
    (groups,) = counter._panes.values()
    kept = sum(len(part) for group in groups.values() for part in group.parts)
    assert kept <= 16_384 + 3 * 4 * 2
    assert int(counter.cuts(0)[0].value.sum()) == 3 * 2


def test_late_rows_in_a_large_domain_stay_small() -> None:
    """A row in a domain of a million groups costs no dense array."""
    sums = Sums(1_000_000)
    for cell in (999_999, 5, 999_999):
        sums.add(np.array([cell]), None)
    assert sums._words.shape == (2, 2)
    assert [found.tolist() for found in sums.nonzero()] == [[5, 999_999], [1, 2]]


@pytest.mark.long
def test_high_rates() -> None:
    """A million rows take well under a second: 30-50 ms for COUNT, 300 ms for DISTINCT.

    The limits asserted are ten times as long.
    """
    rng = np.random.default_rng(1)
    count, hour_ms = 1_000_000, reference.HOUR_MS
    scene = reference.Scene("hour", FixedCalendar(hour_ms, hour_ms), 0, 1, hour_ms, range(1))
    times = np.sort(rng.integers(0, hour_ms, count))
    people = rng.integers(0, 2**64, (100_000, 2), dtype=np.uint64)
    units = Units(rng.integers(0, len(people), count), Roster(people))
    rows = _rows(range(count), rng.integers(0, 1_000, count), units, times)
    rows = reference.replace(rows, append_ms=times + rng.integers(0, 1_000, count))
    domain = Domain(("room",), (tuple(str(room) for room in range(1_000)),))
    for kind, limit in ((Weight.COUNT, 10_000_000), (Weight.DISTINCT_UNITS, 60_000_000)):
        query = reference.replace(
            reference.make_query(scene, kind, grace=1_000),
            domain=domain,
            aggregates=(AggregateSpec(kind),),
        )
        budget = reference.make_budget(PrivacyUnit.EVENT)
        fresh = [WindowCounter(query, budget) for _ in range(4)]
        last = fresh.pop()
        last.add(rows)
        assert int(last.cuts(0)[0].value.sum()) > 900_000
        taken = steps(lambda counters=fresh: counters.pop().add(rows))
        print(f"{kind}: {taken:,.0f} steps for a million rows")
        assert taken < limit


def test_a_few_rows_do_not_hold_everybody_who_was_met() -> None:
    """What a window keeps is its own people, however many a reader has met; many rows share."""
    scene = reference.Scene("hour", FixedCalendar(1_000, 1_000), 0, 1, 1_000, range(1))
    query = reference.make_query(scene, Weight.DISTINCT_UNITS)
    people = np.arange(2_000, dtype=np.uint64).reshape(1_000, 2)
    met = Roster(people)
    for count, held in ((5, 5), (500, 1_000)):
        counter = WindowCounter(query, reference.make_budget(PrivacyUnit.EVENT))
        counter.add(_rows(range(count), units=Units(np.arange(count), met)))
        ((group,),) = (groups.values() for groups in counter._panes.values())
        assert [len(part.unit.roster) for part in group.parts] == [held]
        assert int(counter.cuts(0)[0].value.sum()) == count


def _rows(
    offsets: Sequence[int], cells: Any = None, units: Units | None = None, time_ms: Any = 0
) -> Rows:
    """Return rows of one person at time 0 in cell 0, where nothing else is said."""
    zeros = np.zeros(len(offsets), np.int64)
    ones = np.ones((1, len(offsets)), np.int64)
    cell = zeros if cells is None else cells
    unit = units or Units(zeros, Roster(np.ones((1, 2), np.uint64)))
    at = zeros + time_ms
    return Rows(at, at, np.array(offsets, np.int64), cell, ones, ones > 0, unit, None)
