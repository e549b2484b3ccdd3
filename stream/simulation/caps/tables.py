"""What caps over a period do to recorded alarms, on a terminal and as JSON: custodian only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from accountant.units import from_loss_units
from stream.config.alarms.tolerances import tolerance_text
from stream.simulation.fitting import FittingTable, Row
from stream.simulation.tables import percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from stream.simulation.caps.trying import CapTrial, CapTrials, Judged
    from stream.simulation.results import Rate

__all__ = ["cap_results", "cap_trial_tables"]

_CAPTION: Final = (
    "* as configured; true and false by what is there without a cap, decided from what it lets in:"
    " max_fnr speaks of the latter alone; in brackets the 95% interval"
)


def cap_trial_tables(trials: Sequence[CapTrials]) -> list[RenderableType]:
    """Return, per alarm, what each cap makes of it, and what it drops by the hour.

    Args:
        trials: of all alarms that may have a cap.
    """
    shown: list[RenderableType] = []
    for one in trials:
        title = f"{one.choices.query.id}: windows_per_period, of {one.choices.windows} windows"
        shown += ["", Text(title, style="bold underline"), _rates(one)]
        hours = {hour for each in one.trials if each.left_out for hour in each.left_out.taken}
        if len(hours) > 1:
            shown += [Text("Events that a cap drops, %, by the local hour of a window's start")]
            shown.append(_hours(one, sorted(hours)))
    return shown


def _rates(one: CapTrials) -> RenderableType:
    rows = []
    for trial in one.trials:
        for judged in (trial.present, trial.bought):
            if judged is None or (judged is trial.bought and judged.aim == trial.present.aim):
                continue
            units = trial.choice.units if judged is trial.present else trial.choice.bought_units
            names = [_name(trial), tolerance_text(one.choices.query, judged.aim.tolerances)]
            cells = [f"{float(from_loss_units(units)):.3g}", _dropped(trial)]
            cells += map(percent, judged.rates)
            rows.append(Row(names, cells, "bold" if trial.choice.used else ""))
    headings = ["epsilon a\nperiod", "events\ndropped %", "true missed %", "false rang %"]
    return FittingTable(["cap", "tole-\nrance"], headings, rows, _CAPTION)


def _hours(one: CapTrials, hours: Sequence[int]) -> RenderableType:
    capped = [trial for trial in one.trials if trial.left_out is not None]
    rows = []
    for hour in hours:
        shares = [trial.left_out.share_at(hour) for trial in capped if trial.left_out is not None]
        cells = ["-" if share is None else f"{100 * share:.3g}" for share in shares]
        rows.append(Row([f"{hour:02d}"], cells, ""))
    return FittingTable(["hour"], [f"cap {trial.choice.cap}" for trial in capped], rows, "")


def _name(trial: CapTrial) -> str:
    cap = trial.choice.cap
    return ("none" if cap is None else str(cap)) + " *" * trial.choice.used


def _dropped(trial: CapTrial) -> str:
    share = None if trial.left_out is None else trial.left_out.share
    return "-" if share is None else f"{100 * share:.3g}"


def cap_results(trials: Sequence[CapTrials]) -> dict[str, list[dict[str, Any]]]:
    """Return the same by alarm, ready for ``json.dumps``.

    Args:
        trials: of all alarms that may have a cap.
    """
    return {one.choices.query.id: [_trial(one, trial) for trial in one.trials] for one in trials}


def _trial(one: CapTrials, trial: CapTrial) -> dict[str, Any]:
    choice, out = trial.choice, trial.left_out
    return {
        "windows_per_period": choice.cap,
        "windows": one.choices.windows,
        "configured": choice.used,
        "events": None if out is None else out.taken.total(),
        "events_dropped": None if out is None else out.dropped.total(),
        "by_hour": None
        if out is None
        else [
            {"hour": hour, "events": out.taken[hour], "events_dropped": out.dropped[hour]}
            for hour in sorted(out.taken)
        ],
        "present": _judged(one, trial.present, choice.units),
        "bought": None if trial.bought is None else _judged(one, trial.bought, choice.bought_units),
    }


def _judged(one: CapTrials, judged: Judged, units: int) -> dict[str, Any]:
    fnr, fpr = judged.rates
    return {
        "tolerance": tolerance_text(one.choices.query, judged.aim.tolerances),
        "epsilon_period": float(from_loss_units(units)),
        "fnr": _rate(fnr),
        "fpr": _rate(fpr),
    }


def _rate(rate: Rate) -> dict[str, Any]:
    return {"value": rate.value, "count": rate.count, "of": rate.of}
