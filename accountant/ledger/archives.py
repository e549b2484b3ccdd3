"""Moving entries of the past to files: what may go, and letting it go once it lies there.

Files are the caller's. A file is written from what :meth:`Archives.entries` yields, is read again,
and only then :meth:`Archives.move` lets its entries go. Whoever is killed in between has lost
nothing. Kept are a snapshot of the state, which the fold begins with from then on, and of each
decision a mark by which its record on the topic is known again.
"""

from __future__ import annotations

import time
from hashlib import blake2b
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Final

import msgspec

from accountant.errors import LedgerError
from accountant.ledger.door import checked
from accountant.ledger.progress import unpublished_of, waiting
from accountant.log import entries, images
from accountant.log.entries import BEGINNING, Archived, Ended, Head, Snapshot
from accountant.rules.recovery import released
from accountant.store.transaction import LEFT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from accountant.ledger.door import Door
    from accountant.log.state import State
    from accountant.records import SeenDecision, StoredDecision
    from accountant.store.entry_rows import EntryRow
    from accountant.store.transaction import Transaction

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
                them ended. So do decisions that have not left, and runs that go on. Where that
                leaves no window, nothing may go.
        """
        with self._door.read() as (tx, state):
            first, head = _before_first(state).number + 1, state.head.number
            until = _movable_until(tx, state, before_ms)
        last, ended = head, False
        for row in self.entries(first, head):
            entry = entries.decode(row.kind, row.payload) if row.kind == Ended.kind else None
            if isinstance(entry, Ended):
                if entry.end_ms > until:
                    last = row.seq - 1
                    break
                ended = True
        return first, last if ended else first - 1

    def entries(self, first: int, last: int) -> Iterator[EntryRow]:
        """Yield entries in order; each page is read by itself."""
        while first <= last:
            with self._door.store.read() as tx:
                page = list(islice(tx.log.since(first, last), _STEP))
            yield from page
            if not page:
                return
            first = page[-1].seq + 1

    def holds(self, rows: Iterable[EntryRow], first: int, last: int) -> bool:
        """Tell whether rows are the entries from one number to another, all of them, in order."""
        pairs = zip_longest(self.entries(first, last), rows)
        return all(mine == other for mine, other in pairs)

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
            LedgerCorruptError: one of them does not follow on the one before it.
        """
        with self._door.state() as state:
            moved = any(one.file == file for one in state.archives)
            before = _before_first(state)
        if not moved:
            self._note(file, first, last, before_ms, before)
        return self.let_go()

    def let_go(self) -> int:
        """Delete the entries that lie in archives, a step at a time; return how many."""
        gone, step = 0, _STEP
        while step == _STEP:
            with self._door.write() as writing:
                moved = writing.state.archives
                step = writing.tx.log.drop_through(moved[-1].last, _STEP) if moved else 0
            gone += step
            if step == _STEP:
                time.sleep(_PAUSE_S)
        while self._door.store.give_back(_STEP_PAGES):
            time.sleep(_PAUSE_S)
        return gone

    def _note(self, file: str, first: int, last: int, before_ms: int, before: Head) -> None:
        """Append that entries lie in a file, with the state, and keep marks of the decisions."""
        refused = LedgerError(f"entries {first} to {last} of the ledger cannot go now")
        if first != before.number + 1:
            raise refused
        marks, latest_ms = self._marks(before, last)  # entries never change: nobody waits for this
        with self._door.write() as writing:
            tx, state = writing.tx, writing.state
            row, moves_ms = tx.log.at(last), _movable_until(tx, state, before_ms)
            if row is None or before != _before_first(state) or latest_ms > moves_ms:
                raise refused
            for query, (number, mine) in marks.items():
                tx.kept.put(_KNOWN + query, number, bytes(mine))
            known = tuple(entries.digest_of_marks(bytes(mine)) for _, mine in marks.values())
            writing.append(Archived(file, first, last, row.hash, moves_ms, known))
            writing.append(Snapshot(msgspec.Raw(images.dump(state))))
            writing.tick()

    def _marks(self, before: Head, last: int) -> tuple[dict[str, tuple[int, bytearray]], int]:
        """Return the marks of decisions by query, and when the latest of their windows ends.

        Raises:
            LedgerCorruptError: an entry does not follow on the one before it.
        """
        with self._door.state() as state:
            mine_id = state.ledger_id
        marks: dict[str, tuple[int, bytearray]] = {}
        latest_ms = -(2**62)
        for row in self.entries(before.number + 1, last):
            ended, before = checked(row, before), Head(row.seq, row.hash)
            if not isinstance(ended, Ended):
                continue
            begin, mine = marks.setdefault(ended.query, (ended.sequence, bytearray()))
            mine.extend(bytes((ended.sequence - begin) * _MARK_BYTES - len(mine)))
            mine.extend(_mark(ended.decision(mine_id, published=True)))
            latest_ms = max(latest_ms, ended.end_ms)
        return marks, latest_ms


def knows(tx: Transaction, seen: SeenDecision) -> bool:
    """Whether a decision of this ledger is known from an archive that it was moved to."""
    for row in tx.kept.each(name=_KNOWN + seen.query):
        at = (seen.sequence - row.number) * _MARK_BYTES
        if 0 <= at < len(row.body):
            return bool(row.body[at : at + _MARK_BYTES] == _mark(seen))
    return False


def _before_first(state: State) -> Head:
    """Return the entry before the first one that is in no archive."""
    if not state.archives:
        return Head(0, BEGINNING)
    return Head(state.archives[-1].last, state.archives[-1].last_hash)


def _movable_until(tx: Transaction, state: State, before_ms: int) -> int:
    """Return by when windows must have ended whose entries may go."""
    left = tx.counters.named(LEFT)
    until = min([before_ms, *(one.horizon_ms() for one in state.budgets.values())])
    for query in state.queries.values():
        if unpublished_of(query, left):
            until = min([until, *(one.end_ms - 1 for one in waiting(tx, query, 1))])
        if query.run is not None:
            until = min(until, query.run.opened_start_ms)
    return until


def _mark(decision: StoredDecision | SeenDecision) -> bytes:
    return blake2b(repr(released(decision)).encode(), digest_size=_MARK_BYTES).digest()
