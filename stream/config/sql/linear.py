"""Arithmetic in HAVING: sums of multiples of counts and sums, read as one linear aggregate.

``COUNT(*) FILTER (WHERE bought) > 0.2 * COUNT(*)`` compares with 0 what ``COUNT(*) FILTER (WHERE
bought) - 0.2 * COUNT(*)`` comes to. Coefficients are exact fractions. What such a sum can be is a
whole multiple of a step, the greatest that all its terms are multiples of, and it is counted in
that step: nothing is rounded, and one event moves it by what it adds to all its terms together.

It keeps the sign that it is written with, the left side less the right one: what is said of it
elsewhere, as of its usual value, is said of what was written.
"""

from __future__ import annotations

from fractions import Fraction
from math import gcd, lcm
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from operators.conditions.weights import Weight
from stream.config.alarms.reduction import LARGEST_STATISTIC, Function
from stream.config.sql.comparisons import Measure
from stream.config.sql.nodes import SqlProblem, numeric
from stream.model.alarm import Term
from stream.model.headings import sum_text

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from stream.model.feeds import Feed
    from stream.model.filters import Where

    Linear = Mapping[Measure | None, Fraction]

__all__ = ["added", "linear_of", "sum_of"]

_ADDED_UP: Final = {Function.COUNT: Weight.COUNT, Function.SUM: Weight.SUM}
_LONGEST_BITS: Final = 8192
_RATE: Final = "write COUNT(*) FILTER (WHERE ...) > 0.2 * COUNT(*)"
_ZERO: Final = Fraction(0)


def added(one: Linear, other: Linear, times: Fraction | int = 1) -> dict[Measure | None, Fraction]:
    """Return a sum with a multiple of another one added."""
    return {key: one.get(key, _ZERO) + times * other.get(key, _ZERO) for key in {**one, **other}}


def linear_of(
    node: exp.Expr, read: Callable[[exp.Expr], Measure]
) -> dict[Measure | None, Fraction]:
    """Return what arithmetic over aggregates adds up.

    Args:
        node: one side of a comparison.
        read: returns what one aggregate computes.

    Returns:
        Per aggregate its coefficient, some perhaps 0; under ``None``, the number beside them.

    Raises:
        SqlProblem: it is not linear.
    """
    node = node.unnest()
    value = numeric(node)
    if value is not None:
        return {None: value}
    if isinstance(node, exp.Bracket):
        message = "a table's value has to be alone on its side of a comparison"
        hint = "write COUNT(*) - 0.2 * COUNT(field) > table[field], with constants in the table"
        raise SqlProblem(message, hint, node)
    if isinstance(node, exp.Neg):
        return added({}, linear_of(node.this, read), -1)
    if not isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Div):
        return {read(node): Fraction(1)}
    left, right = linear_of(node.this, read), linear_of(node.expression, read)
    if isinstance(node, exp.Add | exp.Sub):
        return added(left, right, -1 if isinstance(node, exp.Sub) else 1)
    if isinstance(node, exp.Mul) and left.keys() == {None}:
        left, right = right, left
    factor = right.get(None, _ZERO)
    if right.keys() != {None} or (isinstance(node, exp.Div) and not factor):
        message = "HAVING multiplies and divides by numbers only, and not by 0"
        raise SqlProblem(message, f"{_RATE}, with a divisor on the right-hand side", node)
    product = added({}, left, factor if isinstance(node, exp.Mul) else 1 / factor)
    for value in product.values():
        if max(value.numerator.bit_length(), value.denominator.bit_length()) > _LONGEST_BITS:
            message = "a coefficient needs more than 62 bits"
            raise SqlProblem(message, "write a smaller number", node)
    return product


def sum_of(
    linear: Linear, offset: int, where: Where | None, feed: Feed, group: Collection[str]
) -> Measure:
    """Return the aggregate that some arithmetic computes, its number left out.

    Terms with filters come first.

    Args:
        linear: the arithmetic.
        offset: where it stands.
        where: the row filter: what an event can add to a sum follows from it.
        feed: whose events it reads.
        group: fields of GROUP BY.

    Returns:
        The aggregate, or the plain one that it is.

    Raises:
        SqlProblem: nothing is left of it, it is about aggregates that do not add up event by event,
            coefficients are beyond 62 bits, or its filters are too many.
    """
    for measure in filter(None, linear):
        if measure.function not in _ADDED_UP:
            raise SqlProblem(
                f"{measure.function.value} cannot be added or multiplied, only COUNT and SUM",
                "compare it with a number, and use AND and OR",
                measure.offset,
            )
    parts = sorted(
        ((measure, factor) for measure, factor in linear.items() if measure and factor),
        key=lambda part: (part[0].where is None, part[0].text),
    )
    if not parts:
        message = "these aggregates cancel out, so the result is constant"
        raise SqlProblem(message, "check the coefficients", offset)
    if len(parts) == 1 and parts[0][1] == 1:
        return parts[0][0]
    terms, unit = _counted(parts)
    if sum(abs(term.factor) * term.alone.largest for term in terms) >= LARGEST_STATISTIC:
        message = "the weight of an event in this sum needs more than 62 bits"
        raise SqlProblem(message, "write coefficients with fewer digits", offset)
    from stream.config.sql.kinds import span_of_terms  # noqa: PLC0415  # pyarrow takes its time

    try:
        span = span_of_terms(terms, where, feed, group)
    except ValueError as error:
        message = f"the range of this sum cannot be computed: {error}"
        raise SqlProblem(message, "write simpler filters", offset) from None
    if span is None or span == (0, 0):
        message = "no event can add to this sum"
        raise SqlProblem(message, "check its filters against WHERE", offset)
    text = sum_text((factor, measure.text) for measure, factor in parts)
    return Measure(Function.LINEAR, *span, text=text, offset=offset, terms=terms, unit=unit)


def _counted(parts: Sequence[tuple[Measure, Fraction]]) -> tuple[tuple[Term, ...], Fraction]:
    """Return the terms, and the greatest step that all of them are multiples of."""
    shares = [factor * measure.unit for measure, factor in parts]
    step = Fraction(
        gcd(*(share.numerator for share in shares)), lcm(*(share.denominator for share in shares))
    )
    terms = []
    for (of, _), share in zip(parts, shares, strict=True):
        kind = _ADDED_UP[of.function]
        resolution = of.unit if kind is Weight.SUM else None
        terms.append(Term(int(share / step), kind, of.field, of.lo, of.hi, resolution, of.where))
    return tuple(terms), step
