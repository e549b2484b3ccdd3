"""What a simulation says, once: as text for a terminal, and as one HTML page.

The page is ``templates/page.html``; it loads nothing from anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from msgspec import UNSET
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from stream.planning.pages import template_of
from stream.windows.instants import from_iso_utc
from stream.windows.shown import clock_text, delay_text, moment_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from stream.simulation.results import AlarmResults, Rate, Simulation

__all__ = ["html_page", "percent", "terminal"]

_LEGEND: Final = (
    "* as written; in brackets the 95 % interval. missed: of the groups and windows in which the"
    " condition held; denied: windows, for lack of budget; epsilon: what a group loses in a window."
)
_DELAYS: Final = (
    "From the end of the first step at which the condition held to the end of the one that fired."
)
_WIDEST: Final = 17  # of a setting's name: a longer one is folded


@dataclass(frozen=True, slots=True)
class _Figures:
    """A table: headings, rows with what they are about first, and what it says."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    legend: str


@dataclass(frozen=True, slots=True)
class _Section:
    """What is said of one alarm."""

    name: str
    facts: str
    sql: str
    tables: Sequence[_Figures]
    notes: Sequence[str]


def terminal(simulation: Simulation) -> list[RenderableType]:
    """Return what a terminal of 80 columns has room for."""
    shown: list[RenderableType] = [Text(simulation.audience, style="bold red")]
    for one in _sections(simulation):
        shown += ["", Text(f"{one.name}: {one.facts}", style="bold")]
        for figures in one.tables:
            table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
            for at, heading in enumerate(figures.headings):
                table.add_column(
                    heading,
                    justify="right" if at else "left",
                    overflow="fold",
                    max_width=None if at else _WIDEST,
                    no_wrap=bool(at),
                )
            for row in figures.rows:
                table.add_row(*row, style="bold" if row[0].endswith("*") else "")
            shown += [table, Text(figures.legend, style="dim")]
        shown += [Text(note) for note in one.notes]
    return [*shown, "", Text(simulation.caveat, style="yellow")]


def html_page(simulation: Simulation) -> str:
    """Return the whole page."""
    return template_of(__package__, "page.html").render(
        simulation=simulation,
        sections=list(_sections(simulation)),
    )


def percent(rate: Rate) -> str:
    """Return a rate and its interval in per cent; a dash where it could not happen."""
    if rate.value is None:
        return "-"
    return f"{_short(rate.value)} [{_short(rate.low)}-{_short(rate.high)}]"


def _sections(simulation: Simulation) -> Iterator[_Section]:
    for one in simulation.alarms:
        tables = [_rates(one)]
        if one.looks > 1:
            tables.append(_delays(one))
        notes = [*one.notes, *(f"not simulated: {each}" for each in one.refused)]
        yield _Section(one.alarm, _facts(one, simulation), one.sql.strip(), tables, notes)


def _facts(one: AlarmResults, simulation: Simulation) -> str:
    """Return in one line what was simulated."""
    first = clock_text(from_iso_utc(one.first_window), simulation.timezone)
    last = moment_text(from_iso_utc(one.last_window), simulation.timezone)
    steps = f" of {one.looks} steps" if one.looks > 1 else ""
    parts = [
        f"{one.windows} windows{steps} starting {first} to {last}",
        f"{one.cells} groups each",
        f"{simulation.runs} replay{'s' * (simulation.runs > 1)}",
    ]
    if one.incomplete_windows:
        parts.append(
            f"{one.incomplete_windows} windows left out: the log no longer holds all of them"
        )
    return ", ".join(parts)


def _rates(alarm: AlarmResults) -> _Figures:
    rows = []
    for one in alarm.settings:
        own = [
            f"{100 * one.denied:.3g}",
            f"{one.epsilon_cell.mean:.3g}",
            f"{one.epsilon_worst:.3g}",
        ]
        rows.append([one.setting, percent(one.fnr), percent(one.fpr), *own])
        rows += [
            [f"  {level.severity}", percent(level.fnr), percent(level.fpr), "", "", ""]
            for level in one.severities
        ]
    headings = ["setting", "missed %", "false alarms %", "denied\n%", "epsilon\nmean", "\nworst"]
    return _Figures(headings, rows, _LEGEND)


def _delays(alarm: AlarmResults) -> _Figures:
    rows = []
    for one in alarm.settings:
        if one.before is not UNSET and (law := one.delay_s) is not UNSET:
            spans = (law.median, law.p95, law.max, law.mean)
            texts = ["-" if each is None else delay_text(each * 1000) for each in spans]
            rows.append([one.setting, percent(one.before), *texts])
    headings = ["setting", "too early %\n(false)", "median\ndelay", "95 %", "longest", "mean"]
    return _Figures(headings, rows, _DELAYS)


def _short(rate: float) -> str:
    """Return a rate in per cent to two or three digits, at most two of them after the point."""
    return f"{round(100 * rate, 2):{'.2g' if rate < 0.1 else '.3g'}}"
