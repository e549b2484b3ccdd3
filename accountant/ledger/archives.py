"""Moving entries of the past to files: what may go, and letting it go once it lies there.

Files are the caller's. A file is written from what :meth:`Archives.entries` yields, is read again
(:meth:`Archives.copied`), and only then :meth:`Archives.move` lets its entries go. Whoever is
killed in between has lost nothing. Kept are a snapshot of the state, which the fold begins with
from then on, and of each decision a mark by which its record on the topic is known again.
"""

from __future__ import annotations

import time
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

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

    from accountant.ledger.door import Door, Writing
    from accountant.log.state import Query, State
    from accountant.records import SeenDecision
    from accountant.store.entry_rows import EntryRow
    from accountant.store.transaction import Transaction

__all__ = ["Archives", "Copy", "knows"]

_MARK_BYTES: Final = 8
"""Of each decision that was moved: two of one number differ in them but for one in 2^64."""

_KNOWN: Final = "known/"
_STEP: Final = 20_000
_PAUSE_S: Final = 0.11
"""Between two steps: who waits for SQLite's lock looks for it every tenth of a second at worst."""

_STEP_PAGES: Final = 4_000
_FEW: Final = 64


class Copy(NamedTuple):
    """Entries that were read in a file, each hashed over the one before it.

    Args:
        first: number of the first.
        last: the last; as the ledger has the same hash under its number, it has the same entries.
        marks: of the decisions among them, by query: behind the number of the first.
        latest_ms: when the latest of their windows ends.
    """

    first: int
    last: Head
    marks: dict[str, tuple[int, bytearray]]
    latest_ms: int


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
            first, last = _before_first(state).number + 1, state.head.number
            until = _movable_until(tx, state, before_ms)
            for query in state.queries.values():
                last = min(last, _first_after(tx, query, until, last + 1) - 1)
            ended = any(row.kind == Ended.kind for row in tx.log.since(first, last))
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

    def copied(self, rows: Iterable[EntryRow], first: int, last: int) -> Copy | None:
        """Return what was read in a file; ``None`` where it is not what the ledger has.

        The hash of the last entry covers all of them: that one alone is compared.

        Args:
            rows: of the file, in its order.
            first: number of the first entry that is in no archive yet.
            last: of the last that is to lie there.

        Raises:
            LedgerCorruptError: an entry of the ledger does not follow on the one before it.
        """
        with self._door.read() as (tx, state):
            end, head, mine_id = tx.log.at(last), _before_first(state), state.ledger_id
        marks: dict[str, tuple[int, bytearray]] = {}
        latest_ms = -(2**62)
        if head.number != first - 1:
            return None
        for row in rows:
            try:
                entry = checked(row, head)
            except LedgerError:
                if [row] == list(self.entries(head.number + 1, head.number + 1)):
                    raise  # so says the ledger itself
                return None
            head = Head(row.seq, row.hash)
            if isinstance(entry, Ended):
                begin, mine = marks.setdefault(entry.query, (entry.sequence, bytearray()))
                mine.extend(bytes((entry.sequence - begin) * _MARK_BYTES - len(mine)))
                mine.extend(_mark(entry, mine_id))
                latest_ms = max(latest_ms, entry.end_ms)
        same = end is not None and head == (end.seq, end.hash)
        return Copy(first, head, marks, latest_ms) if same else None

    def kept(self) -> list[Archived]:
        """Return what lies in archives, in order."""
        with self._door.state() as state:
            return list(state.archives)

    def move(self, file: str, copy: Copy, before_ms: int) -> int:
        """Let entries go that lie in a file, in short transactions; return how many.

        Others go on meanwhile. It may be killed at any instant and called again.

        Args:
            file: its name; it is safely on the disk.
            copy: what was read in it.
            before_ms: as for :meth:`movable`.

        Raises:
            LedgerError: these entries must not go, or not yet.
        """
        with self._door.write() as writing:
            if not any(one.file == file for one in writing.state.archives):
                _note(writing, file, copy, before_ms)
        return self.let_go()

    def let_go(self) -> int:
        """Delete the entries that lie in archives, a step at a time; return how many."""
        gone, step = 0, _STEP
        while step == _STEP:
            with self._door.write() as writing:
                moved = writing.state.archives
                step = writing.tx.log.drop_through(moved[-1].last, _STEP) if moved else 0
            gone += step
            if self._door.store.give_back(_STEP_PAGES) or step == _STEP:
                time.sleep(_PAUSE_S)
        while self._door.store.give_back(_STEP_PAGES):
            time.sleep(_PAUSE_S)
        return gone


def knows(tx: Transaction, seen: SeenDecision) -> bool:
    """Whether a decision of this ledger is known from an archive that it was moved to."""
    for row in tx.kept.each(name=_KNOWN + seen.query):
        at = (seen.sequence - row.number) * _MARK_BYTES
        if 0 <= at < len(row.body):
            return bool(row.body[at : at + _MARK_BYTES] == _mark(seen, seen.ledger_id))
    return False


def _note(writing: Writing, file: str, copy: Copy, before_ms: int) -> None:
    """Append that entries lie in a file, with the state, and keep marks of the decisions."""
    tx, state, last = writing.tx, writing.state, copy.last
    row, moves_ms = tx.log.at(last.number), _movable_until(tx, state, before_ms)
    follows = copy.first == _before_first(state).number + 1
    if row is None or row.hash != last.hash or not follows or copy.latest_ms > moves_ms:
        raise LedgerError(
            f"entries {copy.first} to {last.number} of the ledger changed while they were copied",
            hint="run `tocsin ledger FILE archive` again; nothing was removed",
        )
    for query, (number, mine) in copy.marks.items():
        tx.kept.put(_KNOWN + query, number, bytes(mine))
    known = tuple(entries.digest_of_marks(bytes(mine)) for _, mine in copy.marks.values())
    writing.append(Archived(file, copy.first, last.number, last.hash, moves_ms, known))
    writing.append(Snapshot(msgspec.Raw(images.dump(state))))
    writing.tick()


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


def _first_after(tx: Transaction, query: Query, until_ms: int, other: int) -> int:
    """Return the number of the first entry by which a window of a query ended that ends later.

    Args:
        tx: a transaction.
        query: its windows end in the order of their starts.
        until_ms: than this.
        other: returned where there is none.
    """
    start_ms, full = until_ms + 1 - query.longest_ms, True
    while full:
        rows = tx.log.ended_rows(query.query, start_ms, 2**62, _FEW)
        for row in rows:
            ended = entries.decode(row.kind, row.payload)
            if isinstance(ended, Ended):
                if ended.end_ms > until_ms:
                    return row.seq
                start_ms = ended.start_ms + 1
        full = len(rows) == _FEW
    return other


def _mark(decision: Ended | SeenDecision, ledger_id: str) -> bytes:
    said = released(decision, ledger_id).encode()
    return blake2b(said, digest_size=_MARK_BYTES).digest()
