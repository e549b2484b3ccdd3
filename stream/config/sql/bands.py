"""The band of a HAVING: ``ABS(<aggregate> - REFERENCE) >= tau``, alone.

REFERENCE stands for what the alarm's ``reference`` says, per group. tau is a number, or a share
of it: ``0.05 * REFERENCE``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from operators.conditions.comparison import Comparison
from stream.config.alarms.reduction import Function
from stream.config.sql.nodes import (
    SqlProblem,
    first_extra,
    is_aggregate,
    is_word,
    named,
    numeric,
    sides,
    start,
    unwrapped,
)
from stream.config.sql.text import select_of
from stream.model.numbers import decimal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stream.config.sql.comparisons import Measure, Threshold
    from stream.config.sql.having import HavingReader

__all__ = ["BAND_SHAPE", "BandAsked", "band_of", "reference_of"]

BAND_SHAPE: Final = "write HAVING ABS(COUNT(*) - REFERENCE) >= 50, or >= 0.05 * REFERENCE"
"""The shortest hint at the grammar."""

_SHARE: Final = "write HAVING ABS(COUNT(*) - REFERENCE) >= 0.05 * REFERENCE"
_FINEST_SHARE: Final = 1_000_000
_WORD: Final = "REFERENCE"
_DECIDED: Final = frozenset(
    {Function.COUNT, Function.DISTINCT, Function.SUM, Function.QUANTILE, Function.AVG}
)


@dataclass(frozen=True, slots=True)
class BandAsked:
    """A band, and that an alarm rings when it is left.

    Args:
        measure: the aggregate.
        tau: half-width, above 0: in the field's own unit, or a share of the reference, at most 1.
        tau_text: tau as SQL, without blanks.
        relative: whether tau is a share.
        offset: where the band stands.
        tau_offset: where tau stands.
    """

    measure: Measure
    tau: Fraction
    tau_text: str
    relative: bool
    offset: int
    tau_offset: int


def band_of(node: exp.Expr, reader: HavingReader) -> BandAsked | None:
    """Return the band that a HAVING asks for, or ``None`` where it does not mention REFERENCE.

    Args:
        node: the condition.
        reader: reads its aggregate.

    Raises:
        SqlProblem: it mentions REFERENCE in any other form.
    """
    words = list(_words(node))
    if not words:
        return None
    offset = start(words[0])
    node, negated = unwrapped(node), False
    while isinstance(node, exp.Not):
        node, negated = unwrapped(node.this), not negated
    if isinstance(node, exp.And | exp.Or):
        raise SqlProblem(
            "a band cannot be combined with other comparisons", "write one alarm for each", offset
        )
    found = sides(node, lambda side: isinstance(side, exp.Abs))
    if found is None:
        raise SqlProblem("REFERENCE is only for a band", BAND_SHAPE, offset)
    left, comparison, right = found
    if not isinstance(left, exp.Abs) or first_extra(left, "this") is not None:
        raise SqlProblem("REFERENCE is only for a band", BAND_SHAPE, offset)
    measure = _measure(left, reader)
    share = _share(right)
    tau = _tau(right) if share is None else share
    tau_text = decimal(tau) if share is None else f"{decimal(tau)}*{_WORD}"
    comparison = comparison.negated if negated else comparison
    _check_comparison(comparison, tau_text, measure, start(node))
    at, tau_at = start(left), start(right)
    return BandAsked(measure, tau, tau_text, share is not None, at, tau_at)


def reference_of(text: str, reader: HavingReader, called: str = "the reference") -> Threshold:
    """Return what the text of a reference says, such as ``200`` or ``usual[shop]``.

    Args:
        text: as written.
        reader: of the query's HAVING.
        called: what it is, for errors.

    Raises:
        SqlProblem: it is neither a number nor a public table's value (the offset says nothing).
    """
    try:
        select = select_of(f"SELECT {text}")
        if len(select.expressions) != 1 or first_extra(select, "expressions") is not None:
            raise SqlProblem(f"{called} is not one number or one table's value", "", 0)
        return reader.threshold_of(unwrapped(select.expressions[0]), called)
    except RecursionError:
        raise SqlProblem("nested too deeply", "use fewer parentheses", 0) from None


def _words(node: exp.Expr) -> Iterator[exp.Expr]:
    """Yield where REFERENCE stands, but for fields of that name inside aggregates and lookups."""
    stack = [node]
    while stack:
        part = stack.pop()
        if is_aggregate(part) or isinstance(part, exp.Bracket):
            continue
        if is_word(part, _WORD):
            yield part
        else:
            stack += list(part.iter_expressions())


def _measure(band: exp.Abs, reader: HavingReader) -> Measure:
    """Return the aggregate whose distance to REFERENCE is taken."""
    difference = unwrapped(band.this)
    if not isinstance(difference, exp.Sub):
        raise SqlProblem("a band compares a difference to REFERENCE", BAND_SHAPE, band)
    sides = [unwrapped(difference.this), unwrapped(difference.expression)]
    others = [side for side in sides if not is_word(side, _WORD)]
    if len(others) != 1:
        message = "a band compares one aggregate minus REFERENCE"
        raise SqlProblem(message, BAND_SHAPE, band)
    measure = reader.measure_of(others[0])
    if measure.function not in _DECIDED:
        raise SqlProblem(
            f"a band takes COUNT, SUM, AVG, MEDIAN or QUANTILE, not {measure.function.value}",
            BAND_SHAPE,
            others[0],
        )
    return measure


def _share(node: exp.Expr) -> Fraction | None:
    """Return which share of REFERENCE's magnitude a half-width is, ``None`` where it is none."""
    if not any(_words(node)):
        return None
    of, share = node, Fraction(1)
    if isinstance(node, exp.Mul):
        sides = [unwrapped(node.this), unwrapped(node.expression)]
        values = [numeric(side) for side in sides]
        if values.count(None) == 1:
            of = sides[values.index(None)]
            share = next(value for value in values if value is not None)
    if not is_word(of, _WORD):
        raise SqlProblem("tau is not a number or a multiple of REFERENCE", _SHARE, node)
    if not 0 < share <= 1 or share.denominator > _FINEST_SHARE:
        message = "the factor of REFERENCE is not between 0 and 1 with six decimals"
        raise SqlProblem(f"{message}: {decimal(share)}", _SHARE, node)
    return share


def _tau(node: exp.Expr) -> Fraction:
    value = numeric(node)
    if value is None:
        message = f"tau is {named(node)} instead of a number"
        raise SqlProblem(message, BAND_SHAPE, node)
    if value <= 0:
        message = f"tau is {decimal(value)}, but has to be above 0"
        raise SqlProblem(message, BAND_SHAPE, node)
    return value


def _check_comparison(comparison: Comparison, tau: str, measure: Measure, offset: int) -> None:
    written = f"ABS({measure.text} - REFERENCE) >= {tau}"
    if comparison is Comparison.GE:
        return
    message = "a band is compared by >="
    if comparison in {Comparison.LT, Comparison.LE}:
        message = "an alarm fires outside its band, so a band is compared by >="
    raise SqlProblem(message, f"write {written}", offset)
