"""Windows as Flink writes them, and windows that are looked at in steps."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest

from stream.config.scalars import Duration
from stream.config.sql.select import ParsedQuery, parse_sql
from stream.model.feeds import Codec, Feed, Field, FieldType
from tests.support.marked import MARK, assert_refused

BADGES = Feed(
    "badges",
    "b",
    Codec.JSON,
    "ts",
    "person",
    None,
    {
        field.name: field
        for field in (
            Field("person", FieldType.STRING),
            Field("room", FieldType.STRING, ("lobby", "lab")),
            Field("ts", FieldType.TIMESTAMP),
        )
    },
)
MINUTE_MS = 60_000
HAVING = "HAVING COUNT(*) > 10"
ENDS = "room, window_start, window_end"


def parse(sql: str) -> ParsedQuery:
    """Parse against the feed above."""
    return parse_sql(sql, feeds={"badges": BADGES}, tables=[], timezone=ZoneInfo("UTC"))


def grouped(window: str) -> str:
    """Return a query whose window stands in GROUP BY."""
    return f"SELECT room\nFROM badges\nGROUP BY room, {window}\n{HAVING}"


def flink(call: str, group: str = ENDS, rest: str = "") -> str:
    """Return a query whose window stands in FROM."""
    return f"SELECT room\nFROM TABLE({call}){rest}\nGROUP BY {group}\n{HAVING}"


def minutes(number: str, unit: str = "MINUTE") -> str:
    """Return a length in SQL; the mark stands before its number."""
    return f"INTERVAL '{number}' {unit}".replace(f"'{MARK}", f"{MARK}'")


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        ("TUMBLE", minutes("60")),
        ("HOP", f"{minutes('20')}, {minutes('60')}"),
        ("CUMULATE", f"{minutes('5')}, {minutes('60')}"),
        ("cumulate", f"{minutes('2')}, {minutes('24', 'HOUR')}"),
    ],
)
def test_a_window_in_from_is_the_same_as_in_group_by(call: str, arguments: str) -> None:
    """Flink's table functions say what TUMBLE, HOP and CUMULATE say in GROUP BY."""
    plain = parse(grouped(f"{call}(ts, {arguments})"))
    table = parse(flink(f"{call}(TABLE badges, DESCRIPTOR(ts), {arguments})"))
    for part in ("feed", "group", "size", "step", "cumulative", "notes"):
        assert getattr(plain, part) == getattr(table, part)
    assert table.cumulative is (call.upper() == "CUMULATE")


def test_a_filter_stands_behind_the_table_function() -> None:
    """What comes after FROM is read as ever, at its own place."""
    call = f"HOP(TABLE badges, DESCRIPTOR(ts), {minutes('20')}, {minutes('60')})"
    parsed = parse(flink(call, rest=" WHERE room = 'lab'"))
    assert parsed.where is not None
    assert (parsed.step, parsed.size) == (
        Duration(milliseconds=20 * MINUTE_MS),
        Duration(milliseconds=60 * MINUTE_MS),
    )


TUMBLE = f"TUMBLE(TABLE badges, DESCRIPTOR(ts), {minutes('60')})"


@pytest.mark.parametrize(
    ("sql", "message", "hint"),
    [
        (grouped(f"CUMULATE(ts, {minutes('⟦7')}, {minutes('60')})"), "divide", "step first"),
        (grouped(f"CUMULATE(ts, {minutes('⟦60')}, {minutes('60')})"), "two or more", "step first"),
        (grouped(f"CUMULATE(ts, {minutes('⟦60')}, {minutes('5')})"), "divide", "step first"),
        (grouped(f"CUMULATE(ts, {minutes('⟦1')}, {minutes('1001')})"), "at most 1000", "longer"),
        (
            grouped(f"CUMULATE(ts, {minutes('⟦1', 'HOUR')}, {minutes('1', 'DAY')})"),
            "in hours or shorter",
            "INTERVAL '24' HOUR",
        ),
        (grouped(f"⟦CUMULATE(ts, {minutes('60')})"), "3 arguments, not 2", "CUMULATE(ts, step"),
        (flink(f"TUMBLE(⟦badges, DESCRIPTOR(ts), {minutes('60')})"), "TABLE and a feed", "FROM"),
        (flink(f"TUMBLE(TABLE badges, ⟦ts, {minutes('60')})"), "DESCRIPTOR(time)", "FROM TABLE("),
        (flink(f"TUMBLE(TABLE badges, DESCRIPTOR(⟦room), {minutes('60')})"), "time", "TUMBLE(ts"),
        (flink(f"TUMBLE(TABLE ⟦people, DESCRIPTOR(ts), {minutes('60')})"), "not a feed", "badges"),
        (
            flink(f"⟦SESSION(TABLE badges, DESCRIPTOR(ts), {minutes('60')})"),
            "not supported",
            "TUMBLE",
        ),
        (flink("⟦badges"), "one window over a feed", "FROM TABLE(BADGES("),
        (flink(TUMBLE, group="⟦room"), "lacks window_start", "window_start, window_end"),
        (flink(TUMBLE, group="⟦room, window_start"), "lacks window_end", "window_start, window_"),
        (
            flink(TUMBLE, group=f"{ENDS}, ⟦TUMBLE(ts, {minutes('60')})"),
            "takes one window",
            "remove",
        ),
    ],
)
def test_other_windows_are_refused_at_their_place(sql: str, message: str, hint: str) -> None:
    """What is wrong, where it stands, and what to write."""
    assert_refused(parse, sql, message, hint)
