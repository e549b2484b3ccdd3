"""Statistics of cells (a group in a day, or in an hour) as the papers' queries count them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from benchmarks.papers.data import Events


@dataclass(frozen=True, slots=True)
class Aggregate:
    """What is counted of a cell's events.

    Args:
        kind: COUNT, COUNT(DISTINCT unit) or SUM of a column.
        column: of a sum.
        per_one: granules in one unit of the column.
        clip: upper clip of a sum in granules; the lower one is 0.
        where: filter of the events; ``None`` counts all.
    """

    kind: Literal["count", "distinct", "sum"] = "count"
    column: str = ""
    per_one: int = 1
    clip: int = 1
    where: Callable[[Events], NDArray[np.bool_]] | None = None

    @property
    def sensitivity(self) -> int:
        """How far one event moves the statistic."""
        return self.clip if self.kind == "sum" else 1


@dataclass(frozen=True, slots=True)
class Span:
    """Days ``[first, until)`` and, where cells are hours, hours ``[opens, closes)`` of each.

    Args:
        first: day, since 1970-01-01.
        until: the day after the last.
        hours: hours of the day that make a row each; ``None`` where a day is one row.
    """

    first: int
    until: int
    hours: tuple[int, int] | None = None

    @property
    def rows(self) -> int:
        """Number of windows."""
        opens, closes = self.hours or (0, 1)
        return (self.until - self.first) * (closes - opens)


def tally(events: Events, aggregate: Aggregate, span: Span) -> NDArray[np.int64]:
    """Return the exact statistics of all cells of a span.

    Args:
        events: the data set.
        aggregate: what is counted.
        span: the windows.

    Returns:
        Shape (windows, groups), int64.
    """
    kept = (events.day >= span.first) & (events.day < span.until)
    row = events.day - span.first
    if span.hours is not None:
        opens, closes = span.hours
        kept &= (events.hour >= opens) & (events.hour < closes)
        row = row * (closes - opens) + events.hour - opens
    if aggregate.where is not None:
        kept &= aggregate.where(events)
    if aggregate.kind == "distinct":
        kept &= events.unit >= 0
    cell = (row * events.groups + events.group)[kept]
    cells = span.rows * events.groups
    counted = np.zeros(cells, dtype=np.int64)
    if aggregate.kind == "distinct":
        pairs = np.unique(np.stack([cell, events.unit[kept]]), axis=1)
        np.add.at(counted, pairs[0], 1)
    elif aggregate.kind == "sum":
        np.add.at(counted, cell, _granules(events.columns[aggregate.column][kept], aggregate))
    else:
        np.add.at(counted, cell, 1)
    return counted.reshape(span.rows, events.groups)


def busiest(counted: NDArray[np.int64], groups: int) -> NDArray[np.int64]:
    """Return the groups with the largest totals, the largest first; shape (groups,)."""
    return np.asarray(np.argsort(-counted.sum(axis=0), kind="stable")[:groups], dtype=np.int64)


def _granules(values: NDArray[Any], aggregate: Aggregate) -> NDArray[np.int64]:
    granules = np.rint(np.asarray(values, dtype=np.float64) * aggregate.per_one)
    clipped = np.clip(np.nan_to_num(granules), 0, aggregate.clip)
    return np.asarray(clipped, dtype=np.int64)
