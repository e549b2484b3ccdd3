"""A simulation as JSON; the schema is in ``docs/guide/simulate.md``."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

from stream.config.alarms.tolerances import tolerance_text
from stream.model.alarms import scope_of
from stream.model.losses import shown_entropy
from stream.simulation.advice import CAVEAT, advice_on
from stream.simulation.results import AUDIENCE, CONFIDENCE
from stream.simulation.tables import delay_ms, delay_steps
from stream.windows.instants import iso_utc

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stream.simulation.advice import Advice
    from stream.simulation.results import AlarmResults, Losses, Measured, Rate, Simulation
    from stream.simulation.settings import Setting

__all__ = ["FORMAT", "report"]

_NOTHING: Final[Mapping[str, Sequence[Mapping[str, Any]]]] = {}
FORMAT: Final = "tocsin.simulation.1"
"""Name and version of the schema."""


def report(
    simulation: Simulation, caps: Mapping[str, Sequence[Mapping[str, Any]]] = _NOTHING
) -> dict[str, Any]:
    """Return everything a simulation found out, ready for ``json.dumps``.

    Args:
        simulation: what was tried.
        caps: by alarm, what came of caps over its period, where that was asked for.
    """
    return {
        "format": FORMAT,
        "audience": AUDIENCE,
        "caveat": CAVEAT,
        "tocsin": version("tocsin"),
        "configuration": simulation.alarms.file,
        "unit": simulation.alarms.budget.unit.value,
        "epsilon_max": float(simulation.alarms.budget.epsilon_max),
        "runs": simulation.runs,
        "confidence": CONFIDENCE,
        "alarms": [
            _alarm(each, simulation) | _caps(caps.get(each.query.id)) for each in simulation.results
        ],
    }


def _caps(found: Sequence[Mapping[str, Any]] | None) -> dict[str, Any]:
    return {} if found is None else {"caps": found}


def _alarm(results: AlarmResults, simulation: Simulation) -> dict[str, Any]:
    query, counted = results.query, results.counted
    advice = advice_on(results)
    first, last = (int(counted.starts_ms[at]) for at in (0, -counted.looks))
    return {
        "alarm": query.id,
        "sql": query.sql,
        "budget": scope_of(query, simulation.alarms),
        "windows": counted.windows,
        "incomplete_windows": counted.incomplete,
        "first_window": iso_utc(first),
        "last_window": iso_utc(last),
        "cells": len(query.domain),
        "looks": counted.looks,
        "cells_per_unit": simulation.reached[query.id],
        "settings": [_measured(each, results, advice) for each in results.measured],
        "untried": [
            {**_setting(each.setting, results), "reason": each.reason} for each in results.untried
        ],
        "advice": advice.text,
    }


def _setting(setting: Setting, results: AlarmResults) -> dict[str, Any]:
    aim = setting.aim
    return {
        "mechanism": setting.mechanism,
        "configured": setting.configured,
        "baseline": setting.baseline,
        "tolerance_factor": float(setting.factor),
        "tolerance": tolerance_text(results.query, aim.tolerances),
        "first_tolerance": tolerance_text(results.query, aim.first_tolerances)
        if aim.first_tolerances
        else None,
        "max_fnr": float(aim.max_fnr),
        "max_fpr": None if aim.max_fpr is None else float(aim.max_fpr),
    }


def _measured(one: Measured, results: AlarmResults, advice: Advice) -> dict[str, Any]:
    return {
        **_setting(one.setting, results),
        "recommended": one is advice.best,
        "fits": one.fits,
        "keeps_max_fnr": one.keeps,
        "fnr": _rate(one.fnr),
        "fpr": _rate(one.fpr),
        "uncertain": _rate(one.uncertain),
        **_severities(one),
        "epsilon_worst": float(one.plan.epsilon),
        "epsilon_limit": one.plan.limit,
        "epsilon_cell": {
            **_losses(one.losses),
            "distribution": [
                {"epsilon": epsilon, "share": share}
                for epsilon, share in zip(one.losses.epsilons, one.losses.shares, strict=True)
            ],
        },
        "epsilon_dearest_cells": _losses(one.dearest),
        "min_entropy_normalised": None
        if len(results.query.domain) == 1
        else shown_entropy(one.entropy),
        "charged_windows": one.charged,
        **_delays(one, results),
    }


def _severities(one: Measured) -> dict[str, Any]:
    """Return the rates of every severity level; nothing of an alarm without levels."""
    found = [
        {"severity": name, "fnr": _rate(missed), "fpr": _rate(false)}
        for name, (missed, false) in one.severities.items()
    ]
    return {"severities": found} if found else {}


def _delays(one: Measured, results: AlarmResults) -> dict[str, Any]:
    """Return how long after its condition an early alarm rang; nothing of any other."""
    if results.counted.looks == 1:
        return {}
    steps = one.tally.delays.steps
    names = ("median", "p95", "max", "mean")
    spans = (delay_ms(each, results) for each in delay_steps(one))
    return {
        "every_step": not one.setting.at_end(results.query),
        "before": _rate(one.before),
        "delay_s": {
            name: None if span is None else span / 1000
            for name, span in zip(names, spans, strict=True)
        },
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
