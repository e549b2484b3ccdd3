"""What a simulation says, once: as text for a terminal, and as one HTML page.

The page is ``templates/page.html``; it loads nothing from anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from operators.registry import OFFERED
from stream.config.alarms.tolerances import tolerance_text
from stream.planning.pages import template_of
from stream.simulation.results import AUDIENCE, CAVEAT
from stream.windows.cumulative import CumulativeCalendar
from stream.windows.shown import clock_text, delay_text, moment_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from stream.simulation.results import AlarmResults, Rate, Simulation, Tried

__all__ = ["NOTHING_TRUE", "delay_ms", "delay_steps", "html_page", "percent", "terminal"]

NOTHING_TRUE: Final = "No true alarm in this history: how many would be missed cannot be measured"
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
    shown: list[RenderableType] = [Text(AUDIENCE, style="bold red")]
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
    return [*shown, "", Text(CAVEAT, style="yellow")]


def html_page(simulation: Simulation) -> str:
    """Return the whole page."""
    return template_of(__package__, "page.html").render(
        file=simulation.alarms.file,
        audience=AUDIENCE[:1].upper() + AUDIENCE[1:],
        caveat=CAVEAT,
        runs=simulation.runs,
        sections=list(_sections(simulation)),
    )


def percent(rate: Rate) -> str:
    """Return a rate and its interval in per cent; a dash where it could not happen."""
    if rate.value is None:
        return "-"
    low, high = rate.interval
    return f"{_short(rate.value)} [{_short(low)}-{_short(high)}]"


def delay_steps(one: Tried) -> tuple[float | None, ...]:
    """Return the median, 95 %, longest and mean delay, in steps; ``None`` without."""
    delays = one.tally.delays
    return (*(delays.quantile(share) for share in (0.5, 0.95, 1)), delays.mean)


def delay_ms(steps: float | None, one: Tried) -> float | None:
    """Return so many steps of an early alarm as time (ms)."""
    calendar = one.alarm.calendar
    if steps is None or not isinstance(calendar, CumulativeCalendar):
        return None
    return steps * calendar.step_ms


def _sections(simulation: Simulation) -> Iterator[_Section]:
    for results in simulation.results:
        tables = [_rates(results)]
        if results.counted.looks > 1:
            tables.append(_delays(results))
        notes = [*_notes(results), *(f"not simulated: {each}" for each in results.refused)]
        alarm = results.alarm
        yield _Section(alarm.id, _facts(results, simulation), alarm.sql.strip(), tables, notes)


def _facts(results: AlarmResults, simulation: Simulation) -> str:
    """Return in one line what was simulated."""
    counted, zone = results.counted, simulation.alarms.timezone
    first = clock_text(int(counted.starts_ms[0]), zone)
    last = moment_text(int(counted.starts_ms[-counted.looks]), zone)
    steps = f" of {counted.looks} steps" if counted.looks > 1 else ""
    parts = [
        f"{counted.windows} windows{steps} starting {first} to {last}",
        f"{len(results.alarm.domain)} groups each",
        f"{simulation.runs} replay{'s' * (simulation.runs > 1)}",
    ]
    if counted.incomplete:
        parts.append(f"{counted.incomplete} windows left out: the log no longer holds all of them")
    return ", ".join(parts)


def _rates(results: AlarmResults) -> _Figures:
    rows = []
    for one in results.tried:
        own = [
            f"{100 * one.denied:.3g}",
            f"{one.losses.mean:.3g}",
            f"{float(one.plan.epsilon):.3g}",
        ]
        rows.append([_name(one, results), percent(one.fnr), percent(one.fpr), *own])
        for level, rates in one.severities.items():
            rows.append([f"  {level}", *map(percent, rates), "", "", ""])
    headings = ["setting", "missed %", "false alarms %", "denied\n%", "epsilon\nmean", "\nworst"]
    return _Figures(headings, rows, _LEGEND)


def _delays(results: AlarmResults) -> _Figures:
    rows = []
    for one in results.tried:
        spans = [delay_ms(steps, one) for steps in delay_steps(one)]
        texts = ["-" if each is None else delay_text(each) for each in spans]
        rows.append([_name(one, results), percent(one.before), *texts])
    headings = ["setting", "too early %\n(false)", "median\ndelay", "95 %", "longest", "mean"]
    return _Figures(headings, rows, _DELAYS)


def _name(one: Tried, results: AlarmResults) -> str:
    """Return what distinguishes a variant: of several comparisons the first tolerance alone."""
    aim, asked = one.alarm.aim, results.alarm.aim
    tolerance = tolerance_text(one.alarm, aim.tolerances)
    if len(aim.tolerances) > 1:
        pairs = zip(aim.tolerances, asked.tolerances, strict=True)
        factor = next((own / first for own, first in pairs if first), 1.0)
        tolerance = f"tolerance x{factor:.3g}"
    rate = f", {float(aim.max_fnr):g}" if aim.max_fnr != asked.max_fnr else ""
    return f"{one.alarm.mechanism}, {tolerance}{rate}" + " *" * one.configured


def _short(rate: float) -> str:
    """Return a rate in per cent to two or three digits, at most two of them after the point."""
    return f"{round(100 * rate, 2):{'.2g' if rate < 0.1 else '.3g'}}"


def _notes(results: AlarmResults) -> Iterator[str]:
    """Yield what is wrong with what was found, or could not be."""
    if not results.tried[0].tally.true:
        yield NOTHING_TRUE
    for one in results.tried:
        name = _name(one, results)
        if one.broken and one.alarm.mechanism in OFFERED:
            yield f"{name} missed more than max_fnr allows: please report this"
        elif one.tally.unasked_missed and not one.keeps:
            yield f"{name}: budget denied windows, or an SVT run was spent: they count as missed"
