"""The head of the log, keyed, kept outside the database: a ledger that was put back knows it.

Guarantee, of a ledger on SQLite: before a decision leaves, the head is in a file beside the
database and on the disk (:mod:`accountant.store.headfile`). A database that lost what it committed,
an older copy in its place and a new one each lack a head that was noted. Of every ledger, workers
say the head on the topic of ledgers (:mod:`stream.kafka.witness`) before anything leaves: of two
copies that went on, each lacks what the other said.

A head names the newest entry by its number and a keyed hash. Who has it and not the ledger's key
learns how often something happened, and can test no guess of what. That number follows from the
data, too: heads are for those who may read the ledger.
"""

from __future__ import annotations

import os
import threading
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from accountant.errors import LedgerError, LedgerRolledBackError
from accountant.log.entries import HASH_BYTES, Head, checkpoint_text, read_checkpoint
from accountant.store.headfile import HeadFile, Noted

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from accountant.ledger.door import Door

__all__ = ["Heads"]

_SUFFIX: Final = ".heads"
_LONG: Final = 1 << 18  # bytes: some thousands of heads, which a start compares in a second
_PERSON: Final = b"tocsin.head"
_CHARGES: Final = "`tocsin ledger FILE reconcile` (of replays: --published FILE.jsonl)"
_TAKES_OVER: Final = (
    "`tocsin ledger FILE take-ownership` (of replays: --replay PATH --published FILE.jsonl)"
)


class Heads:
    """Tells the heads of a ledger, and whether it has those that were noted elsewhere.

    Args:
        door: of the ledger.
        hash_key: its secret.
    """

    def __init__(self, door: Door, hash_key: bytes) -> None:
        self._door = door
        with door.state() as state:
            self._ledger_id = state.ledger_id
        self._key = hash_key
        database = door.store.file
        self._file = None if database is None else HeadFile(_beside(database))
        self._alone = database is not None and os.path.ismount(database)
        self._kept = ""
        self._keeping = threading.Lock()

    def keep(self) -> None:
        """Note the head beside a SQLite ledger, and wait until it is on the disk.

        To be called after decisions were stored and before anything of them leaves, once for as
        many as there are. Nothing to do where it has not moved since, or on PostgreSQL.

        Raises:
            DependencyError: it cannot be written.
        """
        if self._file is None:
            return
        now = self.now()
        with self._keeping:  # who finds nothing to do must not be ahead of the disk
            if now == self._kept:
                return
            if self._file.add(self._noted(now)) > _LONG:
                self.check()
            self._kept = now

    def lost(self) -> list[str]:
        """Return what was noted beside a SQLite ledger and it does not have, one sentence each.

        Raises:
            DependencyError: the file cannot be read.
            LedgerCorruptError: it is no such file.
        """
        return [] if self._file is None else self._lost(self._file.noted())

    def check(self) -> None:
        """Refuse a SQLite ledger that is older than what left it, or another than noted its heads.

        To be called before anything is registered. What is not refused has the heads of now noted,
        and no others.

        Raises:
            LedgerRolledBackError: it lacks a head that was noted.
            LedgerError: what is beside it is lost without it, and it without what is beside.
            DependencyError, LedgerCorruptError: as :meth:`lost`.
        """

        def checked(noted: list[Noted]) -> Noted:
            lost = self._lost(noted)
            if lost:
                new = any(one.ledger_id != self._ledger_id for one in noted)
                raise LedgerRolledBackError(
                    f"{lost[0]}: it is an older copy, or its -wal file is missing",
                    hint=f"restore the newest copy, or charge what was published: "
                    f"{_TAKES_OVER if new else _CHARGES}",
                )
            return self._noted(self.now())

        if self._file is None:
            return
        if self._alone:
            raise LedgerError(
                f"the ledger {self._door.store.file} is mounted as a single file, so its -wal and "
                ".heads files are lost with the container",
                hint="mount its folder instead: docker run -v FOLDER:FOLDER",
            )
        self._file.renew(checked)

    def begin(self) -> None:
        """Have the head of now noted beside a SQLite ledger, and no other.

        Once what it lacked has been charged: whatever was noted before is not asked for again.

        Raises:
            DependencyError: it cannot be written.
        """
        if self._file is not None:
            self._file.begin(lambda: self._noted(self.now()))

    def now(self) -> str:
        """Return the log's head as ``NUMBER:HASH``."""
        return self.release()[0]

    def release(self) -> tuple[str, dict[str, int]]:
        """Return the log's head, and the number of the last decision of every query up to it.

        Who knows of the head knows of these decisions: no later ones may leave with it.
        """
        with self._door.state() as state:
            numbers = {one.query: one.sequence for one in state.queries.values()}
            return self._keyed(state.head), numbers

    def problems(self, noted: Iterable[str]) -> list[str]:
        """Return what of the noted heads the ledger does not have, one sentence each.

        No sentence has a number in it: a worker that is refused says the first one in its log.

        Any of them means that something was released of which this ledger knows nothing: it was
        restored from an older copy, lost what was written last, or is another copy that went on.

        Args:
            noted: as :meth:`now` returned them at any time.

        Raises:
            ValueError: a head cannot be read.
        """
        with self._door.read() as (tx, state):
            hashes = {one.last: one.last_hash for one in state.archives}
            first, last = tx.log.bounds()
            found = []
            for head in sorted(noted):
                number = read_checkpoint(head).number
                row = tx.log.at(number)
                hashed = hashes.get(number, b"") if row is None else row.hash
                if number > last:
                    found.append("more was appended than this ledger has")
                elif not hashed and number < first:
                    pass  # it lies in an archive: this ledger went on behind it
                elif self._keyed(Head(number, hashed)) != head:
                    found.append("something else was appended than this ledger has")
            return found

    def _lost(self, noted: Iterable[Noted]) -> list[str]:
        others = sorted({one.ledger_id for one in noted} - {self._ledger_id})
        found = [
            f"heads of ledger {other} were noted beside this one, which is {self._ledger_id}"
            for other in others
        ]
        # All of them: of two copies that both went on, both have noted heads.
        mine = {one.head for one in noted if one.ledger_id == self._ledger_id}
        return found + self.problems(mine)

    def _noted(self, head: str) -> Noted:
        return Noted(self._ledger_id, head)

    def _keyed(self, head: Head) -> str:
        number = head.number
        keyed = blake2b(head.hash, digest_size=HASH_BYTES, key=self._key, person=_PERSON)
        keyed.update(str(number).encode())
        return checkpoint_text(Head(number, keyed.digest()))


def _beside(database: Path) -> Path:
    return database.with_name(database.name + _SUFFIX)
