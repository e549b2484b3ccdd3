"""Row filters: a frozen tree over declared fields with SQL's three-valued logic.

A comparison with a null is unknown, ``NOT`` keeps unknown, ``AND`` and ``OR`` are Kleene's; a row
passes only where the whole expression is true. Every operation is total per row: strings are
compared as bytes (which orders UTF-8 by code point) and never decoded, so no event can make the
filter fail for the others.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from operators.conditions.comparison import Comparison
from stream.model.feeds import FieldType

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["And", "Compare", "FieldValue", "IsIn", "IsNull", "Not", "Or", "Where"]

FieldValue = str | int | float | bool
"""A literal of a field's type; timestamps are integer milliseconds since the Unix epoch."""

_TYPES: dict[FieldType, Any] = {
    FieldType.STRING: pa.string(),
    FieldType.INTEGER: pa.int64(),
    FieldType.FLOAT: pa.float64(),
    FieldType.BOOLEAN: pa.bool_(),
    FieldType.TIMESTAMP: pa.int64(),
}


class Where:
    """A node of a filter; nodes are frozen, hashable and built by ``stream.config.sql.select``."""

    __slots__ = ()

    @property
    def fields(self) -> frozenset[str]:
        """Names of the fields the filter reads."""
        raise NotImplementedError

    def describe(self) -> str:
        """Return a canonical text: equal texts filter alike."""
        raise NotImplementedError

    def mask(self, rows: pa.RecordBatch) -> NDArray[np.bool_]:
        """Return which rows pass.

        Args:
            rows: declared fields as columns of their declared types, nulls allowed.

        Returns:
            Shape (rows,), true where the filter is true; unknown is not true.
        """
        known = pc.fill_null(self.truth(rows), False)
        return np.asarray(known.to_numpy(zero_copy_only=False), dtype=np.bool_)

    def truth(self, rows: pa.RecordBatch) -> Any:
        """Return the three-valued outcome per row, null where unknown."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Compare(Where):
    """A field compared with a literal.

    Args:
        field: the field's name.
        type: its declared type.
        comparison: how they are compared.
        value: the literal, of the field's type.
    """

    field: str
    type: FieldType
    comparison: Comparison
    value: FieldValue

    @property
    def fields(self) -> frozenset[str]:
        """The one field."""
        return frozenset((self.field,))

    def describe(self) -> str:
        """Return ``field < literal``."""
        return f"{_name(self.field)} {self.comparison.value} {_literal(self.value)}"

    def truth(self, rows: pa.RecordBatch) -> Any:
        """Compare the column with the literal."""
        return _COMPARE[self.comparison](
            _column(rows, self.field), pa.scalar(self.value, _TYPES[self.type])
        )


@dataclass(frozen=True, slots=True)
class IsIn(Where):
    """A field equal to one of several literals.

    Args:
        field: the field's name.
        type: its declared type.
        values: the literals, none of them null.
    """

    field: str
    type: FieldType
    values: tuple[FieldValue, ...]

    @property
    def fields(self) -> frozenset[str]:
        """The one field."""
        return frozenset((self.field,))

    def describe(self) -> str:
        """Return ``field IN (literals)``, the literals sorted."""
        literals = sorted({_literal(value) for value in self.values})
        return f"{_name(self.field)} IN ({', '.join(literals)})"

    def truth(self, rows: pa.RecordBatch) -> Any:
        """Look the column up in the set; null stays unknown."""
        column = _column(rows, self.field)
        values: list[Any] = list(self.values)
        if self.type is FieldType.FLOAT:
            # A hash tells 0.0 from -0.0; equality does not.
            values += [-value for value in values if value == 0]
        found = pc.is_in(column, value_set=pa.array(values, _TYPES[self.type]))
        return pc.if_else(pc.is_valid(column), found, pa.scalar(None, pa.bool_()))


@dataclass(frozen=True, slots=True)
class IsNull(Where):
    """A field that an event leaves out or sets to null.

    Args:
        field: the field's name.
    """

    field: str

    @property
    def fields(self) -> frozenset[str]:
        """The one field."""
        return frozenset((self.field,))

    def describe(self) -> str:
        """Return ``field IS NULL``."""
        return f"{_name(self.field)} IS NULL"

    def truth(self, rows: pa.RecordBatch) -> Any:
        """Say where the column is null; never unknown."""
        return pc.is_null(_column(rows, self.field))


@dataclass(frozen=True, slots=True)
class Not(Where):
    """The negation; unknown stays unknown.

    Args:
        part: what is negated.
    """

    part: Where

    @property
    def fields(self) -> frozenset[str]:
        """Fields of the part."""
        return self.part.fields

    def describe(self) -> str:
        """Return ``NOT (part)``."""
        return f"NOT ({self.part.describe()})"

    def truth(self, rows: pa.RecordBatch) -> Any:
        """Invert the part."""
        return pc.invert(self.part.truth(rows))


@dataclass(frozen=True, slots=True)
class _Joined(Where):
    """Parts under one Kleene connective.

    Args:
        parts: at least one.
    """

    parts: tuple[Where, ...]

    word: ClassVar[str]
    fold: ClassVar[Callable[[Any, Any], Any]]

    @property
    def fields(self) -> frozenset[str]:
        """Fields of all parts."""
        return frozenset().union(*(part.fields for part in self.parts))

    def describe(self) -> str:
        """Return the parts joined by the connective."""
        return f" {self.word} ".join(f"({part.describe()})" for part in self.parts)

    def truth(self, rows: pa.RecordBatch) -> Any:
        """Fold the parts."""
        return functools.reduce(type(self).fold, (part.truth(rows) for part in self.parts))


class And(_Joined):
    """True where all parts are."""

    __slots__ = ()
    word = "AND"
    fold = staticmethod(pc.and_kleene)


class Or(_Joined):
    """True where at least one part is."""

    __slots__ = ()
    word = "OR"
    fold = staticmethod(pc.or_kleene)


_COMPARE: dict[Comparison, Any] = {
    Comparison.EQ: pc.equal,
    Comparison.NE: pc.not_equal,
    Comparison.LT: pc.less,
    Comparison.LE: pc.less_equal,
    Comparison.GT: pc.greater,
    Comparison.GE: pc.greater_equal,
}


def _column(rows: pa.RecordBatch, name: str) -> Any:
    """Return a column by name (names are unique: the schema is the feed's declaration)."""
    return rows.column(rows.schema.get_field_index(name))


def _name(field: str) -> str:
    escaped = field.replace('"', '""')
    return f'"{escaped}"'


def _literal(value: FieldValue) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        escaped = value.replace("'", "''")
        return f"'{escaped}'"
    return repr(value)
