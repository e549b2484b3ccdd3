"""Arithmetic in HAVING: sums of multiples of counts and sums, read as one linear aggregate.

``COUNT(*) FILTER (WHERE bought) > 0.2 * COUNT(*)`` compares with 0 what ``COUNT(*) FILTER (WHERE
bought) - 0.2 * COUNT(*)`` comes to. Coefficients are exact fractions. What such a sum can be is a
whole multiple of a step, the greatest that all its terms are multiples of, and it is counted in
that step: nothing is rounded, and one event moves it by what it adds to all its terms together.

It keeps the sign that it was first written with, the left side less the right one: what is said of
it elsewhere, as of its usual value, is said of what was written.
"""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field as member
from fractions import Fraction
from math import gcd, lcm
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from operators.conditions.weights import Weight
from stream.config.alarms.reduction import LARGEST_STATISTIC, Function
from stream.config.sql.comparisons import Measure
from stream.config.sql.kinds import span_of_terms
from stream.config.sql.nodes import SqlProblem, has_aggregate, numeric, unwrapped
from stream.model.alarm import Term
from stream.model.numbers import decimal

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from stream.model.feeds import Feed
    from stream.model.filters import Where

__all__ = ["Linear", "is_linear", "linear_measure", "linear_of"]

_ARITHMETIC: Final = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Neg)
_ADDED_UP: Final = {Function.COUNT: Weight.COUNT, Function.SUM: Weight.SUM}
_LONGEST_BITS: Final = 8192
_RATE: Final = "write COUNT(*) FILTER (WHERE ...) > 0.2 * COUNT(*)"


@dataclass(frozen=True, slots=True)
class Linear:
    """Multiples of aggregates, and a number, added up.

    Args:
        factors: per aggregate its coefficient, some perhaps 0.
        number: the rest.
    """

    factors: dict[Measure, Fraction] = member(default_factory=dict)
    number: Fraction = Fraction(0)

    def plus(self, other: Linear, times: Fraction | int = 1) -> Linear:
        """Return it with a multiple of another one added."""
        factors = dict(self.factors)
        for measure, factor in other.factors.items():
            factors[measure] = factors.get(measure, Fraction(0)) + times * factor
        return Linear(factors, self.number + times * other.number)


def is_linear(*sides: exp.Expr) -> bool:
    """Tell whether a comparison has aggregates on both sides, or arithmetic around one."""
    summed = [side for side in sides if has_aggregate(side)]
    return len(summed) > 1 or any(isinstance(side, _ARITHMETIC) for side in summed)


def linear_of(node: exp.Expr, read: Callable[[exp.Expr], Measure]) -> Linear:
    """Return what arithmetic over aggregates adds up.

    Args:
        node: one side of a comparison.
        read: returns what one aggregate computes.

    Raises:
        SqlProblem: it is not linear, or about aggregates that do not add up event by event.
    """
    node = unwrapped(node)
    value = numeric(node)
    if value is not None:
        return Linear(number=value)
    match node:
        case exp.Neg():
            return Linear().plus(linear_of(node.this, read), -1)
        case exp.Add() | exp.Sub():
            times = -1 if isinstance(node, exp.Sub) else 1
            return linear_of(node.this, read).plus(linear_of(node.expression, read), times)
        case exp.Mul():
            sides = [linear_of(side, read) for side in (node.this, node.expression)]
            sides.sort(key=lambda side: bool(side.factors))
            if sides[0].factors:
                message = "HAVING cannot multiply two aggregates"
                raise SqlProblem(message, _RATE, node)
            return _checked(Linear().plus(sides[1], sides[0].number), node)
        case exp.Div():
            below = linear_of(node.expression, read)
            if below.factors or not below.number:
                what = "an aggregate, which may be 0" if below.factors else "0"
                message = f"HAVING cannot divide by {what}"
                hint = f"{_RATE}, with this divisor on the right-hand side"
                hint = hint if below.factors else "write another divisor"
                raise SqlProblem(message, hint, node.expression)
            return _checked(Linear().plus(linear_of(node.this, read), 1 / below.number), node)
        case exp.Bracket():
            message = "a table's value has to be alone on its side of a comparison"
            hint = "write COUNT(*) - 0.2 * COUNT(field) > table[field], with constants in the table"
            raise SqlProblem(message, hint, node)
    measure = read(node)
    if measure.function not in _ADDED_UP:
        raise SqlProblem(
            f"{measure.function.value} cannot be added or multiplied, only COUNT and SUM",
            "compare it with a number, and use AND and OR",
            node,
        )
    return Linear({measure: Fraction(1)})


def linear_measure(
    linear: Linear,
    *,
    where: Where | None,
    feed: Feed,
    group: Collection[str],
    offset: int,
    turned: Collection[Measure] | None,
) -> tuple[Measure, int]:
    """Return the aggregate that some arithmetic computes, its number left out, and a sign.

    Terms with filters come first.

    Args:
        linear: the arithmetic.
        where: the row filter.
        feed: whose events it reads.
        group: fields of GROUP BY.
        offset: where it stands.
        turned: sums that were read before: the negative of one of them is given as that one, and
            that of an aggregate as that aggregate, so that all writings of a comparison with a
            number share one. ``None`` where the sign stays.

    Returns:
        The aggregate, or the plain one that it is, and -1 where it is the negative of what was
        written, else 1.

    Raises:
        SqlProblem: nothing is left of it, coefficients are beyond 62 bits, or its filters are too
            many.
    """
    parts = sorted(
        ((measure, factor) for measure, factor in linear.factors.items() if factor),
        key=lambda part: (not part[0].filter, part[0].text),
    )
    if not parts:
        message = "these aggregates cancel out, so the result is constant"
        raise SqlProblem(message, "check the coefficients", offset)
    before = {(known.terms, known.unit): known for known in turned or ()}
    negative = [(measure, -factor) for measure, factor in parts]
    for tried, sign in ((parts, 1), (negative, -1)):
        if (known := before.get(_counted(tried))) is not None:
            return known, sign
    sign = 1
    if turned is not None and len(parts) == 1 and parts[0][1] < 0:
        parts, sign = negative, -1
    if len(parts) == 1 and parts[0][1] == 1:
        return parts[0][0], sign
    terms, unit = _counted(parts)
    if sum(abs(term.factor) * term.alone.largest for term in terms) >= LARGEST_STATISTIC:
        message = "the weight of an event in this sum needs more than 62 bits"
        raise SqlProblem(message, "write coefficients with fewer digits", offset)
    try:
        span = span_of_terms(terms, where, feed, group)
    except ValueError as error:
        message = f"the range of this sum cannot be computed: {error}"
        raise SqlProblem(message, "write simpler filters", offset) from None
    if span is None or span == (0, 0):
        message = "no event can add to this sum"
        raise SqlProblem(message, "check its filters against WHERE", offset)
    text = " + ".join(_written(measure, factor) for measure, factor in parts).replace("+ -", "- ")
    return Measure(Function.LINEAR, *span, text=text, offset=offset, terms=terms, unit=unit), sign


def _checked(linear: Linear, node: exp.Expr) -> Linear:
    """Return it, if its numbers have not grown beyond all use.

    Raises:
        SqlProblem: they have.
    """
    for value in (linear.number, *linear.factors.values()):
        if max(value.numerator.bit_length(), value.denominator.bit_length()) > _LONGEST_BITS:
            message = "a coefficient needs more than 62 bits"
            raise SqlProblem(message, "write a smaller number", node)
    return linear


def _counted(parts: Sequence[tuple[Measure, Fraction]]) -> tuple[tuple[Term, ...], Fraction]:
    """Return the terms, and the greatest step that all of them are multiples of."""
    shares = [factor * measure.unit for measure, factor in parts]
    step = Fraction(
        gcd(*(share.numerator for share in shares)), lcm(*(share.denominator for share in shares))
    )
    terms = (
        _term(measure, int(share / step)) for (measure, _), share in zip(parts, shares, strict=True)
    )
    return tuple(terms), step


def _term(of: Measure, factor: int) -> Term:
    kind = _ADDED_UP[of.function]
    resolution = of.unit if kind is Weight.SUM else None
    return Term(factor, kind, of.field, of.lo, of.hi, resolution, of.where)


def _written(measure: Measure, factor: Fraction) -> str:
    """Return a term as SQL, its sign in front."""
    if factor == 1:
        return measure.text
    return f"-{measure.text}" if factor == -1 else f"{decimal(factor)} * {measure.text}"
