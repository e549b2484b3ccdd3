"""What an alarm does of counted windows: how likely each rings, and how late.

By the law of its mechanism, at the exact counts; runs, whose windows depend on each other, are
drawn. Private: for benchmarks on data that may be looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from operators.noise.source import NoiseSource
from stream.decisions.mechanisms import early_of, operator_of, run_of
from stream.simulation.draws.held import Holding
from stream.simulation.draws.runs import RunDraws

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stream.model.queries import Query
    from stream.windows.calendars import Calendar

__all__ = ["Counted", "Rings", "chances", "delay", "drawn", "early", "last_looks"]

_MINUTE_MS: Final = 60_000


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """Windows of one alarm, in order: shape (windows, ...) each.

    Args:
        starts_ms: of what each counts.
        ends_ms: likewise.
        counts: (windows, cells), int64.
    """

    starts_ms: NDArray[np.int64]
    ends_ms: NDArray[np.int64]
    counts: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Rings:
    """What rings.

    Args:
        chances: how likely each cell rings, shape (windows, cells).
        at_ms: when it does, on average, likewise: at the end of its window, or of a step.
    """

    chances: NDArray[np.float64]
    at_ms: NDArray[np.float64]

    @classmethod
    def at_ends(cls, chances: NDArray[np.float64], counted: Counted) -> Rings:
        """Return the rings of windows that are decided when they are over.

        Args:
            chances: shape (windows, cells).
            counted: the windows.
        """
        ends = np.repeat(counted.ends_ms[:, None], chances.shape[1], axis=1)
        return cls(chances, ends.astype(np.float64))


def chances(query: Query, counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return how likely each cell of each window rings, shape (windows, cells), by its law.

    Args:
        query: decides every window by itself, or from panes.
        counts: shape (windows, cells), int64.
    """
    operator = operator_of(query)
    found = np.zeros(counts.shape)
    for cell in range(counts.shape[1]):
        values, back = np.unique(counts[:, cell], return_inverse=True)
        law = operator.chances(cell, values[None])
        if law is None:
            raise RuntimeError(f"{query.mechanism} has no exact law")
        found[:, cell] = law[back]
    return found


def drawn(
    query: Query, seen: Counted, periods: Calendar, draws: int
) -> tuple[NDArray[np.float64], float]:
    """Return the share of draws in which each cell rings, and that of windows that are decided.

    Args:
        query: has runs.
        seen: its windows.
        periods: a run for each.
        draws: of each.
    """
    operator, noise = run_of(query), NoiseSource()
    if operator is None:
        raise ValueError("only runs are drawn")
    found, answered = np.zeros(seen.counts.shape), 0
    period_of, _ = periods.containing(seen.starts_ms)
    for period in np.unique(period_of):
        windows = np.flatnonzero(period_of == period)
        for _ in range(draws):
            drawn = Holding.of(None, len(windows), seen.counts.shape[1])
            runs = RunDraws(operator, noise, drawn)
            for number, at in enumerate(windows):
                if number == 0 or runs.open() is not None:
                    runs.ask(number, seen.counts[at][None])
            fired = drawn.fired
            found[windows] += fired
            before = np.cumsum(fired.sum(axis=1)) - fired.sum(axis=1)
            answered += int((before < query.aim.alarms).sum())
    return found / draws, answered / (draws * len(period_of))


def early(query: Query, seen: Counted) -> Rings:
    """Return how likely each cell of each whole window rings, and at what time on average.

    Args:
        query: looks at windows in steps.
        seen: every step.
    """
    operator = early_of(query)
    if operator is None:
        raise ValueError("only windows that are looked at in steps are early")
    looks, cells = query.aim.looks, seen.counts.shape[1]
    stacked = seen.counts.reshape(-1, looks, cells)
    ends = seen.ends_ms.reshape(-1, looks)
    rings = np.zeros((len(stacked), cells))
    at_ms = np.repeat(ends[:, -1:], cells, axis=1).astype(np.float64)
    for cell in range(cells):
        rows, back = np.unique(stacked[:, :, cell], axis=0, return_inverse=True)
        firsts = np.stack([operator.first_rings(cell, row[None]) for row in rows])[back.ravel()]
        rings[:, cell] = firsts.sum(axis=1)
        sooner = (firsts * (ends - ends[:, -1:])).sum(axis=1) / np.maximum(rings[:, cell], 1e-300)
        at_ms[:, cell] += np.where(rings[:, cell] > 0, sooner, 0.0)
    return Rings(rings, at_ms)


def last_looks(query: Query, counted: Counted) -> Counted:
    """Return whole windows instead of their steps.

    Args:
        query: looks at windows in steps.
        counted: every step.
    """
    looks = query.aim.looks
    return Counted(
        counted.starts_ms[looks - 1 :: looks],
        counted.ends_ms[looks - 1 :: looks],
        counted.counts[looks - 1 :: looks],
    )


def delay(
    query: Query, whole: Counted, rings: Rings, rows: Sequence[NDArray[np.int64]], *, distinct: bool
) -> float:
    """Return the mean delay of due cells that ring, in minutes; NaN where none is due.

    A cell of windows that slide is looked at where the window before it was not due.

    Args:
        query: the alarm.
        whole: its windows, as they count without a cap over the period.
        rings: how likely each rings, and when.
        rows: times (ms), numbers of cells and of people of the events.
        distinct: whether people are counted.
    """
    times, cells, people = rows
    size_ms = query.calendar.longest_ms
    slides = query.calendar.overlap > 1 and query.aim.looks == 1
    weights = late = 0.0
    (name,) = query.condition.formula.atoms
    thresholds = query.condition.atoms[name].thresholds
    due = whole.counts >= thresholds
    for window, cell in np.argwhere(due).tolist():
        if slides and window and due[window - 1, cell]:
            continue
        here = cells == cell
        start, end = whole.starts_ms[window], whole.ends_ms[window]
        inside = here & (times >= start) & (times < end)
        need = int(thresholds[cell])
        if slides:
            passed = _slid_past(times[here & (times < end)], need, size_ms, end)
        else:
            passed = _grown_past(times[inside], people[inside], need, distinct=distinct)
        late += rings.chances[window, cell] * (rings.at_ms[window, cell] - passed)
        weights += rings.chances[window, cell]
    return late / weights / _MINUTE_MS if weights else float("nan")


def _grown_past(
    times: NDArray[np.int64], people: NDArray[np.int64], need: int, *, distinct: bool
) -> int:
    """Return when a count that only grows reaches ``need``."""
    order = np.argsort(times, kind="stable")
    if distinct:
        _, first = np.unique(people[order], return_index=True)
        order = order[np.sort(first)]
    return int(times[order[min(need, len(order)) - 1]])


def _slid_past(times: NDArray[np.int64], need: int, size_ms: int, end_ms: int) -> int:
    """Return the last instant by which the trailing count came to reach ``need``, by its end."""
    times = np.sort(times)
    trailing = np.arange(1, len(times) + 1) - np.searchsorted(times, times - size_ms, "right")
    reached = trailing >= need
    starts = np.flatnonzero(reached & ~np.append([False], reached[:-1]))
    return int(times[starts[-1]]) if len(starts) else int(end_ms)
