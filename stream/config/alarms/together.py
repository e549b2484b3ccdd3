"""What alarms and a budget's periods cannot be together: caps, shares, and public references."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from accountant.units import PrivacyUnit
from operators.registry import mechanism_of
from stream.model.numbers import decimal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stream.config.findings import Problem
    from stream.model.alarms import Alarms

__all__ = ["excluded_caps", "excluded_shares", "watched_references"]


def excluded_caps(alarms: Alarms) -> Iterator[Problem]:
    """Yield what a cap over a period does not go together with."""
    budget, few = alarms.budget, alarms.budget.contribution.windows_per_period
    if few is None or budget.unit is PrivacyUnit.EVENT:
        return
    for alarm in (*alarms.running.values(), *alarms.open.values()):
        at, overlap = ("alarms", alarm.id), alarm.calendar.overlap
        if mechanism_of(alarm.mechanism).run is not None:
            message = (
                f"a run of {alarm.mechanism} is charged to everybody, whoever is in how few of"
            )
            message += " its windows: max_windows_per_period makes it no cheaper"
            hint = "write mechanism: tslm, or leave max_windows_per_period out"
            yield (*at, "mechanism"), message, hint
        if overlap > few and not alarm.panes and alarm.aim.looks == 1:
            message = f"an event lies in {overlap} windows at once, and a person counts in {few} of"
            message += " a period: what is true is counted far too low"
            hint = f"write max_windows_per_period: {overlap} or more, windows that do not overlap,"
            yield (*at, "sql"), message, f"{hint} or mechanism: panes"
        if alarm.share:
            message = "shares of a budget whose periods have caps are not kept"
            yield (*at, "share"), message, "leave share out, or max_windows_per_period"
    if budget.periods is None or budget.periods.calendar is None:
        message = (
            "a cap over a period needs one that ends: of a lifetime nothing could be forgotten"
        )
        hint = "write period: 1d or longer, or leave max_windows_per_period out"
        cap = ("budget", "contribution", "max_windows_per_period")
        yield cap, message, hint


def watched_references(alarms: Alarms) -> Iterator[Problem]:
    """Yield references counted on a feed whose events some alarm protects."""
    watched = {alarm.feed.name: alarm.id for alarm in alarms.by_name.values()}
    for alarm in alarms.by_name.values():
        name = "" if alarm.reference is None else alarm.reference.feed.name
        if name in watched:
            yield (
                ("alarms", alarm.id, "mechanism", alarm.mechanism, "reference", "feed"),
                f"alarm `{watched[name]}` protects the events of `{name}`: a reference is public",
                "take a feed that holds nobody's data",
            )


def excluded_shares(alarms: Alarms) -> Iterator[Problem]:
    """Yield shares that together are more than the budget, or of a budget that has none."""
    total = Fraction(0)
    for alarm in alarms.by_name.values():
        before, total = total, total + alarm.share
        if alarm.share and alarms.budget.unit is PrivacyUnit.EVENT:
            message = "under privacy_unit: event no window takes another's part: an event is in few"
            hint = "leave share out; `tocsin plan` says which windows fit beside one another"
            yield ("alarms", alarm.id, "share"), message, hint
        elif before <= 1 < total:
            message = f"the shares up to here are {decimal(total)} of one budget"
            hint = "write shares that are 1 together at most"
            yield ("alarms", alarm.id, "share"), message, hint
