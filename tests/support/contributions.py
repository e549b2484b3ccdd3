"""Rows that people contribute to a window, at random."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stream.counting.bounding import Bounds, Contributions
from stream.events.units import Units

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

CELLS = 3


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
    counts = rng.integers(0, 3, (statistics, size)) > 0
    counts[rng.integers(0, statistics, size), np.arange(size)] = True
    return Contributions(
        start + np.arange(size),
        rng.integers(0, 3, size) * 100 if rules.per_user else np.zeros(size, np.int64),
        units(rng.integers(0, 3, (size, 2)).astype(np.uint64)),
        rng.integers(0, CELLS, size),
        rng.integers(0, 2, (statistics, size)),
        counts,
        rng.integers(0, 2, (size, 2)).astype(np.uint64) if rules.deduplicate else None,
    )
