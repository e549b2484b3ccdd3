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
from accountant.store.entry_rows import EntryRow
from accountant.store.files import open_private, sync_directory

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from accountant.ledger.archives import Copy
    from accountant.ledger.ledger import Ledger

__all__ = [
    "Moved",
    "archive",
    "archived_in",
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
_LAST: Final = re.compile(r"entries-[0-9]+-([0-9]{1,18})-")
_UNREADABLE: Final = (
    *(pa.ArrowException, OSError, ValueError, TypeError, LookupError),
    AttributeError,  # a payload that is no text
)
_OTHER_COPY: Final = "use another copy of this file"


class Moved(NamedTuple):
    """What one call did.

    Args:
        entries: how many left the ledger, also those that a call left there which was cut off.
        files: names of the files that the others lie in.
    """

    entries: int
    files: list[str]


def write_entries(rows: Iterable[EntryRow], path: Path) -> None:
    """Write entries to a file that only its owner may read, safely on the disk.

    Args:
        rows: in order.
        path: what is there is replaced once all is written.

    Raises:
        ConfigError: it cannot be written.
    """
    part, left = path.with_name(f".{path.name}.part"), iter(rows)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        part.unlink(missing_ok=True)  # of a call that was cut off
        with os.fdopen(open_private(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY), "wb") as file:
            with pq.ParquetWriter(file, _SCHEMA) as writer:
                while batch := list(islice(left, _BATCH_ROWS)):
                    fields = [row._asdict() for row in batch]
                    writer.write_batch(pa.RecordBatch.from_pylist(fields, schema=_SCHEMA))
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
        sync_directory(path.parent)
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be written: {error.strerror or 'the disk may be full'}",
            hint="check permissions and free disk space; the ledger is unchanged",
        ) from error


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
        for path, copy in _next_files(ledger, folder, before_ms):
            gone += ledger.archives.move(path.name, copy, before_ms)
            files.append(path.name)
        return Moved(gone, files)


def _next_files(ledger: Ledger, folder: Path, before_ms: int) -> Iterator[tuple[Path, Copy]]:
    """Yield files that hold what may go next, until that has been moved, and what they hold.

    Files that a call left there which was cut off, then a new one for the rest.

    Raises:
        LedgerCorruptError: a file does not hold what was written to it.
    """
    first, until = ledger.archives.movable(before_ms)
    while left_over := _left_over(ledger, folder, first, until):
        yield left_over
        first, until = ledger.archives.movable(before_ms)
    if first <= until:
        (end,) = ledger.archives.entries(until, until)
        # Of another copy of the ledger, which went on otherwise, a file has another name.
        path = folder / f"entries-{first}-{until}-{end.hash.hex()[:8]}.parquet"
        write_entries(ledger.archives.entries(first, until), path)
        copy = _copied(ledger, path, first, until)
        if copy is None:
            raise LedgerCorruptError(
                f"{path.name} does not hold what was written to it",
                hint="delete this file and check the disk; the ledger is unchanged",
            )
        yield path, copy


def _left_over(ledger: Ledger, folder: Path, first: int, until: int) -> tuple[Path, Copy] | None:
    """Return a file that holds entries from ``first`` on, up to ``until`` at most, and these."""
    for path in folder.glob(f"entries-{first}-*.parquet"):
        named = _LAST.match(path.name)
        if named is not None and int(named[1]) <= until:
            copy = _copied(ledger, path, first, int(named[1]))
            if copy is not None:
                return path, copy
    return None


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
        except FileNotFoundError:
            raise LedgerError(f"{kept.file} is missing from {folder}", hint=_OTHER_COPY) from None
        except _UNREADABLE:
            raise LedgerError(f"{kept.file} is not a readable archive", hint=_OTHER_COPY) from None
        if next(numbers, None) is not None:
            raise others


def _copied(ledger: Ledger, path: Path, first: int, last: int) -> Copy | None:
    try:
        return ledger.archives.copied(_entries_in(path), first, last)
    except _UNREADABLE:
        return None


def _entries_in(path: Path) -> Iterator[EntryRow]:
    """Yield what a file holds, in its order; ``_UNREADABLE`` where it cannot be read."""
    with pq.ParquetFile(path) as file:
        if file.schema_arrow.remove_metadata() != _SCHEMA:
            raise ValueError("other columns than those of entries")
        for batch in file.iter_batches(batch_size=_BATCH_ROWS, columns=list(_FIELDS)):
            for fields in batch.to_pylist():
                yield EntryRow(**fields | {"payload": fields["payload"].encode()})
