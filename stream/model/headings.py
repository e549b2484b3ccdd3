"""What a statistic adds up, in words close to SQL."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Final

from operators.conditions.weights import Weight
from stream.model.numbers import decimal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from stream.model.alarm import AggregateSpec
    from stream.model.feeds import Feed

__all__ = ["group_name", "heading", "sum_text"]

_FACTORS: Final = {Fraction(1): "", Fraction(-1): "-"}


def group_name(group: Mapping[str, str]) -> str:
    """Return a group, given as its values by field, as people read it."""
    return ", ".join(group.values()) or "(all)"


def heading(spec: AggregateSpec, feed: Feed) -> str:
    """Return what a statistic of a feed adds up, in words."""
    match spec.kind:
        case Weight.DISTINCT_UNITS:
            words = f"COUNT(DISTINCT {feed.unit})"
        case Weight.SUM:
            words = f"SUM({spec.field})"
        case Weight.OFFSET:
            words = f"SUM({spec.field} - threshold)"
        case Weight.RANK:
            words = f"RANK({spec.field})"
        case Weight.LINEAR:
            return sum_text(
                (term.factor * spec.per_unit / term.alone.per_unit, heading(term.alone, feed))
                for term in spec.terms
            )
        case _:
            words = f"COUNT({spec.field or '*'})"
    return words + (" FILTER" if spec.where is not None else "")


def sum_text(terms: Iterable[tuple[Fraction, str]]) -> str:
    """Return a sum as SQL: coefficients, and what each is of."""
    parts = (f"{_FACTORS.get(factor, f'{decimal(factor)} * ')}{of}" for factor, of in terms)
    return " + ".join(parts).replace("+ -", "- ")
