"""The one door to a ledger: fold what others appended, ask the rules, append, commit.

Guarantee: entries are appended by one transaction at a time, each over the state after all entries
before it; the state in memory is never ahead of what is committed, and what is not in the chain is
never folded. Processes keep the state in memory and catch up by the tail of the log. A log that no
longer has what was folded was put back: the process that knows it never asks it again.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, cast

from accountant.errors import (
    ClockError,
    LedgerCorruptError,
    LedgerError,
    LedgerRolledBackError,
)
from accountant.log import entries, images
from accountant.log.entries import BEGINNING, Begun, Head, Snapshot
from accountant.log.fold import apply
from accountant.log.state import Reservation, State
from accountant.store.entry_rows import EntryRow
from accountant.store.transaction import CLOCK, CLOCK_GRAIN_MS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from accountant.log.entries import Entry
    from accountant.log.state import Budget, Query
    from accountant.store.store import Store
    from accountant.store.transaction import Transaction

__all__ = [
    "VERSION",
    "Door",
    "Writing",
    "checked",
    "registered",
]

VERSION: Final = 1
"""Of the entries: a ledger of another version is not opened. Whoever raises it reads older ones."""

_IMAGE_EVERY: Final = 4_000
"""At every so many entries the state is written down anew: a start folds no more than these."""


class Door:
    """One ledger in an open database; safe from many threads.

    Args:
        store: the database; it knows the ledger's secret.
        clock_ms: wall clock, milliseconds since the Unix epoch.
        allowed_step_back_ms: how far it may stand before the last time the ledger saw.
    """

    def __init__(
        self, store: Store, clock_ms: Callable[[], int], allowed_step_back_ms: int
    ) -> None:
        self.store = store
        self.clock_ms = clock_ms
        self.allowed_step_back_ms = allowed_step_back_ms
        self._state: State | None = None
        self._lock = threading.Lock()

    @contextmanager
    def state(self) -> Iterator[State]:
        """Let one read of the state run, of entries that are committed."""
        with self.store.glance() as tx, self._lock:
            yield self._caught_up(tx)

    @contextmanager
    def read(self) -> Iterator[tuple[Transaction, State]]:
        """Let reads of rows and state run that see one snapshot."""
        with self.store.read() as tx, self._lock:
            yield tx, self._caught_up(tx)

    @contextmanager
    def write(self, *, share: bool = False) -> Iterator[Writing]:
        """Run one transaction that may append; with ``share`` it writes working rows alone.

        It is committed when the block ends, and rolled back when it raises: then the state is
        folded anew by whoever comes next, if anything was appended.
        """
        writing: Writing | None = None
        held = False
        try:
            with self.store.write() as tx:
                tx.lock(share=share)
                held = self._lock.acquire()
                writing = Writing(self, tx, self._caught_up(tx))
                yield writing
                writing.finish()
        except BaseException:
            if writing is not None and writing.appended:
                self._state = None
            raise
        finally:
            if held:
                self._lock.release()

    def _caught_up(self, tx: Transaction) -> State:
        state = self._state
        rows = iter(()) if state is None else tx.log.since(state.head.number)
        if state is None or not _goes_on(state.head, next(rows, None)):
            self._state = None
            state = _begin(tx)
            rows = tx.log.since(state.head.number + 1)
        self._state = None  # not kept where an error leaves it half-way
        for row in rows:
            apply(state, checked(row, state.head), Head(row.seq, row.hash))
        self._state = state
        return state


class Writing:
    """One transaction that may append.

    Args:
        door: of the ledger.
        tx: holds the lock.
        state: after every entry there is.
    """

    def __init__(self, door: Door, tx: Transaction, state: State) -> None:
        self.tx = tx
        self.state = state
        self.appended = 0
        self._door = door

    def append(self, entry: Entry | None) -> None:
        """Add an entry to the log, and take it into the state; nothing where there is none."""
        if entry is None:
            return
        number, payload = self.state.head.number + 1, entries.encode(entry)
        row = EntryRow(number, entry.kind, entry.key, payload, b"")
        hashed = entries.hash_after(self.state.head.hash, number, row.kind, row.key, payload)
        self.appended += 1
        self.tx.log.append(row._replace(hash=hashed))
        apply(self.state, entry, Head(number, hashed))

    def tick(self) -> int:
        """Return the time; compare it with the last one the ledger saw, and move that mark.

        Raises:
            ClockError: the clock went back.
        """
        mark_ms, now_ms = self.tx.counters.of(CLOCK)[0], self._door.clock_ms()
        behind_ms = mark_ms - now_ms
        if behind_ms > self._door.allowed_step_back_ms:
            raise ClockError(
                f"this machine's clock is {behind_ms} ms behind the newest entry of the ledger",
                hint="correct the clock (NTP); if it is right now and was ahead before, run "
                "`tocsin ledger FILE reset-clock`",
            )
        if -behind_ms > CLOCK_GRAIN_MS:
            self.tx.counters.put(CLOCK, now_ms, now_ms)
        return now_ms

    def recall(self, budget: Budget, since_ms: int) -> None:
        """Have what counts for good of a budget's windows that end after an instant in the state.

        Windows of the past are left out of it until somebody can ask about them.
        """
        if budget.by_user or since_ms >= budget.forgotten_ms:
            return
        settled = (
            Reservation.settled(ended)
            for name, query in budget.queries.items()
            for ended in self.tx.log.ended(name, since_ms - query.longest_ms, budget.forgotten_ms)
        )
        for charge in (*budget.spent, *settled):
            if charge is None or charge.asked.end_ms <= since_ms:
                continue
            if charge.window not in budget.charges:
                budget.put(charge)
        budget.forgotten_ms = since_ms

    def finish(self) -> None:
        """Write the state down, once in so many entries."""
        number = self.state.head.number
        if number // _IMAGE_EVERY > (number - self.appended) // _IMAGE_EVERY:
            self.tx.kept.drop(name=images.IMAGE)
            self.tx.kept.put(images.IMAGE, number, self.state.head.hash + images.dump(self.state))


def checked(row: EntryRow, before: Head) -> Entry:
    """Return a row's entry.

    Raises:
        LedgerCorruptError: it is not what was stored behind the entry before it.
    """
    try:
        hashed = entries.hash_after(before.hash, row.seq, row.kind, row.key, row.payload)
    except TypeError:  # SQLite takes any value in any column
        hashed = None
    if row.seq != before.number + 1 or hashed != row.hash:
        raise LedgerCorruptError(
            f"entry {before.number + 1} of the ledger is not what was stored",
            hint="run `tocsin ledger FILE verify`, and restore the newest backup",
        )
    try:
        entry = entries.decode(row.kind, row.payload)
    except ValueError:
        entry = None
    if entry is None or (entry.kind, entry.key) != (row.kind, row.key):
        raise LedgerError(
            f"entry {row.seq} of the ledger was written by a newer version of Tocsin",
            hint="use that version; nothing was written",
        )
    if isinstance(entry, Begun) and entry.version != VERSION:
        raise LedgerError(
            f"the ledger has entries of version {entry.version}; this version writes {VERSION}",
            hint="use the version of Tocsin that made it, or a new ledger",
        )
    return entry


def registered(state: State, query: str) -> Query:
    """Return a query.

    Raises:
        LedgerError: it is not registered.
    """
    found = state.queries.get(query)
    if found is None:
        raise LedgerError(
            f"alarm {query!r} is not registered in the ledger",
            hint="start a worker or a replay with this configuration first",
        )
    return found


def _goes_on(head: Head, row: EntryRow | None) -> bool:
    """Whether the log still has the last entry that was folded; if not, it lies in an archive.

    Args:
        head: of what was folded.
        row: the first one from there on.

    Raises:
        LedgerRolledBackError: neither.
    """
    if head.number and (row is None or (row.seq == head.number and row.hash != head.hash)):
        raise LedgerRolledBackError(
            "the ledger lacks what this process read in it: another copy was put in its place",
            hint="stop every process that has it open, and start one: it says what is missing",
        )
    return row is not None and row.seq == head.number


def _begin(tx: Transaction) -> State:
    """Return the newest state that was written down, or that of an empty log."""
    first, _ = tx.log.bounds()
    image = tx.kept.get(name=images.IMAGE)
    if image is not None:
        head = Head(image.number, image.body[: len(BEGINNING)])
        row = tx.log.at(head.number)
        state = images.load(image.body[len(BEGINNING) :], head)
        if row is not None and row.hash == head.hash and state is not None:
            return state
    if first > 1:
        row = tx.log.newest(Snapshot.kind)
        before = None if row is None else tx.log.at(row.seq - 1)
        if row is not None and before is not None:
            entry = cast("Snapshot", checked(row, Head(before.seq, before.hash)))
            state = images.load(bytes(entry.state), Head(row.seq, row.hash))
            if state is not None:
                return state
            raise LedgerError(
                f"the snapshot in entry {row.seq} of the ledger is of a version not known here",
                hint="use the version of Tocsin that wrote it; nothing was written",
            )
        raise LedgerCorruptError(
            "the beginning of the ledger is missing",
            hint="restore the newest backup",
        )
    return State(Head(0, BEGINNING))
