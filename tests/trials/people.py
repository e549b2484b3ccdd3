"""Made-up people of two trials, from a seed: fifty rooms of an office, and a chain of shops."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["CLASSES", "ROOMS", "SHOPS", "office", "shops"]

ROOMS = tuple(f"r{room:02d}" for room in range(1, 51))
SHOPS = tuple(f"s{shop}" for shop in range(1, 13))
CLASSES = ("bread", "fruit", "milk", "soap", "tea")

_MONDAY_MS = 1_740_960_000_000  # 2025-03-03T00:00Z
_DAY_MS, _HOUR_MS, _QUARTER_MS = 86_400_000, 3_600_000, 900_000


def office(path: Path) -> list[tuple[int, tuple[str, ...]]]:
    """Write a week of badges: eight people of 900 in a room and hour, 40 in 32 of them.

    Returns:
        Start and room of the 32, in the order of time.
    """
    draw = np.random.default_rng(1)
    hours = [_MONDAY_MS + d * _DAY_MS + h * _HOUR_MS for d in range(5) for h in range(7, 22)]
    cells = list(product(hours, ROOMS))
    full = set(draw.choice(len(cells), 32, replace=False).tolist())
    rows = [
        (f"p{person}-{room}", room, start_ms + draw.integers(_HOUR_MS))
        for at, (start_ms, room) in enumerate(cells)
        for person in draw.choice(900, 40 if at in full else draw.integers(4, 9), replace=False)
    ]
    _write(path, dict(zip(("person", "room", "ts"), zip(*rows, strict=True), strict=True)), "ts")
    return [(cells[at][0], cells[at][1:]) for at in sorted(full)]


def shops(path: Path) -> list[tuple[int, tuple[str, ...]]]:
    """Write two weeks of purchases by 3,000 cards, one promotion of a quarter of an hour in each.

    Returns:
        Start, and shop and class, of the promotions, in the order of time.
    """
    draw = np.random.default_rng(1)
    days = _MONDAY_MS + np.array([day for day in range(14) if day % 7 < 6]) * _DAY_MS
    quarters = np.add.outer(days, 10 * _HOUR_MS + np.arange(24) * _QUARTER_MS).ravel()
    sold = draw.integers(2, 6, size=(quarters.size, len(SHOPS), len(CLASSES)))
    promoted = [_MONDAY_MS + (week * 7 + 2) * _DAY_MS + 14 * _HOUR_MS for week in range(2)]
    at, shop, kind = (np.repeat(index.ravel(), sold.ravel()) for index in np.indices(sold.shape))
    starts = np.concatenate([quarters[at], np.repeat(promoted, 80)])
    cards = [draw.choice(3_000, 80, replace=False) for _ in promoted]
    columns = {
        "customer": [
            f"c{card}" for card in (*draw.integers(3_000, size=at.size), *np.ravel(cards))
        ],
        "shop": np.array(SHOPS)[np.append(shop, [3] * 160)],
        "class": np.array(CLASSES)[np.append(kind, [4] * 160)],
        "units": np.append(draw.integers(1, 4, size=at.size), [3] * 160),
        "at": starts + draw.integers(_QUARTER_MS, size=starts.size),
    }
    _write(path, columns, "at")
    return [(start_ms, (SHOPS[3], CLASSES[4])) for start_ms in promoted]


def _write(path, columns, time):
    """Write columns in the order of time."""
    order = np.argsort(columns[time], kind="stable")
    arrays = {name: pa.array(np.asarray(column)[order]) for name, column in columns.items()}
    arrays[time] = arrays[time].cast(pa.timestamp("ms", tz="UTC"))
    pq.write_table(pa.table(arrays), path)
