"""How the rows of a table are declared, once: a frozen record, and what its columns are beside.

From the record follow the table (:mod:`accountant.store.schema`), how a row is read and written
(here), what an export shows of it and the Parquet column (:mod:`stream.custody.export`). A column
is a field of the record: its name, its place, and by its type what it holds and whether it may be
missing.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, fields
from enum import Enum, StrEnum, auto
from functools import lru_cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Generic, TypeVar, get_args, get_origin, get_type_hints

from accountant.arguments import sentence_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["Column", "Index", "Kind", "Record", "Table", "made_from", "stored"]

Record = TypeVar("Record")


class Kind(Enum):
    """What a column holds."""

    TEXT = auto()
    """A string, or a member of a ``StrEnum``."""
    WHOLE = auto()
    """A 64-bit integer."""
    SMALL = auto()
    """A 32-bit integer."""
    TRUTH = auto()
    BYTES = auto()
    """Bytes; base64 where they are shown."""
    ENCODED = auto()
    """Text as bytes; text where it is shown."""
    WHOLES = auto()
    """A tuple of integers, as a JSON array."""


_KINDS = {str: Kind.TEXT, int: Kind.WHOLE, bool: Kind.TRUTH, bytes: Kind.BYTES, tuple: Kind.WHOLES}


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    Args:
        name: of the column, and of the record's field.
        kind: what it holds.
        nullable: whether it may be missing.
        refers: the table whose column of the same name it refers to; empty for none.
        read: makes the field of what is stored; ``None`` where that is the same.
    """

    name: str
    kind: Kind
    nullable: bool
    refers: str
    read: Callable[[Any], Any] | None

    def shown(self, value: Any) -> Any:
        """Return what is stored as JSON has it."""
        if not isinstance(value, bytes):
            return value
        if self.kind is Kind.ENCODED:
            return value.decode("utf-8", "backslashreplace")
        return base64.b64encode(value).decode()


@dataclass(frozen=True, slots=True)
class Index:
    """An index.

    Args:
        name: without the prefix of all tables.
        columns: by which it is ordered.
        where: the rows in it, as SQL; empty for all.
    """

    name: str
    columns: tuple[str, ...]
    where: str = ""


class Table(Generic[Record]):
    """One table.

    Args:
        name: without the prefix of all tables.
        record: a frozen dataclass: what its rows are.
        key: columns of the primary key.
        refers: the tables that columns refer to, by column.
        kinds: of columns whose type does not tell.
        unique: columns that are unique together; empty for none.
        indexes: further ones.
        private: columns that no export shows; ``None`` where it shows no row.
        unreadable: what to say of a row that cannot be read, formatted with its columns and with
            ``error``; empty for the error alone.
    """

    def __init__(
        self,
        name: str,
        record: type[Record],
        *,
        key: Sequence[str],
        refers: Mapping[str, str] | None = None,
        kinds: Mapping[str, Kind] | None = None,
        unique: Sequence[str] = (),
        indexes: Sequence[Index] = (),
        private: Sequence[str] | None = (),
        unreadable: str = "",
    ) -> None:
        self.name = name
        self.key = tuple(key)
        self.unique = tuple(unique)
        self.indexes = tuple(indexes)
        found = fields(record)  # type: ignore[arg-type]  # no type says that it is a dataclass
        types = get_type_hints(record)
        self.columns = tuple(
            _column(each.name, types[each.name], kinds or {}, refers or {}) for each in found
        )
        self.shown = (
            () if private is None else tuple(one for one in self.columns if one.name not in private)
        )
        """The columns that an export shows, in order; none where it shows no row."""
        self._make: Callable[..., Record] = record
        self._names = tuple(one.name for one in self.columns)
        self._reads = tuple(
            (at, _quick(one.read)) for at, one in enumerate(self.columns) if one.read
        )
        self._unreadable = unreadable

    def read(self, stored: Sequence[Any]) -> Record:
        """Return the record of a stored row, given in the order of columns.

        Raises:
            ValueError: a column holds what the record cannot.
        """
        values = list(stored)
        if len(values) != len(self._names):
            raise ValueError(f"a row of {self.name} has {len(self._names)} columns")
        try:
            for at, read in self._reads:
                values[at] = read(values[at])
            return self._make(*values)
        except (ValueError, TypeError) as error:
            if not self._unreadable:
                raise
            named = dict(zip(self._names, stored, strict=True))
            raise ValueError(self._unreadable.format(error=sentence_of(error), **named)) from None

    def values(self, record: Record) -> dict[str, Any]:
        """Return a record as it is stored, by column."""
        return {name: stored(getattr(record, name)) for name in self._names}


def made_from(record: Callable[..., Record], source: object, **others: Any) -> Record:
    """Return a record with the attributes that another object has under the same names.

    Args:
        record: a dataclass.
        source: has an attribute for every field that is not among ``others``.
        others: further fields.
    """
    names = (each.name for each in fields(record))  # type: ignore[arg-type]  # as above
    same = {name: getattr(source, name) for name in names if name not in others}
    return record(**same, **others)


def stored(value: Any) -> Any:
    """Return a field's value as its column stores it."""
    match value:
        case StrEnum():
            return value.value
        case tuple():
            return json.dumps(value)
        case _:
            return value


def _column(name: str, hint: Any, kinds: Mapping[str, Kind], refers: Mapping[str, str]) -> Column:
    options = get_args(hint) if get_origin(hint) is UnionType else (hint,)
    (held,) = (one for one in options if one is not NoneType)
    plain = get_origin(held) or held
    is_member = issubclass(plain, StrEnum)
    kind = Kind.TEXT if is_member else kinds.get(name, _KINDS[plain])
    read = plain if is_member else _wholes if kind is Kind.WHOLES else None
    return Column(name, kind, NoneType in options, refers.get(name, ""), read)


def _quick(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return what reads as ``read``, where that is an enumeration's type, and several times faster.

    A ledger is read a million rows at a time, and calling the type takes longer than all else.
    """
    if isinstance(read, type) and issubclass(read, StrEnum):
        return _Members(read).__getitem__
    return read


class _Members(dict[str, StrEnum]):
    """The members of an enumeration by what is stored of them; any other value is an error."""

    def __init__(self, of: type[StrEnum]) -> None:
        super().__init__((one.value, one) for one in of)
        self._of = of

    def __missing__(self, value: str) -> StrEnum:
        return self._of(value)


@lru_cache(maxsize=1024)  # thousands of rows name the same period
def _wholes(text: str) -> tuple[int, ...]:
    return tuple(json.loads(text))
