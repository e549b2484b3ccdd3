"""Entries of a ledger as Parquet: all of them for others to read, those of the past to keep there.

A file has one row an entry, with its payload as the JSON that its hash covers. Raw counts and the
hash key are in none. An archive is written under another name, synced and renamed, then read again
and compared with the ledger; only then the ledger lets its entries go. What was killed in between
goes on when it is called again: a file that holds what comes next is taken up.

Realised losses stand in these files: they are the custodian's, as the ledger is.
"""

from __future__ import annotations

import os
import re
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from accountant.collecting import without_collector
from accountant.errors import ConfigError, LedgerCorruptError, LedgerError
from accountant.log.entries import Ended, decode
from accountant.store.entry_rows import EntryRow
from accountant.store.files import open_private, sync_directory

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from accountant.ledger.archives import Copy
    from accountant.ledger.ledger import Ledger
    from accountant.records import StoredDecision

__all__ = [
    "Moved",
    "archive",
    "archived_in",
    "decisions_in",
    "missing_in",
    "write_entries",
]

_FIELDS: Final = {
    "seq": pa.int64(),
    "kind": pa.string(),
    "key": pa.string(),
    "payload": pa.string(),
    "hash": pa.binary(),
}
_SCHEMA: Final = pa.schema([pa.field(name, one, nullable=False) for name, one in _FIELDS.items()])
_BATCH_ROWS: Final = 8_192
_NUMBERS: Final = re.compile(r"entries-([0-9]{1,18})-([0-9]{1,18})-")
_UNREADABLE: Final = (
    *(pa.ArrowException, OSError, ValueError, TypeError, LookupError),
    AttributeError,  # a payload that is no text
)


class Moved(NamedTuple):
    """What one call did.

    Args:
        entries: how many left the ledger, also those that a call left there which was cut off.
        files: names of the files that the others lie in.
    """

    entries: int
    files: list[str]


def write_entries(rows: Iterable[EntryRow], path: Path) -> int:
    """Write entries to a file that only its owner may read, safely on the disk; return how many.

    Args:
        rows: in order.
        path: what is there is replaced once all is written.

    Raises:
        ConfigError: it cannot be written.
    """
    part, many, left = path.with_name(f".{path.name}.part"), 0, iter(rows)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        part.unlink(missing_ok=True)  # of a call that was cut off
        with os.fdopen(open_private(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY), "wb") as file:
            with pq.ParquetWriter(file, _SCHEMA) as writer:
                while batch := list(islice(left, _BATCH_ROWS)):
                    columns = list(zip(*batch, strict=True))
                    columns[3] = tuple(payload.decode() for payload in columns[3])
                    writer.write_batch(pa.record_batch(columns, schema=_SCHEMA))
                    many += len(batch)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
        sync_directory(path.parent)
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be written: {error.strerror or 'the disk may be full'}",
            hint="check permissions and free disk space; the ledger is unchanged",
        ) from error
    return many


@without_collector()
def archive(ledger: Ledger, folder: Path, before_ms: int) -> Moved:
    """Move what may go of a ledger's entries to files, and finish what was cut off before.

    Args:
        ledger: workers may use it meanwhile.
        folder: of the archive; made if it is not there.
        before_ms: windows that end after it stay.

    Raises:
        LedgerError: somebody else is at it.
        LedgerCorruptError: what was written is not what the ledger has, or an entry does not
            follow on the one before it.
        ConfigError: the folder cannot be written to.
    """
    with ledger.exclusive("archive") as alone:
        if not alone:
            raise LedgerError(
                "another process archives this ledger",
                hint="wait until it has finished",
            )
        gone, files = ledger.archives.let_go(), list[str]()
        for path, first, last in _left_over(ledger, folder):
            next_one, until = ledger.archives.movable(before_ms)
            taken_up = first == next_one and last <= until
            copy = _copied(ledger, path, first, last) if taken_up else None
            if copy is not None:
                gone += ledger.archives.move(path.name, copy, before_ms)
                files.append(path.name)
        first, last = ledger.archives.movable(before_ms)
        if first <= last:
            path = folder / _name(ledger, first, last)
            write_entries(ledger.archives.entries(first, last), path)
            copy = _copied(ledger, path, first, last)
            if copy is None:
                raise LedgerCorruptError(
                    f"{path.name} does not hold what was written to it",
                    hint="delete this file and check the disk; the ledger is unchanged",
                )
            gone += ledger.archives.move(path.name, copy, before_ms)
            files.append(path.name)
        return Moved(gone, files)


def missing_in(ledger: Ledger, folder: Path) -> list[str]:
    """Return why archives of a ledger cannot be read in a folder, one sentence each."""
    wrong = []
    for kept in ledger.archives.kept():
        path = folder / kept.file
        try:
            if not _is_of_entries(path):
                wrong.append(f"{path.name}: it is not an archive")
        except FileNotFoundError:
            wrong.append(f"{path.name}: it is missing from {folder}")
        except _UNREADABLE:
            wrong.append(f"{path.name}: it is not an archive that can be read")
    return wrong


def archived_in(ledger: Ledger, folder: Path) -> Iterator[EntryRow]:
    """Yield the entries that a ledger moved to a folder, in order.

    Raises:
        LedgerError: a file cannot be read, or holds other entries than it should.
    """
    for kept in ledger.archives.kept():
        numbers = iter(range(kept.first, kept.last + 1))
        others = LedgerError(
            f"{kept.file} does not hold entries {kept.first} to {kept.last} in order",
            hint=_OTHER_COPY,
        )
        try:
            for row in _entries_in(folder / kept.file):
                if row.seq != next(numbers, None):
                    raise others
                yield row
        except _UNREADABLE:
            raise LedgerError(f"{kept.file} is not a readable archive", hint=_OTHER_COPY) from None
        if next(numbers, None) is not None:
            raise others


_OTHER_COPY: Final = "use another copy of this file"


def decisions_in(ledger: Ledger, folder: Path) -> Iterator[StoredDecision]:
    """Yield the decisions among the entries that a ledger moved to a folder, in order."""
    for row in archived_in(ledger, folder):
        entry = decode(row.kind, row.payload) if row.kind == Ended.kind else None
        if isinstance(entry, Ended):
            yield entry.decision(ledger.ledger_id, published=True)


def _is_of_entries(path: Path) -> bool:
    return bool(pq.read_schema(path).remove_metadata() == _SCHEMA)


def _copied(ledger: Ledger, path: Path, first: int, last: int) -> Copy | None:
    try:
        return ledger.archives.copied(_entries_in(path), first, last)
    except _UNREADABLE:
        return None


def _entries_in(path: Path) -> Iterator[EntryRow]:
    """Yield what a file holds, in its order; ``_UNREADABLE`` where it cannot be read."""
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=_BATCH_ROWS, columns=list(_FIELDS)):
            columns = [column.to_pylist() for column in batch.columns]
            for seq, kind, key, payload, hashed in zip(*columns, strict=True):
                yield EntryRow(seq, kind, key, payload.encode(), hashed)


def _name(ledger: Ledger, first: int, last: int) -> str:
    """Return the name of a file that holds entries; of another copy, it has another."""
    (end,) = ledger.archives.entries(last, last)
    return f"entries-{first}-{last}-{end.hash.hex()[:8]}.parquet"


def _left_over(ledger: Ledger, folder: Path) -> list[tuple[Path, int, int]]:
    """Return files that the ledger does not know yet, with the entries that their names say."""
    known = {one.file for one in ledger.archives.kept()}
    named = ((path, _NUMBERS.match(path.name)) for path in folder.glob("*.parquet"))
    found = [
        (path, int(numbers[1]), int(numbers[2]))
        for path, numbers in named
        if numbers is not None and path.name not in known
    ]
    return sorted(found, key=lambda one: one[1:])
