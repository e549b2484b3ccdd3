"""What a statistic adds up, in words close to SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from operators.conditions.weights import Weight

if TYPE_CHECKING:
    from stream.model.feeds import Feed
    from stream.model.queries import AggregateSpec

__all__ = ["heading"]


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
        case _:
            words = f"COUNT({spec.field or '*'})"
    return words + (" FILTER" if spec.where is not None else "")
