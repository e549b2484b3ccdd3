"""Made-up people of two trials, from a seed: fifty rooms of an office, and a chain of shops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["CLASSES", "ROOMS", "SHOPS", "Episode", "office", "shops"]

ROOMS: Final = tuple(f"r{room:02d}" for room in range(1, 51))
SHOPS: Final = tuple(f"s{shop}" for shop in range(1, 13))
CLASSES: Final = ("bread", "fruit", "milk", "soap", "tea")

_MONDAY_MS: Final = 1_740_960_000_000  # 2025-03-03T00:00Z
_DAY_MS, _HOUR_MS, _MINUTE_MS = 86_400_000, 3_600_000, 60_000


@dataclass(frozen=True, slots=True, order=True)
class Episode:
    """Where an alarm is due.

    Args:
        start_ms: when it begins.
        group: values of the fields that are watched.
    """

    start_ms: int
    group: tuple[str, ...]


def office(path: Path, seed: int = 1) -> list[Episode]:
    """Write a week of badges: eight people of 900 in a room and hour, 40 in 32 of them.

    Returns:
        The 32, in the order of time.
    """
    draw = np.random.default_rng(seed)
    hours = [
        _MONDAY_MS + day * _DAY_MS + hour * _HOUR_MS for day in range(5) for hour in range(7, 22)
    ]
    chosen = draw.choice(len(hours) * len(ROOMS), 32, replace=False)
    full = {divmod(int(at), len(ROOMS)) for at in chosen}
    rows: list[tuple[str, str, int]] = []
    for at, start_ms in enumerate(hours):
        for room, name in enumerate(ROOMS):
            people = 40 if (at, room) in full else int(draw.integers(4, 9))
            for person in draw.choice(900, people, replace=False):
                moment = start_ms + int(draw.integers(_HOUR_MS))
                rows.append((f"p{person}-{room}", name, moment))
    _write(path, rows, ("person", "room", "ts"))
    return sorted(Episode(hours[at], (ROOMS[room],)) for at, room in full)


def shops(path: Path, seed: int = 1) -> list[Episode]:
    """Write two weeks of purchases by 3,000 cards, one promotion of a quarter of an hour in each.

    Returns:
        The promotions, in the order of time.
    """
    draw, found = np.random.default_rng(seed), []
    cards: list[NDArray[np.int64]] = []
    columns: list[tuple[NDArray[np.int64], int, int, NDArray[np.int64]]] = []
    days = [day for day in range(14) if day % 7 < 6]
    for day in days:
        for shop in range(len(SHOPS)):
            for kind in range(len(CLASSES)):
                quarters = draw.integers(2, 6, size=48)  # purchases of each quarter of an hour
                starts = np.repeat(np.arange(48), quarters) * 15 * _MINUTE_MS
                times = starts + draw.integers(15 * _MINUTE_MS, size=starts.size)
                columns.append(
                    (
                        _MONDAY_MS + day * _DAY_MS + 8 * _HOUR_MS + times,
                        shop,
                        kind,
                        draw.integers(1, 4, size=starts.size),
                    )
                )
                cards.append(draw.integers(3_000, size=starts.size))
    for week in range(2):
        start_ms = _MONDAY_MS + (week * 7 + 2) * _DAY_MS + 14 * _HOUR_MS
        times = start_ms + draw.integers(15 * _MINUTE_MS, size=80)
        columns.append((times, 3, 4, np.full(80, 3)))
        cards.append(draw.choice(3_000, 80, replace=False))
        found.append(Episode(start_ms, (SHOPS[3], CLASSES[4])))
    rows = [
        (f"c{card}", SHOPS[shop], CLASSES[kind], int(units), int(time))
        for whose, (times, shop, kind, sold) in zip(cards, columns, strict=True)
        for card, time, units in zip(whose, times, sold, strict=True)
    ]
    _write(path, rows, ("customer", "shop", "class", "units", "at"))
    return found


def _write(path: Path, rows: Sequence[tuple[Any, ...]], names: tuple[str, ...]) -> None:
    columns = dict(
        zip(names, zip(*sorted(rows, key=lambda row: row[-1]), strict=True), strict=True)
    )
    times = pa.array(columns.pop(names[-1]), pa.timestamp("ms", tz="UTC"))
    pq.write_table(pa.table({**columns, names[-1]: times}), path)
