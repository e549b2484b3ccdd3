"""What a simulation shows on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from stream.config.alarms.tolerances import tolerance_text
from stream.simulation.advice import CAVEAT, advice_on
from stream.simulation.fitting import FittingTable, Row
from stream.simulation.results import AUDIENCE
from stream.windows.cumulative import CumulativeCalendar
from stream.windows.shown import clock_text, delay_text, moment_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import RenderableType

    from stream.simulation.results import AlarmResults, Measured, Rate, Simulation
    from stream.simulation.settings import Setting

__all__ = [
    "DELAYS",
    "NOTHING_TRUE",
    "SPENT",
    "broken",
    "delay_ms",
    "delay_steps",
    "facts",
    "own_tolerance",
    "percent",
    "simulation_tables",
    "spent",
    "tolerance_cell",
    "untried_lines",
]

NOTHING_TRUE = "no true alarm in this history"
SPENT = "ran until its run was spent, and what came after that was missed unasked"
DELAYS = "How long after its condition first held it rang"


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
                shown += [Text(DELAYS, style="bold"), _delays_table(results)]
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
    headings = _setting_headings(results), ["true missed %", "false rang %", "uncertain\nrang %"]
    rows = []
    for one in results.measured:
        rang = one.uncertain.value
        cells = [percent(one.fnr), percent(one.fpr), "-" if rang is None else f"{100 * rang:.3g}"]
        names = _setting(one, results)
        rows.append(Row(names, cells, _style(one)))
        for level, rates in one.severities.items():
            named = [f"  {level}", *[""] * (len(names) - 1)]
            rows.append(Row(named, [*map(percent, rates), ""], _style(one)))
    return FittingTable(*headings, rows, "* as configured; in brackets the 95% interval")


def _delays_table(results: AlarmResults) -> RenderableType:
    headings = ["rang be-\nfore % (false)", "median", "95%", "longest", "mean"]
    rows = []
    for one in results.measured:
        spans = [delay_ms(steps, results) for steps in delay_steps(one)]
        cells = ["-" if span is None else delay_text(span) for span in spans]
        rows.append(Row(_setting(one, results), [percent(one.before), *cells], _style(one)))
    caption = (
        "from the end of the first step at which the condition held in truth to the end of the one"
        " that rang, of true cells that rang no earlier; what was missed is above"
    )
    return FittingTable(_setting_headings(results), headings, rows, caption)


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
    rows = []
    for one in results.measured:
        losses = one.losses
        epsilons = [float(one.plan.epsilon), losses.mean]
        epsilons += [losses.quantile(0.5), losses.quantile(0.95), losses.most]
        epsilons += [one.charged * float(one.plan.epsilon)] * overlapping
        epsilons += [one.dearest.mean] * by_person
        cells = [f"{each:.3g}" for each in epsilons]
        cells += [*[f"{one.entropy:.3f}"] * several, "yes" if one.fits else "no"]
        rows.append(Row(_setting(one, results), cells, _style(one)))
    return FittingTable(_setting_headings(results), headings, rows, caption)


def _setting_headings(results: AlarmResults) -> list[str]:
    return ["mechanism", "tole-\nrance", *["max_fnr"] * _several_rates(results)]


def _setting(one: Measured, results: AlarmResults) -> list[str]:
    end = ", end" * one.setting.at_end(results.query)
    cells = [
        one.setting.mechanism + end + " *" * one.setting.configured,
        tolerance_cell(one.setting, results),
    ]
    return cells + [f"{float(one.setting.aim.max_fnr):g}"] * _several_rates(results)


def _several_rates(results: AlarmResults) -> bool:
    return len({one.setting.aim.max_fnr for one in results.measured}) > 1


def _style(one: Measured) -> str:
    if one.setting.baseline:
        return "dim"
    return "bold" if one.setting.configured else ""


def _notes(results: AlarmResults) -> list[RenderableType]:
    notes: list[RenderableType] = []
    if results.measured and not results.measured[0].tally.true:
        notes.append(Text(f"{NOTHING_TRUE}: how many would be missed cannot be measured"))
    notes += [
        Text(f"{which} missed more than max_fnr allows: please report this", style="bold red")
        for which in broken(results)
    ]
    notes += [Text(f"{which} {SPENT}") for which in spent(results)]
    notes.append(Text(advice_on(results).text))
    notes += [Text(f"not tried: {line}", style="dim") for line in untried_lines(results)]
    return notes
