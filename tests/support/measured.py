"""What tests of metrics share: two alarms on one feed, and what a ledger and its windows tell."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from prometheus_client import CollectorRegistry, generate_latest

from accountant.audit.realised import Realised
from accountant.costs.charges import WindowKey
from accountant.errors import DependencyError
from accountant.records import LedgerStatus, Outcome, QueryStatus, ScopeStatus, StoredDecision
from accountant.units import UNITS_PER_EPSILON, Contribution, PrivacyUnit
from operators.base import Plan
from stream.metrics.registries import Metrics
from stream.model.alarms import Budget, Settings
from stream.model.feeds import Domain
from tests.support.answers import FREE
from tests.support.simulated import alarm, file_of

if TYPE_CHECKING:
    from stream.model.alarms import Alarms
    from stream.windows.periods import Periods

HOUR_MS = 3_600_000
MICRO = UNITS_PER_EPSILON // 1_000_000


def two_alarms(periods: Periods | None = None, **address: Any) -> Alarms:
    """Return a configuration of two alarms on one feed; one of them releases counts."""
    domain = Domain(fields=("room",), values=(("r1", "r2", "r3"),))
    queries = (
        replace(alarm(3), id=name, domain=domain, fingerprint="f", releases_counts=name == "crowd")
        for name in ("crowd", "quiet")
    )
    budget = Budget(PrivacyUnit.USER, Fraction(4), periods, Contribution(predicates_per_window=2))
    settings = addresses(**address)
    return replace(file_of(*queries), file="alarms.yaml", budget=budget, settings=settings)


def addresses(**address: Any) -> Settings:
    """Return settings with free ports on loopback."""
    free = dict.fromkeys(("public_address", "custodian_address"), FREE)
    return Settings("sqlite://", **{**free, **address})


PLANS = {
    "crowd": Plan("tslm", Fraction(1_386_295, 10**6), 1.386),
    "quiet": Plan("tslm", Fraction(1, 4), 0.25),
}


def fresh_metrics(
    kind: type[Metrics] = Metrics, periods: Periods | None = None, **clocks: Any
) -> Metrics:
    """Return the registries of two alarms."""
    return kind(two_alarms(periods=periods), PLANS, **clocks)


def decided(query: str = "crowd", hour: int = 1, alarms: int = 2) -> StoredDecision:
    """Return a decision."""
    return _ended(query, hour, alarms, None)


def denied(query: str = "crowd", hour: int = 1) -> StoredDecision:
    """Return a denial."""
    return _ended(query, hour, 0, "incomplete")


def _ended(query, hour, alarms, reason):
    return StoredDecision(
        key=WindowKey(end_ms=hour * HOUR_MS, query=query, start_ms=(hour - 1) * HOUR_MS),
        outcome=Outcome.DECIDED if reason is None else Outcome.DENIED,
        reason=reason,
        alarms=b"",
        alarm_count=alarms,
        epsilon_units=0,
        sequence=hour,
        ledger_id="l",
        release_ms=0,
        decided_at_ms=0,
        published=True,
        fingerprint="f",
    )


def ledger_status(
    *,
    spent: int = 0,
    cursor_ms: int = 0,
    periods: dict[int, int] | None = None,
    denied_at_ms: dict[str, int] | None = None,
) -> LedgerStatus:
    """Return what a ledger of one budget says."""
    return LedgerStatus(
        ledger_id="l",
        checkpoint="0:",
        scopes={
            "user": ScopeStatus(
                scope="user",
                unit=PrivacyUnit.USER,
                epsilon_max_units=4 * UNITS_PER_EPSILON,
                spent_units=spent,
                periods=periods or {},
                reserved_units=0,
                reservations=2,
                pending=7,
            )
        },
        queries={
            name: QueryStatus(
                query=name,
                scope="user",
                cursor_ms=cursor_ms,
                decided=1,
                denied={},
                decided_at_ms=0,
                denied_at_ms=denied_at_ms or {},
                unpublished=3,
                sequence=17,
                removed=False,
            )
            for name in ("crowd", "quiet")
        },
    )


class GroupLosses:
    """Stands for a ledger that knows what groups have lost, in millionths of an epsilon."""

    def __init__(self, *, complete: bool = True, away: bool = False, **costs: list[int]) -> None:
        self.costs = {"crowd": [3, 1, 2], "quiet": [0, 0, 0], **costs}
        self.complete = complete
        self.away = away
        self.asked = 0

    def __call__(self, query: str, period: int | None = None, *, cells: int) -> Realised:
        """Return what the groups lost, or say that the ledger is away."""
        self.asked += 1
        if self.away and query == "quiet":
            raise DependencyError("the ledger is away")
        costs = np.array(self.costs[query], dtype=np.int64) * MICRO
        assert (cells, period) == (len(costs), None)
        return Realised(query, 0, None, 1, costs, self.complete)


def page_text(registry: CollectorRegistry) -> str:
    """Return what a page shows."""
    return generate_latest(registry).decode()


def lines_of(registry: CollectorRegistry, part: str = "") -> set[str]:
    """Return the samples that a page shows, as lines; those that name a part."""
    lines = page_text(registry).splitlines()
    return {line for line in lines if part in line and not line.startswith("#")}


def series_of(registry: CollectorRegistry) -> set[str]:
    """Return the series that a page shows, without their values."""
    return {line.rsplit(" ", 1)[0] for line in lines_of(registry)}
