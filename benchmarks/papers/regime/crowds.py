"""Data sets made as large as the papers': the same events, many times over."""

from __future__ import annotations

import numpy as np

from benchmarks.papers.data import Events


def repeated(events: Events, times: int) -> Events:
    """Return every event so many times, each copy with people of its own.

    All counts, and their distances from thresholds that are counts, become multiples of ``times``:
    no cell is close to its threshold but those that are on it.
    """
    number = events.group.size
    return _copies(events, np.repeat(np.arange(number), times), np.tile(np.arange(times), number))


def resampled(events: Events, times: int, rng: np.random.Generator) -> Events:
    """Return so many times as many events, drawn with replacement, with people as in `repeated`.

    Counts are as rough as those of a city of that size: distances take all values.
    """
    number = events.group.size * times
    rows = rng.integers(0, events.group.size, number)
    return _copies(events, rows, rng.integers(0, times, number))


def spanned(events: Events, first: int, until: int) -> Events:
    """Return the events of the days ``[first, until)``, since 1970-01-01."""
    kept = np.flatnonzero((events.day >= first) & (events.day < until))
    return _copies(events, kept, np.zeros_like(kept))


def _copies(events: Events, rows: np.ndarray, copy: np.ndarray) -> Events:
    unit = events.unit[rows]
    copies = int(copy.max(initial=0)) + 1
    return Events(
        groups=events.groups,
        group=events.group[rows],
        day=events.day[rows],
        hour=events.hour[rows],
        unit=np.where(unit < 0, -1, unit * copies + copy),
        columns={name: column[rows] for name, column in events.columns.items()},
    )
