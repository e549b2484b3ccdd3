"""What people used up of caps over periods, kept from one window to the next.

A row of a window is needed until that of a later one is there and its query's cursor has passed
both: reading then begins behind the later one. What it says of periods that are over is nothing.
"""

from __future__ import annotations

import json
from functools import cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from accountant.records import Used
from accountant.store.rows import Rows
from accountant.store.schema import table_of
from accountant.store.tables.counted import USED, UsedRow

if TYPE_CHECKING:
    from accountant.records import Partial

__all__ = ["UsedUp", "used_digest"]

_USED = table_of(USED)


class UsedUp(Rows[UsedRow]):
    """What people used up, by window."""

    def note(self, partial: Partial) -> None:
        """Keep what a partial says of it, where it has anything to say."""
        if partial.used is not None:
            place = (partial.key.query, partial.partition, partial.key.start_ms)
            row = UsedRow(*place, partial.fingerprint, partial.topic_id, partial.used, b"")
            self.put(UsedRow(*place, row.fingerprint, row.topic_id, row.state, used_digest(row)))

    def before(
        self, query: str, partition: int, start_ms: int, *, fingerprint: str, topic_id: str
    ) -> Used | None:
        """Return what is known through the last window that starts before an instant.

        ``None`` also where it is not what was stored, or of another configuration or log: it is
        counted again then.
        """
        bound = {"query": query, "partition": partition, "start_ms": start_ms}
        found = self._read(_last(), **bound)
        if not found or found[0].digest != used_digest(found[0]):
            return None
        if (found[0].fingerprint, found[0].topic_id) != (fingerprint, topic_id):
            return None
        return Used(found[0].start_ms, found[0].state)

    def drop_passed(self, query: str, cursor_ms: int) -> None:
        """Delete what is known of windows behind which another one is known, before a cursor."""
        self._connection.execute(_passed(), {"of": query, "cursor_ms": cursor_ms})


def used_digest(row: UsedRow) -> bytes:
    """Return the checksum of a row."""
    text = json.dumps([row.query, row.partition, row.start_ms, row.fingerprint, row.topic_id])
    return blake2b(text.encode() + row.state, digest_size=16).digest()


@cache
def _last() -> Any:
    columns = _USED.c
    place = (
        columns.query == sa.bindparam("query"),
        columns.partition == sa.bindparam("partition"),
    )
    earlier = columns.start_ms < sa.bindparam("start_ms")
    return sa.select(_USED).where(*place, earlier).order_by(columns.start_ms.desc()).limit(1)


@cache
def _passed() -> Any:
    later = _USED.alias()
    place = (later.c.query == _USED.c.query, later.c.partition == _USED.c.partition)
    newest = (
        sa.select(sa.func.max(later.c.start_ms))
        .where(*place, later.c.start_ms < sa.bindparam("cursor_ms"))
        .correlate(_USED)
        .scalar_subquery()
    )
    return _USED.delete().where(_USED.c.query == sa.bindparam("of"), _USED.c.start_ms < newest)
