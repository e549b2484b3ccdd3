"""What was taken from MQTT and is not in the log yet, and the session it comes from: one file.

Guarantee: what :meth:`Buffer.append` returned for is found again after any crash, until
:meth:`Buffer.delivered` was called for it. A record that was delivered may be found again: readers
know copies by their ``id``.

The file is SQLite's. Records are numbered; the number of the last one that was delivered is kept
beside them, and all are deleted once it is that of the last. A full disk has room for both: what a
transaction writes to roll back goes to a file that is never made shorter, and spare pages, which
are written once at every start, have made it as long as to delete everything takes.
"""

from __future__ import annotations

import asyncio
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from accountant.errors import DataError, DependencyError
from operators.noise.source import NoiseSource
from stream.logs.lines import Line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from stream.logs.lines import Log

__all__ = ["Buffer", "Record"]

T = TypeVar("T")

Record = tuple[bytes, bytes]
"""Key and value."""

_APPLICATION: Final = 0x70C51B
_PAGE_BYTES: Final = 4096
_DELETED_AT_ONCE: Final = 1000  # pages; one that lists them is written
_FEW: Final = 8
_AGAIN_S: Final = 1.0
_NEW: Final = (
    f"PRAGMA application_id = {_APPLICATION}",
    "CREATE TABLE record (number INTEGER PRIMARY KEY, key BLOB NOT NULL, value BLOB NOT NULL)",
    "CREATE TABLE state (client TEXT NOT NULL, made BOOLEAN NOT NULL, delivered INTEGER NOT NULL)",
    "INSERT INTO state VALUES ('', FALSE, 0)",
    "CREATE TABLE spare (number INTEGER PRIMARY KEY, page BLOB NOT NULL)",
)
_SPARE: Final = "INSERT OR REPLACE INTO spare VALUES (?, zeroblob(3000))"
_DELETE: Final = "DELETE FROM record"


@dataclass(eq=False)
class Buffer:
    """Records in the order in which they came, waited for by two tasks; a context manager.

    A thread waits for the disk: MQTT's broker takes a client that is silent for dead.

    Args:
        path: of the file; it is made where it is not there, for its owner alone.
        most_bytes: how long it may become.
        client: the name of the session with the broker; empty for one that nobody can guess.
            Whoever knows it may take the session over, with all that waits in it, unless the broker
            binds names to logins. It is drawn at random, once.
        log: where it is said that it is full.

    Raises:
        DataError: the file is something else.
        DependencyError: it cannot be used, or another process has it open.
    """

    path: Path
    most_bytes: int
    client: str
    log: Log

    def __post_init__(self) -> None:
        """Open the file, or make it."""
        self.full = False
        """Whether nothing is taken, since the buffer or its disk is full."""
        self.made = False
        """Whether the broker had the session before."""
        self._delivered = self._last = 0
        self._disk = ThreadPoolExecutor(1)
        self._filled, self._emptied = asyncio.Event(), asyncio.Event()
        with self._usable():
            self.path.touch(mode=0o600)
            self._file = sqlite3.connect(self.path, timeout=0, check_same_thread=False)
        try:
            with self._usable():
                self._open()
        except BaseException:
            self._file.close()
            raise
        if self.waiting:
            self._filled.set()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file once nothing is written any more; what is in it stays."""
        self._disk.shutdown()
        self._file.close()

    @property
    def waiting(self) -> bool:
        """Whether there is something that was not delivered."""
        return self._delivered < self._last

    async def append(self, records: Sequence[Record]) -> None:
        """Return once records are on the disk; one that is full is waited for.

        Args:
            records: not more than fit into an empty buffer.

        Raises:
            DependencyError: they could not be written. None of them may be acknowledged.
        """
        if records:
            while not await self._on_disk(self._insert, records):
                await self._paused()
            self.full = False
            self._filled.set()

    async def next(self, most: int) -> list[Record]:
        """Return the oldest records that were not delivered, at least one.

        Args:
            most: how many.

        Raises:
            DependencyError: the file cannot be read.
        """
        await self._filled.wait()
        return await self._on_disk(self._oldest, most)

    async def delivered(self, records: Sequence[Record]) -> None:
        """Take note that the oldest records are in the log.

        Args:
            records: as :meth:`next` returned them.

        Raises:
            DependencyError: the file cannot be written.
        """
        await self._on_disk(self._forget, len(records))
        if not self.waiting:
            self._filled.clear()
            self._emptied.set()

    async def keep_session(self) -> None:
        """Take note that the broker has the session; on a full disk, until the process ends."""
        if not self.made:
            self.made = True
            await self._on_disk(self._changed, "UPDATE state SET made = TRUE")

    async def _on_disk(self, work: Callable[..., T], *given: Any) -> T:
        """Do work in the file's thread."""
        return await asyncio.get_running_loop().run_in_executor(self._disk, work, *given)

    async def _paused(self) -> None:
        """Wait until all was delivered, or for a moment: who else fills the disk may free it."""
        if not self.full:
            self.full = True
            self.log.warning(Line.FULL)
        self._emptied.clear()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._emptied.wait(), _AGAIN_S)

    def _open(self) -> None:
        """Take the file for this process alone, and read how far it is."""
        ask = self._file.execute
        ask("PRAGMA locking_mode = EXCLUSIVE")
        ask("PRAGMA synchronous = FULL")
        ask("PRAGMA journal_mode = PERSIST")
        ask("PRAGMA secure_delete = OFF")  # to write zeros needs room
        pages = self.most_bytes // _PAGE_BYTES
        spare = [(number,) for number in range(pages // _DELETED_AT_ONCE + _FEW)]
        ask(f"PRAGMA max_page_count = {pages + len(spare)}")
        ask("BEGIN EXCLUSIVE")
        if not ask("SELECT 1 FROM sqlite_master").fetchone():
            for statement in _NEW:
                ask(statement)
        if ask("PRAGMA application_id").fetchone() != (_APPLICATION,):
            raise self._no_buffer()
        known, made, delivered = ask("SELECT * FROM state").fetchone()
        first, last = ask("SELECT min(number), max(number) FROM record").fetchone()
        self._delivered = max(delivered, (first or 1) - 1)
        self._last = max(self._delivered, last or 0)
        if not known or known != (self.client or known):
            known, made = self.client or f"tocsin-{NoiseSource().token(16).hex()}", False
            ask("UPDATE state SET client = ?, made = FALSE", (known,))
        self._file.commit()
        for _ in range(2):  # what is there already is what is written to roll back
            self._changed(_SPARE, spare)
        self.client, self.made = known, made

    def _insert(self, records: Sequence[Record]) -> bool:
        rows = [(number, *record) for number, record in enumerate(records, self._last + 1)]
        taken = self._changed("INSERT INTO record VALUES (?, ?, ?)", rows)
        if taken:
            self._last += len(records)
        elif not self.waiting:
            self._changed(_DELETE)  # the disk was full when all of it was delivered
        return taken

    def _oldest(self, most: int) -> list[Record]:
        wanted = "SELECT key, value FROM record WHERE number > ? ORDER BY number LIMIT ?"
        with self._usable():
            return self._file.execute(wanted, (self._delivered, most)).fetchall()

    def _forget(self, many: int) -> None:
        """Note deliveries; what a full disk does not note may follow a crash as copies."""
        self._delivered += many
        self._changed("UPDATE state SET delivered = ?", [(self._delivered,)])
        if not self.waiting:
            self._changed(_DELETE)

    def _changed(self, change: str, rows: Sequence[tuple[object, ...]] = ((),)) -> bool:
        """Make a change on the disk, once a row; ``False`` where there is no room for it."""
        with self._usable():
            try:
                with self._file:
                    self._file.executemany(change, rows)
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_FULL:
                    raise
                return False
        return True

    @contextmanager
    def _usable(self) -> Iterator[None]:
        """Say in a sentence that the file cannot be used, and why."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            code = getattr(error, "sqlite_errorcode", None)
            if code == sqlite3.SQLITE_NOTADB:
                raise self._no_buffer() from error
            if code == sqlite3.SQLITE_BUSY:
                raise DependencyError(
                    f"another process has the buffer {self.path.name} open",
                    hint="give every MQTT source a buffer and an MQTT client of its own",
                ) from error
            raise DependencyError(
                f"the buffer {self.path.name} cannot be used ({error})",
                hint="check its folder, its rights and the room on its disk",
            ) from error

    def _no_buffer(self) -> DataError:
        return DataError(
            f"{self.path.name} is no buffer of an MQTT source",
            hint="name another file in `buffer`; that of an earlier version it has to deliver",
        )
