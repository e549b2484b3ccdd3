"""The rows of the log, within one transaction; what they mean stands elsewhere."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import sqlalchemy as sa

from accountant.log.entries import Ended, decode, window_name
from accountant.store.tables import ENTRIES

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["PAGE", "EntryRow", "Log"]

PAGE: Final = 2_000
"""Entries that are read at once where there may be millions: no cursor outlives a statement."""

_C: Final = ENTRIES.c
_ENDED: Final = sa.text("kind = 'ended'")


class EntryRow(NamedTuple):
    """An entry as it is stored."""

    seq: int
    kind: str
    key: str
    payload: bytes
    hash: bytes


class Log:
    """The entries."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def append(self, row: EntryRow) -> None:
        """Store the next entry."""
        self._connection.execute(_insert(), row._asdict())

    def at(self, seq: int) -> EntryRow | None:
        """Return one entry."""
        return next(iter(self._read(_from(), seq=seq, last=seq, limit=1)), None)

    def since(self, seq: int, last: int = 2**62) -> Iterator[EntryRow]:
        """Yield the entries from a number on, up to another, in order; a page at a time."""
        full = True
        while full:
            page = self._read(_from(), seq=seq, last=last, limit=PAGE)
            yield from page
            full = len(page) == PAGE
            seq = page[-1].seq + 1 if page else seq

    def ended(
        self, query: str, since_ms: int, until_ms: int, limit: int = 2**31 - 1
    ) -> list[Ended]:
        """Return how a query's windows ended that start in a span, both included, in order."""
        found = self.ended_rows(query, since_ms, until_ms, limit)
        return [one for row in found if isinstance(one := decode(row.kind, row.payload), Ended)]

    def ended_rows(self, query: str, since_ms: int, until_ms: int, limit: int) -> list[EntryRow]:
        """Return the same as entries."""
        first, last = window_name(query, since_ms), window_name(query, until_ms)
        return self._read(_ended(), first=first, last=last, limit=limit)

    def newest(self, kind: str) -> EntryRow | None:
        """Return the newest entry of a kind; this reads backwards until there is one."""
        return next(iter(self._read(_newest(), kind=kind)), None)

    def bounds(self) -> tuple[int, int]:
        """Return the first and the last number that are here; zeros without an entry."""
        first, last = self._connection.execute(_bounds()).one()
        return first or 0, last or 0

    def drop_through(self, last: int, limit: int) -> int:
        """Delete the oldest entries up to a number, so many at most; return how many."""
        first, _ = self.bounds()
        until = min(last, first + limit - 1)
        if not first or until < first:
            return 0
        self._connection.execute(_drop(), {"until": until})
        return until - first + 1

    def _read(self, statement: Any, **bound: Any) -> list[EntryRow]:
        return list(map(EntryRow._make, self._connection.execute(statement, bound).all()))


@cache
def _insert() -> Any:
    return ENTRIES.insert().inline()


@cache
def _from() -> Any:
    # Bounded on both sides, so that no planner takes half a log for most of it.
    between = (_C.seq >= sa.bindparam("seq"), _C.seq <= sa.bindparam("last"))
    return sa.select(ENTRIES).where(*between).order_by(_C.seq).limit(sa.bindparam("limit"))


@cache
def _ended() -> Any:
    # The kind stands in the text, so that the planner can use the partial index.
    between = (_ENDED, _C.key >= sa.bindparam("first"), _C.key <= sa.bindparam("last"))
    return sa.select(ENTRIES).where(*between).order_by(_C.key).limit(sa.bindparam("limit"))


@cache
def _newest() -> Any:
    mine = sa.select(ENTRIES).where(_C.kind == sa.bindparam("kind"))
    return mine.order_by(_C.seq.desc()).limit(1)


@cache
def _bounds() -> Any:
    # One at a time: asked for both, SQLite reads every entry.
    ends = (sa.select(end(_C.seq)).scalar_subquery() for end in (sa.func.min, sa.func.max))
    return sa.select(*ends)


@cache
def _drop() -> Any:
    return ENTRIES.delete().where(_C.seq <= sa.bindparam("until"))
