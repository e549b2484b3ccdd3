"""What a simulation says on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from stream.windows.instants import from_iso_utc
from stream.windows.shown import clock_text, delay_text, moment_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import RenderableType

    from stream.simulation.results import AlarmResults, Rate, Simulation

__all__ = ["percent", "terminal"]

_RATES: Final = ("alarm", "missed %", "false alarms %", "denied\n%", "epsilon\nmean", "\nworst")
_LEGEND: Final = (
    "In brackets the 95 % interval. missed: of the groups and windows in which the condition held;"
    " denied: windows, for lack of budget; epsilon: what a group loses in a window."
)
_DELAYS: Final = ("alarm", "too early %\n(false)", "median\ndelay", "95 %", "longest", "mean")
_LEGEND_OF_DELAYS: Final = (
    "From the end of the first step at which the condition held to the end of the one that fired."
)
_WIDEST: Final = 17  # of an alarm's name: a longer one is folded


def terminal(simulation: Simulation) -> Iterator[RenderableType]:
    """Yield what a terminal of 80 columns has room for."""
    yield Text(simulation.audience, style="bold red")
    for one in simulation.alarms:
        yield Text(f"{one.alarm}: {_facts(one, simulation)}", style="bold")
    yield _table(_RATES, (row for one in simulation.alarms for row in _rates(one)))
    yield Text(_LEGEND, style="dim")
    if delays := [row for one in simulation.alarms for row in _delays(one)]:
        yield _table(_DELAYS, delays)
        yield Text(_LEGEND_OF_DELAYS, style="dim")
    for one in simulation.alarms:
        yield from (Text(f"{one.alarm}: {note}") for note in one.notes)
    yield Text(simulation.caveat, style="yellow")


def percent(rate: Rate) -> str:
    """Return a rate and its interval in per cent; a dash where it could not happen."""
    if rate.value is None:
        return "-"
    return f"{_short(rate.value)} [{_short(rate.low)}-{_short(rate.high)}]"


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    name, *figures = headings
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column(name, overflow="fold", max_width=_WIDEST)
    for heading in figures:
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    return table


def _facts(one: AlarmResults, simulation: Simulation) -> str:
    """Return in one line what was simulated."""
    first = clock_text(from_iso_utc(one.first_window), simulation.timezone)
    last = moment_text(from_iso_utc(one.last_window), simulation.timezone)
    steps = f" of {one.looks} steps" if one.looks > 1 else ""
    parts = [
        one.mechanism,
        f"{one.windows} windows{steps} starting {first} to {last}",
        f"{one.cells} groups each",
        f"{simulation.runs} replay{'s' * (simulation.runs > 1)}",
    ]
    if one.incomplete_windows:
        parts.append(
            f"{one.incomplete_windows} windows left out: the log no longer holds all of them"
        )
    return ", ".join(parts)


def _rates(one: AlarmResults) -> Iterator[Sequence[str]]:
    losses = f"{one.epsilon_cell.mean:.3g}", f"{one.epsilon_worst:.3g}"
    yield one.alarm, percent(one.fnr), percent(one.fpr), f"{100 * one.denied:.3g}", *losses
    for level in one.severities:
        yield f"  {level.severity}", percent(level.fnr), percent(level.fpr)


def _delays(one: AlarmResults) -> Iterator[Sequence[str]]:
    if one.early is not None:
        law = one.early.delay_s
        spans = (law.median, law.p95, law.max, law.mean)
        texts = ("-" if each is None else delay_text(each * 1000) for each in spans)
        yield one.alarm, percent(one.early.before), *texts


def _short(rate: float) -> str:
    """Return a rate in per cent to two or three digits, at most two of them after the point."""
    return f"{round(100 * rate, 2):{'.2g' if rate < 0.1 else '.3g'}}"
