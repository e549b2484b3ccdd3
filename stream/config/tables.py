"""Public files beside the configuration: domains and per-group thresholds.

They are configuration, never data: their values are published with every decision.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from stream.config.reading import Place, decoded, read_whole
from stream.config.scalars import closest
from stream.model.characters import UNFIT
from stream.model.feeds import FieldType
from stream.model.numbers import INT64, number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from fractions import Fraction
    from pathlib import Path

    from accountant.errors import ConfigError

__all__ = ["Table", "canonical", "read_list", "read_table", "values_of"]

_UNFIT: Final = re.compile(f"[{UNFIT}]")
_LONGEST_VALUE: Final = 1_024
"""Most bytes of a public value: it stands in every record, and in topics of MQTT."""


@dataclass(frozen=True, slots=True)
class Table:
    """A public table of numbers by key.

    Args:
        file: its file, as errors name it.
        cells: numbers by key, in the order of the file, and where each stands.
    """

    file: str
    cells: dict[str, tuple[Fraction, Place]] = field(repr=False)


def canonical(value: str, kind: FieldType) -> str:
    """Return a domain value as events are compared with it.

    Args:
        value: as written.
        kind: type of the field; integers lose signs and zeros in front.

    Raises:
        ValueError: not a value of the type, or none that records and topics can carry.
    """
    if kind is not FieldType.INTEGER:
        if len(value.encode("utf-8", "surrogatepass")) > _LONGEST_VALUE:
            raise ValueError(f"is longer than {_LONGEST_VALUE:,} bytes")
        if _UNFIT.search(value):
            raise ValueError("has an invalid character or a control character")
        return value
    exact = number(value)
    if exact is None or exact.denominator != 1 or not -INT64 <= exact < INT64:
        raise ValueError("is not a whole number of 64 bits")
    return str(int(exact))


def read_list(path: Path) -> list[tuple[str, Place]]:
    """Return public values, one per line, and where each stands; no blanks around them.

    Args:
        path: the file.

    Raises:
        OSError: the file cannot be read.
        ConfigError: there is no value.
    """
    file = str(path)
    lines = enumerate(decoded(read_whole(path), file).split("\n"), start=1)
    found = [
        (value, Place(file, line, raw.index(value) + 1))
        for line, raw in lines
        if (value := raw.strip())
    ]
    if not found:
        raise Place(file).error("the domain is empty", "write one public value per line")
    return found


def values_of(
    listed: Iterable[tuple[str, Place]], kind: FieldType
) -> tuple[tuple[str, ...], list[ConfigError]]:
    """Return public values as events are compared with them, and what is wrong with some.

    Args:
        listed: as written, each with its place.
        kind: type of the field.
    """
    first: dict[str, int] = {}
    errors = []
    for text, place in listed:
        try:
            value = canonical(text, kind)
        except ValueError as error:
            hint = "write one number in digits, as 1000, or declare the field as string"
            if kind is FieldType.STRING:
                hint = "write another value here and in the events"
            errors.append(place.error(f"`{text[:40]}` {error}", hint))
            continue
        if value in first:
            hint = f"remove one; the first is on line {first[value]}"
            errors.append(place.error(f"`{text[:40]}` is listed twice", hint))
        first.setdefault(value, place.line)
    return tuple(first), errors


def read_table(path: Path, *, key: str | None = None, value: str | None = None) -> Table:
    """Read a CSV file with a header row.

    Args:
        path: the file.
        key: name of the column of keys; the first one unless said.
        value: name of the column of numbers; the second one unless said.

    Raises:
        OSError: the file cannot be read.
        ConfigError: a column is missing or there twice, a row has too few cells or too many, a
            number is none, or a key is repeated.
    """
    file = str(path)
    lines = list(io.StringIO(decoded(read_whole(path), file), newline=""))
    rows = _rows(lines, file)
    header_line, header = next(rows, (1, []))
    place = Place(file, header_line)
    if len(header) < 2 or (value is None and number(header[1]) is not None):
        hint = "begin with a header: room,capacity"
        raise place.error("the first row is not a header with the names of two columns", hint)
    key_at = _column(header, key, 0, place)
    value_at = _column(header, value, 1, place)
    cells: dict[str, tuple[Fraction, Place]] = {}
    for line, row in rows:
        place = Place(file, line)
        if not max(key_at, value_at) < len(row) <= len(header) or not row[key_at].strip():
            hint = f"write {header[key_at]} and {header[value_at]} in columns as in the header"
            raise place.error("the row is too short or too long, or has no key", hint)
        name, figure = row[key_at].strip(), row[value_at].strip()
        raw, exact = lines[line - 1], number(figure)
        column = max(0, raw.rfind(figure) if value_at > key_at else raw.find(figure)) + 1
        if name in cells:
            hint = f"remove one; the first is on line {cells[name][1].line}"
            raise place.error(f"`{name[:40]}` is listed twice", hint)
        place = Place(file, line, column)
        if exact is None:
            raise place.error(f"`{figure[:40]}` is not a number", "write a number, as 120")
        cells[name] = exact, place
    return Table(file, cells)


def _rows(lines: list[str], file: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that hold something, each with the line it begins on."""
    reader = csv.reader(lines, strict=True)
    begins = 1
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                yield begins, row
            begins = reader.line_num + 1
    except csv.Error as error:
        raise Place(file, begins).error(f"not CSV: {error}", "check quotes and commas") from None


def _column(header: list[str], name: str | None, default: int, place: Place) -> int:
    names = [cell.strip() for cell in header]
    name = names[default] if name is None else name
    if name not in names:
        raise place.error(f"the table has no column `{name}`", closest(name, names))
    if names.count(name) > 1:
        raise place.error(f"the table has two columns `{name}`", "rename one, or remove it")
    return names.index(name)
