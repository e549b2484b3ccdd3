"""Windows that are looked at in steps: each step counts from its window's start on.

Every step is numbered as a window of its own, so that whoever counts, awaits and decides windows
in order does so with steps. Size 60, step 20::

    time      0    20   40   60   80   100  120
    window 0  |-------------|
    step 0    [----)                            index 0, bounds [0, 20)
    step 1    [---------)                       index 1, bounds [20, 40)
    step 2    [--------------)                  index 2, bounds [40, 60)
    step 0                   [----)             index 3, bounds [60, 80)

The bounds of a step are what it adds: they tile time. An event is counted in the step whose bounds
it lies in and in all later ones of its window, and what all of them tell of it is charged to that
first one (``docs/research/proofs/early.md``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from stream.windows.calendars import FixedCalendar, MillisecondCalendar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from stream.windows.calendars import Calendar
    from stream.windows.schedule import Schedule

__all__ = ["CumulativeCalendar", "looks_of", "whole_windows"]


@dataclass(frozen=True, slots=True)
class CumulativeCalendar(MillisecondCalendar):
    """Steps of tumbling windows of a fixed length.

    Args:
        size_ms: length of a window.
        step_ms: length of a step; it divides ``size_ms``.
        schedule: when windows run, each as a whole; ``None`` for always.

    Raises:
        ValueError: sizes that int64 arithmetic could not carry, or a step that does not divide.
    """

    size_ms: int
    step_ms: int
    schedule: Schedule | None = None

    def __post_init__(self) -> None:
        """Refuse steps that leave a rest of the window."""
        if self.step_ms < 1 or self.size_ms % self.step_ms:
            raise ValueError("a step divides its window")
        _ = self.windows

    @property
    def steps(self) -> int:
        """How many steps a window has."""
        return self.size_ms // self.step_ms

    @property
    def windows(self) -> FixedCalendar:
        """The windows themselves."""
        return FixedCalendar(self.size_ms, self.size_ms, self.schedule)

    @property
    def _tile(self) -> tuple[int, int]:
        """A step, by what it adds."""
        return self.step_ms, self.step_ms

    def counted(self, index: int) -> tuple[int, int]:
        """Return ``[start_ms, end_ms)`` of all that step ``index`` counts."""
        return self.window(index)[0], self.bounds(index)[1]

    def window(self, index: int) -> tuple[int, int]:
        """Return ``[start_ms, end_ms)`` of the window of step ``index``."""
        return self.windows.bounds(index // self.steps)

    def active(self, index: int) -> bool:
        """Tell whether the step's window lies inside one active interval of the schedule."""
        return self.windows.active(index // self.steps)

    def next_active(self, index: int) -> int:
        """Return the smallest active index >= ``index`` (ConfigError: none in ten years)."""
        if self.active(index):
            return index
        return self.windows.next_active(index // self.steps + 1) * self.steps

    def first_opening_at(self, time_ms: int) -> int:
        """Return the first step of the first window that does not start before ``time_ms``."""
        return self.windows.first_starting_at(time_ms) * self.steps

    def containing(self, times: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the first and the last step that count each instant."""
        first, _ = MillisecondCalendar.containing(self, times)
        return first, first - first % self.steps + (self.steps - 1)

    def _described(self, size: str, step: str) -> str:
        return f"cumulative windows of {size}, looked at every {step}"


def whole_windows(calendar: Calendar) -> Calendar:
    """Return the windows that are looked at in steps; any other calendar is its own."""
    return calendar.windows if isinstance(calendar, CumulativeCalendar) else calendar


def looks_of(calendar: Calendar) -> int:
    """Return how often a cell of one window is looked at."""
    return calendar.steps if isinstance(calendar, CumulativeCalendar) else 1
