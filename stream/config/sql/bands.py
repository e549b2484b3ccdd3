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
    AGGREGATE,
    SqlProblem,
    comparisons,
    is_word,
    named,
    numeric,
    start,
)
from stream.model.numbers import decimal

if TYPE_CHECKING:
    from stream.config.sql.comparisons import Measure
    from stream.config.sql.having import HavingReader

__all__ = ["BAND_SHAPE", "BandAsked", "band_of"]

BAND_SHAPE: Final = "write HAVING ABS(COUNT(*) - REFERENCE) >= 50, or >= 0.05 * REFERENCE"
"""The shortest hint at the grammar."""

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
        relative: whether tau is a share.
        offset: where the band stands.
        tau_offset: where tau stands.
    """

    measure: Measure
    tau: Fraction
    relative: bool
    offset: int
    tau_offset: int

    @property
    def tau_text(self) -> str:
        """Tau as SQL, without blanks."""
        return f"{decimal(self.tau)}*{_WORD}" if self.relative else decimal(self.tau)


def band_of(node: exp.Expr, reader: HavingReader) -> BandAsked | None:
    """Return the band that a HAVING asks for, or ``None`` where it does not mention REFERENCE.

    Args:
        node: the condition.
        reader: reads its aggregate.

    Raises:
        SqlProblem: it mentions REFERENCE in any other form.
    """
    words = _words(node)
    if not words:
        return None
    node, negated = node.unnest(), False
    while isinstance(node, exp.Not):
        node, negated = node.this.unnest(), not negated
    found = comparisons(node, lambda side: isinstance(side, exp.Abs))
    if len(found) != 1 or not isinstance(found[0][0], exp.Abs):
        message = "REFERENCE is only for a band, which is the whole condition"
        raise SqlProblem(message, BAND_SHAPE, words[0])
    ((left, comparison, right),) = found
    measure = _measure(left, reader)
    tau, relative = _half_width(right)
    band = BandAsked(measure, tau, relative, start(left), start(right))
    comparison = comparison.negated if negated else comparison
    if comparison is not Comparison.GE:
        message = "a band is compared by >=, because the alarm fires outside of it"
        hint = f"write ABS({measure.text} - REFERENCE) >= {band.tau_text}"
        raise SqlProblem(message, hint, node)
    return band


def _words(node: exp.Expr) -> list[exp.Expr]:
    """Return where REFERENCE stands, but for fields of that name in aggregates and lookups."""
    parts = node.walk(bfs=False, prune=lambda part: isinstance(part, (*AGGREGATE, exp.Bracket)))
    return [part for part in parts if is_word(part, _WORD)]


def _measure(band: exp.Expr, reader: HavingReader) -> Measure:
    """Return the aggregate whose distance to REFERENCE is taken."""
    difference = band.this.unnest()
    others = [side for side in difference.unnest_operands() if not is_word(side, _WORD)]
    measure = reader.measure_of(others[0]) if len(others) == 1 else None
    if measure is None or not isinstance(difference, exp.Sub) or measure.function not in _DECIDED:
        message = "a band compares one COUNT, SUM, AVG, MEDIAN or QUANTILE minus REFERENCE"
        raise SqlProblem(message, BAND_SHAPE, band)
    return measure


def _half_width(node: exp.Expr) -> tuple[Fraction, bool]:
    """Return tau, and whether it is a share of REFERENCE's magnitude."""
    relative = bool(_words(node))
    factors = node.unnest_operands() if relative and isinstance(node, exp.Mul) else (node,)
    numbers = [numeric(factor) for factor in factors if not is_word(factor, _WORD)]
    tau = numbers[0] if numbers else Fraction(1)
    readable = tau is not None and tau > 0 and len(numbers) == len(factors) - relative
    if tau is None or not readable or (relative and (tau > 1 or tau.denominator > _FINEST_SHARE)):
        message = f"tau is {named(node)} instead of a number above 0, or of a share of REFERENCE"
        raise SqlProblem(message, f"{BAND_SHAPE}, with six decimals at most", node)
    return tau, relative
