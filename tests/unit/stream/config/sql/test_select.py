"""The SQL of alarms: what is read, and where everything else is refused.

The mark ``⟦`` (removed before reading) stands where the error must point to.
"""

from __future__ import annotations

import re
from fractions import Fraction
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.conditions.comparison import Comparison
from stream.config.scalars import Duration
from stream.config.sql.select import SqlProblem, parse_sql
from stream.model.feeds import Codec, Feed, Field, FieldType
from stream.model.filters import And, Compare, IsIn, IsNull, Not, Or
from stream.windows.localtime import DAY_MS

FIELDS = (
    Field("person", FieldType.STRING),
    Field("room", FieldType.STRING, ("lobby", "lab")),
    Field("floor", FieldType.INTEGER, ("1", "2", "3")),
    Field("kind", FieldType.STRING),
    Field("open", FieldType.BOOLEAN),
    Field("age", FieldType.INTEGER, None, Fraction(0), Fraction(100), Fraction(1)),
    Field("paid", FieldType.FLOAT, None, Fraction(-2), Fraction(3), Fraction(1, 2)),
    Field("size", FieldType.INTEGER),
    Field("raw", FieldType.FLOAT, None, Fraction(0), Fraction(10)),
    Field("ts", FieldType.TIMESTAMP),
    Field("a.b", FieldType.STRING, ("x",)),
    Field("a b", FieldType.STRING),
    Field("order", FieldType.INTEGER, None, Fraction(0), Fraction(9), Fraction(1)),
)
BADGES = Feed(
    "badges", "b", Codec.JSON, "ts", "person", None, {field.name: field for field in FIELDS}
)
FEEDS = {"badges": BADGES, "shop.sales": BADGES}
HOUR = "TUMBLE(ts, INTERVAL '1' HOUR)"


def parse(sql):
    """Parse against the feeds above, in Berlin."""
    zone = ZoneInfo("Europe/Berlin")
    return parse_sql(sql, feeds=FEEDS, tables=["seats"], timezone=zone)


def query(
    *,
    select="room",
    source="badges",
    where="",
    group=f"room, {HOUR}",
    having="COUNT(*) > 10",
    rest="",
):
    """Return a query made of its clauses."""
    condition = f"\nWHERE {where}" if where else ""
    return f"SELECT {select}\nFROM {source}{condition}\nGROUP BY {group}\nHAVING {having}{rest}"


def test_a_query_is_read_into_its_parts():
    """All parts of a full query arrive."""
    parsed = parse(query(where="size > 3", having="SUM(paid) >= seats[room]"))
    assert (parsed.feed, parsed.group, parsed.notes) == (BADGES, ("room",), ())
    assert parsed.size == parsed.step == Duration(milliseconds=3_600_000)
    assert parsed.where == Compare("size", FieldType.INTEGER, Comparison.GT, 3)
    (asked,) = parsed.having.leaves()
    assert (asked.measure.field, asked.text) == ("paid", "SUM(paid) >= seats[room]")
    assert (asked.threshold.table, asked.threshold.field) == ("seats", "room")


@pytest.mark.parametrize(
    ("window", "step", "size"),
    [
        ("TUMBLE(ts, INTERVAL '15' MINUTE)", (900_000, 0), (900_000, 0)),
        ("tumble(ts, INTERVAL 30 SECONDS)", (30_000, 0), (30_000, 0)),
        ("TUMBLE(ts, INTERVAL '1 hour')", (3_600_000, 0), (3_600_000, 0)),
        ("TUMBLE(ts, INTERVAL '2' WEEK)", (14 * DAY_MS, 14), (14 * DAY_MS, 14)),
        ("HOP(ts, INTERVAL '5' MINUTE, INTERVAL '1' HOUR)", (300_000, 0), (3_600_000, 0)),
        ("CUMULATE(ts, INTERVAL '2' MINUTE, INTERVAL '24' HOUR)", (120_000, 0), (DAY_MS, 0)),
        ("HOP(ts, INTERVAL '1' DAY, INTERVAL '1' WEEK)", (DAY_MS, 1), (7 * DAY_MS, 7)),
    ],
)
def test_windows_are_fixed_lengths_or_local_days(window, step, size):
    """Seconds to hours are milliseconds, days and weeks are days."""
    parsed = parse(query(group=f"{window}, room"))
    assert (parsed.step, parsed.size) == (Duration(*step), Duration(*size))
    assert parsed.cumulative is window.startswith("CUMULATE")


STRING, INTEGER, FLOAT = FieldType.STRING, FieldType.INTEGER, FieldType.FLOAT
EQ, GE = Comparison.EQ, Comparison.GE
OPEN = Compare("open", FieldType.BOOLEAN, EQ, value=True)


@pytest.mark.parametrize(
    ("where", "tree"),
    [
        ("room = 'lab'", Compare("room", STRING, EQ, "lab")),
        ("'it''s' <> person", Compare("person", STRING, Comparison.NE, "it's")),
        ("3 < size", Compare("size", INTEGER, Comparison.GT, 3)),
        ("size <= -3", Compare("size", INTEGER, Comparison.LE, -3)),
        ("raw >= 0.5", Compare("raw", FLOAT, GE, 0.5)),
        ("raw = 1", Compare("raw", FLOAT, EQ, 1.0)),
        ("open", OPEN),
        ("open = FALSE", Compare("open", FieldType.BOOLEAN, EQ, value=False)),
        ("size IN (1, 2)", IsIn("size", INTEGER, (1, 2))),
        ("size NOT IN (1)", Not(IsIn("size", INTEGER, (1,)))),
        ("person IS NULL", IsNull("person")),
        ("person IS NOT NULL", Not(IsNull("person"))),
        (
            "size BETWEEN 1 AND 2",
            And((Compare("size", INTEGER, GE, 1), Compare("size", INTEGER, Comparison.LE, 2))),
        ),
        (
            "open OR person IS NULL AND NOT (open AND open) OR (open)",
            Or((OPEN, And((IsNull("person"), Not(And((OPEN, OPEN))))), OPEN)),
        ),
        ("ts >= '2011-06-01'", Compare("ts", FieldType.TIMESTAMP, GE, 1_306_879_200_000)),
        (
            "ts < TIMESTAMP '2011-06-01T00:00:00.250Z'",
            Compare("ts", FieldType.TIMESTAMP, Comparison.LT, 1_306_886_400_250),
        ),
        ("\"a.b\" = 'x'", Compare("a.b", STRING, EQ, "x")),
    ],
)
def test_conditions_become_typed_trees(where, tree):
    """Every form of WHERE has its tree; precedence is SQL's."""
    assert parse(query(where=where)).where == tree


def test_quoted_names_and_comments_are_taken():
    """Feeds with dots are quoted, comments and a final semicolon do not matter."""
    parsed = parse(query(source='"shop.sales"', select='"room"', rest="; -- that's all"))
    assert parsed.feed is BADGES


@pytest.mark.parametrize("select", ["1", ""])
def test_without_group_fields_select_is_one_or_nothing(select):
    """A query of the window alone selects 1."""
    assert parse(query(select=select, group=HOUR)).group == ()


@pytest.mark.parametrize(
    "sql",
    [
        query(having="COUNT(* EXCEPT (size)) > 3"),
        query(group=f"room, {HOUR} WITH ROLLUP"),
        query(source="badges TABLESAMPLE (5)"),
        query(source=f"({query()}) PIVOT (SUM(size) FOR room IN ('lab'))", having="COUNT(*) > 1"),
    ],
)
def test_no_part_of_a_query_is_ignored(sql):
    """What the grammar has no place for is refused, wherever it stands."""
    problem = problem_of(sql)
    assert problem is not None
    assert re.search("EXCEPT|ROLLUP|SAMPLE|PIVOT", problem.message)


WORDS = [
    *query(where="size = 1").split(),
    *["(", ")", ",", "'", '"', "*", "/*", "--", "NOT", "IN", "[", "]", ";", "é", "CASE"],
    *["AND", "OR", "BETWEEN", "AVG(paid)", "MEDIAN(paid)", "FILTER (WHERE", "size = 1)"],
    *["seats[room]", "QUANTILE(paid, 0.5)", "DISTINCT", "NULL"],
    "\n",
]


def problem_of(sql):
    """Return what is wrong with a text, if anything is."""
    try:
        parse(sql)
    except SqlProblem as problem:
        return problem
    return None


@pytest.mark.long
@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=30).map(" ".join) | st.text(max_size=60))
def test_no_text_fails_otherwise(sql):
    """Any text is a query or a SqlProblem inside it; nothing else is raised."""
    problem = problem_of(sql)
    assert problem is None or 0 <= problem.offset <= len(sql)
