"""``tocsin inspect FILE``: what alarms count, exactly, for the custodian alone."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict, dataclass, replace
from itertools import chain
from statistics import median_low
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import click
import numpy as np
from rich.console import Console

from stream.cli.console import fitting
from stream.cli.inputs import paths_by_feed
from stream.cli.options import ALARMS, CONFIGURATION, JSON_LINES, LIMIT, TIME, given_files, typed_ms
from stream.cli.shared import (
    chosen_alarms,
    echo_json,
    echo_lines,
    load_alarms,
    note,
)
from stream.cli.surveying import say_read
from stream.model.headings import group_name, heading
from stream.model.numbers import decimal
from stream.model.references import band_of
from stream.replay.exact import count_windows, spanning
from stream.replay.survey import survey
from stream.windows.instants import iso_utc
from stream.windows.shown import clock_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from stream.model.alarm import AggregateSpec, Alarm
    from stream.model.alarms import Alarms
    from stream.replay.exact import CountedWindow
    from stream.replay.findings import FeedSurvey

__all__ = ["inspect"]

_Rows: TypeAlias = tuple[list[str], list[str], list[list[str]]]
"""Headings to the left, headings to the right, and the lines below them."""

_CAPS: Final = {
    "repeats": "as repeats",
    "beyond_groups": "beyond max_groups_per_window",
    "beyond_events": "beyond max_events_per_group",
    "beyond_windows": "beyond max_windows_per_period",
}
_LINES = 30  # that are shown of all alarms together
_LEAST = 3
_PRIVATE = (
    "exact counts of private data, for the custodian only: no ledger is opened, nothing is "
    "charged, and nothing of this may be published"
)


@click.command()
@CONFIGURATION
@given_files("Count Parquet, CSV or JSON lines, or an export of a topic.", required=True)
@ALARMS
@click.option(
    "--since",
    metavar=TIME,
    help="First window start, by the clocks of `timezone`; default: the start of the history.",
)
@click.option(
    "--until", metavar=TIME, help="Only windows that end by then; default: the end of the history."
)
@LIMIT
@click.option("--summary", is_flag=True, help="One line per group.")
@JSON_LINES
def inspect(
    file: Path,
    replayed: tuple[str, ...],
    more: tuple[str, ...],
    names: tuple[str, ...],
    *,
    since: str | None,
    until: str | None,
    limit: int | None,
    summary: bool,
    as_json: bool,
) -> None:
    """Show what alarms count, exactly: every window, and what is dropped.

    Reads the files, opens no ledger, charges and releases nothing. What it prints and
    writes is private data: for the custodian only.
    """
    if as_json and summary:
        raise click.UsageError("--summary is for what is shown; --json has every cell")
    alarms = chosen_alarms(load_alarms(file), names)
    since_ms, until_ms = (
        typed_ms(text, alarms.timezone, option)
        for text, option in ((since, "--since"), (until, "--until"))
    )
    alarms = spanning(alarms, since_ms, until_ms)
    note(_PRIVATE)
    files = paths_by_feed(alarms, (*replayed, *more))
    read = survey(alarms, files)
    counted = count_windows(alarms, files, limit=limit)
    if as_json:
        windows = (_window_json(alarms.by_name[one.key.query], one) for one in counted)
        for record in chain(chain.from_iterable(windows), map(_feed_json, read)):
            echo_json(record)
    else:
        _show(alarms, counted, summary=summary)
    say_read(read)


def _show(alarms: Alarms, counted: Iterable[CountedWindow], *, summary: bool) -> None:
    """Print a table for every alarm, and what contribution bounds drop."""
    found: defaultdict[str, list[CountedWindow]] = defaultdict(list)
    for window in counted:
        found[window.key.query].append(window)
    most = max(_LINES // len(found), _LEAST)
    for name, windows in found.items():
        alarm, zone = alarms.by_name[name], alarms.timezone
        left, right, lines = (
            _summary_rows(alarm, windows) if summary else _count_rows(alarm, windows, zone)
        )
        title = name if summary else f"{name} (times: {zone})"
        Console().print(fitting(title, left, right, lines[:most]))
        if more := len(lines) - len(lines[:most]):
            click.echo(f"{more} more lines: --json has all, --summary and --since fewer")
        echo_lines(_lost_lines(alarm, windows, zone))


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


def _cells_of(alarm: Alarm, window: CountedWindow) -> Iterator[Cell]:
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


def _count_rows(alarm: Alarm, windows: Sequence[CountedWindow], timezone: str) -> _Rows:
    """Return what the windows of an alarm count, a line a cell."""
    banded = any(window.references is not None for window in windows)
    rows = []
    for window in windows:
        start = clock_text(window.key.start_ms, timezone)
        start += "" if window.complete else " (incomplete)"
        for cell in _cells_of(alarm, window):
            last = "yes" if cell.true else ""
            if cell.reference is not None:
                last = decimal(cell.reference * band_of(alarm).unit)
            amounts = map(_amount, cell.statistics, alarm.aggregates)
            rows.append([start, group_name(cell.group), *amounts, last])
            start = ""
    return (
        ["window starts", "group"],
        [*_headings(alarm), "reference" if banded else "true"],
        rows,
    )


def _summary_rows(alarm: Alarm, windows: Sequence[CountedWindow]) -> _Rows:
    """Return what the groups of an alarm count, those first that are true in most windows."""
    groups: defaultdict[str, list[Cell]] = defaultdict(list)
    for window in windows:
        for cell in _cells_of(alarm, window):
            groups[group_name(cell.group)].append(cell)
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


def _lost_lines(alarm: Alarm, windows: Sequence[CountedWindow], timezone: str) -> Iterator[str]:
    """Yield a line for every contribution bound that drops events: where most, and how many."""
    overlap = alarm.calendar.overlap
    often = f" (an event is in {overlap} windows)" if overlap > 1 else ""
    for name, cap in _CAPS.items():
        lost = [getattr(window.capped, name) for window in windows]
        if most := max(lost, default=0):
            worst = windows[lost.index(most)]
            people = getattr(worst.capped, f"people_{name}", None)
            whose = "" if people is None else f" of {people} people"
            when = clock_text(worst.key.start_ms, timezone)
            yield (
                f"dropped {cap}: {sum(lost)} events{often}; most at {when}: {most} events{whose}"
            )


def _window_json(alarm: Alarm, window: CountedWindow) -> Iterator[dict[str, Any]]:
    """Yield a window as JSON objects: its cells, then the window itself."""
    place = {
        "alarm": alarm.id,
        "window_start": iso_utc(window.key.start_ms),
        "window_end": iso_utc(window.key.end_ms),
    }
    for cell in _cells_of(alarm, window):
        yield {**place, **asdict(cell)}
    yield {**place, "complete": window.complete, "dropped_by_bounds": asdict(window.capped)}


def _feed_json(found: FeedSurvey) -> dict[str, Any]:
    """Return what was read of a feed as one JSON object."""
    return {
        "feed": found.feed,
        "events": found.rows,
        "usable": found.usable,
        "dropped": {reason: asdict(diagnostic) for reason, diagnostic in found.dropped.items()},
        "passed_by": {reason: asdict(diagnostic) for reason, diagnostic in found.passed_by.items()},
    }


def _amount(value: int, spec: AggregateSpec) -> str:
    """Return units of a statistic in those of its field."""
    return decimal(value * spec.per_unit)


def _headings(alarm: Alarm) -> list[str]:
    return [heading(spec, alarm.feed) for spec in alarm.aggregates]
