"""A SELECT around an alarm's SELECT: what it counts, and what it may not say.

The mark ``⟦`` (removed before reading) stands where the error must point to.
"""

from __future__ import annotations

import pytest

from tests.unit.stream.config.sql.test_select import BADGES, HOUR, parse, query

INNER = query(select="room, floor", group=f"room, floor, {HOUR}")


def around(having="COUNT(*) >= 3", *, select="1", inner=INNER, rest=""):
    """Return a query that counts the groups of another one; of rooms and floors, there are 6."""
    return "\n".join(("SELECT " + select, f"FROM ({inner})", rest, "HAVING " + having))


def per_floor(having, group="floor", select="floor"):
    """Return one that counts the two rooms of every floor."""
    return around(having, select=select, rest=f"GROUP BY {group}")


GOOD = [
    (around(), ((), 3)),
    (around("3 <= COUNT(*)"), ((), 3)),
    (around("(COUNT(*)) > 2"), ((), 3)),
    (around("COUNT(*) = 6"), ((), 6)),
    (around("COUNT(*) = EVERY"), ((), 6)),
    (around("every <= COUNT(*)"), ((), 6)),
    (per_floor("COUNT(*) > 1"), (("floor",), 2)),
    (per_floor("COUNT(*) = EVERY"), (("floor",), 2)),
    (per_floor("COUNT(*) >= 1", group="room", select="room"), (("room",), 1)),
]


@pytest.mark.parametrize(("sql", "expected"), GOOD)
def test_what_counts_groups_is_read(sql, expected):
    """The outer fields are decided, the others counted; the rest is that of the inner query."""
    parsed = parse(sql)
    assert (parsed.group, parsed.least) == expected
    assert not set(parsed.group) & set(parsed.members)
    plain = parse(INNER)
    assert {*parsed.group, *parsed.members} == set(plain.group)
    assert (parsed.having, parsed.size, parsed.feed) == (plain.having, plain.size, BADGES)
