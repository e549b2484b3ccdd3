"""Which rows lie in windows that a replay would decide."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.errors import ConfigError
from stream.replay.replay import windows_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stream.model.alarm import Alarm

__all__ = ["Spans"]

_REMEMBERED: Final = 100_000


class Spans:
    """The windows of an alarm, asked by time.

    Args:
        alarm: the alarm; its feed declares its history.

    Raises:
        ConfigError: it declares none.
    """

    def __init__(self, alarm: Alarm) -> None:
        self._calendar = alarm.calendar
        first = next(windows_of(alarm), None)
        self.any = first is not None
        """Whether there is a window to decide."""
        self._lowest, self._highest = 0, -1
        if first is not None and alarm.feed.history is not None:
            self._lowest = self._calendar.first_starting_at(first.start_ms)
            end_ms = alarm.feed.history[1]
            _, last = self._calendar.containing(np.array([end_ms - 1]))
            self._highest = int(last[0])
            while self._calendar.bounds(self._highest)[1] > end_ms:
                self._highest -= 1
        self._next_active = lru_cache(_REMEMBERED)(self._active_from)

    def containing(self, times: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the first and the last window to decide, shape (n,), that contain each time."""
        first, last = self._calendar.containing(times)
        return np.maximum(first, self._lowest), np.minimum(last, self._highest)

    def of(self, times: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which times lie in a window that runs, and in one that is to be decided.

        Args:
            times: shape (n,), milliseconds.
        """
        return self._some_run(*self._calendar.containing(times)), self._some_run(
            *self.containing(times)
        )

    def _some_run(self, first: NDArray[np.int64], last: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell where any window from the first to the last runs."""
        starts, place = np.unique(first, return_inverse=True)
        running = [self._next_active(index) for index in starts.tolist()]
        none = np.iinfo(np.int64).max
        found = np.array([none if index is None else index for index in running], np.int64)
        runs: NDArray[np.bool_] = found[place] <= last
        return runs

    def _active_from(self, index: int) -> int | None:
        try:
            return self._calendar.next_active(index)
        except ConfigError:  # none for ten years
            return None
