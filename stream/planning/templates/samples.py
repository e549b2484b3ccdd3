"""What a sample of events shows: fields, their types, and values.

For the custodian, who alone may read events. Names and types go into the configuration, which is
public; values only where the custodian says that they are public knowledge.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from io import BytesIO
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from accountant.errors import DataError
from stream.model.feeds import FieldType

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["MOST_ROWS", "Seen", "fields_in"]

MOST_ROWS: Final = 10_000
"""Rows of a sample that show its types: the first ones of a file."""

_MOST_VALUES: Final = 500
_PLAUSIBLE_MS: Final = range(631_152_000_000, 4_102_444_800_000)  # 1990 to 2100
_LISTED: Final = (FieldType.STRING, FieldType.INTEGER)
_KINDS: Final = {
    frozenset({str}): FieldType.STRING,
    frozenset({int}): FieldType.INTEGER,
    frozenset({float}): FieldType.FLOAT,
    frozenset({int, float}): FieldType.FLOAT,
    frozenset({bool}): FieldType.BOOLEAN,
    frozenset({datetime}): FieldType.TIMESTAMP,
}
"""Types of fields, by those of all their values."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One field of a sample.

    Args:
        kind: its type; ``None`` where values are of several types, or of one that no field has.
        values: the different values as texts, in order; none where there are more than 500.
    """

    kind: FieldType | None
    values: tuple[str, ...]

    @property
    def held(self) -> str:
        """What it holds, in words."""
        return "no type that a field has" if self.kind is None else self.kind.value


def fields_in(path: Path, most: int | None = None) -> dict[str, Seen]:
    """Return what rows of a file show of each field; rows that are none are left out.

    Args:
        path: ``.parquet``, ``.csv`` or ``.jsonl``.
        most: how many lines or rows are read, the first ones; ``None`` for all.

    Raises:
        DataError: the file cannot be read, is none of these, or has no row.
    """
    try:
        rows = [row for row in _rows(path, most) if isinstance(row, dict)]
    except OSError as error:
        raise DataError(
            f"{path}: cannot be read ({error.strerror or 'not a file'})", hint="check the path"
        ) from error
    except (pa.ArrowException, ValueError):
        raise DataError(
            f"{path}: not a valid {path.suffix} file", hint="use another file"
        ) from None
    if not rows:
        raise DataError(
            f"{path}: no row of the sample is an object with fields",
            hint="a row is one JSON object, a line of CSV under its header, or a row of Parquet",
        )
    names = dict.fromkeys(name for row in rows for name in row if name)
    return {name: _seen([row.get(name) for row in rows]) for name in names}


def _seen(found: Sequence[Any]) -> Seen:
    values = [value for value in found if value is not None]
    kind = _kind(values)
    different = sorted(map(str, set(values))) if kind in _LISTED else []
    return Seen(kind, tuple(different) if len(different) <= _MOST_VALUES else ())


def _kind(values: Sequence[Any]) -> FieldType | None:
    kind = _KINDS.get(frozenset(map(type, values)))
    texts = kind is FieldType.STRING and all(map(_is_instant, values))
    numbers = kind is FieldType.INTEGER and all(value in _PLAUSIBLE_MS for value in values)
    return FieldType.TIMESTAMP if texts or numbers else kind


def _is_instant(text: str) -> bool:
    """Whether a text is a time in the profile that events are read in: a day alone is none."""
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return len(text) >= len("2025-03-03T09:12:00")


def _rows(path: Path, most: int | None) -> list[Any]:
    rows: list[Any]
    match path.suffix.lower():
        case ".parquet":
            with pq.ParquetFile(path) as file:
                every = (row for batch in file.iter_batches() for row in batch.to_pylist())
                rows = list(islice(every, most))
        case ".csv":
            options = pa_csv.ParseOptions(invalid_row_handler=lambda _row: "skip")
            head = BytesIO(b"".join(_lines(path, most)))
            rows = pa_csv.read_csv(head, parse_options=options).to_pylist()
        case ".jsonl":
            rows = [_object(line) for line in _lines(path, most)]
        case _:
            raise DataError(
                f"{path}: unknown suffix", hint="use a file with one of .parquet, .csv, .jsonl"
            )
    return rows


def _lines(path: Path, most: int | None) -> list[bytes]:
    with path.open("rb") as file:
        return list(islice(file, most))


def _object(line: bytes) -> Any:
    """Return what a line of JSON says; ``None`` of one that a feed would drop as undecodable."""
    try:
        return msgspec.json.decode(line)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
