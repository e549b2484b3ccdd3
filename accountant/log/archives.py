"""Moving entries of the past to files: what may go, and letting it go once it lies there.

Files are the caller's. A file is written from what :meth:`Archives.entries` yields, is read again,
and only then :meth:`Archives.move` lets its entries go. Whoever is killed in between has lost
nothing. Kept are a snapshot of the state, which the fold begins with from then on, and of each
decision a mark by which its record on the topic is known again.
"""

from __future__ import annotations

import time
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

import msgspec

from accountant.errors import LedgerError
from accountant.log import images
from accountant.log.entries import Archived, Snapshot
from accountant.log.progress import unpublished_of, waiting
from accountant.log.recovery import released
from accountant.log.transaction import LEFT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accountant.log.door import Door
    from accountant.log.entry_rows import EntryRow
    from accountant.log.state import State
    from accountant.log.transaction import Transaction
    from accountant.records import SeenDecision, StoredDecision

__all__ = ["Archives", "knows"]

_MARK_BYTES: Final = 8
"""Of each decision that was moved: two of one number differ in them but for one in 2^64."""

_KNOWN: Final = "known/"
_STEP: Final = 20_000
_PAUSE_S: Final = 0.11
"""Between two steps: who waits for SQLite's lock looks for it every tenth of a second at worst."""

_STEP_PAGES: Final = 4_000


class Archives:
    """Says which entries may go, and lets them."""

    def __init__(self, door: Door) -> None:
        self._door = door

    def movable(self, before_ms: int) -> tuple[int, int]:
        """Return the first and the last number of the entries that may go; none where first > last.

        Args:
            before_ms: windows that end after it stay, with all that was appended since the first of
                them ended. So do decisions that have not left, and runs that go on.
        """
        with self._door.read() as (tx, state):
            first = _first_to_move(tx, state)
            return first, _last_to_move(tx, state, before_ms, first)

    def entries(self, first: int, last: int) -> Iterator[EntryRow]:
        """Yield entries in order; each page is read by itself."""
        while first <= last:
            with self._door.store.read() as tx:
                page = [
                    row for _, row in zip(range(_STEP), tx.log.since(first, last), strict=False)
                ]
            yield from page
            if not page:
                return
            first = page[-1].seq + 1

    def kept(self) -> list[Archived]:
        """Return what lies in archives, in order."""
        with self._door.state() as state:
            return list(state.archives)

    def move(self, file: str, first: int, last: int, before_ms: int) -> int:
        """Let entries go that lie in a file, in short transactions; return how many.

        Others go on meanwhile. It may be killed at any instant and called again.

        Args:
            file: its name; it is safely on the disk.
            first: number of its first entry.
            last: number of its last.
            before_ms: as for :meth:`movable`.

        Raises:
            LedgerError: these entries must not go, or not yet.
        """
        with self._door.write() as writing:
            tx, state = writing.tx, writing.state
            if not any(one.file == file for one in state.archives):
                if first != _first_to_move(tx, state) or last > _last_to_move(
                    tx, state, before_ms, first
                ):
                    raise LedgerError(f"entries {first} to {last} of the ledger cannot go now")
                row = tx.log.at(last)
                known = _keep_marks(tx, state, first, last)
                hashed = b"" if row is None else row.hash
                horizon = [one.horizon_ms() for one in state.budgets.values()]
                writing.append(
                    Archived(file, first, last, hashed, min([before_ms, *horizon]), known)
                )
                writing.append(Snapshot(msgspec.Raw(images.dump(state))))
            writing.tick()
        gone = 0
        while True:
            with self._door.write() as writing:
                step = writing.tx.log.drop_through(last, _STEP)
            gone += step
            if step < _STEP:
                break
            time.sleep(_PAUSE_S)
        while self._door.store.give_back(_STEP_PAGES):
            time.sleep(_PAUSE_S)
        return gone


def knows(tx: Transaction, seen: SeenDecision) -> bool:
    """Whether a decision of this ledger is known from an archive that it was moved to."""
    for row in tx.kept.each(name=_KNOWN + seen.query):
        at = (seen.sequence - row.number) * _MARK_BYTES
        if 0 <= at < len(row.body):
            return bool(row.body[at : at + _MARK_BYTES] == _mark(seen))
    return False


def _first_to_move(tx: Transaction, state: State) -> int:
    moved = state.archives[-1].last if state.archives else 0
    return max(moved + 1, tx.log.bounds()[0])


def _last_to_move(tx: Transaction, state: State, before_ms: int, first: int) -> int:
    left = tx.counters.named(LEFT)
    until = before_ms
    for query in state.queries.values():
        if unpublished_of(query, left):
            until = min([until, *(one.end_ms - 1 for one in waiting(tx, query, 1))])
        if query.run is not None:
            until = min(until, query.run.opened_start_ms)
    for budget in state.budgets.values():
        until = min(until, budget.horizon_ms())
    for number, ended in tx.log.all_ended(first, state.head.number):
        if ended.end_ms > until:
            return number - 1
    return state.head.number


def _keep_marks(tx: Transaction, state: State, first: int, last: int) -> tuple[bytes, ...]:
    """Keep a mark of every decision that goes, by query; return digests of what is kept."""
    marks: dict[str, tuple[int, bytearray]] = {}
    for _, ended in tx.log.all_ended(first, last):
        begin, mine = marks.setdefault(ended.query, (ended.sequence, bytearray()))
        mine.extend(bytes((ended.sequence - begin) * _MARK_BYTES - len(mine)))
        mine.extend(_mark(ended.decision(state.ledger_id, published=True)))
    for query, (number, mine) in marks.items():
        tx.kept.put(_KNOWN + query, number, bytes(mine))
    return tuple(blake2b(mine, digest_size=16).digest() for _, mine in marks.values())


def _mark(decision: StoredDecision | SeenDecision) -> bytes:
    return blake2b(repr(released(decision)).encode(), digest_size=_MARK_BYTES).digest()
