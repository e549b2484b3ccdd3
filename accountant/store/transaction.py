"""One transaction on a ledger: its log, and its working rows side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import sqlalchemy as sa

from accountant.costs.charges import WindowKey
from accountant.records import Partial, Used
from accountant.store.entry_rows import Log
from accountant.store.private import Private
from accountant.store.rows import Rows
from accountant.store.tables import (
    COUNTERS,
    KEPT,
    MARKS,
    PARTIALS,
    PLACES,
    PRIVATE,
    USED,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = ["CLOCK", "CLOCK_GRAIN_MS", "LEFT", "Counters", "Transaction"]

CLOCK: Final = "clock"
"""The counter that is the mark of time."""

CLOCK_GRAIN_MS: Final = 100
"""It moves in steps, so that those who count do not queue up for its row."""

LEFT: Final = "published/"
"""Begins the name of a query's counter of decisions that have left."""

_DOOR: Final = "door"
_SECRET: Final = "secret"  # noqa: S105  # the kind of a row


class Transaction:
    """Rows within one transaction.

    Args:
        connection: in that transaction.
        secret: of the ledger; empty until it is known.
    """

    def __init__(self, connection: sa.Connection, secret: bytes) -> None:
        self.connection = connection
        self.log = Log(connection)
        self.partials = Partials(connection, PARTIALS, secret)
        self.used = UsedUp(connection, USED, secret)
        self.private = Private(connection, PRIVATE, secret)
        self.marks = Rows(connection, MARKS, secret)
        self.places = Rows(connection, PLACES, secret)
        self.counters = Counters(connection, COUNTERS, secret)
        self.kept = Rows(connection, KEPT, secret)

    def lock(self, *, share: bool = False) -> None:
        """Be the only one who appends, or with ``share`` keep others from it.

        SQLite's write transaction is that already.
        """
        if self.connection.dialect.name != "sqlite":
            door = sa.select(COUNTERS.c.name).where(COUNTERS.c.name == _DOOR)
            self.connection.execute(door.with_for_update(read=share))

    def secret(self) -> bytes | None:
        """Return the ledger's secret; ``None`` before there is one."""
        columns = PRIVATE.c
        found: bytes | None = self.connection.scalar(
            sa.select(columns.body).where(columns.kind == _SECRET)
        )
        return found

    def begin(self, secret: bytes, now_ms: int) -> bytes:
        """Store a new ledger's secret, what it is locked by, and its clock; return its secret.

        Of many who do so at once, one does; the others are told what it stored.
        """
        if Rows(self.connection, PRIVATE, secret).add_new(_SECRET, "", 0, 0, "", secret):
            counters = Counters(self.connection, COUNTERS, secret)
            counters.put(_DOOR, 0, 0)
            counters.put(CLOCK, now_ms, now_ms)
        return self.secret() or secret

    def drop_behind(self, query: str, cursor_ms: int) -> None:
        """Drop what was counted of a query's windows that start before its cursor."""
        self.partials.drop_before(query, cursor_ms)
        self.used.drop_passed(query, cursor_ms)

    def forget(self, query: str) -> None:
        """Drop all that was counted and kept of a query under a configuration that ended."""
        self.private.forget(query)
        self.partials.drop(query=query)
        self.used.drop(query=query)

    def wrong(self) -> Iterator[tuple[str, sa.Row[Any]]]:
        """Yield tables and working rows that are not what was stored."""
        working = (self.partials, self.used, self.private, self.marks, self.places)
        for rows in (*working, self.counters, self.kept):
            for row in rows.wrong():
                yield rows.name, row


class Counters(Rows):
    """Numbers by name, each with an instant."""

    def of(self, name: str) -> tuple[int, int]:
        """Return a number and when it was set; zeros where it never was."""
        found = self.get(name=name)
        return (0, 0) if found is None else (found.value, found.at_ms)

    def count(self, name: str, now_ms: int) -> int:
        """Raise a number by one, and return it."""
        value = self.of(name)[0] + 1
        self.put(name, value, now_ms)
        return value

    def named(self, prefix: str) -> dict[str, tuple[int, int]]:
        """Return the numbers whose names begin alike, by the rest of their names."""
        begins = COUNTERS.c.name.startswith(prefix, autoescape=True)
        return {row.name[len(prefix) :]: (row.value, row.at_ms) for row in self.where(begins)}


class Partials(Rows):
    """Counts of undecided windows."""

    def store(self, partial: Partial) -> bool:
        """Store a partial unless its place is taken; say whether it was stored."""
        return self.add_new(*_columns(partial), False)

    def matches(self, partial: Partial) -> bool:
        """Whether the stored partial stands; one that contradicts it is marked as in conflict.

        A recount of a slice that retention has cut short since says nothing against the whole one.
        """
        key = partial.key
        found = self.get(
            query=key.query, start_ms=key.start_ms, end_ms=key.end_ms, partition=partial.partition
        )
        if found is None or found.conflicted:
            return False
        stored = _partial(found)
        if stored.digest == partial.digest or (stored.complete and not partial.complete):
            return True
        self.put(*found[:-2], True)
        return False

    def of(self, key: WindowKey) -> list[Partial]:
        """Return a window's partials by partition."""
        return [_partial(row) for row in self.of_window(key)]

    def conflicted(self, key: WindowKey) -> bool:
        """Whether two different partials came for one place of the window."""
        return any(row.conflicted for row in self.of_window(key))

    def of_window(self, key: WindowKey) -> Iterator[sa.Row[Any]]:
        """Yield the rows of a window."""
        return self.each(query=key.query, start_ms=key.start_ms, end_ms=key.end_ms)

    def queries(self) -> set[str]:
        """Return the queries that have any."""
        return set(self._connection.scalars(sa.select(PARTIALS.c.query).distinct()))

    def drop_before(self, query: str, start_ms: int) -> None:
        """Delete those of a query's windows that start before an instant."""
        self.drop_where(PARTIALS.c.query == query, PARTIALS.c.start_ms < start_ms)


class UsedUp(Rows):
    """What people used up of caps over periods, kept from one window to the next.

    A row of a window is needed until that of a later one is there and its query's cursor has passed
    both: reading then begins behind the later one.
    """

    def note(self, partial: Partial) -> None:
        """Keep what a partial says of it, where it has anything to say."""
        if partial.used is not None:
            place = (partial.key.query, partial.partition, partial.key.start_ms)
            self.put(*place, partial.fingerprint, partial.topic_id, partial.used)

    def before(
        self, query: str, partition: int, start_ms: int, *, fingerprint: str, topic_id: str
    ) -> Used | None:
        """Return what is known through the last window that starts before an instant.

        ``None`` also where it is of another configuration or log: it is counted again then.
        """
        mine = (USED.c.query == query, USED.c.partition == partition, USED.c.start_ms < start_ms)
        found = next(self.where(*mine, last_first=True, limit=1), None)
        if found is None or (found.fingerprint, found.topic_id) != (fingerprint, topic_id):
            return None
        return Used(found.start_ms, found.state)

    def drop_passed(self, query: str, cursor_ms: int) -> None:
        """Delete what is known of windows behind which another one is known, before a cursor."""
        later = USED.alias()
        newest = (
            sa.select(sa.func.max(later.c.start_ms))
            .where(later.c.query == USED.c.query, later.c.partition == USED.c.partition)
            .where(later.c.start_ms < cursor_ms)
            .correlate(USED)
            .scalar_subquery()
        )
        self.drop_where(USED.c.query == query, USED.c.start_ms < newest)


def _columns(partial: Partial) -> tuple[Any, ...]:
    key = partial.key
    return (
        key.query,
        key.start_ms,
        key.end_ms,
        partial.partition,
        partial.fingerprint,
        partial.topic_id,
        partial.complete,
        partial.cells,
        partial.index.astype("<i8").tobytes(),
        partial.value.astype("<i8").tobytes(),
        partial.first_offset,
        partial.last_offset,
    )


def _partial(row: sa.Row[Any]) -> Partial:
    return Partial(
        key=WindowKey(row.end_ms, row.query, row.start_ms),
        partition=row.partition,
        fingerprint=row.fingerprint,
        topic_id=row.topic_id,
        complete=row.complete,
        cells=row.cells,
        index=_whole(row.cell_index),
        value=_whole(row.cell_value),
        first_offset=row.first_offset,
        last_offset=row.last_offset,
    )


def _whole(stored: bytes) -> NDArray[np.int64]:
    return np.frombuffer(stored, dtype="<i8").astype(np.int64)
