"""What a simulation shows on a terminal."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rich.text import Text

from stream.config.alarms.tolerances import tolerance_text
from stream.simulation.advice import CAVEAT, advice_on
from stream.simulation.fitting import FittingTable, Row
from stream.simulation.results import AUDIENCE
from stream.windows.cumulative import CumulativeCalendar
from stream.windows.shown import clock_text, delay_text, moment_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rich.console import RenderableType

    from stream.simulation.results import AlarmResults, Measured, Rate, Simulation
    from stream.simulation.settings import Setting

__all__ = [
    "NOTHING_TRUE",
    "delay_ms",
    "delay_steps",
    "facts",
    "own_tolerance",
    "percent",
    "simulation_tables",
    "tolerance_cell",
    "untried_lines",
    "warnings_on",
]

NOTHING_TRUE = "No true alarm in this history"
SPENT = "ran until its run was spent, and what came after that was missed unasked"


def simulation_tables(simulation: Simulation) -> list[RenderableType]:
    """Return a warning, then per alarm its table, its advice and what was left out."""
    shown: list[RenderableType] = [Text(AUDIENCE, style="bold red")]
    for results in simulation.results:
        title = f"{results.query.id}: {facts(results, simulation)}"
        shown += ["", Text(title, style="bold underline")]
        if len(results.query.aim.tolerances) > 1:
            shown.append(Text(own_tolerance(results)))
        if results.measured:
            shown += [Text("How often it is wrong", style="bold"), _rates_table(results)]
            if results.counted.looks > 1:
                shown += [
                    Text("How long after its condition first held it rang", style="bold"),
                    _delays_table(results),
                ]
            shown += [Text("What a cell loses (epsilon)", style="bold")]
            shown += [_costs_table(results, simulation)]
        shown += _notes(results)
    return [*shown, "", Text(CAVEAT, style="yellow")]


def facts(results: AlarmResults, simulation: Simulation) -> str:
    """Return in one line what was simulated."""
    counted = results.counted
    first = clock_text(int(counted.starts_ms[0]), simulation.alarms.timezone)
    last = moment_text(int(counted.starts_ms[-counted.looks]), simulation.alarms.timezone)
    steps = f" of {counted.looks} steps" if counted.looks > 1 else ""
    parts = [
        f"{counted.windows} windows{steps} starting {first} to {last}",
        f"{len(results.query.domain)} cells each",
        f"{simulation.runs} run{'s' * (simulation.runs > 1)}",
    ]
    if counted.incomplete:
        parts.append(f"{counted.incomplete} windows left out: the log no longer holds all of them")
    return ", ".join(parts)


def tolerance_cell(setting: Setting, results: AlarmResults) -> str:
    """Return a tolerance as a table has room for: of several comparisons, the factor alone."""
    if len(setting.aim.tolerances) > 1:
        return f"x{float(setting.factor):g}"
    return tolerance_text(results.query, setting.aim.tolerances)


def own_tolerance(results: AlarmResults) -> str:
    """Return what factors of the tolerance are factors of."""
    return f"tolerance x1: {tolerance_text(results.query, results.query.aim.tolerances)}"


def untried_lines(results: AlarmResults) -> list[str]:
    """Return a sentence per mechanism and reason for what was not tried."""
    found: dict[tuple[str, str], list[str]] = {}
    for each in results.untried:
        written = found.setdefault((each.setting.mechanism, each.reason), [])
        written.append(tolerance_cell(each.setting, results))
    return [
        f"{mechanism} at tolerance {', '.join(dict.fromkeys(written))}: {reason}"
        for (mechanism, reason), written in found.items()
    ]


def percent(rate: Rate) -> str:
    """Return a rate and its interval in per cent; a dash where it could not happen."""
    if rate.value is None:
        return "-"
    low, high = rate.interval
    return f"{_short(rate.value)} [{_short(low)}-{_short(high)}]"


def _short(rate: float) -> str:
    """Return a rate in per cent to two or three digits, at most two of them after the point."""
    return f"{round(100 * rate, 2):{'.2g' if rate < 0.1 else '.3g'}}"


def broken(results: AlarmResults) -> list[str]:
    """Return the mechanisms that missed more than they promise, beyond doubt."""
    return _named(each for each in results.measured if each.broken)


def spent(results: AlarmResults) -> list[str]:
    """Return the mechanisms whose runs were spent, and missed what they did not answer."""
    return _named(each for each in results.measured if each.spent and not each.keeps)


def _named(found: Iterable[Measured]) -> list[str]:
    ours = (each.setting for each in found if not each.setting.baseline)
    return list(dict.fromkeys(setting.mechanism for setting in ours))


def _rates_table(results: AlarmResults) -> RenderableType:
    headings = ["true missed %", "false rang %", "uncertain\nrang %"]

    def cells(one: Measured) -> list[str]:
        rang = one.uncertain.value
        return [percent(one.fnr), percent(one.fpr), "-" if rang is None else f"{100 * rang:.3g}"]

    table = _table(results, headings, cells, "* as configured; in brackets the 95% interval")
    rows = []
    for one, row in zip(results.measured, table.rows, strict=True):
        rows.append(row)
        for level, rates in one.severities.items():
            named = [f"  {level}", *[""] * (len(row.names) - 1)]
            rows.append(Row(named, [*map(percent, rates), ""], row.style))
    return replace(table, rows=rows)


def _delays_table(results: AlarmResults) -> RenderableType:
    headings = ["rang be-\nfore % (false)", "median", "95%", "longest", "mean"]

    def cells(one: Measured) -> list[str]:
        spans = [delay_ms(steps, results) for steps in delay_steps(one)]
        return [percent(one.before), *("-" if each is None else delay_text(each) for each in spans)]

    caption = (
        "from the end of the first step at which the condition held in truth to the end of the one"
        " that rang, of true cells that rang no earlier; what was missed is above"
    )
    return _table(results, headings, cells, caption)


def delay_steps(one: Measured) -> tuple[float | None, ...]:
    """Return the median, 95%, longest and mean delay of a setting, in steps; ``None`` without."""
    delays = one.tally.delays
    return (*(delays.quantile(share) for share in (0.5, 0.95, 1)), delays.mean)


def delay_ms(steps: float | None, results: AlarmResults) -> float | None:
    """Return so many steps of an early alarm as time (ms)."""
    calendar = results.query.calendar
    if steps is None or not isinstance(calendar, CumulativeCalendar):
        return None
    return steps * calendar.step_ms


def _costs_table(results: AlarmResults, simulation: Simulation) -> RenderableType:
    by_person, several = simulation.by_person, len(results.query.domain) > 1
    reached = simulation.reached[results.query.id]
    caption = "worst: as planned; mean to max: as realised" + (
        f"; dearest {reached}: the sum over the dearest of a window, mean" * by_person
    )
    overlapping = any(one.charged > 1 for one in results.measured)
    if overlapping:
        caption += "; event: the worst of an event, by all windows or the one pane that it lies in"
    headings = ["worst", "mean", "median", "95%", "max"]
    headings += ["event"] * overlapping
    headings += [f"dear-\nest {reached}"] * by_person
    headings += [*["min-\nentr."] * several, "fits"]

    def cells(one: Measured) -> list[str]:
        losses = one.losses
        epsilons = [float(one.plan.epsilon), losses.mean]
        epsilons += [losses.quantile(0.5), losses.quantile(0.95), losses.most]
        epsilons += [one.charged * float(one.plan.epsilon)] * overlapping
        epsilons += [one.dearest.mean] * by_person
        told = [f"{each:.3g}" for each in epsilons]
        return [*told, *[f"{one.entropy:.3f}"] * several, "yes" if one.fits else "no"]

    return _table(results, headings, cells, caption)


def _table(
    results: AlarmResults,
    headings: Sequence[str],
    cells: Callable[[Measured], Sequence[str]],
    caption: str,
) -> FittingTable:
    """Return a table with a row for every setting that was tried."""
    several = len({one.setting.aim.max_fnr for one in results.measured}) > 1
    rows = []
    for one in results.measured:
        setting = one.setting
        end = ", end" * setting.at_end(results.query)
        names = [
            setting.mechanism + end + " *" * setting.configured,
            tolerance_cell(setting, results),
            *[f"{float(setting.aim.max_fnr):g}"] * several,
        ]
        rows.append(Row(names, cells(one), _style(one)))
    names = ["mechanism", "tole-\nrance", *["max_fnr"] * several]
    return FittingTable(names, headings, rows, caption)


def _style(one: Measured) -> str:
    if one.setting.baseline:
        return "dim"
    return "bold" if one.setting.configured else ""


def _notes(results: AlarmResults) -> list[RenderableType]:
    untried = [Text(f"not tried: {line}", style="dim") for line in untried_lines(results)]
    return [*warnings_on(results), Text(advice_on(results).text), *untried]


def warnings_on(results: AlarmResults) -> list[Text]:
    """Return what is wrong with what was found, or could not be."""
    found = []
    if results.measured and not results.measured[0].tally.true:
        found.append(Text(f"{NOTHING_TRUE}: how many would be missed cannot be measured"))
    found += [
        Text(f"{which} missed more than max_fnr allows: please report this", style="bold red")
        for which in broken(results)
    ]
    return found + [Text(f"{which} {SPENT}") for which in spent(results)]
