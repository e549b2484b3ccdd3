"""A slow, row-by-row reference of what a window counts, and the random logs to try it on.

Nothing here is vectorised, compacted or shared between windows: every window looks at the whole log
again, with Python integers. The tests hold the real counter to it.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from accountant.units import Contribution, PrivacyUnit
from operators.conditions.atoms import IntegerTest
from operators.conditions.comparison import Comparison
from operators.conditions.condition import Aim, Condition
from operators.conditions.weights import Weight
from stream.config.sql.kinds import span_of_terms
from stream.counting.counter import WindowCounter
from stream.counting.projection import project
from stream.events.decoder import Batch
from stream.events.units import Units
from stream.model.alarm import AggregateSpec, Alarm, FirstTolerances, Term
from stream.model.alarms import Budget
from stream.model.feeds import Codec, Domain, Feed, Field, FieldType
from stream.model.filters import Compare, Where
from stream.windows.calendars import FixedCalendar, LocalCalendar
from stream.windows.periods import Periods
from stream.windows.schedule import Schedule

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Mapping, Sequence

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
LIMIT_MS = 253_402_300_800_000
ROOMS = ("attic", "bar", "cellar", "dé")
GRANULE = Fraction(1, 2)
HOSTILE_TIMES = (-(2**63), -1, 0, LIMIT_MS - 1, LIMIT_MS, 2**63 - 1)


@dataclass(frozen=True)
class Event:
    """One row of a log, as a sensor and the broker wrote it."""

    offset: int
    time_ms: int
    append_ms: int
    unit: str
    id: str
    room: bytes | None
    amount: float | None
    open: bool
    size: int | None = None


@dataclass(frozen=True)
class Scene:
    """Windows, and the stretch of time that is interesting for them."""

    name: str
    calendar: Any
    origin_ms: int
    scale_ms: int
    steps: int
    indexes: range
    periods: Periods = field(default_factory=Periods.lifetime)


OPEN = Compare("open", FieldType.BOOLEAN, Comparison.EQ, value=True)
FILTERS: Mapping[Where, Callable[[Event], bool]] = {
    Compare("amount", FieldType.FLOAT, Comparison.GE, 0.25): lambda event: (
        event.amount is not None and event.amount >= 0.25
    ),
    OPEN: lambda event: event.open,
    Compare("size", FieldType.INTEGER, Comparison.NE, 3): lambda event: (
        event.size is not None and event.size != 3
    ),
}
"""Filters, and the same said of one event."""


FEED = Feed(
    name="badges",
    topic="badges",
    codec=Codec.JSON,
    time="ts",
    unit="person",
    id=None,
    fields={
        "room": Field("room", FieldType.STRING, domain=ROOMS),
        "amount": Field("amount", FieldType.FLOAT, resolution=GRANULE),
        "open": Field("open", FieldType.BOOLEAN),
        "size": Field("size", FieldType.INTEGER),
    },
)


@dataclass(frozen=True)
class Counted:
    """What a window holds: statistics that are not 0, and the offsets of its first and last row.

    Statistics are numbered ``statistic * cells + cell``.
    """

    values: dict[int, int]
    first_offset: int
    last_offset: int


def scenes() -> list[Scene]:
    """Return windows of every shape, with periods that they cross."""
    ms = Periods(FixedCalendar(7, 7))
    # Monday 1970-01-05 05:00 UTC, and days around clock changes.
    monday_ms = 4 * DAY_MS + 5 * HOUR_MS
    berlin_ms = 1_711_670_400_000  # 2024-03-29T00:00Z; clocks go forward on the 31st
    apia_ms = 1_325_044_800_000  # 2011-12-28T04:00Z; the 30th never was
    office = Schedule.parse("Mon-Fri 07:00-22:00", "UTC")
    days = Periods(LocalCalendar(1, 1, "Europe/Berlin"))
    return [
        Scene("tumbling", FixedCalendar(10, 10), 0, 1, 45, range(-2, 8), ms),
        Scene("hopping", FixedCalendar(15, 10), 0, 1, 45, range(-3, 8), ms),
        Scene("many overlaps", FixedCalendar(12, 3), 0, 1, 30, range(-5, 14), ms),
        Scene("gaps", FixedCalendar(5, 8), 0, 1, 45, range(-2, 8), ms),
        Scene(
            "office hours",
            FixedCalendar(2 * HOUR_MS, HOUR_MS, office),
            monday_ms,
            HOUR_MS // 2,
            50,
            range(monday_ms // HOUR_MS - 2, monday_ms // HOUR_MS + 28),
            Periods(FixedCalendar(DAY_MS, DAY_MS)),
        ),
        Scene(
            "summer time",
            LocalCalendar(1, 1, "Europe/Berlin"),
            berlin_ms,
            HOUR_MS // 2,
            200,
            range(berlin_ms // DAY_MS - 1, berlin_ms // DAY_MS + 7),
            days,
        ),
        Scene(
            "a skipped day",
            LocalCalendar(2, 1, "Pacific/Apia"),
            apia_ms,
            HOUR_MS,
            96,
            range(apia_ms // DAY_MS - 3, apia_ms // DAY_MS + 8),
            days,
        ),
    ]


def make_query(
    scene: Scene,
    *statistics: Weight | AggregateSpec,
    grace: int = 0,
    skew: int = 0,
    ids: bool = False,
    filtered: bool = False,
    span: tuple[int, int] = (-3, 4),
) -> Alarm:
    """Return a query over ``ROOMS``; grace and skew in steps of the scene.

    A kind stands for the statistic of that kind over ``amount`` in half units, clipped to ``span``.
    """
    feed = replace(FEED, id="id" if ids else None, allowed_skew_ms=skew * scene.scale_ms)
    aggregates = tuple(
        each if isinstance(each, AggregateSpec) else spec_of(each, span) for each in statistics
    )
    return Alarm(
        id=scene.name,
        feed=feed,
        domain=Domain(("room",), (ROOMS,)),
        calendar=scene.calendar,
        where=OPEN if filtered else None,
        aggregates=aggregates,
        condition=Condition.single(IntegerTest(Comparison.GT, np.zeros(len(ROOMS), np.int64), 1)),
        aim=Aim(Fraction(1, 20), (0,)),
        first=FirstTolerances((0,)),
        texts=("s > 0",),
        mechanism="tslm",
        grace_ms=grace * scene.scale_ms,
        publish_delay_ms=0,
        decide_timeout_ms=0,
        max_age_ms=0,
        sql="",
        fingerprint="",
    )


def counting_groups(query: Alarm, *, outer: bool) -> Alarm:
    """Return a query over rooms as one that counts them, for each value of ``open`` or for all.

    Args:
        query: over rooms; without statistics that have pivots, if there are outer groups.
        outer: whether there are.
    """
    domain = Domain(("open",), (("true", "false"),)) if outer else Domain((), ())
    return replace(query, domain=domain, members=query.domain)


def spec_of(kind: Weight, span: tuple[int, int] = (-3, 4)) -> AggregateSpec:
    """Return a statistic over ``amount``, or over all events where it reads no value."""
    if kind in {Weight.COUNT, Weight.DISTINCT_UNITS}:
        return AggregateSpec(kind)
    if kind is Weight.LINEAR:
        added = Term(2, Weight.SUM, "amount", *span, GRANULE)
        return linear_spec(Term(5, Weight.COUNT, where=OPEN), Term(-1, Weight.COUNT), added)
    spec = AggregateSpec(kind, "amount", *span, GRANULE)
    if kind is Weight.SUM:
        return spec
    pivots = np.array([0, 2, -1, 5], np.int64)
    return replace(spec, pivots=pivots, scale=2, above=2, not_above=-3)


def linear_spec(*terms: Term) -> AggregateSpec:
    """Return the sum of some terms, with the exact ends of what an event adds; 0 if none can."""
    lo, hi = span_of_terms(terms, None, FEED, ("room",)) or (0, 0)
    return AggregateSpec(Weight.LINEAR, lo=lo, hi=hi, terms=terms)


def random_terms(rng: random.Random) -> tuple[Term, ...]:
    """Return a few counts and sums, values of one field being clipped alike."""
    lo = rng.randrange(-4, 3)
    clip = lo, rng.randrange(lo, 5), rng.choice((GRANULE, Fraction(1), Fraction(3, 2)))
    terms = []
    for _ in range(rng.randrange(1, 4)):
        factor, where = rng.choice((-7, -1, 1, 2, 5)), rng.choice((None, *FILTERS))
        if rng.random() < 0.5:
            name = rng.choice((None, "amount", "size"))
            terms.append(Term(factor, Weight.COUNT, name, where=where))
        else:
            name = rng.choice(("amount", "size"))
            terms.append(Term(factor, Weight.SUM, name, *clip, where=where))
    return tuple(terms)


def random_spec(rng: random.Random) -> AggregateSpec:
    """Return a statistic of any kind, over any field that its kind reads, often filtered."""
    kind = rng.choice(list(Weight))
    where = rng.choice((None, None, *FILTERS))
    if kind is Weight.LINEAR:
        return linear_spec(*random_terms(rng))
    if kind in {Weight.COUNT, Weight.DISTINCT_UNITS}:
        return AggregateSpec(kind, rng.choice((None, None, "amount", "size", "room")), where=where)
    lo = rng.randrange(-4, 3)
    weights = rng.choice(((1, -1), (1, 0), (0, 1), (9, -1)))
    return AggregateSpec(
        kind,
        rng.choice(("amount", "size")),
        lo,
        rng.randrange(lo, 5),
        rng.choice((GRANULE, Fraction(1), Fraction(3, 2))),
        where,
        np.array([rng.randrange(-5, 6) for _ in ROOMS], np.int64),
        rng.randrange(1, 4),
        *weights,
    )


def make_budget(
    unit: PrivacyUnit, periods: Periods | None = None, groups: int = 1, events: int = 1
) -> Budget:
    """Return a budget; periods only under unit ``user``."""
    if unit is PrivacyUnit.EVENT:
        return Budget(unit, Fraction(4), None, Contribution())
    return Budget(unit, Fraction(4), periods, Contribution(groups, events))


def random_log(scene: Scene, size: int, rng: random.Random) -> list[Event]:
    """Return a log in log order with late, early, doubled, unknown and broken rows."""
    events: list[Event] = []
    offset = rng.randrange(5)
    for _ in range(size):
        offset += rng.choice((0, 1, 1, 1, 3))
        time_ms = scene.origin_ms + rng.randrange(scene.steps) * scene.scale_ms
        time_ms += rng.choice((-1, 0, 0, 0, 1))
        append_ms = time_ms + rng.choice((-3, -1, 0, 0, 1, 2, 8, 14, 25)) * scene.scale_ms
        append_ms += rng.choice((-1, 0, 0, 1))
        if rng.random() < 0.06:
            time_ms = rng.choice(HOSTILE_TIMES)
        if rng.random() < 0.06:
            append_ms = rng.choice(HOSTILE_TIMES)
        events.append(
            Event(
                offset,
                time_ms,
                append_ms,
                unit=rng.choice("PQR"),
                id=rng.choice("ab"),
                room=rng.choice((*(room.encode() for room in ROOMS[:3]), b"\xff\xfe", b"", None)),
                amount=rng.choice((0.0, 1.0, -0.75, 0.25, 1e300, math.nan, math.inf, None)),
                open=rng.random() < 0.8,
                size=rng.choice((None, -7, 0, 1, 3, 3, 2**63 - 1)),
            )
        )
        if rng.random() < 0.3:
            events.append(replace(rng.choice(events), offset=offset))
    return events


def decoded(events: list[Event]) -> Batch:
    """Return a log as the decoder would hand it over."""
    room = pa.array([event.room for event in events], pa.binary()).view(pa.string())
    rows = pa.RecordBatch.from_arrays(
        [
            room,
            pa.array([event.amount for event in events], pa.float64()),
            pa.array([event.open for event in events], pa.bool_()),
            pa.array([event.size for event in events], pa.int64()),
        ],
        names=["room", "amount", "open", "size"],
    )
    return Batch(
        rows,
        np.array([event.time_ms for event in events], np.int64),
        np.array([event.append_ms for event in events], np.int64),
        np.array([event.offset for event in events], np.int64),
        Units.of(_hashes([event.unit for event in events])),
        _hashes([event.id for event in events]),
    )


def count(query: Alarm, budget: Budget, log: list[Event], indexes: range) -> dict[int, Counted]:
    """Return what the real counter finds in windows."""
    counter = WindowCounter(query, budget)
    rows, _ = project(query, decoded(log))
    counter.add(rows)
    return {index: cut(counter, index) for index in indexes}


def cut(counter: WindowCounter, index: int) -> Counted:
    """Return one window of a real counter in the reference's form."""
    vector = counter.cuts(index)[0]
    values = dict(zip(vector.index.tolist(), vector.value.tolist(), strict=True))
    return Counted(values, vector.first_offset, vector.last_offset)


def expect_window(query: Alarm, budget: Budget, log: list[Event], index: int) -> Counted:
    """Return what one window must hold: members, then bounding, then the statistics."""
    members = [event for event in log if is_member(query, event, index)]
    offsets = [event.offset for event in members]
    return Counted(
        statistics(query, bounded(query, budget, members)),
        min(offsets, default=-1),
        max(offsets, default=-1),
    )


def is_member(query: Alarm, event: Event, index: int) -> bool:
    """Tell whether one event belongs to one window, whatever the others do."""
    start_ms, end_ms = query.calendar.bounds(index)
    return (
        cell_and_weights(query, event) is not None
        and query.calendar.active(index)
        and 0 <= event.time_ms < LIMIT_MS
        and 0 <= event.append_ms < LIMIT_MS
        and start_ms <= event.time_ms < end_ms
        and event.append_ms < end_ms + query.grace_ms
        and event.append_ms >= event.time_ms - query.feed.allowed_skew_ms
    )


def cell_and_weights(query: Alarm, event: Event) -> tuple[int, tuple[int | None, ...]] | None:
    """Return where an event counts and how much in every statistic; ``None`` where it does not."""
    rooms = [room.encode() for room in ROOMS]
    if event.room not in rooms or (query.where is not None and not event.open):
        return None
    cell = rooms.index(event.room)
    if "open" in query.domain.fields:  # the outer field of a quantifier: open ones first
        cell += 0 if event.open else len(ROOMS)
    weights = tuple(weight_of(spec, event, cell) for spec in query.aggregates)
    return None if all(weight is None for weight in weights) else (cell, weights)


def weight_of(spec: AggregateSpec, event: Event, cell: int) -> int | None:
    """Return what an event of a cell weighs in one statistic; ``None`` where it does not count."""
    if spec.kind is Weight.LINEAR:
        return _weight_of_terms(spec, event, cell)
    passes = spec.where is None or FILTERS[spec.where](event)
    value = getattr(event, spec.field) if spec.field else 1
    if not passes or value is None or (isinstance(value, float) and not math.isfinite(value)):
        return None
    if spec.kind in {Weight.COUNT, Weight.DISTINCT_UNITS}:
        return 1
    return weighed(spec, min(max(round(Fraction(value) / spec.resolution), spec.lo), spec.hi), cell)


def weighed(spec: AggregateSpec, x: int, cell: int) -> int:
    """Return what a value weighs in one statistic; of LINEAR, what it adds to all terms.

    Args:
        spec: the statistic.
        x: the value, clipped, in granules.
        cell: index of the pivot that applies.
    """
    pivot = 0 if spec.pivots is None else int(spec.pivots[cell])
    match spec.kind:
        case Weight.SUM | Weight.LINEAR:
            return x
        case Weight.OFFSET:
            return spec.scale * x - pivot
        case Weight.RANK:
            return spec.above if x > pivot else spec.not_above
        case _:
            return 1


def _weight_of_terms(spec, event, cell):
    parts = [(term.factor, weight_of(term.alone, event, cell)) for term in spec.terms]
    added = [factor * weight for factor, weight in parts if weight is not None]
    return sum(added) if added else None


def bounded(query: Alarm, budget: Budget, members: Sequence[Event]) -> list[list[Event]]:
    """Return the members that count in each statistic.

    Walks the log once and remembers what was seen. A person's cells are those of any statistic.
    """
    user = budget.unit is PrivacyUnit.USER
    seen: set[object] = set()
    reached: dict[object, set[int]] = {}
    events: dict[object, int] = {}
    counted: list[list[Event]] = [[] for _ in query.aggregates]
    for event in members:
        cell, weights = cell_and_weights(query, event)
        person = (event.unit, period_of(budget, event) if user else 0)
        if user:
            cells = reached.setdefault(person, set())
            group = cell // len(query.members)
            if group not in cells and len(cells) == budget.contribution.predicates_per_window:
                continue
            cells.add(group)
        for at, weight in enumerate(weights):
            copy = (at, person, cell, weight, event.id)
            if weight is None or (query.feed.id is not None and copy in seen):
                continue
            seen.add(copy)
            events[at, person, cell] = events.get((at, person, cell), 0) + 1
            if not user or events[at, person, cell] <= budget.contribution.events_per_cell:
                counted[at].append(event)
    return counted


def period_of(budget: Budget, event: Event) -> int:
    """Return the start of an event's budget period, found by looking at every near period."""
    calendar = budget.periods.calendar
    if calendar is None:
        return 0
    near = calendar.first_starting_at(event.time_ms)
    starts = [
        calendar.bounds(index)[0]
        for index in range(near - 3, near + 3)
        if calendar.bounds(index)[0] <= event.time_ms < calendar.bounds(index)[1]
    ]
    (start,) = starts
    return start


def statistics(query: Alarm, counted: Sequence[Sequence[Event]]) -> dict[int, int]:
    """Return every statistic of every cell that is not 0, from the events that count in each."""
    totals: dict[int, int] = {}
    for at, (spec, events) in enumerate(zip(query.aggregates, counted, strict=True)):
        units: dict[int, set[str]] = {}
        for event in events:
            cell, weights = cell_and_weights(query, event)
            place = at * len(query.counted) + cell
            totals[place] = totals.get(place, 0) + weights[at]
            units.setdefault(place, set()).add(event.unit)
        if spec.kind is Weight.DISTINCT_UNITS:
            totals |= {place: len(people) for place, people in units.items()}
    return {place: total for place, total in sorted(totals.items()) if total}


def _hashes(texts):
    """Return 128-bit hashes, shape (n, 2)."""
    words = b"".join(hashlib.blake2b(text.encode(), digest_size=16).digest() for text in texts)
    return np.frombuffer(words, np.uint64).reshape(-1, 2)
