"""Exact counts as a table and as JSON lines: for the custodian alone."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict, dataclass, replace
from itertools import chain
from statistics import median_low
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np

from operators.conditions.formula import atom_of
from stream.model.headings import heading
from stream.model.numbers import decimal
from stream.model.references import band_of
from stream.windows.instants import iso_utc
from stream.windows.shown import clock_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from stream.model.alarm import AggregateSpec, Alarm
    from stream.replay.exact import CountedWindow
    from stream.replay.findings import FeedSurvey

__all__ = [
    "Counted",
    "cells_of",
    "count_rows",
    "feed_json",
    "lost_lines",
    "summary_rows",
    "window_json",
]

Rows: TypeAlias = tuple[list[str], list[str], list[list[str]]]
"""Headings to the left, headings to the right, and the lines below them."""

_CAPS: Final = {
    "repeats": "as repeats",
    "beyond_groups": "beyond max_groups_per_window",
    "beyond_events": "beyond max_events_per_group",
    "beyond_windows": "beyond max_windows_per_period",
}


@dataclass(frozen=True, slots=True)
class Cell:
    """One group of one window, in units of its statistics.

    Args:
        group: the group's values by field.
        statistics: one each.
        thresholds: one for every test of the condition.
        reference: of a band; ``None`` for any other alarm.
        true: whether the condition holds; ``None`` for bands.
    """

    group: dict[str, str]
    statistics: tuple[int, ...]
    thresholds: tuple[int, ...]
    reference: int | None
    true: bool | None

    @property
    def name(self) -> str:
        """Its group as people read it."""
        return ", ".join(self.group.values()) or "(all)"


class Counted(NamedTuple):
    """A window of an alarm, and those of its cells that are shown."""

    alarm: Alarm
    window: CountedWindow
    cells: list[Cell]


def cells_of(alarm: Alarm, window: CountedWindow) -> Iterator[Cell]:
    """Yield the cells of a window that count something or hold; all others count 0."""
    true, thresholds, shown = None, [], window.statistics.any(axis=0)
    if window.references is None:
        # Of groups that a quantifier counts: which of them meet the inner HAVING.
        true = replace(alarm.condition, members=1, least=1).truth(window.statistics)
        shown = shown | true
        literals = alarm.condition.formula.literals
        thresholds = [alarm.condition.test(literal).thresholds for literal in literals]
    else:
        shown = shown | (window.references != 0)
    for cell in np.flatnonzero(shown).tolist():
        yield Cell(
            alarm.counted.group(cell),
            tuple(window.statistics[:, cell].tolist()),
            tuple(int(each[cell]) for each in thresholds),
            None if window.references is None else int(window.references[cell]),
            None if true is None else bool(true[cell]),
        )


def count_rows(alarm: Alarm, counted: Sequence[Counted], timezone: str) -> Rows:
    """Return what the windows of an alarm count, a line a cell."""
    banded = any(one.window.references is not None for one in counted)
    last = ["reference"] if banded else ["true where", "true"]
    rows = []
    for _, window, cells in counted:
        start = clock_text(window.key.start_ms, timezone)
        start += "" if window.complete else " (incomplete)"
        for cell in cells:
            ends = [_tests(alarm, cell), "yes" if cell.true else ""]
            if cell.reference is not None:
                ends = [decimal(cell.reference * band_of(alarm).unit)]
            amounts = map(_amount, cell.statistics, alarm.aggregates)
            rows.append([start, cell.name, *amounts, *ends])
            start = ""
    return ["window starts", "group"], [*_headings(alarm), *last], rows


def summary_rows(alarm: Alarm, counted: Sequence[Counted]) -> Rows:
    """Return what the groups of an alarm count, those first that are true in most windows."""
    groups: defaultdict[str, list[Cell]] = defaultdict(list)
    for cell in chain.from_iterable(one.cells for one in counted):
        groups[cell.name].append(cell)
    rows = []
    for group, cells in groups.items():
        by_statistic = zip(*(cell.statistics for cell in cells), strict=True)
        amounts = [
            f"{_amount(median_low(values), spec)}, {_amount(max(values), spec)}"
            for values, spec in zip(by_statistic, alarm.aggregates, strict=True)
        ]
        true = sum(bool(cell.true) for cell in cells)
        rows.append((-true, -len(cells), [group, str(len(cells)), str(true), *amounts]))
    amounts = [f"{name}: median, largest" for name in _headings(alarm)]
    return ["group"], ["windows", "true in", *amounts], [row for *_, row in sorted(rows)]


def lost_lines(counted: Sequence[Counted], timezone: str) -> Iterator[str]:
    """Yield a line for every contribution bound that drops events: where most, and how many."""
    for name, cap in _CAPS.items():
        events = [getattr(one.window.capped, name) for one in counted]
        if most := max(events, default=0):
            window = counted[events.index(most)].window
            people = getattr(window.capped, f"people_{name}", None)
            whose = "" if people is None else f" of {people} people"
            when = clock_text(window.key.start_ms, timezone)
            overlap = counted[0].alarm.calendar.overlap
            often = f" (an event is in {overlap} windows)" if overlap > 1 else ""
            total = f"{sum(events)} events{often}"
            yield f"dropped {cap}: {total}; most at {when}: {most} events{whose}"


def window_json(counted: Counted) -> Iterator[dict[str, Any]]:
    """Yield a window as JSON objects: its cells, then the window itself."""
    alarm, window, cells = counted
    place = {
        "alarm": alarm.id,
        "window_start": iso_utc(window.key.start_ms),
        "window_end": iso_utc(window.key.end_ms),
    }
    for cell in cells:
        yield {**place, **asdict(cell)}
    yield {**place, "complete": window.complete, "dropped_by_bounds": asdict(window.capped)}


def feed_json(found: FeedSurvey) -> dict[str, Any]:
    """Return what was read of a feed as one JSON object."""
    return {
        "feed": found.feed,
        "events": found.rows,
        "usable": found.usable,
        "dropped": {reason: asdict(diagnostic) for reason, diagnostic in found.dropped.items()},
        "passed_by": {reason: asdict(diagnostic) for reason, diagnostic in found.passed_by.items()},
    }


def _tests(alarm: Alarm, cell: Cell) -> str:
    """Return the tests of a condition, as numbers."""
    told = []
    for literal, threshold in zip(alarm.condition.formula.literals, cell.thresholds, strict=True):
        spec = alarm.aggregates[alarm.condition.atoms[atom_of(literal)].statistic]
        told.append(f"{alarm.condition.test(literal).comparison} {_amount(threshold, spec)}")
    return ", ".join(dict.fromkeys(told))


def _amount(value: int, spec: AggregateSpec) -> str:
    """Return units of a statistic in those of its field."""
    return decimal(value * spec.per_unit)


def _headings(alarm: Alarm) -> list[str]:
    return [heading(spec, alarm.feed) for spec in alarm.aggregates]
