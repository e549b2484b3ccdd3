"""What a sample of events shows: fields, their types and forms of times, and values.

For the custodian, who alone may read events. Names and types go into the configuration, which is
public; values only where the custodian says that they are public knowledge.
"""

from __future__ import annotations

import csv
import itertools
import re
from dataclasses import dataclass
from datetime import date, datetime
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from accountant.errors import DataError
from stream.model.feeds import FieldType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

__all__ = ["MOST_ROWS", "Looked", "Seen", "looked_at", "rows_of_file"]

MOST_ROWS: Final = 10_000
"""Rows of a sample that are looked at: the first ones of a file."""

_MOST_VALUES: Final = 500
_PLAUSIBLE_MS: Final = range(631_152_000_000, 4_102_444_800_000)  # 1990 to 2100
_SCALES: Final = {
    1_000_000_000: "seconds",
    1_000_000: "milliseconds",
    1_000: "microseconds",
    1: "nanoseconds",
}
"""Units that times are counted in, by how many nanoseconds they are."""
_INT64: Final = range(-(2**63), 2**63)
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_LOCAL_DATE: Final = re.compile(r"[0-9]{1,4}[/.][0-9]{1,2}[/.][0-9]{1,4}\b.*", re.ASCII)
_DAYS: Final = "days without a time"
_ODD: Final[Mapping[type, str]] = {
    dict: "objects with fields of their own",
    list: "lists",
    bytes: "bytes that are no text",
    date: _DAYS,
}
_MEANINGS: Final[Mapping[str, Callable[[str], Any]]] = {
    r"(?ai:true|false)": lambda cell: cell.lower() == "true",
    r"-?(?:0|[1-9][0-9]{0,17})": int,
    r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?": float,
    r"(?s:.*)": str,
}
"""What all cells of a column of CSV can be read as, by how they are written: the first counts."""

_SEPARATOR: Final = re.compile(r"[;\t|]")
_LISTED: Final = (FieldType.STRING, FieldType.INTEGER)
_KINDS: Final[Mapping[type, FieldType]] = {
    bool: FieldType.BOOLEAN,
    datetime: FieldType.TIMESTAMP,
}
_PEOPLE: Final = ("person", "user", "customer", "visitor", "member", "employee", "badge", "client")
_TIMES: Final = ("ts", "time", "timestamp", "at", "date")


@dataclass(frozen=True, slots=True)
class Seen:
    """One field of a sample.

    Args:
        name: of the field.
        kind: its type; ``None`` where values are of several types, or nothing that is declared.
        form: how times are written, or what resembles a time and is read as none, or why there is
            no type, in words; "" where there is nothing to say.
        distinct: how many different values there are, up to a limit.
        values: the different values as texts, in order; none where there are more than the limit.
    """

    name: str
    kind: FieldType | None
    form: str
    distinct: int
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Looked:
    """A sample.

    Args:
        rows: how many were looked at.
        unreadable: how many of them are no objects.
        fields: what they hold, by name.
    """

    rows: int
    unreadable: int
    fields: Mapping[str, Seen]

    @property
    def time(self) -> str | None:
        """The field that is most likely the time of an event."""
        return _likeliest(self, (FieldType.TIMESTAMP,), _TIMES)

    @property
    def unit(self) -> str | None:
        """The field that most likely says whom an event belongs to: its name, or many values."""
        named = [
            name
            for name, seen in self.fields.items()
            if seen.kind in _LISTED and any(word in name.lower() for word in _PEOPLE)
        ]
        many = [seen for seen in self.fields.values() if seen.kind in _LISTED and seen.distinct > 1]
        if named or not many:
            return named[0] if named else None
        return max(many, key=lambda seen: seen.distinct).name

    @property
    def group_by(self) -> str | None:
        """The field that is most likely watched value by value: a text of few values."""
        few = [
            seen
            for seen in self.fields.values()
            if seen.kind is FieldType.STRING and seen.values and seen.name != self.unit
        ]
        return min(few, key=lambda seen: seen.distinct).name if few else None

    @property
    def amount(self) -> str | None:
        """The field that is most likely added up."""
        names = ("amount", "price", "total", "paid")
        whole = _likeliest(self, (FieldType.INTEGER,), names)
        return _likeliest(self, (FieldType.FLOAT,), names) or (
            None if whole == self.unit else whole
        )


def rows_of_file(path: Path) -> list[Any]:
    """Return the first rows of a file; what is no object is returned as it is.

    Args:
        path: ``.parquet``, ``.csv`` or ``.jsonl``.

    Raises:
        DataError: the file cannot be read, or is none of these.
    """
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise DataError(
            f"{path}: unknown suffix",
            hint=f"use a file with one of {', '.join(_READERS)}",
        )
    try:
        return list(reader(path))
    except OSError as error:
        raise DataError(
            f"{path}: cannot be read ({error.strerror or 'not a file'})", hint="check the path"
        ) from error
    except (pa.ArrowException, csv.Error, UnicodeDecodeError):
        raise DataError(
            f"{path}: not a valid {path.suffix} file", hint="use another file"
        ) from None


def looked_at(rows: Sequence[Any]) -> Looked:
    """Say what rows hold.

    Args:
        rows: objects by field name; anything else counts as unreadable.

    Raises:
        DataError: there is no object among them.
    """
    objects = [row for row in rows if isinstance(row, dict) and row]
    if not objects:
        raise DataError(
            f"none of the {len(rows)} rows of the sample is an object with fields",
            hint="a row is one JSON object, a line of CSV under its header, or a row of Parquet",
        )
    names = dict.fromkeys(str(name) for row in objects for name in row)
    fields = {name: _seen(name, [row.get(name) for row in objects]) for name in names}
    return Looked(len(rows), len(rows) - len(objects), fields)


def _seen(name: str, found: Sequence[Any]) -> Seen:
    values = [value for value in found if value is not None]
    kind, form = _kind(values)
    different = sorted({str(v) for v in values}) if kind in _LISTED else []
    listed = tuple(different) if len(different) <= _MOST_VALUES else ()
    return Seen(name, kind, form, len(different), listed)


def _kind(values: Sequence[Any]) -> tuple[FieldType | None, str]:
    """Return the type of a column and, of times, the form; ``None`` where there is none."""
    kinds = {type(value) for value in values}
    if kinds == {str}:
        return _kind_of_texts(values)
    if kinds == {int}:
        return _kind_of_numbers(values)
    if kinds == {float}:
        times = all(int(each) * 1_000 in _PLAUSIBLE_MS for each in values if isfinite(each))
        return FieldType.FLOAT, "seconds since 1970, with fractions" if times else ""
    if kinds == {int, float}:
        return FieldType.FLOAT, ""
    if len(kinds) != 1:
        return None, "values of several types" if kinds else "nothing"
    (kind,) = kinds
    return _KINDS.get(kind), _ODD.get(kind, "")


def _kind_of_texts(values: Sequence[str]) -> tuple[FieldType, str]:
    if all(map(_is_instant, values)):
        zoned = all(value[-1] in "Zz" or {"+", "-"} & set(value[10:]) for value in values)
        return FieldType.TIMESTAMP, "ISO 8601" if zoned else "ISO 8601 without an offset (UTC)"
    if all(map(_DAY.fullmatch, values)):
        return FieldType.STRING, _DAYS
    local = all(map(_LOCAL_DATE.fullmatch, values))
    return FieldType.STRING, "dates with slashes or dots" if local else ""


def _kind_of_numbers(values: Sequence[int]) -> tuple[FieldType | None, str]:
    for scale, name in _SCALES.items():
        if all(value * scale // 1_000_000 in _PLAUSIBLE_MS for value in values):
            kind = FieldType.TIMESTAMP if name == "milliseconds" else FieldType.INTEGER
            return kind, f"{name} since 1970"
    if not all(value in _INT64 for value in values):
        return None, "whole numbers beyond 64 bits"
    return FieldType.INTEGER, ""


def _is_instant(text: str) -> bool:
    """Whether a text is a time in the profile that events are read in: date, `T` and time."""
    if len(text) < 19 or text[10:11] not in {"T", "t", " "}:
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _meant(cells: Sequence[str | None]) -> Sequence[Any]:
    """Return a column of CSV as what all its cells can be read as; an id with leading zeros stays.

    Args:
        cells: ``None`` where there is nothing.
    """
    read = next(
        read
        for form, read in _MEANINGS.items()
        if all(re.fullmatch(form, cell) for cell in cells if cell)
    )
    return [read(cell) if cell else None for cell in cells]


def _likeliest(looked: Looked, kinds: Sequence[FieldType], names: Sequence[str]) -> str | None:
    found = [name for name, seen in looked.fields.items() if seen.kind in kinds]
    exact = [name for name in found if name.lower() in names]
    return next(iter(exact or found), None)


def _object(line: bytes) -> Any:
    """Return what a line of JSON says; ``None`` of one that a feed would drop as undecodable."""
    try:
        return msgspec.json.decode(line)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def _json_lines(path: Path) -> Iterable[Any]:
    with path.open("rb") as file:
        lines = (line for line in file if line.strip())
        yield from map(_object, itertools.islice(lines, MOST_ROWS))


def _csv_lines(path: Path) -> Iterable[Any]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(_texts(path, file), strict=True)
        header = next(reader, [])
        lines = [cells for cells in itertools.islice(reader, MOST_ROWS) if cells]
    if len(header) == 1 and (other := _SEPARATOR.search(header[0])):
        raise DataError(
            f"{path}: the header has one column, separated by {other[0]!r}",
            hint="separate the columns by commas",
        )
    for name in filter(None, header):
        if header.count(name) > 1:
            raise DataError(f"{path}: column {name!r} occurs twice", hint="rename one of them")
    whole = [cells for cells in lines if len(cells) == len(header)]
    yield from [None] * (len(lines) - len(whole))
    for row in zip(*map(_meant, zip(*whole, strict=True)), strict=True):
        yield {name: value for name, value in zip(header, row, strict=True) if name}


def _texts(path: Path, lines: Iterable[str]) -> Iterable[str]:
    for line in lines:
        if "\0" in line:
            raise DataError(f"{path}: the file is not text", hint="use another file")
        yield line


def _parquet_rows(path: Path) -> Iterable[Any]:
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=MOST_ROWS):
            yield from batch.to_pylist()
            return


_READERS: Final[dict[str, Callable[[Path], Iterable[Any]]]] = {
    ".parquet": _parquet_rows,
    ".csv": _csv_lines,
    ".jsonl": _json_lines,
}
