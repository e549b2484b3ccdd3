"""What a file of tests says, as plain data: what goes into an alarm, and what is to come out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from stream.config.cases.ranges import Range
    from stream.config.reading import Place
    from stream.model.alarm import Alarm
    from stream.model.alarms import Alarms

__all__ = ["Case", "Chance", "Figure", "Given", "Rows", "WindowCase"]


@dataclass(frozen=True, slots=True)
class Chance:
    """How likely a group is to fire.

    Args:
        cell: its number in the domain.
        group: its name.
        range: the probabilities that are taken.
        place: where that is said.
        severity: number of the level that fires, or a higher one; 0 of an alarm without.
    """

    cell: int
    group: str
    range: Range
    place: Place
    severity: int


@dataclass(frozen=True, slots=True)
class Figure:
    """What a group counts.

    Args:
        cell: its number in the domain.
        group: its name.
        statistics: one for each aggregate, in its units.
        place: where that is said.
    """

    cell: int
    group: str
    statistics: tuple[int, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Rows:
    """How many rows share a fate.

    Args:
        reason: its name.
        rows: how many.
        place: where that is said.
    """

    reason: str
    rows: int
    place: Place


@dataclass(frozen=True, slots=True)
class WindowCase:
    """What is expected of one window.

    Args:
        start_ms: where it starts.
        end_ms: where it ends.
        counts: of some groups.
        dropped_by_bounds: rows that caps leave out.
        fires: of some groups.
        place: where it stands in the file.
    """

    start_ms: int
    end_ms: int
    counts: tuple[Figure, ...]
    dropped_by_bounds: tuple[Rows, ...]
    fires: tuple[Chance, ...]
    place: Place


@dataclass(frozen=True, slots=True, eq=False)
class Given:
    """Exact aggregates of one window, and what they are to do.

    Args:
        statistics: shape (statistics, cells), int64.
        references: shape (cells,), int64; ``None`` where the configuration says them, or none.
        fires: of some groups.
    """

    statistics: NDArray[np.int64]
    references: NDArray[np.int64] | None
    fires: tuple[Chance, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """One test: either a window's aggregates are given, or events are.

    Args:
        name: what it shows.
        alarm: the alarm.
        alarms: the configuration, with this alarm alone.
        place: where it stands in the file.
        given: aggregates; ``None`` where events are given.
        lines: events as lines of JSON, by feed.
        paths: files of events, by feed.
        windows: what is expected of the events.
        dropped: how many of them are dropped; ``None`` where that is not looked at.
        sampled: draws of an estimate; ``None`` for exact laws.
    """

    name: str
    alarm: Alarm
    alarms: Alarms
    place: Place
    given: Given | None = None
    lines: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    paths: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)
    windows: tuple[WindowCase, ...] = ()
    dropped: tuple[Rows, ...] | None = None
    sampled: int | None = None
