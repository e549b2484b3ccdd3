"""HAVING: from a parsed condition to a tree of comparisons of aggregates.

NOT is pushed down to the comparisons while reading, which keeps SQL's three-valued logic: what a
NULL leaves unknown is met neither by a comparison nor by its negation. ``=``, ``<>`` and BETWEEN
are read as two comparisons each, so that every leaf has one bound; what only says that an aggregate
is within its range is left out of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from operators.conditions.comparison import Comparison
from stream.config.alarms.reduction import LARGEST_SCALE, Function, Tree
from stream.config.scalars import closest
from stream.config.sql.comparisons import Asked, Measure, Threshold
from stream.config.sql.linear import added, linear_of, sum_of
from stream.config.sql.nodes import (
    AGGREGATE,
    SqlProblem,
    column,
    comparisons,
    depth_limited,
    is_word,
    named,
    numeric,
    operands,
    start,
)
from stream.config.sql.text import expression_of
from stream.model.contributions import article
from stream.model.feeds import FieldType, required_fields

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream.config.sql.where import WhereReader
    from stream.model.feeds import Feed
    from stream.model.filters import Where

__all__ = ["AGGREGATES", "HavingReader"]

AGGREGATES: Final = (
    "COUNT(*), COUNT(DISTINCT {unit}), or COUNT, SUM, AVG, MEDIAN, MIN, MAX or QUANTILE(f, 0.9) "
    "of a field f"
)
"""The aggregates of HAVING, for hints."""

_ARITHMETIC: Final = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Neg)
_ENDS: Final = {
    Comparison.EQ: (Comparison.GE, Comparison.LE),
    Comparison.NE: (Comparison.GT, Comparison.LT),
}
_OF_A_FIELD: Final[dict[type[exp.Expr], Function]] = {
    exp.Sum: Function.SUM,
    exp.Avg: Function.AVG,
    exp.Min: Function.MIN,
    exp.Max: Function.MAX,
    exp.Median: Function.QUANTILE,
    exp.Quantile: Function.QUANTILE,
}


@dataclass(frozen=True, slots=True)
class HavingReader:
    """Reads the HAVING of one query.

    Args:
        feed: what it reads.
        group: its group fields.
        tables: names of the declared public tables.
        filters: reads the conditions of its filters.
        where: the row filter.
    """

    feed: Feed
    group: tuple[str, ...]
    tables: Sequence[str]
    filters: WhereReader
    where: Where | None

    def read(self, node: exp.Expr, *, negate: bool = False) -> Tree[Asked]:
        """Return the comparisons of a condition, or of its negation.

        Raises:
            SqlProblem: the condition is not in the grammar, or contradicts the declarations.
        """
        node = node.unnest()
        if isinstance(node, exp.Not):
            return self.read(node.this, negate=not negate)
        if isinstance(node, exp.And | exp.Or):
            parts = [self.read(part, negate=negate) for part in operands(node)]
            return Tree.joined(parts, conjunction=isinstance(node, exp.And) is not negate)
        asked = []
        for left, comparison, right in comparisons(node, _has_aggregate):
            meant = comparison.negated if negate else comparison
            asked += [self._asked(left, end, right) for end in _ENDS.get(meant, (meant,))]
        if not asked:
            message = "HAVING needs comparisons (>, >=, <, <=, =, <>, BETWEEN) with AND, OR, NOT"
            hint = f"compare {self._aggregates} with a number or table[field]"
            raise SqlProblem(message, hint, node)
        kept = [each for each in asked if not _says_nothing(each)]
        if not kept or len({each.measure for each in asked}) > 1:
            kept = asked  # of a constant between two aggregates, each is NULL by itself
        within = not asked[0].comparison.strict  # of two ends: a value is between them, or beyond
        return Tree.joined(map(Tree, kept), conjunction=within)

    def read_key(self, text: str) -> tuple[Asked, ...]:
        """Return the comparisons that a text such as ``AVG(age) > 65`` makes.

        Raises:
            SqlProblem: it makes none (the offset says nothing).
        """
        with depth_limited():
            return tuple(self.read(expression_of(text)).leaves())

    def read_number(self, text: str, called: str) -> Threshold:
        """Return what the text of a number says, such as ``200`` or ``usual[shop]``.

        Args:
            text: as written.
            called: what it is, for errors.

        Raises:
            SqlProblem: it is neither a number nor a public table's value (the offset says nothing).
        """
        with depth_limited():
            number = self.threshold_of(expression_of(text, called), called)
        if number.of_severity:
            raise SqlProblem(f"{called} cannot be SEVERITY", "", 0)
        return number

    @property
    def _aggregates(self) -> str:
        return AGGREGATES.format(unit=self.feed.unit)

    def _asked(self, left: exp.Expr, comparison: Comparison, right: exp.Expr) -> Asked:
        """Return one comparison, what is added up on both sides brought to the left."""
        summed = isinstance(left, _ARITHMETIC) and _has_aggregate(left)
        if not summed and not _has_aggregate(right):
            return Asked(self.measure_of(left), comparison, self.threshold_of(right))
        whole = linear_of(left, self.measure_of)
        if isinstance(right, exp.Bracket) and not whole.get(None):
            threshold = self.threshold_of(right)
        else:
            whole = added(whole, linear_of(right, self.measure_of), -1)
            factors = [factor for measure, factor in whole.items() if measure and factor]
            if len(factors) == 1 and factors[0] < 0:  # 10 - COUNT(*) > 0 is COUNT(*) < 10
                whole, comparison = added({}, whole, -1), comparison.flipped
            threshold = Threshold(start(right), number=-whole.pop(None, Fraction(0)))
        measure = sum_of(whole, start(left), self.where, self.feed, self.group)
        return Asked(measure, comparison, threshold)

    def measure_of(self, node: exp.Expr) -> Measure:
        """Return what an aggregate computes.

        Raises:
            SqlProblem: it is none, or not one that the feed's declarations allow.
        """
        call, where, suffix = node, None, ""
        if isinstance(node, exp.Filter):
            call, condition = node.this.unnest(), node.expression
            where = self.filters.read(condition.this)
            suffix = f" FILTER({condition.sql(comments=False).strip()})"
        measure = self._call(call)
        present, written = measure.field, call.find(exp.Column)
        if present in required_fields(self.feed).union(self.group):  # no counted event lacks it
            present = None
        counted = "*" if present is None or written is None else written.sql(comments=False)
        return replace(
            measure,
            field=present if measure.function is Function.COUNT else measure.field,
            present=present,
            where=where,
            text=node.sql(comments=False),
            counted_text=f"COUNT({counted}){suffix}",
            offset=start(node),
        )

    def _call(self, node: exp.Expr) -> Measure:
        """Return what one aggregate computes, its filter left out."""
        function, counted = _OF_A_FIELD.get(type(node)), node.this
        plain = isinstance(node, exp.AggFunc) and not node.expressions
        if plain and function is not None:
            measure = self._of_values(counted, node.key.upper(), function)
            if isinstance(node, exp.Quantile):
                return replace(measure, quantile=_quantile(node.args.get("quantile"), node))
            return measure
        if plain and isinstance(node, exp.Count):
            if isinstance(counted, exp.Star):
                return Measure(Function.COUNT)
            if isinstance(counted, exp.Distinct) and len(counted.expressions) == 1:
                return self._distinct(counted.expressions[0])
            if isinstance(counted, exp.Column):
                name = column(counted, self.feed.fields, "COUNT takes").name
                return Measure(Function.COUNT, field=name)
        message = f"HAVING needs an aggregate instead of {named(node)}"
        hint = f"write {self._aggregates}; conditions on single events belong into WHERE"
        raise SqlProblem(message, hint, node)

    def _distinct(self, node: exp.Expr) -> Measure:
        unit = self.feed.unit
        if column(node, self.feed.fields, "COUNT(DISTINCT) takes").name != unit:
            message = f"COUNT(DISTINCT) takes the privacy unit `{unit}` only"
            raise SqlProblem(message, f"write COUNT(DISTINCT {unit})", node)
        return Measure(Function.DISTINCT)

    def _of_values(self, node: exp.Expr, called: str, function: Function) -> Measure:
        """Return an aggregate of a number with clip and resolution."""
        read = column(node, self.feed.fields, f"{called} takes")
        name, unit = read.name, read.resolution
        if read.type not in {FieldType.INTEGER, FieldType.FLOAT}:
            message = f"{called} takes an integer or a float; `{name}` is {article(read.type)}"
            raise SqlProblem(message, "write another field, or COUNT(*)", node)
        if read.lo is None or read.hi is None or unit is None:
            message = f"{called}({name}) needs a clip and a resolution: values are bounded"
            steps = "" if read.type is FieldType.INTEGER else ', resolution: "0.01"'
            written = f"{{type: {read.type}, clip: [0, 100]{steps}}}"
            hint = f"declare {name}: {written} in the feed's fields"
            raise SqlProblem(message, hint, node)
        return Measure(function, int(read.lo / unit), int(read.hi / unit), field=name, unit=unit)

    def threshold_of(self, node: exp.Expr, called: str = "the threshold") -> Threshold:
        """Return a number or a public table's value; neither for SEVERITY.

        Args:
            node: what is compared with.
            called: what it is, for errors.

        Raises:
            SqlProblem: it is neither.
        """
        offset = start(node)
        value = numeric(node)
        if value is not None or is_word(node, "SEVERITY"):
            return Threshold(offset, number=value)
        if isinstance(node, exp.Bracket) and len(node.expressions) == 1:
            table, key = node.this, node.expressions[0]
            plain = isinstance(table, exp.Column) and not table.table
            name = table.name if plain else table.sql(comments=False)
            if name not in self.tables:
                hint = closest(name, self.tables) or f"declare tables: {{{name}: {name}.csv}}"
                raise SqlProblem(f"`{name}` is not a declared table", hint, node)
            by = column(key, self.feed.fields, f"{name}[...] takes").name
            if by not in self.group:
                hint = f"write {name}[{self.group[0]}]" if self.group else "write a number"
                raise SqlProblem(f"`{by}` is not in GROUP BY", hint, key)
            return Threshold(offset, None, name, by, node.sql(comments=False))
        raise SqlProblem(
            f"{called} is {named(node)} instead of a number or a table's value",
            "write a number, as 120, or a table's value, as capacity[room]",
            node,
        )


def _has_aggregate(node: exp.Expr) -> bool:
    return node.find(*AGGREGATE) is not None


def _says_nothing(asked: Asked) -> bool:
    """Tell whether it, or its negation, only asks for values within the aggregate's range."""
    least, most = asked.measure.span
    end = least if asked.comparison in {Comparison.GE, Comparison.LT} else most
    number = asked.threshold.number
    return end is not None and number is not None and number == end * asked.measure.unit


def _quantile(node: exp.Expr | None, call: exp.Expr) -> Fraction:
    """Return the fraction that a quantile is of."""
    value = None if node is None else numeric(node)
    if value is None or not 0 < value < 1 or value.denominator > LARGEST_SCALE:
        raise SqlProblem(
            "the quantile is not a number between 0 and 1 with at most six decimals",
            "write QUANTILE(field, 0.9); 0 is MIN(field) and 1 is MAX(field)",
            call if node is None else node,
        )
    return value
