"""An export of a log: every record of a topic with its place and append time, as one Parquet file.

A window is a function of a slice of the log (promise 2), so an export replayed through the embedded
shell gives what the Kafka shell gave. Nothing is interpreted: values are kept byte for byte, bad
ones and watermarks included. An export holds raw events: it belongs to the custodian.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from typing import IO, TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from accountant.errors import DataError
from stream.events.decoder import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

__all__ = [
    "EXPORT_MARK",
    "EXPORT_VERSION",
    "ExportInfo",
    "LoggedRecord",
    "export_info",
    "log_writer",
    "read_log",
]

EXPORT_VERSION = 1
"""Version of the file's layout, kept in its schema's metadata."""

EXPORT_MARK = b"tocsin.export.version"
"""Says in a schema's metadata that the file is an export, and of which version."""

_TOPIC, _PARTITIONS, _BEGINS = b"tocsin.topic", b"tocsin.partitions", b"tocsin.begins"
_ROWS_PER_GROUP, _BYTES_PER_GROUP = 65_536, 64 << 20  # a group lies in memory
_HEADER = pa.struct([pa.field("key", pa.string(), nullable=False), ("value", pa.binary())])
_COLUMNS = pa.schema(
    [
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("append_ms", pa.int64(), nullable=False),
        pa.field("log_append", pa.bool_(), nullable=False),
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("headers", pa.list_(pa.field("element", _HEADER, nullable=False)), nullable=False),
    ]
)
_HINT = "write it with `tocsin export` of this version, or name the log's own files"


@dataclass(frozen=True, slots=True)
class LoggedRecord:
    """One record as it lay on the topic.

    Args:
        partition: its partition.
        record: offset, timestamp, value and headers.
        key: its key.
    """

    partition: int
    record: Record
    key: bytes | None = None


@dataclass(frozen=True, slots=True)
class ExportInfo:
    """What an export says of itself.

    Args:
        topic: name of the topic.
        partitions: how many it had.
        begins: of each the oldest offset that it still had, also where it had no record any more;
            empty in exports of 0.1.0, which did not say so.
    """

    topic: str
    partitions: int
    begins: tuple[int, ...] = ()


@contextmanager
def log_writer(
    file: Path | IO[bytes], info: ExportInfo
) -> Iterator[Callable[[Iterable[LoggedRecord]], None]]:
    """Yield what appends records to an export; within a partition, they come in offset order.

    Args:
        file: open for writing, or a path, replaced where it exists.
        info: of the topic.
    """
    schema = _COLUMNS.with_metadata(
        {
            EXPORT_MARK: str(EXPORT_VERSION).encode(),
            _TOPIC: info.topic.encode(),
            _PARTITIONS: str(info.partitions).encode(),
            _BEGINS: " ".join(map(str, info.begins)).encode(),
        }
    )
    waiting: list[dict[str, object]] = []
    waiting_bytes = 0
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:

        def flush() -> None:
            nonlocal waiting_bytes
            writer.write_batch(pa.RecordBatch.from_pylist(waiting, schema))
            waiting.clear()
            waiting_bytes = 0

        def write(records: Iterable[LoggedRecord]) -> None:
            nonlocal waiting_bytes
            for logged in records:
                waiting.append(_row(logged))
                parts = chain((logged.record.value, logged.key), *logged.record.headers)
                waiting_bytes += sum(map(len, filter(None, parts)))
                if len(waiting) >= _ROWS_PER_GROUP or waiting_bytes >= _BYTES_PER_GROUP:
                    flush()

        yield write
        if waiting:
            flush()


def _row(logged: LoggedRecord) -> dict[str, object]:
    record = logged.record
    return {
        "partition": logged.partition,
        "offset": record.offset,
        "append_ms": record.timestamp_ms,
        "log_append": record.log_append,
        "key": logged.key,
        "value": record.value,
        "headers": [{"key": key, "value": value} for key, value in record.headers],
    }


def export_info(path: Path) -> ExportInfo | None:
    """Return what an export says of itself; ``None`` where the file is none.

    Raises:
        DataError: it is of another version, or no export throughout.
    """
    try:
        schema = pq.read_schema(path)
    except (pa.ArrowException, OSError):
        return None  # what reads it as events will say what is wrong with it
    metadata = schema.metadata or {}
    if EXPORT_MARK not in metadata:
        return None
    with suppress(KeyError, ValueError):
        if metadata[EXPORT_MARK] == str(EXPORT_VERSION).encode() and schema.equals(_COLUMNS):
            begins = tuple(map(int, metadata.get(_BEGINS, b"").split()))
            return ExportInfo(metadata[_TOPIC].decode(), int(metadata[_PARTITIONS]), begins)
    raise DataError(f"{path}: not an export of version {EXPORT_VERSION}", hint=_HINT)


def read_log(path: Path, *, partition: int | None = None) -> Iterator[LoggedRecord]:
    """Iterate over the records of an export in the order they were written.

    Args:
        path: the file.
        partition: only this partition; ``None`` for all.

    Raises:
        DataError: it cannot be read to its end.
    """
    try:
        with pq.ParquetFile(path) as file:
            for group in range(file.num_row_groups):
                columns = (column.to_pylist() for column in file.read_row_group(group).columns)
                for at, offset, append_ms, log_append, key, value, headers in zip(
                    *columns, strict=True
                ):
                    if partition in (None, at):
                        pairs = tuple((header["key"], header["value"]) for header in headers)
                        record = Record(offset, append_ms, log_append, value, pairs)
                        yield LoggedRecord(at, record, key)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path}: the export is damaged", hint=_HINT) from error
