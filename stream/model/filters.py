"""Row filters: a frozen tree over declared fields.

What it is true of is said by ``stream.counting.filtering``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from operators.conditions.comparison import Comparison
    from stream.model.feeds import FieldType

__all__ = ["And", "Compare", "FieldValue", "IsIn", "IsNull", "Not", "Or", "Where"]

FieldValue = str | int | float | bool
"""A literal of a field's type; timestamps are integer milliseconds since the Unix epoch."""


class Where:
    """A node of a filter; nodes are frozen, hashable and built by ``stream.config.sql.select``."""

    __slots__ = ()

    @property
    def leaves(self) -> tuple[Compare | IsIn | IsNull, ...]:
        """The tests of single fields, left to right."""
        match self:
            case Compare() | IsIn() | IsNull():
                return (self,)
            case Not():
                return self.part.leaves
            case And() | Or():
                return tuple(leaf for part in self.parts for leaf in part.leaves)
            case _:
                return ()

    @property
    def fields(self) -> frozenset[str]:
        """Names of the fields the filter reads."""
        return frozenset(leaf.field for leaf in self.leaves)

    def describe(self) -> str:
        """Return a canonical text: equal texts filter alike."""
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

    def describe(self) -> str:
        """Return ``field < literal``."""
        return f"{_name(self.field)} {self.comparison.value} {_literal(self.value)}"


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

    def describe(self) -> str:
        """Return ``field IN (literals)``, the literals sorted."""
        literals = sorted({_literal(value) for value in self.values})
        return f"{_name(self.field)} IN ({', '.join(literals)})"


@dataclass(frozen=True, slots=True)
class IsNull(Where):
    """A field that an event leaves out or sets to null.

    Args:
        field: the field's name.
    """

    field: str

    def describe(self) -> str:
        """Return ``field IS NULL``."""
        return f"{_name(self.field)} IS NULL"


@dataclass(frozen=True, slots=True)
class Not(Where):
    """The negation; unknown stays unknown.

    Args:
        part: what is negated.
    """

    part: Where

    def describe(self) -> str:
        """Return ``NOT (part)``."""
        return f"NOT ({self.part.describe()})"


@dataclass(frozen=True, slots=True)
class _Joined(Where):
    """Parts under one Kleene connective.

    Args:
        parts: at least one.
    """

    parts: tuple[Where, ...]

    word: ClassVar[str]

    def describe(self) -> str:
        """Return the parts joined by the connective."""
        return f" {self.word} ".join(f"({part.describe()})" for part in self.parts)


class And(_Joined):
    """True where all parts are."""

    __slots__ = ()
    word = "AND"


class Or(_Joined):
    """True where at least one part is."""

    __slots__ = ()
    word = "OR"


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
