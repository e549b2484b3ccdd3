"""Entries of a ledger as Parquet: all of them for others to read, those of the past to keep there.

A file has one row an entry, with its payload as the JSON that its hash covers. Raw counts and the
hash key are in none. An archive is written under another name, synced and renamed, then read again
and compared with the ledger; only then the ledger lets its entries go. A file of a call that was
killed before that stays beside the next one, and the ledger does not name it.

Realised losses stand in these files: they are the custodian's, as the ledger is.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from accountant.collecting import without_collector
from accountant.errors import ConfigError, LedgerCorruptError, LedgerError
from accountant.store.entry_rows import EntryRow
from accountant.store.files import sync_directory, written_whole

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
_UNREADABLE: Final = (
    pa.ArrowException,
    OSError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,  # a payload that is no text
)
_OTHER_COPY: Final = "use another copy of this file"


class Moved(NamedTuple):
    """What one call did.

    Args:
        entries: how many left the ledger, also those that a call left there which was cut off.
        files: the name of the file that the others lie in; none where nothing may go.
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
    left = iter(rows)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (
            written_whole(path, force=True) as file,
            pq.ParquetWriter(file, _SCHEMA) as writer,
        ):
            while batch := list(islice(left, _BATCH_ROWS)):
                fields = [row._asdict() for row in batch]
                writer.write_batch(pa.RecordBatch.from_pylist(fields, schema=_SCHEMA))
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
        gone = ledger.archives.let_go()  # of a call that was cut off
        first, until = ledger.archives.movable(before_ms)
        if first > until:
            return Moved(gone, [])
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
        return Moved(gone + ledger.archives.move(path.name, copy, before_ms), [path.name])


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
