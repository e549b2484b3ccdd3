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
    if few is None:
        return
    for alarm in (*alarms.running.values(), *alarms.open.values()):
        at, overlap = ("alarms", alarm.id), alarm.calendar.overlap
        if mechanism_of(alarm.mechanism).run is not None:
            message = f"max_windows_per_period does not lower the cost of {alarm.mechanism},"
            message += " which charges whole SVT runs"
            hint = "write mechanism: tslm, or remove max_windows_per_period"
            yield (*at, "mechanism"), message, hint
        if overlap > few and not alarm.panes and alarm.aim.looks == 1:
            message = (
                f"an event is in {overlap} windows, but a person counts in {few} per period, so"
            )
            message += " counts are much too low"
            hint = f"write max_windows_per_period: {overlap} or more, TUMBLE instead of HOP,"
            yield (*at, "sql"), message, f"{hint} or mechanism: panes"
        if alarm.share:
            message = "share and max_windows_per_period exclude each other"
            yield (*at, "share"), message, "remove one of them"
    if budget.calendar is None:
        message = "max_windows_per_period needs a period that ends"
        hint = "write period: 1d or longer, or remove max_windows_per_period"
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
                f"alarm `{watched[name]}` protects events of `{name}`, but a reference is public",
                "use a feed without personal data",
            )


def excluded_shares(alarms: Alarms) -> Iterator[Problem]:
    """Yield shares that together are more than the budget, or of a budget that has none."""
    total = Fraction(0)
    for alarm in alarms.by_name.values():
        before, total = total, total + alarm.share
        if alarm.share and alarms.budget.unit is PrivacyUnit.EVENT:
            message = "share needs privacy_unit: user"
            hint = "remove share; `tocsin plan` shows which alarms share events"
            yield ("alarms", alarm.id, "share"), message, hint
        elif before <= 1 < total:
            message = f"the shares up to this one add up to {decimal(total)} of one budget"
            hint = "write shares that add up to 1 at most"
            yield ("alarms", alarm.id, "share"), message, hint
