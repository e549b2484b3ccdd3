"""``tocsin inspect FILE``: what alarms count, exactly, for the custodian alone."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict, dataclass, replace
from itertools import chain
from statistics import median_low
from typing import TYPE_CHECKING, Any, Final

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
from stream.replay.exact import count_windows, spanning
from stream.replay.survey import survey
from stream.windows.instants import iso_utc

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from stream.model.alarm import AggregateSpec, Alarm
    from stream.model.alarms import Alarms
    from stream.replay.exact import CountedWindow
    from stream.replay.findings import FeedSurvey

__all__ = ["inspect"]

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
    as_json: bool,
) -> None:
    """Show what alarms count, exactly, and what is dropped.

    A line per group; with --json, every group of every window. Reads the files, opens no ledger,
    charges and releases nothing. What it prints is private data: for the custodian only.
    """
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
        _show(alarms, counted)
    say_read(read)


def _show(alarms: Alarms, counted: Iterable[CountedWindow]) -> None:
    """Print a table for every alarm, and what contribution bounds drop."""
    found: defaultdict[str, list[CountedWindow]] = defaultdict(list)
    for window in counted:
        found[window.key.query].append(window)
    most = max(_LINES // len(found), _LEAST)
    for name, windows in found.items():
        alarm = alarms.by_name[name]
        amounts = [f"{heading(spec, alarm.feed)}: median, largest" for spec in alarm.aggregates]
        lines = _rows(alarm, windows)
        right = ["windows", "true in", *amounts]
        Console().print(fitting(name, ["group"], right, lines[:most]))
        if (more := len(lines) - most) > 0:
            click.echo(f"{more} more groups: --json has all")
        echo_lines(_lost_lines(alarm, windows))


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


def _rows(alarm: Alarm, windows: Iterable[CountedWindow]) -> list[list[str]]:
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
    return [row for *_, row in sorted(rows)]


def _lost_lines(alarm: Alarm, windows: Iterable[CountedWindow]) -> Iterator[str]:
    """Yield a line for every contribution bound that drops events."""
    overlap = alarm.calendar.overlap
    often = f" (an event is in {overlap} windows)" if overlap > 1 else ""
    for name, cap in _CAPS.items():
        lost = [getattr(window.capped, name) for window in windows]
        if most := max(lost, default=0):
            yield f"dropped {cap}: {sum(lost)} events{often}, at most {most} in a window"


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
