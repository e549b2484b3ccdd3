"""What an alarm's decisions depend on, as canonical data, and its fingerprint.

Two configurations with the same fingerprint decide every window alike; anything else (delays,
metrics ports, the ledger's place, epsilon_max) may change under a running ledger. Long public
lists enter by digest. Secrets never enter.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from operators.conditions.widths import Relative
from operators.registry import mechanism_of
from stream.windows.calendars import LocalCalendar
from stream.windows.cumulative import CumulativeCalendar

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from operators.conditions.condition import Aim, Condition
    from operators.conditions.widths import HalfWidth
    from stream.model.alarm import AggregateSpec, Alarm, ReferenceFeed
    from stream.model.alarms import Budget
    from stream.model.feeds import Domain, Feed, Field
    from stream.windows.calendars import Calendar

__all__ = ["definition", "definition_json", "fingerprint"]

SCHEMA_VERSION = 3
"""Raised whenever the same words would mean other decisions."""


def definition(alarm: Alarm, budget: Budget) -> dict[str, Any]:
    """Return everything that changes the decisions of an alarm.

    A share changes which windows of *other* alarms are granted, and a release of counts no ring at
    all. They count, so that workers agree on them and the custodian accepts them; alarms without
    keep the fingerprints they had.

    Args:
        alarm: the alarm; its fingerprint is not read.
        budget: the wall it lives under; unit, caps, periods and the kind of promise
            count, ``epsilon_max`` and ``delta`` do not.

    Returns:
        Nested dictionaries of strings, whole numbers and ``None``, ready for JSON.
    """
    aim = alarm.aim
    return {
        "schema": SCHEMA_VERSION,
        "query": alarm.id,
        "feed": _feed(alarm.feed),
        "domain": _domain(alarm.domain),
        **_quantifier(alarm),
        "calendar": _calendar(alarm.calendar),
        "where": None if alarm.where is None else alarm.where.describe(),
        "aggregates": [_aggregate(spec) for spec in alarm.aggregates],
        "condition": _condition(alarm.condition),
        "aim": {
            "max_fnr": _ratio(aim.max_fnr),
            "max_fpr": _ratio(aim.max_fpr),
            "tolerances": list(aim.tolerances),
            "first_tolerances": list(aim.first_tolerances),
            **({} if aim.promise == "misses" else {"promise": aim.promise}),
            **mechanism_of(alarm.mechanism).definition(alarm.condition, aim),
            **_severities(aim),
        },
        "mechanism": alarm.mechanism,
        **_band(alarm),
        **({"release": "counts"} if alarm.releases_counts else {}),
        **({"hold_ms": alarm.hold_ms} if alarm.hold_ms else {}),
        "grace_ms": alarm.grace_ms,
        "privacy": {
            "unit": budget.unit.value,
            "predicates_per_window": budget.contribution.predicates_per_window,
            "events_per_cell": budget.contribution.events_per_cell,
            "period": _period(budget),
            **({} if budget.gaussian is None else {"promise": "gdp"}),
            **({"share": _ratio(alarm.share)} if alarm.share else {}),
            **_few(budget),
        },
    }


def definition_json(alarm: Alarm, budget: Budget) -> str:
    """Return the definition as canonical JSON: sorted keys, no spaces, ASCII."""
    return json.dumps(definition(alarm, budget), sort_keys=True, separators=(",", ":"))


def fingerprint(alarm: Alarm, budget: Budget) -> str:
    """Return the SHA-256 of the canonical JSON, in hexadecimal."""
    return hashlib.sha256(definition_json(alarm, budget).encode("ascii")).hexdigest()


def _domain(domain: Domain) -> list[dict[str, Any]]:
    return [
        {"field": name, "size": len(values), "sha256": _digest_of_words(values)}
        for name, values in zip(domain.fields, domain.values, strict=True)
    ]


def _quantifier(alarm: Alarm) -> dict[str, Any]:
    """Return what groups are counted, and how many it takes; others keep their fingerprints."""
    if not alarm.members.fields:
        return {}
    return {"members": _domain(alarm.members), "least": alarm.condition.least}


_OF_FEEDS: Final = (
    "name",
    "topic",
    "codec",
    "time",
    "unit",
    "id",
    "partitioner",
    "clock",
    "watermark_interval_ms",
    "allowed_skew_ms",
    "max_append_time_regression_ms",
)
_OF_AGGREGATES: Final = ("kind", "field", "lo", "hi", "scale", "above", "not_above")


def _said(of: object, names: tuple[str, ...]) -> dict[str, Any]:
    """Return what fields hold: strings, words of enumerations among them, and whole numbers."""
    return {name: getattr(of, name) for name in names}


def _feed(feed: Feed) -> dict[str, Any]:
    fields = {name: _field(field) for name, field in feed.fields.items()}
    return {**_said(feed, _OF_FEEDS), "fields": fields}


def _aggregate(spec: AggregateSpec) -> dict[str, Any]:
    return {
        **_said(spec, _OF_AGGREGATES),
        "resolution": _ratio(spec.resolution),
        "where": None if spec.where is None else spec.where.describe(),
        "pivots": None if spec.pivots is None else _digest_of_numbers(spec.pivots),
        **_terms(spec),
    }


def _terms(spec: AggregateSpec) -> dict[str, Any]:
    """Return what a linear statistic is made of; others keep the fingerprints they had."""
    if not spec.terms:
        return {}
    return {"terms": [{"factor": term.factor, **_aggregate(term.alone)} for term in spec.terms]}


def _band(alarm: Alarm) -> dict[str, Any]:
    """Return what is watched of a band; other alarms keep the fingerprints they had."""
    band = alarm.band
    if band is None:
        return {}
    references = {} if alarm.reference is None else {"reference": _reference(alarm.reference)}
    return {
        "band": {
            "decider": band.decider.name,
            "epsilon": _ratio(band.decider.epsilon),
            "tau": _half_width(band.decider.tau),
            "references": _digest_of_numbers(band.references),
            **band.decider.definition,
            **references,
        }
    }


def _severities(aim: Aim) -> dict[str, Any]:
    """Return severity levels; alarms without keep the fingerprints they had."""
    own = [(each, each.aim(aim)) for each in aim.severities]
    found = [
        {
            "name": level.name,
            "sha256": _digest_of_numbers(level.distances),
            "max_fnr": _ratio(one.max_fnr),
            "max_fpr": _ratio(one.max_fpr),
            "tolerance": one.tolerances[0],
        }
        for level, one in own
    ]
    return {"severities": found} if found else {}


def _half_width(tau: HalfWidth) -> int | dict[str, str | None]:
    return {"share": _ratio(tau.share)} if isinstance(tau, Relative) else tau


def _reference(reference: ReferenceFeed) -> dict[str, Any]:
    """Return what is counted on a public feed; how long it is waited for changes no decision."""
    return {
        "feed": _feed(reference.feed),
        "where": None if reference.where is None else reference.where.describe(),
        **_counted(reference),
    }


def _counted(reference: ReferenceFeed) -> dict[str, Any]:
    """Return what references are read off; counts and sums keep the fingerprints they had."""
    if reference.kind is None:
        return {"aggregate": _aggregate(*reference.aggregates)}
    return {"aggregates": [_aggregate(each) for each in reference.aggregates]}


def _condition(condition: Condition) -> dict[str, Any]:
    return {
        "formula": str(condition.formula),
        "sensitivities": list(condition.sensitivities),
        "cells": condition.cells,
        "atoms": [
            {
                "atom": name,
                "statistic": condition.atoms[name].statistic,
                "sha256": _digest_of_numbers(condition.atoms[name].thresholds),
            }
            for name in condition.formula.atoms
        ],
        **({"guards": sorted(condition.guards)} if condition.guards else {}),
    }


def _field(field: Field) -> dict[str, Any]:
    return {
        "type": field.type.value,
        "domain": None if field.domain is None else _digest_of_words(field.domain),
        "lo": _ratio(field.lo),
        "hi": _ratio(field.hi),
        "resolution": _ratio(field.resolution),
    }


def _calendar(calendar: Calendar) -> dict[str, Any]:
    """Return the windows in numbers, so that another spelling of a schedule changes nothing."""
    parts: dict[str, Any]
    if isinstance(calendar, LocalCalendar):
        parts = {
            "size_days": calendar.size_days,
            "step_days": calendar.step_days,
            "timezone": calendar.timezone,
        }
    else:
        size_ms, step_ms = calendar.lengths
        name = "cumulative_step_ms" if isinstance(calendar, CumulativeCalendar) else "step_ms"
        parts = {"size_ms": size_ms, name: step_ms}
    schedule = calendar.schedule
    active = None
    if schedule is not None:
        active = {"timezone": schedule.timezone, "spans": [list(span) for span in schedule.spans]}
    return {**parts, "active": active}


def _period(budget: Budget) -> dict[str, Any] | None:
    periods = budget.periods
    if periods is None:
        return None
    calendar = periods.calendar
    return {"windows": "lifetime"} if calendar is None else _calendar(calendar)


def _few(budget: Budget) -> dict[str, Any]:
    """Return the cap over a period; alarms without one keep the fingerprints they had."""
    few = budget.contribution.windows_per_period
    return {} if few is None else {"windows_per_period": few}


def _ratio(value: Fraction | None) -> str | None:
    return None if value is None else f"{value.numerator}/{value.denominator}"


def _digest_of_words(words: Sequence[str]) -> str:
    """Return a digest that no other list of words has (JSON keeps them apart)."""
    return hashlib.sha256(json.dumps(list(words)).encode("ascii")).hexdigest()


def _digest_of_numbers(numbers: NDArray[np.int64]) -> str:
    return hashlib.sha256(np.ascontiguousarray(numbers, dtype="<i8").tobytes()).hexdigest()
