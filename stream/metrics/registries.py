"""Two registries of metrics: one that anybody may read, one for the custodian.

The public registry is written at construction, from configuration, and by
:meth:`Metrics.published`, from decisions that have left: its text is a function of configuration
and released values alone (promise 6), so it adds nothing to the privacy loss of the decisions.
Every public series exists from the start, since one that appears later tells when something first
happened. Everything else is the custodian's. ``docs/custodian/metrics.md`` lists every name.
"""

from __future__ import annotations

import math
import time
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Final, Protocol

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from accountant import errors
from accountant.records import Outcome, PartialStatus
from accountant.units import from_loss_units
from stream.metrics.losses import LossFamilies

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from prometheus_client import Metric

    from accountant.audit.realised import Realised
    from accountant.records import LedgerStatus, StoredDecision
    from operators.base import Plan
    from stream.model.alarms import Alarms

__all__ = ["Metrics"]

_DECISION_BUCKETS_S = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
_CUT_TO_ALARM_BUCKETS_S = (0.3, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 900.0)

_REALISED_EVERY_S: Final = 15.0
"""Adding realised losses up takes time, and nobody scrapes much more often."""

_UNEXPECTED = "unexpected"
_REFUSALS = (*(name for name in errors.__all__ if name != "TocsinError"), _UNEXPECTED)


class RealisedLosses(Protocol):
    """What knows realised losses: the ledger's reports."""

    def realised(self, query: str, period: int | None = None, *, cells: int) -> Realised:
        """Return what each cell of a query has really lost."""
        ...


class _Registry(CollectorRegistry):
    """A registry without ``_created`` series: they say when something began, and cost a line each.

    The client library can drop them for the whole process only, which is not ours to decide.
    """

    def collect(self) -> Iterable[Metric]:
        """Yield every family, without its ``_created`` samples."""
        for family in super().collect():
            family.samples = [s for s in family.samples if not s.name.endswith("_created")]
            yield family


class Metrics:
    """Both registries and the methods that move them; safe to call from many threads.

    Args:
        alarms: the checked configuration.
        plans: worst case of every query, by id.
        monotonic_s: says when realised losses are due again.
    """

    def __init__(
        self,
        alarms: Alarms,
        plans: Mapping[str, Plan],
        *,
        monotonic_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """Make every series that the configuration names."""
        self.public: CollectorRegistry = _Registry()
        """Configuration and released values only."""
        self.custodian: CollectorRegistry = _Registry()
        """Everything else: exact counts, drops, lags, spending."""
        self._public = _Public(self.public, alarms, plans)
        self._custodian = _Custodian(self.custodian, alarms)
        self._cells = {query.id: len(query.domain) for query in alarms.queries.values()}
        self._monotonic_s = monotonic_s
        self._realised_due_s = -math.inf

    def events_read(self, feed: str, count: int) -> None:
        """Add records read from a feed's log, those read again after a restart included."""
        self._custodian.events.labels(feed).inc(count)

    def events_dropped(self, feed: str, drops: Mapping[str, int]) -> None:
        """Add what was dropped, by reason."""
        for reason, count in drops.items():
            self._custodian.dropped.labels(feed, reason).inc(count)

    def lag(self, feed: str, partition: int, records: int) -> None:
        """Set how many records of a partition are still to be read."""
        self._custodian.lag.labels(feed, str(partition)).set(records)

    def partial_stored(self, query: str, status: str) -> None:
        """Count a partial that was handed to the ledger, by what became of it."""
        self._custodian.partials.labels(query, status).inc()

    def decided(self, decision: StoredDecision, seconds: float) -> None:
        """Take note of a stored decision, which has not left yet.

        Args:
            decision: as stored.
            seconds: how long deciding took; depends on data, as does when it happened.
        """
        self._custodian.decision_seconds.observe(seconds)
        if decision.reason is not None:
            self._custodian.denied.labels(decision.key.query, decision.reason).inc()

    def published(self, decision: StoredDecision, cut_to_alarm_s: float | None) -> None:
        """Take note of a decision that has left: the only method that moves public series.

        Args:
            decision: as released.
            cut_to_alarm_s: seconds from the window's cut to its release; ``None`` in replays. It
                slips by a tick when the work took long, so the custodian alone sees it.
        """
        query = decision.key.query
        self._public.decisions.labels(query, str(decision.outcome)).inc()
        self._public.alarms.labels(query).inc(decision.alarm_count)
        self._public.window_end.labels(query).set(decision.key.end_ms / 1000)
        if cut_to_alarm_s is not None:
            self._custodian.cut_to_alarm_seconds.observe(cut_to_alarm_s)

    def ledger(self, status: LedgerStatus) -> None:
        """Show the ledger as it stands."""
        for query in status.queries.values():
            self._custodian.unpublished.labels(query.query).set(query.unpublished)
            self._custodian.sequence.labels(query.query).set(query.sequence)
            if query.alarms_left is not None:
                self._custodian.alarms_left.labels(query.query).set(query.alarms_left)
        for scope in status.scopes.values():
            self._custodian.spent.labels(scope.scope).set(_epsilon(scope.spent_units))
            self._custodian.reserved.labels(scope.scope).set(_epsilon(scope.reserved_units))
            self._custodian.pending.labels(scope.scope).set(scope.pending)

    def realised(self, reports: RealisedLosses) -> None:
        """Show what the predicates of every query have really lost.

        Reads the ledger, so call it from a thread that may wait, as often as the status is shown:
        it does nothing until some seconds after the last time. One caller at a time.

        Args:
            reports: of a ledger with every query registered.

        Raises:
            DependencyError, LedgerError: as the ledger does; what was shown stays.
        """
        if self._monotonic_s() < self._realised_due_s:
            return
        losses = [reports.realised(query, cells=cells) for query, cells in self._cells.items()]
        self._custodian.losses.show(losses)
        self._realised_due_s = self._monotonic_s() + _REALISED_EVERY_S

    def refused(self, error: BaseException) -> None:
        """Count an error that stopped the worker, by its class; its text goes nowhere."""
        kind = type(error).__name__ if isinstance(error, errors.TocsinError) else _UNEXPECTED
        self._custodian.refusals.labels(kind).inc()


class _Public:
    """Series that anybody may read."""

    def __init__(
        self, registry: CollectorRegistry, alarms: Alarms, plans: Mapping[str, Plan]
    ) -> None:
        self.decisions = Counter(
            "tocsin_decisions_total",
            "Decisions published.",
            ["query", "outcome"],
            registry=registry,
        )
        self.alarms = Counter(
            "tocsin_alarms_total", "Alarms published.", ["query"], registry=registry
        )
        self.window_end = Gauge(
            "tocsin_window_end_timestamp_seconds",
            "End of the last published window, seconds since the Unix epoch; 0 before the first.",
            ["query"],
            registry=registry,
        )
        plan_epsilon = Gauge(
            "tocsin_plan_epsilon",
            "Privacy loss of one cell of one window at worst, from configuration.",
            ["query"],
            registry=registry,
        )
        epsilon_max = Gauge(
            "tocsin_budget_epsilon_max", "The wall, from configuration.", registry=registry
        )
        build = Gauge(
            "tocsin_build_info", "Always 1; the version is a label.", ["version"], registry=registry
        )
        for query in alarms.queries:
            for outcome in Outcome:
                self.decisions.labels(query, str(outcome))
            self.alarms.labels(query)
            self.window_end.labels(query)
            plan_epsilon.labels(query).set(float(plans[query].epsilon))
        epsilon_max.set(float(alarms.budget.epsilon_max))
        build.labels(_version()).set(1)


class _Custodian:
    """Series for the custodian's eyes."""

    def __init__(self, registry: CollectorRegistry, alarms: Alarms) -> None:
        self.spent = Gauge(
            "tocsin_budget_spent_epsilon",
            "Loss of the worst-off privacy unit held against the wall, reservations included.",
            ["scope"],
            registry=registry,
        )
        self.reserved = Gauge(
            "tocsin_budget_reserved_epsilon",
            "Loss of the worst-off privacy unit if nothing but open reservations counted.",
            ["scope"],
            registry=registry,
        )
        self.pending = Gauge(
            "tocsin_budget_pending_windows",
            "Windows whose answer waits for the end of earlier ones.",
            ["scope"],
            registry=registry,
        )
        domains = {query.id: query.domain for query in alarms.queries.values()}
        self.losses = LossFamilies(domains, alarms.budget.epsilon_max)
        registry.register(self.losses)
        self.events = Counter(
            "tocsin_events_total",
            "Records read, those read again after a restart included.",
            ["feed"],
            registry=registry,
        )
        self.dropped = Counter(
            "tocsin_events_dropped_total",
            "Events that do not count, by reason.",
            ["feed", "reason"],
            registry=registry,
        )
        self.decision_seconds = Histogram(
            "tocsin_decision_seconds",
            "Time to decide one window.",
            buckets=_DECISION_BUCKETS_S,
            registry=registry,
        )
        self.cut_to_alarm_seconds = Histogram(
            "tocsin_cut_to_alarm_seconds",
            "Time from a window's cut to its release.",
            buckets=_CUT_TO_ALARM_BUCKETS_S,
            registry=registry,
        )
        self.partials = Counter(
            "tocsin_partials_stored_total",
            "Partials handed to the ledger, by what became of them.",
            ["query", "status"],
            registry=registry,
        )
        self.denied = Counter(
            "tocsin_denied_total", "Windows denied.", ["query", "reason"], registry=registry
        )
        self.unpublished = Gauge(
            "tocsin_unpublished_decisions",
            "Decisions stored that have not left yet.",
            ["query"],
            registry=registry,
        )
        self.alarms_left = Gauge(
            "tocsin_run_alarms_left",
            "Alarms that the newest run of windows can still give.",
            ["query"],
            registry=registry,
        )
        self.lag = Gauge(
            "tocsin_ingest_lag_records",
            "Records of a partition still to be read.",
            ["feed", "partition"],
            registry=registry,
        )
        self.sequence = Gauge(
            "tocsin_ledger_sequence",
            "Number of the query's last decision in the ledger.",
            ["query"],
            registry=registry,
        )
        self.refusals = Counter(
            "tocsin_refusals_total",
            "Errors that stopped the worker, by kind.",
            ["kind"],
            registry=registry,
        )
        for feed in alarms.feeds:
            self.events.labels(feed)
        for query in alarms.queries:
            self.unpublished.labels(query)
            self.sequence.labels(query)
            for status in PartialStatus:
                self.partials.labels(query, str(status))
        for kind in _REFUSALS:
            self.refusals.labels(kind)


def _epsilon(units: int) -> float:
    return float(from_loss_units(units))


def _version() -> str:
    try:
        return version("tocsin")
    except PackageNotFoundError:  # run from a source tree that was never installed
        return "unknown"
