"""The ledger's disk: a real SQLite file whose commits fail or lose their answers, and its copies.

A killed process loses nothing that was committed. A power cut loses what was not synced: of the
file of heads what came after its last ``fsync``, of the database what was committed while SQLite
was not told to wait for the disk. What an operator does to files is here, too: a ``-wal`` file that
stays behind, an older copy in the newer one's place, a second copy that goes on.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
from sqlalchemy import exc

from tests.faults.schedule import PROCESS, WORLD
from tests.faults.story import Story

if TYPE_CHECKING:
    from collections.abc import Callable

    from accountant.store.store import Store

_SIDES = ("-wal", "-shm")
_HEADS = ".heads"


class Disk:
    """The files of one ledger.

    Args:
        folder: of its own.
    """

    def __init__(self, folder):
        folder.mkdir()
        self.folder = folder
        self.file = folder / "ledger.sqlite"
        self.heads = folder / f"ledger.sqlite{_HEADS}"
        self.archives = folder.parent / "archives"
        self.url = f"sqlite:///{self.file}"
        self.synced_heads = b""
        """What of the file of heads outlives a power cut."""
        self.stores = []

    @property
    def exists(self) -> bool:
        """Whether there is a ledger."""
        return self.file.exists()

    @property
    def _durable(self):
        return self.folder / "durable"

    def read(self, statement: str) -> list[tuple[Any, ...]]:
        """Read what is committed, beside all of Tocsin."""
        with closing(sqlite3.connect(self.file)) as connection:
            return connection.execute(statement).fetchall()

    def story(self) -> Story:
        """Return what the log says, here and in archives."""
        rows = self.read("SELECT seq, kind, payload FROM tocsin_entries ORDER BY seq")
        while rows and rows[0][0] > 1:
            rows = [*self._archived(rows), *rows]
        return Story.of(rows)

    def _archived(self, rows):
        """Return the entries that moved to an archive, of those before the first that is here."""
        first = rows[0][0]
        moves = (json.loads(payload) for _, kind, payload in rows if kind == "archived")
        (file,) = (one["file"] for one in moves if one["first"] < first <= one["last"] + 1)
        table = pq.read_table(self.archives / file, columns=["seq", "kind", "payload"])
        return [tuple(row.values()) for row in table.to_pylist() if row["seq"] < first]

    def waiting(self, until_ms: int) -> int:
        """Return how many decisions of windows that end by an instant have not left."""
        counted = "SELECT at_ms FROM tocsin_counters WHERE name LIKE 'published/%'"
        left_ms = max((at_ms for (at_ms,) in self.read(counted)), default=-1)
        return self.story().waiting(until_ms, left_ms)

    def copy(self, name: str) -> Path:
        """Copy the database as it is committed, and return where the copy lies."""
        path = self.folder / name
        path.unlink(missing_ok=True)
        with (
            closing(sqlite3.connect(self.file)) as source,
            closing(sqlite3.connect(path)) as target,
        ):
            source.backup(target)
        return path

    def restore(self, copy: Path, heads: bytes | None) -> None:
        """Put a copy in the database's place; nobody may use it.

        Args:
            copy: of the database.
            heads: what the file of heads says then; ``None`` where it stays as it is.
        """
        self.close()
        self.remove()
        shutil.copyfile(copy, self.file)
        if heads is not None:
            self.heads.write_bytes(heads)
            self.synced_heads = heads

    def lose_wal(self) -> None:
        """Keep the database's own file alone: what was not carried over from the ``-wal`` is gone.

        Nobody may use it.
        """
        kept = self.folder / "kept"
        shutil.copyfile(self.file, kept)
        self.restore(kept, None)

    def carry_over(self) -> None:
        """Have SQLite write the ``-wal`` file's content into the database's own."""
        self.read("PRAGMA wal_checkpoint")

    def before_commit_without_sync(self) -> None:
        """Remember what a power cut leaves, before the first commit that it would take."""
        if not self._durable.exists():
            self.copy("durable")

    def power_cut(self) -> None:
        """Forget what was not synced; nobody may use it."""
        if self.heads.exists():
            self.heads.write_bytes(self.synced_heads)
        if self._durable.exists():
            self.restore(self._durable, None)
            self._durable.unlink()

    def remove(self) -> None:
        """Lose the database, and nothing else; nobody may use it."""
        for side in ("", *_SIDES):
            self.file.with_name(self.file.name + side).unlink(missing_ok=True)

    def close(self) -> None:
        """Let go of the files that processes had open, all of which are dead."""
        for store in self.stores:
            store.close()
        self.stores.clear()


class Storage:
    """All disks, as Tocsin's modules find them: what takes their parts in ``os`` and ``fcntl``.

    Args:
        schedule: of the world.
    """

    def __init__(self, schedule):
        self.schedule = schedule
        self.disks = []
        self._hasty = {}
        self._locks = {}

    def disk_of(self, path: str) -> Disk | None:
        """Return the disk that a file lies on."""
        return next((disk for disk in self.disks if path.startswith(f"{disk.folder}/")), None)

    def opened(self, store: Store) -> None:
        """Take note of a store, to let go of its files in the end."""
        disk = self.disk_of(str(store.file))
        if disk is not None:
            disk.stores.append(store)

    # --- transactions

    def before_connect(self) -> None:
        """Be where a transaction begins.

        Raises:
            OperationalError: the database cannot be reached.
        """
        self.schedule.pause("transaction")
        if self._happens("unreachable", "transaction refused"):
            away = sqlite3.OperationalError("connection to server failed")
            raise exc.OperationalError(None, None, away)

    def prepared(self, connection: Any, *, waits: bool) -> None:
        """Take note of a connection, and whether its commits wait for the disk."""
        if not waits:
            path = connection.execute("PRAGMA database_list").fetchone()[2]
            self._hasty[id(connection)] = path

    def commit(self, connection: Any, do_commit: Callable[[Any], None]) -> None:
        """Commit, or cut the connection before or after.

        Raises:
            OperationalError: it was cut.
        """
        self.schedule.point("before commit")
        disk = self.disk_of(self._hasty.get(id(connection.dbapi_connection), ""))
        if disk is not None:
            disk.before_commit_without_sync()
        closed = sqlite3.OperationalError("server closed the connection unexpectedly")
        if self._happens("cut", "cut before commit"):
            raise closed
        do_commit(connection)
        self.schedule.point("after commit")
        if self._happens("unsure", "cut after commit"):
            raise closed

    # --- files

    def fsync(self, descriptor: int) -> None:
        """Have a file outlive a power cut."""
        path = str(Path(f"/proc/self/fd/{descriptor}").readlink())
        disk = self.disk_of(path)
        if disk is not None and path.startswith(str(disk.heads)):
            disk.synced_heads = os.pread(descriptor, os.fstat(descriptor).st_size, 0)

    def flock(self, descriptor: int, how: int) -> None:
        """Take a lock among processes; others run while one waits.

        Those of the dead are free at once. Real ones would be when their garbage is collected.

        Raises:
            BlockingIOError: it is held, and the caller does not wait.
        """
        found = os.fstat(descriptor)
        place = (found.st_dev, found.st_ino)
        while place in self._locks and not self._locks[place][1].dead:
            if how & fcntl.LOCK_NB:
                if self._happens("unlocked", "lock handed out twice"):
                    return
                raise BlockingIOError
            self.schedule.pause("lock")
        self._locks[place] = descriptor, PROCESS.get()

    def close(self, descriptor: int) -> None:
        """Close a file, and let go of the lock that it was."""
        self._locks = {place: held for place, held in self._locks.items() if held[0] != descriptor}
        os.close(descriptor)

    def _happens(self, fault, kind):
        """Draw whether a fault happens to a process."""
        schedule = self.schedule
        chance = getattr(schedule.weather, fault)
        return PROCESS.get() is not WORLD and schedule.happens(chance, kind)
