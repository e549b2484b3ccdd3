"""The region of a query holds every event that the real pipeline counts."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accountant.regions.regions import Region, ValueSet
from operators.conditions.comparison import Comparison
from operators.conditions.weights import Weight
from stream.config.sql.select import parse_sql
from stream.counting.projection import project
from stream.decisions.registration import shape_of
from stream.events.columns import declared_schema
from stream.events.decoder import Batch
from stream.events.units import Roster, Units
from stream.model.alarm import AggregateSpec, Term
from stream.model.feeds import Codec, Domain, Feed, Field, FieldType
from stream.model.filters import Compare
from stream.model.regions import attribute_of, cells_of, group_by_of, region_of
from tests.support import reference

FIELDS = (
    Field("person", FieldType.STRING),
    Field("room", FieldType.STRING, ("lobby", "lab", "Z\u00fcrich")),
    Field("floor", FieldType.INTEGER, ("1", "2", "-3")),
    Field("open", FieldType.BOOLEAN),
    Field("paid", FieldType.FLOAT, None, Fraction(0), Fraction(10), Fraction(1, 100)),
    Field("size", FieldType.INTEGER),
    Field("ts", FieldType.TIMESTAMP),
)
BADGES = Feed(
    "badges", "b", Codec.JSON, "ts", "person", None, {field.name: field for field in FIELDS}
)
INSTANT_MS = 1_307_001_600_000  # 2011-06-02T08:00:00Z
LITERALS = {
    "person": ["''", "'a'", "'ab'", "'b'", "'\U0001f600'"],
    "room": ["'lobby'", "'lab'", "'hall'"],
    "floor": ["1", "2", "-3", "7"],
    "open": ["TRUE", "FALSE"],
    "paid": ["0", "0.1", "-0.5", "1e300", "2"],
    "size": ["0", "3", "4", "-1", "9223372036854775807", "-9223372036854775808"],
    "ts": ["'2011-06-02T08:00:00Z'", "'2011-06-02T08:00:00.001Z'", "DATE '1970-01-02'"],
}
EVENTS = {
    "person": ["", "\0", "a", "a\0", "ab", "b", "c", "\U0001f600", "\uffff"],
    "room": ["lobby", "lab", "hall", "Z\u00fcrich", "", None],
    "floor": [1, 2, -3, 7, 0, None],
    "open": [True, False, None],
    "paid": [0.0, -0.0, 0.1, 0.1 + 1e-17, 0.30000000000000004, -0.5, 1e300, 2.0, 5e-324, None],
    "size": [0, 1, 2, 3, 4, 5, -1, 2**63 - 1, -(2**63), None],
    "ts": [0, 1, INSTANT_MS - 1, INSTANT_MS, INSTANT_MS + 1, 253_402_300_799_999],
}


@st.composite
def comparisons(draw, names=tuple(LITERALS), *, nulls=True):
    """Draw one condition on one field, as SQL."""
    name = draw(st.sampled_from(names))
    literal = st.sampled_from(LITERALS[name])
    forms = ["=", "<>", "IN", "NOT IN"]
    forms += ["TRUE"] if name == "open" else ["<", "<=", ">", ">=", "BETWEEN", "NOT BETWEEN"]
    forms += ["IS NULL", "IS NOT NULL"] if nulls else []
    form = draw(st.sampled_from(forms))
    if form == "TRUE":
        return name
    if form.endswith("NULL"):
        return f"{name} {form}"
    if form.endswith("IN"):
        return f"{name} {form} ({', '.join(draw(st.lists(literal, min_size=1, max_size=3)))})"
    if form.endswith("BETWEEN"):
        return f"{name} {form} {draw(literal)} AND {draw(literal)}"
    flipped = draw(st.booleans())
    first, second = (draw(literal), name) if flipped else (name, draw(literal))
    return f"{first} {form} {second}"


CONDITIONS = st.recursive(
    comparisons(),
    lambda inner: st.one_of(
        inner.map(lambda part: f"NOT ({part})"),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"({' AND '.join(parts)})"),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"({' OR '.join(parts)})"),
    ),
    max_leaves=8,
)
GROUPS = st.sampled_from([("room",), ("floor",), ("floor", "room"), ()])


def query(where="", group=("room",)):
    """Return a query that filters and groups so, its text read by the real parser."""
    return replace(
        reference.make_query(reference.scenes()[0], Weight.COUNT),
        feed=BADGES,
        where=read(where, group) if isinstance(where, str) else where,
        domain=Domain(group, tuple(BADGES.fields[name].domain or () for name in group)),
    )


def region(where="", group=()):
    """Return the region of such a query, without groups unless told otherwise."""
    return region_of(query(where, group))


def read(where, group):
    """Return the filter of a query that says so."""
    keys = ", ".join((*group, "TUMBLE(ts, INTERVAL '1' HOUR)"))
    clauses = ["SELECT", ", ".join(group) or "1", "FROM badges", where and f"WHERE {where}"]
    return parse_sql(
        " ".join([*clauses, "GROUP BY", keys, "HAVING COUNT(*) > 3"]),
        feeds={"badges": BADGES},
        tables=(),
        timezone=ZoneInfo("Europe/Berlin"),
    ).where


def counted(asked, events):
    """Return the cell that the real pipeline gives each event, ``None`` where it drops it."""
    rows = pa.RecordBatch.from_pylist(events, schema=declared_schema(BADGES))
    ids = np.arange(len(events), dtype=np.int64)
    times = np.zeros(len(events), np.int64)
    batch = Batch(
        rows, times, times, ids, Units(ids, Roster(np.zeros((len(events), 2), np.uint64))), None
    )
    kept, _ = project(asked, batch)
    cells = [None] * len(events)
    for offset, cell in zip(kept.offset.tolist(), kept.cell.tolist(), strict=True):
        cells[offset] = cell
    return cells


def row_of(event):
    """Return an event's attributes; a null field is none."""
    present = {name: value for name, value in event.items() if value is not None}
    return {"feed": "badges", **{f"badges.{name}": value for name, value in present.items()}}


EVENT_LISTS = st.lists(
    st.fixed_dictionaries({name: st.sampled_from(values) for name, values in EVENTS.items()}),
    min_size=1,
    max_size=20,
)


def looked(asked, events):
    """Yield events, whether each lies in the query's region, and the cell that counts it."""
    whole = region_of(asked)
    for event, cell in zip(events, counted(asked, events), strict=True):
        yield event, whole.contains(row_of(event)), cell


@pytest.mark.long
@settings(max_examples=200)
@given(CONDITIONS, GROUPS, EVENT_LISTS)
def test_every_event_that_counts_is_in_the_region(where, group, events):
    """Whatever WHERE and GROUP BY say, no counted event lies outside; its cell is the named one."""
    asked = query(where, group)
    cells = list(cells_of(asked))
    for event, inside, cell in looked(asked, events):
        if cell is not None:
            assert inside, (where, event)
            assert cells[cell] == tuple(event[name] for name in group)


@st.composite
def exact_conditions(draw):
    """Draw conditions whose region is exact: fields joined by AND, or anything of one field."""
    if draw(st.booleans()):
        return " AND ".join(draw(st.lists(comparisons(nulls=False), min_size=1, max_size=4)))
    part = comparisons((draw(st.sampled_from(list(LITERALS))),), nulls=False)
    where = draw(part)
    for word in draw(st.lists(st.sampled_from(["AND", "OR", "AND NOT", "OR NOT"]), max_size=3)):
        where = f"({where}) {word} ({draw(part)})"
    return where


@pytest.mark.long
@settings(max_examples=300)
@given(exact_conditions(), GROUPS, EVENT_LISTS)
def test_the_region_holds_nothing_else_where_it_can(where, group, events):
    """Only events that count, or lack a field."""
    for event, inside, cell in looked(query(where, group), events):
        if None not in event.values():
            assert inside == (cell is not None), (where, event)


@pytest.mark.parametrize(
    ("where", "conditions"),
    [
        ("size > 3 AND size <= 7", {"badges.size": range(4, 8)}),
        ("size = 3 OR size = 4", {"badges.size": (3, 5)}),
        ("NOT size IN (3)", {"badges.size": ValueSet.numbers() & ~ValueSet.integers(3)}),
        ("size = 3 OR room = 'lab'", {}),
        (
            "(size = 3 AND open) OR (size = 5 AND paid > 0)",
            {"badges.size": ValueSet.integers(3, 5)},
        ),
        ("NOT (size < 3 OR open)", {"badges.size": (3, None), "badges.open": False}),
        ("NOT (size < 3 AND open)", {}),
        ("size IS NULL", {}),
        ("size IS NULL OR size > 3", {}),
        ("(size IS NULL OR size > 3) AND size IS NOT NULL", {"badges.size": (4, None)}),
        ("size > 3 OR size <= 3", {}),
        ("open <> TRUE", {"badges.open": False}),
        ("paid <= 0.5", {"badges.paid": ValueSet.between(None, 0.5, high_closed=True)}),
        ("(size = 1 AND size = 2) OR open", {"badges.open": True}),
        ("ts IS NULL OR open", {"badges.open": True}),
    ],
)
def test_what_a_filter_says_of_each_field(where, conditions):
    """AND narrows, OR keeps what all sides say, NOT turns inwards, nulls leave a field open."""
    assert region(where) == Region.of({"feed": "badges", **conditions})


@pytest.mark.parametrize(
    "where",
    [
        "size = 1 AND size = 2",
        "size > 3 AND size < 4",
        "size > 3 AND NOT size > 3",
        "size IS NULL AND size = 3",
        "ts IS NULL",
        "person IS NULL AND open",
        "person > 'b' AND person < 'a'",
        "room = 'hall'",
        "open AND NOT open",
        "NOT (size IN (1, 2) OR size NOT IN (1, 2)) AND size IS NOT NULL",
    ],
)
def test_a_filter_that_is_never_true_has_the_empty_region(where):
    """Contradictions, also with the declared domain of the group, leave no row."""
    assert region(where, ("room",)) == Region.nothing()


def test_the_group_keeps_to_its_domain():
    """Group fields have their declared values, typed as the fields are; the last varies fastest."""
    asked = query("", ("floor", "room"))
    assert group_by_of(asked) == ("badges.floor", "badges.room")
    assert region_of(asked) == Region.of(
        {
            "feed": "badges",
            "badges.floor": ValueSet.integers(1, 2, -3),
            "badges.room": ["lobby", "lab", "Z\u00fcrich"],
        }
    )
    cells = list(cells_of(asked))
    assert len(cells) == len(asked.domain)
    for index, cell in enumerate(cells):
        assert tuple(map(str, cell)) == tuple(asked.domain.group(index).values())
    ungrouped = query("", ())
    assert group_by_of(ungrouped) == ()
    assert list(cells_of(ungrouped)) == [()]
    assert region() == Region.where(feed="badges")


def test_other_feeds_share_no_event():
    """A topic has one feed: the feed's name keeps regions apart, and their attributes."""
    other = replace(query(), feed=replace(BADGES, name="doors"))
    assert attribute_of(other.feed, "room") == "doors.room"
    assert not region_of(other).overlaps(region())


def test_another_type_of_a_field_keeps_no_rows_apart():
    """One event's value is a string, or an instant, as its field is declared: it is in both."""

    def shape(where):
        return shape_of(query(where, ())).as_region

    def shape_as(name, kind, value):
        feed = replace(BADGES, fields={**BADGES.fields, name: Field(name, kind)})
        where = Compare(name, kind, Comparison.EQ, value)
        return shape_of(replace(query(where, ()), feed=feed)).as_region

    text, instant = "2011-06-02T08:00:00Z", shape("ts >= '2011-06-02T08:00:00Z'")
    assert shape_as("ts", FieldType.STRING, text).overlaps(instant)
    assert not shape("ts < '2011-06-02T08:00:00Z'").overlaps(instant)
    whole = shape(f"size = {2**53 + 1}")  # as a float it is the number before
    assert whole.overlaps(shape_as("size", FieldType.FLOAT, float(2**53)))
    assert shape("open AND NOT open").empty


def test_a_broken_reading_of_null_is_caught():
    """The check has power: taking NOT as the complement, nulls included, loses events."""
    where = "size IS NULL OR size > 3"
    event = dict.fromkeys(EVENTS) | {"person": "a", "ts": 0}
    asked = query(where, ())
    assert counted(asked, [event]) == [0]
    assert region_of(asked).contains(row_of(event))
    assert not Region.of({"badges.size": (4, None)}).contains(row_of(event))


@settings(max_examples=100)
@given(st.lists(CONDITIONS, min_size=1, max_size=3), st.none() | CONDITIONS, EVENT_LISTS)
def test_rows_that_no_filter_covers_pay_nothing(filters, where, events):
    """The region holds every event that counts in some aggregate; of one field, no other."""
    base = query(where or "", ("room",))
    specs = tuple(replace(base.aggregates[0], where=read(each, ("room",))) for each in filters)
    asked = replace(base, aggregates=specs)
    for event, inside, cell in looked(asked, events):
        assert cell is None or inside, (filters, event)
    plain = (base.aggregates[0], *specs)
    assert region_of(replace(base, aggregates=plain)) == region_of(base)


def test_rows_that_a_filter_of_some_aggregate_covers_pay():
    """Filters are united, those of a linear statistic's terms, too, and meet WHERE."""
    base = query("size > 0", ())

    narrow = Region.of(
        {"feed": "badges", "badges.size": (1, None), "badges.room": ["lab", "lobby"]}
    )
    for filters, wanted in (
        (("room = 'lab'", "room = 'lobby' AND open"), narrow),
        (("room = 'lab'", "open"), region_of(base)),
        (("size < 0",), region_of(base)),  # no row is covered: there is a warning
    ):
        terms = tuple(Term(1, Weight.COUNT, where=read(each, ())) for each in filters)
        linear = AggregateSpec(Weight.LINEAR, lo=0, hi=len(terms), terms=terms)
        for aggregates in (tuple(term.alone for term in terms), (linear,)):
            assert region_of(replace(base, aggregates=aggregates)) == wanted, filters


def test_large_lists_are_read_in_one_pass():
    """A list of 20,000 values takes no quadratic time."""
    values = ", ".join(str(each) for each in range(0, 40_000, 2))
    found = region(f"size NOT IN ({values})")
    assert not found.contains(row_of({"size": 38_000}))
    assert found.contains(row_of({"size": 38_001}))
