"""What an alarm's decisions depend on, as canonical data, and its fingerprint.

Two configurations with the same fingerprint decide every window alike; anything else (delays,
metrics ports, the ledger's place, epsilon_max) may change under a running ledger. Long public
lists enter by digest. Secrets never enter.
"""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from operators.conditions.widths import Relative
from operators.registry import mechanism_of
from stream.model.filters import Where
from stream.windows.calendars import LocalCalendar
from stream.windows.cumulative import CumulativeCalendar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from operators.base import Band
    from operators.conditions.condition import Aim, Condition, Severity
    from stream.model.alarm import AggregateSpec, Alarm, ReferenceFeed
    from stream.model.alarms import Budget
    from stream.model.feeds import Domain, Feed
    from stream.windows.calendars import Calendar

__all__ = ["canonical_json", "counted", "definition", "definition_json", "fingerprint"]

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
    aim, band = alarm.aim, alarm.band
    return {
        "schema": SCHEMA_VERSION,
        "query": alarm.id,
        "feed": _feed(alarm.feed),
        "domain": _domain(alarm.domain),
        "calendar": _calendar(alarm.calendar),
        "where": _plain(alarm.where),
        "aggregates": [counted(spec) for spec in alarm.aggregates],
        "condition": _condition(alarm.condition),
        "aim": {
            **_said(aim, "max_fnr", "max_fpr", "tolerances", "first_tolerances"),
            **mechanism_of(alarm.mechanism).definition(alarm.condition, aim),
            **_if_any(
                promise="" if aim.promise == "misses" else aim.promise,
                severities=[_severity(level, level.aim(aim)) for level in aim.severities],
            ),
        },
        "mechanism": alarm.mechanism,
        "grace_ms": alarm.grace_ms,
        "privacy": {
            "unit": budget.unit.value,
            **_said(budget.contribution, "predicates_per_window", "events_per_cell"),
            "period": _period(budget),
            **_if_any(
                promise="" if budget.gaussian is None else "gdp",
                share=alarm.share,
                windows_per_period=budget.contribution.windows_per_period,
            ),
        },
        **_if_any(
            members=_domain(alarm.members),
            least=alarm.condition.least if alarm.members.fields else 0,
            band=None if band is None else _band(band, alarm.reference),
            release="counts" if alarm.releases_counts else "",
            hold_ms=alarm.hold_ms,
        ),
    }


def definition_json(alarm: Alarm, budget: Budget) -> str:
    """Return the definition as canonical JSON: sorted keys, no spaces, ASCII."""
    return canonical_json(definition(alarm, budget))


def canonical_json(value: object) -> str:
    """Return a value as JSON in the one form that is hashed."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def fingerprint(alarm: Alarm, budget: Budget) -> str:
    """Return the SHA-256 of the canonical JSON, in hexadecimal."""
    return hashlib.sha256(definition_json(alarm, budget).encode("ascii")).hexdigest()


def _domain(domain: Domain) -> list[dict[str, Any]]:
    return [
        {"field": name, "size": len(values), "sha256": _digest_of_words(values)}
        for name, values in zip(domain.fields, domain.values, strict=True)
    ]


def _plain(value: object) -> Any:
    """Return a value as JSON takes it: words and whole numbers are themselves."""
    match value:
        case Fraction():
            return f"{value.numerator}/{value.denominator}"
        case Where():
            return value.describe()
        case np.ndarray():
            return _digest_of_numbers(value)
        case tuple():
            return list(value)
        case _:
            return value


def _said(of: object, *names: str) -> dict[str, Any]:
    """Return what fields hold, by their names."""
    return {name: _plain(getattr(of, name)) for name in names}


def _if_any(**parts: object) -> dict[str, Any]:
    """Return those parts that say something: alarms without keep the fingerprints they had."""
    return {name: _plain(value) for name, value in parts.items() if value}


def _feed(feed: Feed) -> dict[str, Any]:
    return {
        **_said(feed, *_OF_FEEDS),
        "fields": {
            name: {
                **_said(field, "type", "lo", "hi", "resolution"),
                "domain": None if field.domain is None else _digest_of_words(field.domain),
            }
            for name, field in feed.fields.items()
        },
    }


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
_OF_AGGREGATES: Final = (
    "kind",
    "field",
    "lo",
    "hi",
    "scale",
    "above",
    "not_above",
    "resolution",
    "where",
    "pivots",
)


def counted(spec: AggregateSpec) -> dict[str, Any]:
    """Return what a statistic counts, likewise: equal where two count the same."""
    terms = [{"factor": term.factor, **counted(term.alone)} for term in spec.terms]
    return {**_said(spec, *_OF_AGGREGATES), **_if_any(terms=terms)}


def _band(band: Band, reference: ReferenceFeed | None) -> dict[str, Any]:
    """Return what is watched, and around what."""
    decider = band.decider
    tau = _said(decider.tau, "share") if isinstance(decider.tau, Relative) else decider.tau
    return {
        "decider": decider.name,
        "tau": tau,
        **_said(decider, "epsilon"),
        **_said(band, "references"),
        **decider.definition,
        **_if_any(reference=None if reference is None else _reference(reference)),
    }


def _severity(level: Severity, alone: Aim) -> dict[str, Any]:
    """Return a severity level, and what is promised of it alone."""
    return {
        "name": level.name,
        "sha256": _digest_of_numbers(level.distances),
        "tolerance": alone.tolerances[0],
        **_said(alone, "max_fnr", "max_fpr"),
    }


def _reference(reference: ReferenceFeed) -> dict[str, Any]:
    """Return what is counted on a public feed; how long it is waited for changes no decision."""
    aggregates = [counted(each) for each in reference.aggregates]
    # Counts and sums keep the fingerprints they had.
    read = {"aggregates": aggregates} if reference.kind else {"aggregate": aggregates[0]}
    return {"feed": _feed(reference.feed), "where": _plain(reference.where), **read}


def _condition(condition: Condition) -> dict[str, Any]:
    return {
        "formula": str(condition.formula),
        **_said(condition, "sensitivities", "cells"),
        "atoms": [
            {
                "atom": name,
                "statistic": condition.atoms[name].statistic,
                "sha256": _digest_of_numbers(condition.atoms[name].thresholds),
            }
            for name in condition.formula.atoms
        ],
        **_if_any(guards=sorted(condition.guards)),
    }


def _calendar(calendar: Calendar) -> dict[str, Any]:
    """Return the windows in numbers, so that another spelling of a schedule changes nothing."""
    parts: dict[str, Any]
    if isinstance(calendar, LocalCalendar):
        parts = _said(calendar, "size_days", "step_days", "timezone")
    else:
        size_ms, step_ms = calendar.lengths
        name = "cumulative_step_ms" if isinstance(calendar, CumulativeCalendar) else "step_ms"
        parts = {"size_ms": size_ms, name: step_ms}
    active, schedule = None, calendar.schedule
    if schedule is not None:
        active = {"timezone": schedule.timezone, "spans": [list(span) for span in schedule.spans]}
    return {**parts, "active": active}


def _period(budget: Budget) -> dict[str, Any] | None:
    periods = budget.periods
    if periods is None:
        return None
    calendar = periods.calendar
    return {"windows": "lifetime"} if calendar is None else _calendar(calendar)


def _digest_of_words(words: Sequence[str]) -> str:
    """Return a digest that no other list of words has (JSON keeps them apart)."""
    return hashlib.sha256(json.dumps(list(words)).encode("ascii")).hexdigest()


def _digest_of_numbers(numbers: NDArray[np.int64]) -> str:
    return hashlib.sha256(np.ascontiguousarray(numbers, dtype="<i8").tobytes()).hexdigest()
