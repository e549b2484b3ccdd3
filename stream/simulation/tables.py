"""What a simulation shows on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from stream.config.alarms.tolerances import tolerance_text
from stream.simulation.advice import CAVEAT, advice_on
from stream.simulation.fitting import FittingTable, Row
from stream.simulation.results import AUDIENCE
from stream.windows.shown import clock_text, moment_text

if TYPE_CHECKING:
    from rich.console import RenderableType

    from stream.simulation.results import AlarmResults, Measured, Rate, Simulation
    from stream.simulation.settings import Setting

__all__ = [
    "NOTHING_TRUE",
    "broken",
    "facts",
    "own_tolerance",
    "percent",
    "simulation_tables",
    "tolerance_cell",
    "untried_lines",
]

NOTHING_TRUE = "no true alarm in this history"


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
            shown += [Text("What a cell loses (epsilon)", style="bold")]
            shown += [_costs_table(results, simulation)]
        shown += _notes(results)
    return [*shown, "", Text(CAVEAT, style="yellow")]


def facts(results: AlarmResults, simulation: Simulation) -> str:
    """Return in one line what was simulated."""
    counted = results.counted
    first = clock_text(int(counted.starts_ms[0]), simulation.alarms.timezone)
    last = moment_text(int(counted.starts_ms[-1]), simulation.alarms.timezone)
    parts = [
        f"{counted.windows} windows starting {first} to {last}",
        f"{counted.cells} cells each",
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
    found = [each for each in results.measured if not each.keeps and not each.setting.baseline]
    return list(dict.fromkeys(each.setting.mechanism for each in found))


def _rates_table(results: AlarmResults) -> RenderableType:
    headings = _setting_headings(results), ["true missed %", "false rang %", "uncertain\nrang %"]
    rows = []
    for one in results.measured:
        rang = one.uncertain.value
        cells = [percent(one.fnr), percent(one.fpr), "-" if rang is None else f"{100 * rang:.3g}"]
        rows.append(Row(_setting(one, results), cells, _style(one)))
    return FittingTable(*headings, rows, "* as configured; in brackets the 95% interval")


def _costs_table(results: AlarmResults, simulation: Simulation) -> RenderableType:
    by_person, several = simulation.by_person, results.counted.cells > 1
    reached = simulation.reached[results.query.id]
    caption = "worst: as planned; mean to max: as realised" + (
        f"; dearest {reached}: the sum over the dearest of a window, mean" * by_person
    )
    headings = ["worst", "mean", "median", "95%", "max"]
    headings += [f"dear-\nest {reached}"] * by_person
    headings += [*["min-\nentr."] * several, "fits"]
    rows = []
    for one in results.measured:
        losses = one.losses
        epsilons = [float(one.plan.epsilon), losses.mean]
        epsilons += [losses.quantile(0.5), losses.quantile(0.95), losses.most]
        epsilons += [one.dearest.mean] * by_person
        cells = [f"{each:.3g}" for each in epsilons]
        cells += [*[f"{one.entropy:.3f}"] * several, "yes" if one.fits else "no"]
        rows.append(Row(_setting(one, results), cells, _style(one)))
    return FittingTable(_setting_headings(results), headings, rows, caption)


def _setting_headings(results: AlarmResults) -> list[str]:
    return ["mechanism", "tole-\nrance", *["max_fnr"] * _several_rates(results)]


def _setting(one: Measured, results: AlarmResults) -> list[str]:
    cells = [
        one.setting.mechanism + " *" * one.setting.configured,
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
    notes.append(Text(advice_on(results).text))
    notes += [Text(f"not tried: {line}", style="dim") for line in untried_lines(results)]
    return notes
