"""Decisions of the past as Parquet files, out of the ledger's database.

Every file holds whole decisions with their hashes, in the order of alarms and numbers, and in its
metadata whose they are and which. It is written under another name, synced and renamed, then read
again and followed hash by hash; only then the ledger lets its rows go. What was killed in between
goes on when it is called again: a file that holds decisions which are still in the ledger is
taken up first.

Realised losses stand in these files: they are the custodian's, as the ledger is.
"""

from __future__ import annotations

import json
import os
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from accountant.charging.archiving import Binder
from accountant.errors import ConfigError, LedgerCorruptError, LedgerError
from accountant.store.files import open_private, sync_directory
from accountant.store.tables.decided import DECISIONS
from stream.custody.export import SCHEMAS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from accountant.ledger.archives import Span
    from accountant.ledger.ledger import Ledger
    from accountant.store.tables.decided import ArchiveRow, DecisionRow

__all__ = ["Moved", "archive", "moved_in", "problems"]

_MARK: Final = b"decisions archive"
_PART_NAME: Final = ".decisions.part"
_BATCH_ROWS: Final = 8_192
_UNREADABLE: Final = (pa.ArrowException, OSError, ValueError, TypeError, LookupError)


class Moved(NamedTuple):
    """What one call did.

    Args:
        decisions: how many left the ledger.
        files: names of the files that they lie in.
    """

    decisions: int
    files: list[str]


def archive(ledger: Ledger, folder: Path, before_ms: int) -> Moved:
    """Move what may go of a ledger's decisions to a file, and finish what was cut off before.

    Args:
        ledger: workers may use it meanwhile.
        folder: of the archive; made if it is not there.
        before_ms: windows that end after it stay.

    Raises:
        LedgerError: somebody else is at it.
        LedgerCorruptError: the ledger's decisions, or those of a file, are not what was stored.
        ConfigError: the folder cannot be read or written to.
    """
    with ledger.exclusive("archive") as alone:
        if not alone:
            raise LedgerError(
                "decisions of this ledger are being archived already",
                hint="wait for the other command to end",
            )
        try:
            return _archive(ledger, folder, before_ms)
        except OSError as error:
            raise ConfigError(
                f"{folder} cannot be written to: {error.strerror or 'the disk may be full'}",
                hint="give a folder with space for the archive; what lies in no file is in the "
                "ledger as it was",
            ) from error


def problems(ledger: Ledger, folder: Path) -> Iterator[str]:
    """Yield why archives are not what the ledger moved there, one sentence each; file by file."""
    for name in sorted({row.file for row in ledger.archives.kept()}):
        path = folder / name
        if not path.is_file():
            yield f"{name}: it is missing from {folder}"
            continue
        try:
            yield from ledger.reports.archive_problems(name, _decisions_in(path))
        except _UNREADABLE:
            yield f"{name}: it is not an archive that can be read"


def moved_in(ledger: Ledger, folder: Path) -> Iterator[DecisionRow]:
    """Yield the decisions that a ledger moved to a folder where :func:`problems` finds none."""
    for name in sorted({row.file for row in ledger.archives.kept()}):
        yield from _decisions_in(folder / name)


def _archive(ledger: Ledger, folder: Path, before_ms: int) -> Moved:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    moved: dict[str, int] = {}
    for path in _left_over(ledger, folder):
        parts, wrong = _parts(ledger, path)
        # One that is damaged, or of another timeline, is of no use: its decisions are all here.
        moved[path.name] = 0 if wrong else ledger.archives.move(parts, before_ms)
    spans = ledger.archives.movable(before_ms)
    if spans:
        path = _write(ledger, folder, spans)
        parts, wrong = _parts(ledger, path)
        if wrong:
            raise LedgerCorruptError(
                wrong,
                hint="nothing of it was moved: run `tocsin ledger FILE verify`, and delete it",
            )
        moved[path.name] = ledger.archives.move(parts, before_ms)
    return Moved(sum(moved.values()), [name for name, many in moved.items() if many])


def _write(ledger: Ledger, folder: Path, spans: list[Span]) -> Path:
    """Write decisions to a file of their own, and return where it lies: under its name for good."""
    holds = {span.query: (span.after, span.last) for span in spans}
    schema = _schema({b"ledger": ledger.ledger_id.encode(), b"holds": json.dumps(holds).encode()})
    part = folder / _PART_NAME
    part.unlink(missing_ok=True)  # of a call that was cut off
    digest = blake2b(digest_size=8)
    with os.fdopen(open_private(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY), "wb") as file:
        with pq.ParquetWriter(file, schema) as writer:
            waiting: list[dict[str, Any]] = []
            for span in spans:
                for one in ledger.archives.decisions(span):
                    waiting.append(_typed(one))
                    digest.update(one.hash)
                    if len(waiting) == _BATCH_ROWS:
                        writer.write_table(pa.Table.from_pylist(waiting, schema=schema))
                        waiting.clear()
            writer.write_table(pa.Table.from_pylist(waiting, schema=schema))
        file.flush()
        os.fsync(file.fileno())
    path = folder / f"decisions-{digest.hexdigest()}.parquet"
    part.replace(path)
    sync_directory(folder)
    return path


def _parts(ledger: Ledger, path: Path) -> tuple[list[ArchiveRow], str]:
    """Read a file as it lies there: what is to be kept of its decisions, and what is wrong."""
    binder = Binder(path.name, ledger.ledger_id, ledger.archives.moved())
    parts: list[ArchiveRow] = []
    try:
        for one in _decisions_in(path):
            parts += binder.take(one)
    except _UNREADABLE:
        return [], f"{path.name}: it is not an archive that can be read"
    parts += binder.end()
    return parts, next(iter(binder.problems), "")


def _left_over(ledger: Ledger, folder: Path) -> list[Path]:
    """Return the files of this ledger that hold decisions which are still in it; earliest first."""
    moved = {query: number for query, (number, _) in ledger.archives.moved().items()}
    found: list[tuple[int, Path]] = []
    for path in folder.glob("decisions-*.parquet"):
        try:
            said = pq.read_schema(path).metadata or {}
            holds: dict[str, tuple[int, int]] = json.loads(said.get(b"holds", b"{}"))
            begins = sum(after for after, _ in holds.values())
            is_here = any(last > moved.get(query, last) for query, (_, last) in holds.items())
        except _UNREADABLE:
            continue  # `verify --archive` names it, if anything lies in it alone
        ours = (said.get(b"tocsin"), said.get(b"ledger")) == (_MARK, ledger.ledger_id.encode())
        if ours and is_here:
            found.append((begins, path))
    return [path for _, path in sorted(found)]


def _decisions_in(path: Path) -> Iterator[DecisionRow]:
    """Yield what a file holds, in its order.

    Raises:
        OSError, pa.ArrowException, ValueError, TypeError, LookupError: it cannot be read.
    """
    names = SCHEMAS[DECISIONS.name].names
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=_BATCH_ROWS, columns=names):
            columns = [batch.column(name).to_pylist() for name in names]
            for stored in zip(*columns, strict=True):
                one = dict(zip(names, stored, strict=True))
                one["alarms"] = one["alarms"].encode()
                yield DECISIONS.read(list(one.values()))


def _typed(one: DecisionRow) -> dict[str, Any]:
    return {**DECISIONS.values(one), "alarms": one.alarms.decode("utf-8", "backslashreplace")}


def _schema(said: dict[bytes, bytes]) -> pa.Schema:
    return SCHEMAS[DECISIONS.name].with_metadata({b"tocsin": _MARK, **said})
