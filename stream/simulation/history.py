"""Recorded events counted once, into the exact statistics of every window.

The same readers and lanes as a replay (``stream.replay.replay``), so the windows and their counts
are those that ``tocsin run --replay`` would decide. No ledger is opened. What comes out is private.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.errors import ConfigError
from stream.decisions.judge import statistics_of
from stream.model.references import feeds_in_use
from stream.replay.lanes import Lanes, source_of
from stream.replay.replay import windows_of
from stream.replay.uncharged import uncharged_lanes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from accountant.costs.charges import WindowKey
    from accountant.records import Partial
    from stream.model.alarm import Alarm
    from stream.model.alarms import Alarms

__all__ = ["MOST_CELLS", "MOST_ENTRIES", "MOST_WINDOWS", "CountedAlarm", "count_history"]

MOST_WINDOWS: Final = 100_000
"""Windows of one alarm that are simulated without an explicit limit."""
MOST_ENTRIES: Final = 50_000_000
"""Statistics other than zero, over all windows and alarms, that are held in memory."""
MOST_CELLS: Final = 30_000_000
"""Groups of all windows and steps: what is drawn of each is held for one replay."""


@dataclass(frozen=True, eq=False)
class CountedAlarm:
    """The exact statistics of every window of one alarm, sparse; private.

    Args:
        alarm: the alarm's name.
        starts_ms: start of every window, shape (windows,), int64, ascending.
        statistics: S, statistics per cell.
        cells: groups.
        ends: shape (windows + 1,), int64: window w has the entries ``ends[w]:ends[w + 1]``.
        index: shape (entries,), int64: ``statistic * cells + cell``.
        value: shape (entries,), int64.
        incomplete: windows left out since the log no longer holds all of them; a run would deny
            them.
        looks: steps of every window, counted one by one in order; of windows that are decided at
            their end alone, 1. Starts, ends and entries are then those of steps.
    """

    alarm: str
    starts_ms: NDArray[np.int64]
    statistics: int
    cells: int
    ends: NDArray[np.int64]
    index: NDArray[np.int64]
    value: NDArray[np.int64]
    incomplete: int = 0
    looks: int = 1

    @cached_property
    def windows(self) -> int:
        """How many windows there are."""
        return (len(self.ends) - 1) // self.looks

    def dense(self, window: int) -> NDArray[np.int64]:
        """Return the statistics of one window, shape (statistics, cells), int64."""
        return np.asarray(self.stacked(window, window + 1)[0])

    def stacked(self, first: int, last: int) -> NDArray[np.int64]:
        """Return the statistics of some windows, shape (last - first, statistics, cells), int64."""
        ends = self.ends[first : last + 1]
        entries = slice(int(ends[0]), int(ends[-1]))
        flat = np.zeros((last - first, self.statistics * self.cells), dtype=np.int64)
        windows = np.repeat(np.arange(last - first), np.diff(ends))
        flat[windows, self.index[entries]] = self.value[entries]
        return flat.reshape(last - first, self.statistics, self.cells)

    def looked_at(self, first: int, last: int) -> NDArray[np.int64]:
        """Return every step of some windows, shape (last - first, looks, statistics, cells)."""
        steps = self.stacked(first * self.looks, last * self.looks)
        return steps.reshape(-1, self.looks, *steps.shape[1:])


def count_history(
    alarms: Alarms,
    files: Mapping[str, Sequence[Path]],
    *,
    limit: int | None = None,
    on_windows: Callable[[int, int], None] = lambda _done, _total: None,
) -> dict[str, CountedAlarm]:
    """Count the windows of every alarm, in one pass over the files.

    Args:
        alarms: the configuration; every feed with alarms declares its history.
        files: per feed name the files to read.
        limit: only the first so many windows of every alarm; ``None`` for all.
        on_windows: called with how many windows were counted, of how many; steps and panes
            are windows too.

    Returns:
        Per alarm its statistics, in the order of the file; then those of panes that alarms share,
        by the panes' names.

    Raises:
        ConfigError: a feed has no history or no file, or there are too many windows or counts.
        DataError: a file is not what its feed declares.
    """
    keys = {alarm.id: _windows(alarm, limit) for alarm in alarms.by_name.values()}
    shared = [alarms.panes[name] for name in _panes_of(alarms)]
    keys |= {one.id: _beneath(one, alarms, keys) for one in shared}
    every = [*alarms.by_name.values(), *shared]
    if sum(len(keys[alarm.id]) * len(alarm.counted) for alarm in every) > MOST_CELLS:
        raise _too_many(f"{MOST_CELLS} groups")
    total = sum(map(len, keys.values()))
    found: dict[WindowKey, _Window] = {}
    by_name, entries = {alarm.id: alarm for alarm in every}, 0
    for feed in feeds_in_use(alarms):
        queries = [alarm for alarm in every if alarm.feed.name == feed.name]
        source = source_of(feed, files, alarms)
        lanes = Lanes({feed.name: uncharged_lanes(source, queries, alarms.budget, keys)})
        for key in sorted(key for alarm in queries for key in keys[alarm.id]):
            found[key] = _Window.of(lanes.counted(key, [feed]), by_name[key.query])
            entries += len(found[key].index)
            on_windows(len(found), total)
            if entries > MOST_ENTRIES:
                raise _too_many(f"{MOST_ENTRIES} counts")
    return {alarm.id: _stacked(alarm, keys[alarm.id], found) for alarm in every}


@dataclass(frozen=True, slots=True, eq=False)
class _Window:
    """One window's statistics other than zero, partitions added up."""

    index: NDArray[np.int64]
    value: NDArray[np.int64]
    complete: bool

    @classmethod
    def of(cls, partials: Sequence[Partial], alarm: Alarm) -> _Window:
        total = statistics_of(partials, len(alarm.aggregates), len(alarm.counted)).reshape(-1)
        index = np.flatnonzero(total)
        return cls(index, total[index], all(one.complete for one in partials))


def _too_many(what: str) -> ConfigError:
    return ConfigError(
        f"the windows hold more than {what}, too many to simulate",
        hint="simulate fewer windows with --limit",
    )


def _windows(alarm: Alarm, limit: int | None) -> list[WindowKey]:
    most = (MOST_WINDOWS if limit is None else limit) * alarm.aim.looks
    keys = list(islice(windows_of(alarm), most + (limit is None)))
    if len(keys) < alarm.aim.looks:
        raise ConfigError(
            f"no window of alarm {alarm.id!r} is in the history of feed {alarm.feed.name!r}",
            hint="declare a longer history, or a shorter window",
        )
    if limit is None and len(keys) > most:
        raise ConfigError(
            f"alarm {alarm.id!r} has more than {MOST_WINDOWS} windows in its feed's history",
            hint=f"write --limit {MOST_WINDOWS} or less",
        )
    return keys


def _panes_of(alarms: Alarms) -> list[str]:
    """Return the names of the panes that alarms are decided from, each once."""
    return list(dict.fromkeys(alarm.panes for alarm in alarms.by_name.values() if alarm.panes))


def _beneath(
    panes: Alarm, alarms: Alarms, keys: Mapping[str, Sequence[WindowKey]]
) -> list[WindowKey]:
    """Return the panes from the first to the last window that is made of them."""
    over = [keys[alarm.id] for alarm in alarms.by_name.values() if alarm.panes == panes.id]
    since_ms = min(windows[0].start_ms for windows in over)
    until_ms = max(windows[-1].end_ms for windows in over)
    through = takewhile(lambda key: key.end_ms <= until_ms, windows_of(panes))
    return [key for key in through if key.start_ms >= since_ms]


def _stacked(
    alarm: Alarm, keys: Sequence[WindowKey], found: Mapping[WindowKey, _Window]
) -> CountedAlarm:
    looks = alarm.aim.looks
    whole = [
        key
        for at in range(0, len(keys) - looks + 1, looks)
        if all(found[key].complete for key in keys[at : at + looks])
        for key in keys[at : at + looks]
    ]
    windows = [found[key] for key in whole]
    if not windows:
        raise ConfigError(
            f"the files do not hold a whole window of alarm {alarm.id!r}",
            hint="use an export that starts before the history",
        )
    return CountedAlarm(
        alarm=alarm.id,
        starts_ms=np.array([key.start_ms for key in whole], dtype=np.int64),
        statistics=len(alarm.aggregates),
        cells=len(alarm.counted),
        ends=np.cumsum([0, *(len(window.index) for window in windows)], dtype=np.int64),
        index=np.concatenate([window.index for window in windows]),
        value=np.concatenate([window.value for window in windows]),
        incomplete=(len(keys) - len(whole)) // looks,
        looks=looks,
    )
