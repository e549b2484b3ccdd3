"""What a cap over a budget period cannot be said of, and what it can: configuration alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accountant.units import PrivacyUnit
from operators.registry import mechanism_of

if TYPE_CHECKING:
    from stream.config.findings import Findings
    from stream.model.alarms import Alarms

__all__ = ["check_period_caps"]

_CAP = ("budget", "contribution", "max_windows_per_period")


def check_period_caps(alarms: Alarms, findings: Findings) -> None:
    """Refuse a cap beside what it does not go with."""
    budget = alarms.budget
    few = budget.contribution.windows_per_period
    if few is None or budget.unit is PrivacyUnit.EVENT:
        return
    every = (*alarms.running.values(), *alarms.open.values())
    for query in every:
        if mechanism_of(query.mechanism).run is not None:
            findings.wrong(
                ("alarms", query.id, "mechanism"),
                f"a run of {query.mechanism} is charged to everybody, whoever is in how few of its"
                " windows: max_windows_per_period makes it no cheaper",
                "write mechanism: tslm, or leave max_windows_per_period out",
            )
        if query.calendar.overlap > few and not query.panes and query.aim.looks == 1:
            findings.wrong(
                ("alarms", query.id, "sql"),
                f"an event lies in {query.calendar.overlap} windows at once, and a person counts in"
                f" {few} of a period: what is true is counted far too low",
                f"write max_windows_per_period: {query.calendar.overlap} or more, windows that do"
                " not overlap, or mechanism: panes",
            )
        if query.share:
            findings.wrong(
                ("alarms", query.id, "share"),
                "shares of a budget whose periods have caps are not kept",
                "leave share out, or max_windows_per_period",
            )
    if budget.periods is None or budget.periods.calendar is None:
        findings.wrong(
            _CAP,
            "a cap over a period needs one that ends: of a lifetime nothing could be forgotten",
            "write period: 1d or longer, or leave max_windows_per_period out",
            key=True,
        )
