"""Decisions that lie in an archive's file: what the ledger keeps of them, and which may follow.

What is kept hangs together as decisions do: each row's digest covers the row before it of its
query, and the budget's state vouches for the last (:mod:`accountant.charging.vouching`). So a file
that was changed, or is of another ledger, is found by the hash that its last decision has here.
"""

from __future__ import annotations

import json
from functools import cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa

from accountant.records import SeenDecision
from accountant.store import decisionchain
from accountant.store.chain import HASH_BYTES
from accountant.store.declaration import made_from
from accountant.store.rows import Rows, same_window
from accountant.store.schema import table_of
from accountant.store.tables.charged import LINKS
from accountant.store.tables.decided import ARCHIVES, DECISIONS, ArchiveRow

if TYPE_CHECKING:
    from accountant.store.tables.decided import DecisionRow, SequenceRow

__all__ = ["SEEN_BYTES", "Archives", "archive_digest", "hash_before", "mark_of", "seen_mark"]

SEEN_BYTES: Final = 8
"""Of each decision that was moved: two of one number differ in them but for one in 2^64."""

_DECISIONS, _LINKS = table_of(DECISIONS), table_of(LINKS)


class Archives(Rows[ArchiveRow]):
    """What is kept of archives, and the decisions that may still move there."""

    def holds(self, query: str, sequence: int, mark: bytes) -> bool:
        """Whether a decision lies in an archive under a number, as :func:`seen_mark` tells it."""
        row = next(iter(self._read(_covering(), query=query, sequence=sequence)), None)
        if row is None or sequence > row.last_sequence:
            return False
        at = (sequence - row.first_sequence) * SEEN_BYTES
        return row.seen[at : at + SEEN_BYTES] == mark

    def first_to_stay(
        self, query: str, after: int, *, before_ms: int, run_from_ms: int
    ) -> int | None:
        """Return the number of a query's first decision behind one that something still needs.

        Args:
            query: its name.
            after: the number.
            before_ms: windows that end after it stay.
            run_from_ms: windows that start then or later stay: an open run is added up from them.
        """
        bound = {"query": query, "after": after, "before_ms": before_ms, "run_ms": run_from_ms}
        found: int | None = self._connection.scalar(_first_to_stay(), bound)
        return found

    def next_number(self, query: str, after: int) -> int | None:
        """Return the number of a query's first decision behind a number."""
        found: int | None = self._connection.scalar(_next(), {"query": query, "after": after})
        return found

    def hash_at(self, query: str, sequence: int) -> bytes | None:
        """Return the hash of the decision with a number; ``None`` where it is not here."""
        bound = {"query": query, "sequence": sequence}
        found: bytes | None = self._connection.scalar(_hash_at(), bound)
        return found

    def drop_decisions(self, query: str, first: int, last: int) -> None:
        """Delete the decisions of a query with some numbers."""
        bound = {"query": query, "first": first, "last": last}
        self._connection.execute(_drop(), bound)


def archive_digest(last: bytes, row: ArchiveRow) -> bytes:
    """Return the digest of a row, from that of the row before it; its own is not looked at."""
    whole = (
        *(row.query, row.first_sequence, row.last_sequence, row.file, row.hash.hex()),
        *(blake2b(row.seen, digest_size=HASH_BYTES).hexdigest(), row.tallies),
    )
    text = json.dumps(whole, separators=(",", ":"))
    return blake2b(last + text.encode(), digest_size=HASH_BYTES).digest()


def hash_before(kept: SequenceRow) -> bytes:
    """Return the hash that the first decision of a query covers which is not in an archive."""
    return kept.moved_hash if kept.moved_sequence else decisionchain.begin(kept.query)


def mark_of(decision: DecisionRow, ledger_id: str) -> bytes:
    """Return what :func:`seen_mark` would of a decision of a ledger, once it has left."""
    # Neither what it drew on nor where the cursor went is in what was released.
    beside = {"scope": "", "next_start_ms": 0, "cells_per_unit": 1, "periods": ()}
    return seen_mark(
        made_from(SeenDecision, decision, ledger_id=ledger_id, gaussian=False, **beside)
    )


def seen_mark(seen: SeenDecision) -> bytes:
    """Return what tells a decision from another one under its number."""
    return bytes.fromhex(seen.digest)[:SEEN_BYTES]


@cache
def _covering() -> Any:
    table = table_of(ARCHIVES)
    begun = table.c.first_sequence <= sa.bindparam("sequence")
    mine = sa.select(table).where(table.c.query == sa.bindparam("query"), begun)
    return mine.order_by(table.c.first_sequence.desc()).limit(1)


@cache
def _first_to_stay() -> Any:
    columns = _DECISIONS.c
    told = sa.exists().where(same_window(_LINKS, _DECISIONS))
    needed = (
        ~columns.archived
        | ~columns.published
        | (columns.end_ms > sa.bindparam("before_ms"))
        | (columns.start_ms >= sa.bindparam("run_ms"))
        | told
    )
    return sa.select(columns.sequence).where(*_behind(), needed).order_by(columns.sequence).limit(1)


@cache
def _next() -> Any:
    numbers = sa.select(_DECISIONS.c.sequence).where(*_behind())
    return numbers.order_by(_DECISIONS.c.sequence).limit(1)


@cache
def _hash_at() -> Any:
    numbered = _DECISIONS.c.sequence == sa.bindparam("sequence")
    return sa.select(_DECISIONS.c.hash).where(_DECISIONS.c.query == sa.bindparam("query"), numbered)


@cache
def _drop() -> Any:
    between = _DECISIONS.c.sequence.between(sa.bindparam("first"), sa.bindparam("last"))
    return _DECISIONS.delete().where(_DECISIONS.c.query == sa.bindparam("query"), between)


def _behind() -> tuple[Any, ...]:
    behind = _DECISIONS.c.sequence > sa.bindparam("after")
    return _DECISIONS.c.query == sa.bindparam("query"), behind
