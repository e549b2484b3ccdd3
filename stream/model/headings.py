"""What a statistic adds up, in words close to SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from operators.conditions.weights import Weight
from stream.model.numbers import decimal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stream.model.alarm import AggregateSpec
    from stream.model.feeds import Feed

__all__ = ["group_name", "heading"]


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
            return _added_up(spec, feed)
        case _:
            words = f"COUNT({spec.field or '*'})"
    return words + (" FILTER" if spec.where is not None else "")


def _added_up(spec: AggregateSpec, feed: Feed) -> str:
    """Return the terms of a linear statistic, with the coefficients that they were written with."""
    words = ""
    for term in spec.terms:
        coefficient = term.factor * spec.per_unit / term.alone.per_unit
        sign = ("-" if coefficient < 0 else "+") if words else ("-" if coefficient < 0 else "")
        size = "" if abs(coefficient) == 1 else f"{decimal(abs(coefficient))} * "
        space = " " if words else ""
        words += f"{space}{sign}{space}{size}{heading(term.alone, feed)}"
    return words
