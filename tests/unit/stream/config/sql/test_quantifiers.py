"""A SELECT around an alarm's SELECT: what it counts, and what it may not say.

The mark ``⟦`` (removed before reading) stands where the error must point to.
"""

from __future__ import annotations

import pytest

from tests.support.marked import assert_refused
from tests.unit.stream.config.sql.test_select import BADGES, HOUR, parse, query

INNER = query(select="room, floor", group=f"room, floor, {HOUR}")


def around(
    having: str = "COUNT(*) >= 3", *, select: str = "1", inner: str = INNER, rest: str = ""
) -> str:
    """Return a query that counts the groups of another one; of rooms and floors, there are 4."""
    return "\n".join(("SELECT " + select, f"FROM ({inner})", rest, "HAVING " + having))


def per_floor(having: str, group: str = "floor", select: str = "floor") -> str:
    """Return one that counts the two rooms of every floor."""
    return around(having, select=select, rest=f"GROUP BY {group}")


GOOD = [
    (around(), ((), 3)),
    (around("3 <= COUNT(*)"), ((), 3)),
    (around("(COUNT(*)) > 2"), ((), 3)),
    (around("COUNT(*) = 4"), ((), 4)),
    (around("COUNT(*) = EVERY"), ((), 4)),
    (around("every <= COUNT(*)"), ((), 4)),
    (per_floor("COUNT(*) > 1"), (("floor",), 2)),
    (per_floor("COUNT(*) = EVERY"), (("floor",), 2)),
    (per_floor("COUNT(*) >= 1", group="room", select="room"), (("room",), 1)),
]


@pytest.mark.parametrize(("sql", "expected"), GOOD)
def test_what_counts_groups_is_read(sql: str, expected: tuple[tuple[str, ...], int]) -> None:
    """The outer fields are decided, the others counted; the rest is that of the inner query."""
    parsed = parse(sql)
    assert (parsed.group, parsed.least) == expected
    assert not set(parsed.group) & set(parsed.members)
    plain = parse(INNER)
    assert {*parsed.group, *parsed.members} == set(plain.group)
    assert (parsed.having, parsed.size, parsed.feed) == (plain.having, plain.size, BADGES)


BAD = [
    # the number of groups
    (around("COUNT(*) >= ⟦0"), "4 groups of room, floor: it always holds", "from 1 to 4"),
    (around("COUNT(*) >= ⟦5"), "4 groups of room, floor: it never holds", "from 1 to 4"),
    (around("COUNT(*) >= ⟦1.5"), "whole numbers", "COUNT(*) >= 3"),
    (around("COUNT(*) < ⟦2"), "not supported", "COUNT(*) >= 3 here"),
    (around("⟦2 >= COUNT(*)"), "not supported", "COUNT(*) >= 2 here"),
    (around("COUNT(*) = ⟦2"), "COUNT(*) = 2 of 4", "COUNT(*) >= 3, or"),
    # another HAVING
    (around("⟦COUNT(room) >= 3"), "compares COUNT(*) with one number", "HAVING COUNT(*) >= 3"),
    (around("COUNT(*) >= ⟦size"), "compares COUNT(*) with", "HAVING COUNT(*)"),
    (
        around().replace("HAVING COUNT(*) >= 3", "").replace("SELECT", "⟦SELECT", 1),
        "HAVING is missing",
        "HAVING COUNT(*) >= 3",
    ),
    # the outer groups
    (per_floor("COUNT(*) >= 1", f"floor, ⟦{HOUR}"), "the window stands in the inner", "remove"),
    (per_floor("COUNT(*) >= 1", "⟦size"), "`size` is not in the inner GROUP BY", "size"),
    (around(select="⟦room"), "`room` is not in GROUP BY", "SELECT 1"),
    (
        around(inner=INNER.replace("room, floor\nFROM", "room\nFROM"), rest="GROUP BY ⟦floor"),
        "`floor` is not in the inner SELECT",
        "write floor into the inner SELECT",
    ),
    (
        per_floor("COUNT(*) >= 1", "room, floor", "room, floor").replace("SELECT", "⟦SELECT", 1),
        "there is none to count",
        "the inner query alone",
    ),
    # around the inner query
    (around(rest="WHERE ⟦room = 'lab'"), "WHERE around the inner query", "into the inner query"),
    (around("COUNT(*) >= 3 ORDER BY ⟦1"), "ORDER BY around the inner query", "remove"),
    (around(rest="AS ⟦t"), "without an alias", "remove"),
    (
        around(inner=f"({INNER.replace('room', '⟦room', 1)})"),
        "one SELECT",
        "FROM (SELECT ...)",
    ),
    # the inner query
    (
        around(inner=INNER.replace(f", {HOUR}", "").replace("BY room", "BY ⟦room")),
        "no window",
        "TU",
    ),
    (
        around(inner=INNER.replace("COUNT(*) > 10", "⟦ABS(COUNT(*) - REFERENCE) >= 5")),
        "decided group by group",
        "the inner query alone",
    ),
    (
        around(inner=around().replace("room", "⟦room", 1)),
        "FROM takes a feed, not SUBQUERY",
        "SELECT",
    ),
]


@pytest.mark.parametrize(("sql", "message", "hint"), BAD, ids=lambda text: text[-50:])
def test_what_it_may_not_say_is_refused_at_its_place(sql: str, message: str, hint: str) -> None:
    """Each with what to write instead."""
    assert_refused(parse, sql, message, hint)
