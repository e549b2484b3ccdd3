"""HAVING: from a parsed condition to a tree of comparisons of aggregates.

NOT is pushed down to the comparisons while reading, which keeps SQL's three-valued logic: what a
NULL leaves unknown is met neither by a comparison nor by its negation. ``=``, ``<>`` and BETWEEN
are read as two comparisons each, so that every leaf has one bound; what only says that an aggregate
is within its range is left out of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from operators.conditions.comparison import Comparison
from stream.config.alarms.reduction import LARGEST_SCALE, Function, Tree
from stream.config.scalars import closest
from stream.config.sql.comparisons import Asked, Measure, Threshold
from stream.config.sql.linear import Linear, is_linear, linear_measure, linear_of
from stream.config.sql.nodes import (
    SqlProblem,
    column,
    first_extra,
    has_aggregate,
    is_aggregate,
    is_word,
    named,
    numeric,
    operands,
    sides,
    start,
    unwrapped,
)
from stream.config.sql.text import select_of
from stream.config.sql.where import WhereReader
from stream.model.contributions import article
from stream.model.feeds import FieldType

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction
    from zoneinfo import ZoneInfo

    from stream.model.feeds import Feed
    from stream.model.filters import Where

__all__ = ["AGGREGATES", "HavingReader"]

AGGREGATES: Final = (
    "COUNT(*), COUNT(DISTINCT {unit}), or COUNT, SUM, AVG, MEDIAN, MIN, MAX or QUANTILE(f, 0.9) "
    "of a field f"
)
"""The aggregates of HAVING, for hints."""

_DEEPEST: Final = 60
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
_INSTEAD: Final[dict[type[exp.Expr], str]] = {
    exp.ApproxDistinct: "write COUNT(DISTINCT {unit})",
    exp.ApproxQuantile: "write QUANTILE(field, 0.9)",
    exp.WithinGroup: "write QUANTILE(field, 0.9)",
    exp.CountIf: "write COUNT(*) FILTER (WHERE ...)",
    exp.Abs: "write ABS(COUNT(*) - REFERENCE) >= 50 with mechanism: decider",
}


@dataclass(frozen=True, slots=True)
class HavingReader:
    """Reads the HAVING of one query.

    Args:
        feed: what it reads.
        group: its group fields.
        present: fields that no counted event lacks.
        tables: names of the declared public tables.
        timezone: of timestamps written without an offset, in filters.
        notes: receives warnings.
        where: its row filter: what an event can add to a sum of aggregates follows from it.
        sums: receives what is summed in it: each keeps the sign that it was first written with.
    """

    feed: Feed
    group: tuple[str, ...]
    present: frozenset[str]
    tables: Sequence[str]
    timezone: ZoneInfo
    notes: list[SqlProblem]
    where: Where | None = None
    sums: list[Measure] = field(default_factory=list, repr=False)

    def read(self, node: exp.Expr) -> Tree[Asked]:
        """Return the comparisons of a condition.

        Raises:
            SqlProblem: the condition is not in the grammar, or contradicts the declarations.
        """
        return self._read(node, negate=False, depth=0)

    def read_key(self, text: str) -> tuple[Asked, ...]:
        """Return the comparisons that a text such as ``AVG(age) > 65`` makes.

        Raises:
            SqlProblem: it makes none (the offset says nothing).
        """
        try:
            select = select_of(f"SELECT 1 HAVING {text}")
            clause = select.args.get("having")
            if clause is None or first_extra(select, "expressions", "having") is not None:
                raise SqlProblem("not one comparison", "", 0)
            return tuple(self.read(clause.this).leaves())
        except RecursionError:
            raise SqlProblem("nested too deeply", "use fewer parentheses", 0) from None

    def _read(self, node: exp.Expr, *, negate: bool, depth: int) -> Tree[Asked]:
        node = unwrapped(node)
        if depth > _DEEPEST:
            raise SqlProblem("HAVING is nested too deeply", "use fewer parentheses", node)
        if isinstance(node, exp.Not):
            return self._read(node.this, negate=not negate, depth=depth + 1)
        if isinstance(node, exp.And | exp.Or):
            parts = [
                self._read(part, negate=negate, depth=depth + 1)
                for part in operands(node, type(node))
            ]
            return Tree.joined(parts, conjunction=isinstance(node, exp.And) is not negate)
        if isinstance(node, exp.Between):
            return self._between(node, negate=negate)
        found = sides(node, has_aggregate)
        if found is None:
            raise self._unreadable(node)
        left, comparison, right = found
        return self._compared(left, comparison.negated if negate else comparison, right)

    def _unreadable(self, node: exp.Expr) -> SqlProblem:
        hint = f"compare {self._supported} with a number or table[field]"
        if isinstance(node, exp.In):
            hint = "write COUNT(*) = 3 OR COUNT(*) = 4"
        elif isinstance(node, exp.Is):
            hint = "write COUNT(field) = 0 for groups without a value"
        named_too = ", not CASE" if isinstance(node, exp.Case) else ""
        return SqlProblem(
            "HAVING needs comparisons (>, >=, <, <=, =, <>, BETWEEN) with AND, OR, NOT" + named_too,
            hint,
            node,
        )

    @property
    def _supported(self) -> str:
        return AGGREGATES.format(unit=self.feed.unit)

    def _between(self, node: exp.Between, *, negate: bool) -> Tree[Asked]:
        extra = first_extra(node, "this", "low", "high")
        if extra is not None:
            message = f"BETWEEN {extra[0].upper()} is not supported"
            raise SqlProblem(message, "write the lower bound first", node)
        parts = [
            self._asked(unwrapped(node.this), comparison, unwrapped(node.args[end]))
            for comparison, end in ((Comparison.GE, "low"), (Comparison.LE, "high"))
        ]
        parts = [part.negated for part in parts] if negate else parts
        return self._joined(parts, conjunction=not negate)

    def _compared(self, left: exp.Expr, comparison: Comparison, right: exp.Expr) -> Tree[Asked]:
        parts = [self._asked(left, end, right) for end in _ENDS.get(comparison, (comparison,))]
        return self._joined(parts, conjunction=comparison is not Comparison.NE)

    def _joined(self, parts: list[Asked], *, conjunction: bool) -> Tree[Asked]:
        """Return comparisons under one connective; of several, those that say something."""
        kept = [part for part in parts if not self._says_nothing(part)] or parts
        return Tree.joined(map(Tree, kept), conjunction=conjunction)

    def _asked(self, left: exp.Expr, comparison: Comparison, right: exp.Expr) -> Asked:
        """Return one comparison, what is added up on both sides brought to the left."""
        if not is_linear(left, right):
            return Asked(self.measure_of(left), comparison, self.threshold_of(right))
        whole = linear_of(left, self.measure_of)
        if isinstance(right, exp.Bracket) and not whole.number:
            threshold = self.threshold_of(right)
        else:
            whole = whole.plus(linear_of(right, self.measure_of), -1)
            threshold = Threshold(start(right), number=-whole.number)
        measure, sign = self._summed(whole, left, turned=threshold.number is not None)
        self.sums.append(measure)
        if sign > 0 or threshold.number is None:
            return Asked(measure, comparison, threshold)
        threshold = Threshold(threshold.offset, number=-threshold.number)
        return Asked(measure, comparison.flipped, threshold)

    def _summed(self, whole: Linear, node: exp.Expr, *, turned: bool) -> tuple[Measure, int]:
        return linear_measure(
            whole,
            where=self.where,
            feed=self.feed,
            group=self.group,
            offset=start(node),
            turned=self.sums if turned else None,
        )

    def _says_nothing(self, asked: Asked) -> bool:
        """Tell whether it, or its negation, only asks for values within the aggregate's range."""
        least, most = asked.measure.span
        end = least if asked.comparison in {Comparison.GE, Comparison.LT} else most
        number = asked.threshold.number
        if end is None or number is None:
            return False
        return number == end * asked.measure.unit

    def measure_of(self, node: exp.Expr) -> Measure:
        """Return what an aggregate computes.

        Raises:
            SqlProblem: it is none, or not one that the feed's declarations allow.
        """
        call, where, suffix = node, None, ""
        if isinstance(node, exp.Filter):
            call, clause = unwrapped(node.this), node.args.get("expression")
            if first_extra(node, "this", "expression") is not None or clause is None:
                raise SqlProblem("FILTER takes a condition", "write FILTER (WHERE ...)", node)
            reader = WhereReader(self.feed.fields, self.timezone, self.notes)
            where = reader.read(clause.this)
            suffix = f" FILTER({clause.sql(comments=False).strip()})"
        measure = self._call(call)
        present, written = measure.field, call.find(exp.Column)
        of_units = present == self.feed.unit
        if present in self.present:
            present = None
        return replace(
            measure,
            field=present if measure.function is Function.COUNT else measure.field,
            present=present,
            where=where,
            filter="" if where is None else where.describe(),
            text=node.sql(comments=False),
            written="*" if present is None or written is None else written.sql(comments=False),
            suffix=suffix,
            offset=start(node),
            of_units=of_units,
        )

    def _call(self, node: exp.Expr) -> Measure:
        """Return what one aggregate computes, its filter left out."""
        if isinstance(node, exp.Count) and first_extra(node, "this") is None:
            counted = node.this
            if isinstance(counted, exp.Star) and first_extra(counted) is None:
                return Measure(Function.COUNT)
            if isinstance(counted, exp.Distinct) and len(counted.expressions) == 1:
                return self._distinct(counted.expressions[0])
            if isinstance(counted, exp.Column):
                name = column(counted, self.feed.fields, "COUNT takes").name
                return Measure(Function.COUNT, field=name)
        function = _OF_A_FIELD.get(type(node))
        plain = first_extra(node, "this", "quantile") is None
        if isinstance(node, exp.Func) and function is not None and plain:
            measure = self._of_values(node.this, node.sql_name(), function)
            if isinstance(node, exp.Quantile):
                return replace(measure, quantile=_quantile(node.args.get("quantile"), node))
            return measure
        hint = _INSTEAD.get(type(node), f"write {AGGREGATES}").format(unit=self.feed.unit)
        if is_aggregate(node):
            inner = " in this form" if isinstance(node, (exp.Count, *_OF_A_FIELD)) else ""
            called = named(node.this if isinstance(node, exp.WithinGroup) else node)
            raise SqlProblem(f"{called} is not supported{inner}", hint, node)
        raise self._no_aggregate(node, hint)

    def _no_aggregate(self, node: exp.Expr, hint: str) -> SqlProblem:
        what = named(node)
        if isinstance(node, exp.Column):
            what = f"the field `{node.name}`"
            if node.name in self.feed.fields:
                hint = f"write conditions on events into WHERE; here, {hint}"
        message = f"HAVING needs an aggregate instead of {what}"
        return SqlProblem(message, hint, node)

    def _distinct(self, node: exp.Expr) -> Measure:
        unit = self.feed.unit
        if column(node, self.feed.fields, "COUNT(DISTINCT) takes").name == unit:
            return Measure(Function.DISTINCT)
        raise SqlProblem(
            f"COUNT(DISTINCT) takes the privacy unit `{unit}` only",
            f"write COUNT(DISTINCT {unit})",
            node,
        )

    def _of_values(self, node: exp.Expr, called: str, function: Function) -> Measure:
        """Return an aggregate of a number with clip and resolution."""
        read = column(node, self.feed.fields, f"{called} takes")
        name, unit = read.name, read.resolution
        example = 'type: float, clip: [0, 100], resolution: "0.01"'
        if read.type is FieldType.INTEGER:
            example = "type: integer, clip: [0, 100]"
        elif read.type is not FieldType.FLOAT:
            kind = article(read.type.value)
            message = f"{called} takes an integer or a float; `{name}` is {kind}"
            raise SqlProblem(message, "write another field, or COUNT(*)", node)
        if read.lo is None or read.hi is None or unit is None:
            needs = "a resolution, because values are rounded"
            if read.lo is None:
                needs = "a clip, because one value could be arbitrarily large"
            hint = f"declare {name}: {{{example}}} in the feed's fields"
            raise SqlProblem(f"{called}({name}) needs {needs}", hint, node)
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
            plain = isinstance(table, exp.Column) and first_extra(table, "this") is None
            if not plain or table.name not in self.tables:
                name = table.name if plain else "this"
                hint = closest(name, self.tables) or f"declare tables: {{{name}: {name}.csv}}"
                raise SqlProblem(f"`{name}` is not a declared table", hint, node)
            looked_up = column(key, self.feed.fields, f"{table.name}[...] takes")
            if looked_up.name not in self.group:
                hint = f"write {table.name}[{self.group[0]}]" if self.group else "write a number"
                raise SqlProblem(f"`{looked_up.name}` is not in GROUP BY", hint, key)
            written = node.sql(comments=False)
            return Threshold(offset, None, table.name, looked_up.name, written)
        what = f"`{node.name}`" if isinstance(node, exp.Column) else named(node)
        example = "capacity[room]"
        if isinstance(node, exp.Column) and node.name in self.tables and self.group:
            example = f"{node.name}[{self.group[0]}]"
        raise SqlProblem(
            f"{called} is {what} instead of a number or a table's value",
            f"write a number, as 120, or a table's value, as {example}",
            node,
        )


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
