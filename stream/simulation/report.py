"""A simulation as JSON; the schema is in ``docs/how-to/evaluate-on-history.md``."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

from operators.registry import OFFERED
from stream.config.alarms.tolerances import tolerance_text
from stream.model.alarms import scope_of
from stream.simulation.results import AUDIENCE, CAVEAT, CONFIDENCE
from stream.simulation.shown import delay_ms, delay_steps
from stream.windows.instants import iso_utc

if TYPE_CHECKING:
    from stream.simulation.results import AlarmResults, Losses, Rate, Simulation, Tried

__all__ = ["FORMAT", "report"]

FORMAT: Final = "tocsin.simulation.2"
"""Name and version of the schema."""


def report(simulation: Simulation) -> dict[str, Any]:
    """Return everything a simulation found out, ready for ``json.dumps``."""
    alarms = simulation.alarms
    return {
        "format": FORMAT,
        "audience": AUDIENCE,
        "caveat": CAVEAT,
        "tocsin": version("tocsin"),
        "configuration": alarms.file,
        "unit": alarms.budget.unit.value,
        "epsilon_max": float(alarms.budget.epsilon_max),
        "runs": simulation.runs,
        "confidence": CONFIDENCE,
        "alarms": [_alarm(each, scope_of(each.alarm, alarms)) for each in simulation.results],
    }


def _alarm(results: AlarmResults, budget: str) -> dict[str, Any]:
    alarm, counted = results.alarm, results.counted
    first, last = (int(counted.starts_ms[at]) for at in (0, -counted.looks))
    return {
        "alarm": alarm.id,
        "sql": alarm.sql,
        "budget": budget,
        "windows": counted.windows,
        "incomplete_windows": counted.incomplete,
        "first_window": iso_utc(first),
        "last_window": iso_utc(last),
        "cells": len(alarm.domain),
        "looks": counted.looks,
        "cells_per_unit": results.reached,
        "settings": [_tried(each) for each in results.tried],
        "refused": list(results.refused),
    }


def _tried(one: Tried) -> dict[str, Any]:
    alarm, aim = one.alarm, one.alarm.aim
    first = aim.first_tolerances
    return {
        "mechanism": alarm.mechanism,
        "configured": one.configured,
        "baseline": alarm.mechanism not in OFFERED,
        "tolerance": tolerance_text(alarm, aim.tolerances),
        "first_tolerance": tolerance_text(alarm, first) if first else None,
        "max_fnr": float(aim.max_fnr),
        "max_fpr": None if aim.max_fpr is None else float(aim.max_fpr),
        "denied": one.denied,
        "keeps_max_fnr": one.keeps,
        "fnr": _rate(one.fnr),
        "fpr": _rate(one.fpr),
        "uncertain": _rate(one.uncertain),
        "severities": [
            {"severity": name, "fnr": _rate(missed), "fpr": _rate(false)}
            for name, (missed, false) in one.severities.items()
        ],
        "epsilon_worst": float(one.plan.epsilon),
        "epsilon_limit": one.plan.limit,
        "epsilon_cell": {
            **_losses(one.losses),
            "distribution": [
                {"epsilon": epsilon, "share": share}
                for epsilon, share in zip(one.losses.epsilons, one.losses.shares, strict=True)
            ],
        },
        "epsilon_highest_cells": _losses(one.highest),
        "charged_windows": one.charged,
        **_delays(one),
    }


def _delays(one: Tried) -> dict[str, Any]:
    """Return how long after its condition an early alarm fired; nothing of any other."""
    if one.alarm.aim.looks == 1:
        return {}
    steps = one.tally.delays.steps
    spans = zip(("median", "p95", "max", "mean"), delay_steps(one), strict=True)
    found = {name: delay_ms(each, one) for name, each in spans}
    return {
        "before": _rate(one.before),
        "delay_s": {name: None if ms is None else ms / 1000 for name, ms in found.items()},
        "delay_steps": [{"steps": each, "count": steps[each]} for each in sorted(steps)],
    }


def _rate(rate: Rate) -> dict[str, Any]:
    low, high = rate.interval
    return {"value": rate.value, "low": low, "high": high, "count": rate.count, "of": rate.of}


def _losses(losses: Losses) -> dict[str, float]:
    return {
        "mean": losses.mean,
        "median": losses.quantile(0.5),
        "p95": losses.quantile(0.95),
        "max": losses.most,
    }
