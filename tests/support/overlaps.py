"""Random regions and weights, and the heaviest row of them by brute force."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from accountant.regions.regions import Not, Region

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Every value that a condition of ``workload`` can tell from the others: whole ones and between.
GRID = [*(Fraction(half, 2) for half in range(-1, 20)), "text"]


def workload(seed: int, *, regions: int = 8) -> list[Region]:
    """Return random conjunctions of equalities, sets, ranges and negations over small numbers."""
    rng = random.Random(seed)
    conditions: list[Callable[[], object]] = [
        lambda: rng.randint(0, 4),
        lambda: [rng.randint(0, 4) for _ in range(rng.randint(0, 3) or 1)],
        lambda: (rng.randint(0, 4), rng.randint(5, 9)),
        lambda: (low := rng.randint(0, 4), low + rng.randint(0, 3)),
        lambda: Not(rng.randint(0, 4)),
    ]
    return [
        Region.of({f"x{at}": rng.choice(conditions)() for at in range(4) if rng.random() < 0.65})
        for _ in range(rng.randint(0, regions))
    ]


def weights_for(seed: int, count: int) -> list[object] | None:
    """Return no weights, small whole ones (some zero), fractions or floats."""
    rng = random.Random(seed)
    kinds: list[Callable[[], object]] = [
        lambda: rng.randint(0, 5),
        lambda: Fraction(rng.randint(1, 9), rng.randint(1, 9)),
        rng.random,
        lambda: rng.choice([0.1, 0.2, 0.3, 0.6]),
    ]
    kind = rng.randrange(5)
    return None if kind == 4 else [kinds[kind]() for _ in range(count)]


def rows_of(regions: Sequence[Region]) -> set[tuple[int, ...]]:
    """Return which regions hold a row, for every row that they can tell from another one."""
    everyone = (1 << len(regions)) - 1
    patterns = [
        {
            sum(1 << at for at, region in enumerate(regions) if value in region.values(name))
            for value in GRID
        }
        for name in sorted({name for region in regions for name in region.attributes})
    ]
    covers = {everyone}
    for each in patterns:
        covers = {cover & pattern for cover in covers for pattern in each}
    return {
        tuple(at for at, region in enumerate(regions) if cover >> at & 1 and not region.empty)
        for cover in covers
    }


def truth(regions: Sequence[Region], costs: Sequence[object] | None = None) -> Fraction:
    """Return the largest sum of costs over all rows; each region costs one if none are given."""
    exact = [Fraction(cost) for cost in costs or [1] * len(regions)]  # type: ignore[arg-type]
    return max(sum((exact[at] for at in row), Fraction(0)) for row in rows_of(regions))


def ranges(seed: int, count: int, attributes: int = 10, values: int = 1000) -> list[Region]:
    """Return conjunctions of random ranges over a random choice of attributes."""
    rng = np.random.default_rng(seed)
    regions = []
    for _ in range(count):
        chosen = rng.choice(attributes, rng.integers(1, attributes + 1), replace=False)
        conditions = {}
        for at in chosen.tolist():
            low, high = sorted(rng.choice(values + 1, 2, replace=False).tolist())
            conditions[f"x{at}"] = (low, high)
        regions.append(Region.of(conditions))
    return regions


def sets(seed: int, count: int, attributes: int = 10, values: int = 10) -> list[Region]:
    """Return conjunctions of random sets of values; colourings say little about them."""
    rng = np.random.default_rng(seed)
    return [
        Region.of(
            {
                f"x{at}": rng.choice(values, rng.integers(1, values + 1), replace=False).tolist()
                for at in rng.choice(attributes, rng.integers(1, attributes + 1), replace=False)
            }
        )
        for _ in range(count)
    ]
