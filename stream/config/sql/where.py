"""WHERE: from a parsed condition to a typed ``stream.model.filters`` tree.

Anything outside the small grammar is refused where it stands; nothing is guessed, coerced or
dropped.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from operators.conditions.comparison import Comparison
from stream.config.scalars import closest
from stream.config.sql.nodes import (
    SqlProblem,
    column,
    first_extra,
    named,
    numeric,
    operands,
    sides,
    unwrapped,
)
from stream.model.contributions import article
from stream.model.feeds import Field, FieldType
from stream.model.filters import And, Compare, FieldValue, IsIn, IsNull, Not, Or, Where
from stream.windows.instants import instant_ms

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction
    from zoneinfo import ZoneInfo

__all__ = ["WhereReader"]

_SUPPORTED = (
    "compare a field with a literal by =, <>, <, >, <=, >=, IN, BETWEEN or IS [NOT] NULL, with "
    "AND, OR, NOT"
)
_INT64 = 2**63
_WRITTEN = {
    FieldType.STRING: ("a string in single quotes, as ", "'lobby'"),
    FieldType.INTEGER: ("a whole number, as ", "42"),
    FieldType.FLOAT: ("a number, as ", "0.5"),
    FieldType.BOOLEAN: ("TRUE or ", "FALSE"),
    FieldType.TIMESTAMP: ("a timestamp in single quotes, as ", "'2011-06-01T08:00:00'"),
}
"""What a literal of a type is, and one of them."""


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
        node = unwrapped(node)
        where: Where
        match node:
            case exp.And():
                where = And(tuple(self.read(part) for part in operands(node, exp.And)))
            case exp.Or():
                where = Or(tuple(self.read(part) for part in operands(node, exp.Or)))
            case exp.Not():
                where = Not(self.read(node.this))
            case exp.Between() if first_extra(node, "this", "low", "high") is None:
                where = self._between(node)
            case exp.In() if node.expressions and first_extra(node, "this", "expressions") is None:
                field = column(node.this, self.fields, "IN takes")
                values = tuple(self._literal(part, field) for part in node.expressions)
                where = IsIn(field.name, field.type, values)
            case exp.Is():
                where = self._null_test(node)
            case exp.Column():
                where = self._flag(node)
            case _ if found := sides(node, lambda side: isinstance(side, exp.Column)):
                where = self._comparison(*found)
            case _:
                message, hint = f"WHERE does not support {named(node)}", _instead(node)
                raise SqlProblem(message, hint, node)
        return where

    def _between(self, node: exp.Between) -> And:
        field = column(node.this, self.fields, "BETWEEN takes")
        self._refuse_order(field, node)
        ends = ((Comparison.GE, "low"), (Comparison.LE, "high"))
        return And(
            tuple(
                Compare(field.name, field.type, comparison, self._literal(node.args[end], field))
                for comparison, end in ends
            )
        )

    def _refuse_order(self, field: Field, node: exp.Expr) -> None:
        if field.type is FieldType.BOOLEAN:
            hint = f"write {field.name} = TRUE or {field.name} = FALSE"
            raise SqlProblem(f"`{field.name}` is a boolean and has no order", hint, node)

    def _comparison(self, left: exp.Expr, comparison: Comparison, right: exp.Expr) -> Compare:
        if isinstance(left, exp.Column) and isinstance(right, exp.Column):
            raise self._two_fields(left, right)
        field = column(left, self.fields, "WHERE compares")
        if comparison not in (Comparison.EQ, Comparison.NE):
            self._refuse_order(field, left)
        return Compare(field.name, field.type, comparison, self._literal(right, field))

    def _two_fields(self, left: exp.Column, right: exp.Column) -> SqlProblem:
        """Return what is wrong with two names side by side: one may be meant as a string."""
        known, strange = (left, right) if left.name in self.fields else (right, left)
        field = self.fields.get(known.name)
        text = field is not None and field.type is FieldType.STRING
        if not text or strange.name in self.fields or strange.args.get("table") is not None:
            message = "WHERE cannot compare two fields"
            return SqlProblem(message, _SUPPORTED, right)
        what = "in double quotes" if strange.this.quoted else "without quotes"
        message = f"`{strange.name}` {what} is a field name, but there is no such field"
        return SqlProblem(message, f"write '{strange.name}' if it is a string", strange)

    def _null_test(self, node: exp.Is) -> IsNull:
        if not isinstance(node.expression, exp.Null) or not isinstance(node.this, exp.Column):
            raise SqlProblem(
                "IS takes NULL only",
                "write field IS NULL, field IS NOT NULL, or field = TRUE",
                node,
            )
        return IsNull(column(node.this, self.fields, "IS NULL takes").name)

    def _flag(self, node: exp.Column) -> Compare:
        field = column(node, self.fields, "WHERE takes")
        if field.type is not FieldType.BOOLEAN:
            hint = f"compare it with a literal: {field.name} = ..."
            raise SqlProblem(
                f"`{field.name}` is {article(field.type.value)}, not a condition", hint, node
            )
        return Compare(field.name, field.type, Comparison.EQ, value=True)

    def _literal(self, node: exp.Expr, field: Field) -> FieldValue:
        """Return a literal as a value of the field's type."""
        node = unwrapped(node)
        if isinstance(node, exp.Null):
            raise SqlProblem(
                "a comparison with NULL is never true", f"write {field.name} IS NULL", node
            )
        value: FieldValue | None = None
        match field.type:
            case FieldType.STRING:
                value = _string(node)
                self._check_domain(value, node, field)
            case FieldType.BOOLEAN:
                value = bool(node.this) if isinstance(node, exp.Boolean) else None
            case FieldType.TIMESTAMP:
                value = self._timestamp(node)
            case FieldType.INTEGER:
                value = self._integer(node, field)
            case FieldType.FLOAT:
                exact = numeric(node)
                value = None if exact is None else _float(exact)
        if value is None:
            wanted, example = _WRITTEN[field.type]
            if field.type is FieldType.STRING and isinstance(node, exp.Column) and node.this.quoted:
                example = f"'{node.name}'"  # in double quotes it may be meant as one
            raise SqlProblem(
                f"`{field.name}` is {article(field.type.value)} but is compared with {named(node)}",
                f"write {wanted}{example}",
                node,
            )
        return value

    def _check_domain(self, value: str | None, node: exp.Expr, field: Field) -> None:
        if value is not None and field.domain is not None and value not in field.domain:
            message = f"`{value}` is not in the domain of `{field.name}`"
            self.notes.append(SqlProblem(message, closest(value, field.domain), node))

    def _integer(self, node: exp.Expr, field: Field) -> int | None:
        exact = numeric(node)
        if exact is None:
            return None
        if exact.denominator != 1 or not -_INT64 <= exact < _INT64:
            raise SqlProblem(
                f"`{field.name}` is an integer, but this is not a whole number of 64 bits",
                "write a whole number",
                node,
            )
        return int(exact)

    def _timestamp(self, node: exp.Expr) -> int | None:
        text = _string(node)
        if isinstance(node, exp.Cast) and first_extra(node, "this", "to") is None:
            dated = node.to.is_type("timestamp", "date")
            text = _string(node.this) if dated else None
        if text is None:
            return None
        try:
            return instant_ms(text, self.timezone)
        except ValueError as error:
            hint = f"write {_WRITTEN[FieldType.TIMESTAMP][1]}"
            raise SqlProblem(f"this timestamp {error}", hint, node) from None


def _instead(node: exp.Expr) -> str:
    """Return what to write instead of a condition that WHERE cannot take."""
    if isinstance(node, exp.Like | exp.ILike | exp.SimilarTo | exp.RegexpLike):
        return "list the values: field IN ('a', 'b')"
    if isinstance(node, exp.Boolean):
        return "remove WHERE: without it every event counts"
    return _SUPPORTED


def _string(node: exp.Expr) -> str | None:
    return node.name if isinstance(node, exp.Literal) and node.is_string else None


def _float(exact: Fraction) -> float | None:
    try:
        value = float(exact)
    except OverflowError:
        return None
    return value if math.isfinite(value) else None
