"""Rows that people contribute to a window, at random."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import strategies as st

from stream.counting.bounding import Bounds, Contributions
from stream.counting.projection import Rows
from stream.events.units import Roster, Units

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

CELLS = 3
RULES = st.builds(
    Bounds,
    per_user=st.booleans(),
    distinct=st.lists(st.booleans(), min_size=1, max_size=3).map(tuple),
    deduplicate=st.booleans(),
    predicates_per_window=st.integers(1, 3),
    events_per_cell=st.integers(1, 3),
    cells=st.just(CELLS),
)
RNG = st.integers(0, 2**32).map(np.random.default_rng)


def rows_of(size: int, **columns: Any) -> Rows:
    """Rows of one person at time 0 in cell 0, of weight 1, in log order, but for some columns."""
    zeros, ones = np.zeros(size, np.int64), np.ones((size, 1), np.int64)
    usual: dict[str, Any] = {
        "time_ms": zeros,
        "append_ms": zeros,
        "offset": np.arange(size),
        "cell": zeros,
        "weight": ones,
        "counts": ones > 0,
        "unit": Units(zeros, Roster(np.ones((1, 2), np.uint64))),
        "event_id": None,
    }
    return Rows(**{**usual, **columns})


def taken(rows: Rows) -> Contributions:
    """Return rows as a window of the only period takes them, in log order."""
    return Contributions(
        rows.offset,
        np.zeros(len(rows), np.int64),
        rows.unit,
        rows.cell,
        rows.weight[:, 0],
        rows.event_id,
    )


def random_rows(
    rng: np.random.Generator,
    size: int,
    rules: Bounds,
    *,
    start: int = 0,
    units: Callable[[NDArray[np.uint64]], Units] = Units.of,
) -> Contributions:
    """Rows of few people, who share words of their hashes, in few cells and periods."""
    statistics = len(rules.distinct)
    counts = rng.integers(0, 3, (size, statistics)) > 0
    counts[np.arange(size), rng.integers(0, statistics, size)] = True
    row, statistic = np.nonzero(counts)
    rows = Contributions(
        start + np.arange(size),
        rng.integers(0, 3, size) * 100 if rules.per_user else np.zeros(size, np.int64),
        units(rng.integers(0, 3, (size, 2)).astype(np.uint64)),
        rng.integers(0, CELLS, size),
        np.zeros(size, np.int64),
        rng.integers(0, 2, (size, 2)).astype(np.uint64) if rules.deduplicate else None,
    ).take(row)
    return replace(
        rows,
        place=statistic * CELLS + rows.place,
        weight=rng.integers(0, 2, (size, statistics))[row, statistic],
    )
