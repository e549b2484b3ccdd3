"""WHERE: from a parsed condition to a typed ``stream.model.filters`` tree.

Anything outside the small grammar is refused where it stands; nothing is guessed, coerced or
dropped.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from operators.conditions.comparison import Comparison
from stream.config.scalars import closest
from stream.config.sql.nodes import SqlProblem, column, comparisons, named, numeric, operands
from stream.model.contributions import article
from stream.model.feeds import Field, FieldType
from stream.model.filters import And, Compare, FieldValue, IsIn, IsNull, Not, Or, Where
from stream.model.numbers import INT64
from stream.windows.instants import instant_ms

if TYPE_CHECKING:
    from collections.abc import Mapping
    from zoneinfo import ZoneInfo

__all__ = ["WhereReader"]

_SUPPORTED = (
    "compare a field with a literal by =, <>, <, >, <=, >=, IN, BETWEEN or IS [NOT] NULL, with "
    "AND, OR, NOT"
)
_CAST = re.compile(r"TIMESTAMP [^\0]*|DATE [0-9]{4}-[0-9]{2}-[0-9]{2}")
"""Types that a literal may be given: nothing of it is cut off or rounded."""
_WRITTEN = {
    FieldType.STRING: "a string in single quotes, as 'lobby'",
    FieldType.INTEGER: "a whole number, as 42",
    FieldType.FLOAT: "a number, as 0.5",
    FieldType.BOOLEAN: "TRUE or FALSE",
    FieldType.TIMESTAMP: "a timestamp in single quotes, as '2011-06-01T08:00:00'",
}
"""What a literal of a type is, with an example."""


@dataclass(frozen=True, slots=True)
class WhereReader:
    """Reads the condition of one query.

    Args:
        fields: the feed's declared fields.
        timezone: of timestamps written without an offset.
        notes: receives warnings: literals that no event can equal.
    """

    fields: Mapping[str, Field]
    timezone: ZoneInfo
    notes: list[SqlProblem]

    def read(self, node: exp.Expr) -> Where:
        """Return the filter of a condition.

        Raises:
            SqlProblem: the condition is not in the grammar, or a literal has another type.
        """
        node = node.unnest()
        match node:
            case exp.And() | exp.Or():
                joined = And if isinstance(node, exp.And) else Or
                return joined(tuple(map(self.read, operands(node))))
            case exp.Not():
                return Not(self.read(node.this))
            case exp.In() if node.expressions:
                field = column(node.this, self.fields, "IN takes")
                # In order, so that filters are equal however they are written.
                values = sorted(self._literal(part, field) for part in node.expressions)
                return IsIn(field.name, field.type, tuple(values))
            case exp.Is() if isinstance(node.expression, exp.Null):
                return IsNull(column(node.this, self.fields, "IS NULL takes").name)
            case exp.Column():
                field = column(node, self.fields, "WHERE takes")
                if field.type is FieldType.BOOLEAN:
                    return Compare(field.name, field.type, Comparison.EQ, value=True)
        found = comparisons(node, lambda side: isinstance(side, exp.Column))
        if not found:
            raise SqlProblem(f"WHERE does not support {named(node)}", _SUPPORTED, node)
        first, *more = [self._comparison(*each) for each in found]
        return And((first, *more)) if more else first

    def _comparison(self, left: exp.Expr, comparison: Comparison, right: exp.Expr) -> Compare:
        field = column(left, self.fields, "WHERE compares")
        ordered = comparison not in (Comparison.EQ, Comparison.NE)
        if ordered and field.type is FieldType.BOOLEAN:
            hint = f"write {field.name} = TRUE or {field.name} = FALSE"
            raise SqlProblem(f"`{field.name}` is a boolean and has no order", hint, left)
        return Compare(field.name, field.type, comparison, self._literal(right, field))

    def _literal(self, node: exp.Expr, field: Field) -> FieldValue:
        """Return a literal as a value of the field's type."""
        node = node.unnest()
        value, kind = self._value(node, field), article(field.type)
        if value is None:
            message = f"`{field.name}` is {kind} but is compared with {named(node)}"
            raise SqlProblem(message, f"write {_WRITTEN[field.type]}, or IS NULL", node)
        if field.type is FieldType.STRING and value not in (field.domain or {value}):
            message = f"`{value}` is not in the domain of `{field.name}`"
            self.notes.append(SqlProblem(message, closest(str(value), field.domain or ()), node))
        return value

    def _value(self, node: exp.Expr, field: Field) -> FieldValue | None:
        """Return what a literal of the field's type says; ``None`` where it is none."""
        text, exact = _string(node), numeric(node)
        if field.type is FieldType.STRING:
            return text
        if field.type is FieldType.BOOLEAN:
            return bool(node.this) if isinstance(node, exp.Boolean) else None
        if field.type is FieldType.TIMESTAMP:
            if isinstance(node, exp.Cast) and _CAST.fullmatch(f"{node.to} {_string(node.this)}"):
                text = _string(node.this)
            try:
                return None if text is None else instant_ms(text, self.timezone)
            except ValueError as error:
                hint = f"write {_WRITTEN[field.type]}"
                raise SqlProblem(f"this timestamp {error}", hint, node) from None
        if exact is None:
            return None
        if field.type is FieldType.FLOAT:
            with suppress(OverflowError):
                return float(exact)
        elif exact.denominator == 1 and -INT64 <= exact < INT64:
            return int(exact)
        message = f"`{field.name}` is {article(field.type)}, and this is not one of 64 bits"
        raise SqlProblem(message, f"write {_WRITTEN[field.type]}", node)


def _string(node: exp.Expr) -> str | None:
    return node.name if isinstance(node, exp.Literal) and node.is_string else None
