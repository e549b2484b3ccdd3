"""Made-up events for a filled template: ordinary days, and one window in which the alarm is due.

Nothing is random and nothing comes from data: people are numbered, and every window of one group
resembles the next. The one that fires holds so much more than the threshold that the alarm does
not fire with probability below one in ten million. The others hold so little, where that can be,
that hardly a sample in a thousand has a false alarm.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from accountant.errors import ConfigError
from operators.search import largest, smallest
from stream.decisions.schedule import windows_within
from stream.planning.templates.answers import Measured
from stream.windows.instants import iso_utc

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accountant.costs.charges import WindowKey
    from stream.planning.templates.answers import Answers
    from stream.planning.templates.filling import FilledTemplate

__all__ = ["MadeUp", "made_up"]

_MISSED: Final = 1e-7
_FALSE: Final = 1e-3
"""How many false alarms a sample is to expect at most, where that can be."""
_MOST_ORDINARY: Final = 4_000
_MOST_EVENTS: Final = 1_000_000
_MOST_WINDOWS: Final = 50_000
_SCATTER: Final = 2_654_435_761  # Knuth's multiplier: neighbours in number lie apart in time
_WORD: Final = 1 << 32


@dataclass(frozen=True, slots=True)
class MadeUp:
    """Events and where they fire.

    Args:
        lines: one JSON object each, in the order of their times.
        group: values of the fields that are watched; the alarm is due for it.
        since_ms: start of the window in which it is.
        figure: what is counted or added up there.
        ordinary: what is counted or added up elsewhere at most.
    """

    lines: tuple[str, ...]
    group: tuple[str, ...]
    since_ms: int
    figure: int
    ordinary: int


def made_up(filled: FilledTemplate) -> MadeUp:
    """Return events over the history of a filled template.

    Raises:
        ConfigError: they would be too many, or there are too many windows.
    """
    answers = filled.answers
    (alarm,) = filled.alarms.by_name.values()
    from_ms, until_ms = alarm.feed.history or (0, 0)
    windows = list(islice(windows_within(alarm, from_ms, until_ms), _MOST_WINDOWS + 1))
    if len(windows) > _MOST_WINDOWS:
        raise ConfigError(
            f"there are more than {_MOST_WINDOWS:,} windows from {answers.since} to {filled.until}",
            hint="write an earlier --until, or a longer --window",
        )
    windows = windows[:: alarm.calendar.overlap]
    due = len(windows) // 2
    figure = _certain(filled)
    if figure // _size(answers) > _MOST_EVENTS:
        raise ConfigError(
            f"the threshold {answers.threshold:,} is too large for made-up events",
            hint="write one for a threshold of some thousands; then raise it, and the tolerance, in"
            " the file, and ask `tocsin plan` again",
        )
    every, ordinary = _affordable(answers, len(windows))
    ordinary = min(ordinary, _quiet(filled, len(windows) * len(answers.groups)))
    found: list[tuple[int, dict[str, Any]]] = []
    for number, window in enumerate(windows):
        for at, group in enumerate(answers.groups):
            if number == due and at == 0:
                found += _cell(answers, group, window, figure, at)
            elif number % every == 0:
                found += _cell(answers, group, window, ordinary, at)
    found.sort(key=lambda each: each[0])
    lines = tuple(json.dumps(event, ensure_ascii=False) for _, event in found)
    return MadeUp(lines, answers.groups[0], windows[due].start_ms, figure, ordinary)


def _certain(filled: FilledTemplate) -> int:
    """Return a figure at which the alarm does not fire with probability below ``_MISSED``."""
    threshold, one = filled.answers.threshold, filled.answers.by_one
    further: int | None = smallest(
        lambda units: filled.fires_at(threshold + units * one) >= 1 - _MISSED, 0, 1 << 20, near=True
    )
    return threshold + (further or 1) * one


def _quiet(filled: FilledTemplate, cells: int) -> int:
    """Return the largest figure at which hardly one of so many cells fires; 1 where none is."""
    highest = filled.answers.threshold - 1
    return largest(lambda figure: filled.fires_at(figure) * cells <= _FALSE, 1, highest)


def _size(answers: Answers) -> int:
    """Return what one event adds to a figure: of an amount, a quarter of the largest."""
    return max(answers.clip // 4, 1) if answers.measured is Measured.AMOUNT else 1


def _affordable(answers: Answers, windows: int) -> tuple[int, int]:
    """Return which windows have ordinary events, and the figure there: the file stays small.

    Args:
        answers: among them the baseline.
        windows: how many there are.
    """
    cells = windows * len(answers.groups)
    every = -(-cells // _MOST_ORDINARY)
    events = max(_MOST_ORDINARY * every // cells, 1)
    return every, min(answers.baseline, events * _size(answers))


def _cell(
    answers: Answers, group: tuple[str, ...], window: WindowKey, figure: int, at: int
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the events of one window and group that come to a figure."""
    start_ms, end_ms = window.start_ms, window.end_ms
    size = _size(answers)
    events = -(-figure // size)
    for number in range(events):
        scattered = (number * _SCATTER % _WORD) * (end_ms - start_ms) >> 32
        time_ms = start_ms + scattered // 1_000 * 1_000
        event: dict[str, Any] = {answers.unit: _whose(answers, number, at, events)}
        for name, value in zip(answers.group_by, group, strict=True):
            event[name] = int(value) if name in answers.numbered_groups else value
        if answers.measured is Measured.AMOUNT:
            event[answers.amount] = min(size, figure - number * size)
        event[answers.time] = iso_utc(time_ms).replace(".000Z", "Z")
        yield time_ms, event


def _whose(answers: Answers, number: int, at: int, events: int) -> int | str:
    """Return the id of an event: nobody has more in a window than counts."""
    if not answers.people and answers.measured is not Measured.PEOPLE:
        return (
            1_000 * at + number % 3
            if answers.numbered
            else f"{answers.group_by[0]}-{at + 1}-{number % 3}"
        )
    each = 1 if answers.measured is Measured.PEOPLE else answers.max_events
    person = number % -(-events // each) + 1 + at * 100_000
    return person if answers.numbered else f"{answers.unit[0]}{person}"
