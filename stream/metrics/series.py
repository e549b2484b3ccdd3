"""Every series but those of collectors: what it is called, what it is about, that it is there.

All label values that are known beforehand have their series from the start: on the public page one
that appears later tells when something first happened, and on any page a counter that begins with
its first event shows no increase.
"""

from __future__ import annotations

from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from accountant.records import Outcome
from accountant.units import to_loss_units
from stream.metrics.counts import Counts
from stream.metrics.fired import FiredFamilies
from stream.metrics.journal import KINDS
from stream.metrics.losses import LossFamilies
from stream.metrics.partitions import PartitionFamilies
from stream.model.losses import shown_epsilon
from stream.model.reasons import DENIALS, DROPS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from prometheus_client import Metric

    from operators.base import Plan
    from stream.model.alarms import Alarms

__all__ = ["Custodian", "Public", "Registry"]

_WINDOW_CLOSE_TO_ALARM_BUCKETS_S: Final = (
    0.3, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 900.0,
)  # fmt: skip


class Registry(CollectorRegistry):
    """A registry without ``_created`` series: they say when something began, and cost a line each.

    The client library can drop them for the whole process only, which is not ours to decide.
    """

    def collect(self) -> Iterable[Metric]:
        """Yield every family, without its ``_created`` samples."""
        for family in super().collect():
            family.samples = [s for s in family.samples if not s.name.endswith("_created")]
            yield family


class Public:
    """Series that anybody may read."""

    def __init__(
        self, registry: CollectorRegistry, alarms: Alarms, plans: Mapping[str, Plan]
    ) -> None:
        counter, gauge = partial(Counter, registry=registry), partial(Gauge, registry=registry)
        self.decisions = counter(
            "tocsin_decisions_total", "Decisions published.", ["alarm", "outcome"]
        )
        self.alarms = counter("tocsin_alarms_total", "Alarms published.", ["alarm"])
        self.window_end = gauge(
            "tocsin_window_end_timestamp_seconds",
            "End of the last published window, seconds since the Unix epoch; 0 before the first.",
            ["alarm"],
        )
        self.fired = FiredFamilies({alarm.id: alarm.domain for alarm in alarms.by_name.values()})
        registry.register(self.fired)
        releasing = (alarm for alarm in alarms.by_name.values() if alarm.releases_counts)
        self.counts = Counts(registry, {alarm.id: alarm.domain for alarm in releasing})
        plan_epsilon = gauge(
            "tocsin_plan_epsilon",
            "Privacy loss of one cell of one window at worst, from configuration;"
            " at tocsin_budget_delta.",
            ["alarm"],
        )
        epsilon_max = gauge("tocsin_budget_epsilon_max", "The budget limit, from configuration.")
        delta = gauge(
            "tocsin_budget_delta",
            "At what delta every epsilon here holds, and the kind of privacy: 0 for pure.",
            ["privacy"],
        )
        build = gauge("tocsin_build_info", "Always 1; the version is a label.", ["version"])
        gaussian = alarms.budget.gaussian
        for alarm in alarms.running:
            for outcome in Outcome:
                self.decisions.labels(alarm, str(outcome))
            self.alarms.labels(alarm)
            self.window_end.labels(alarm)
            plan_epsilon.labels(alarm).set(
                shown_epsilon(gaussian, to_loss_units(plans[alarm].epsilon))
            )
        epsilon_max.set(float(alarms.budget.epsilon_max))
        kind, value = ("pure", 0) if gaussian is None else ("gdp", float(gaussian.delta))
        delta.labels(kind).set(value)
        build.labels(version("tocsin")).set(1)


class Custodian:
    """Series for the custodian's eyes."""

    def __init__(
        self, registry: CollectorRegistry, alarms: Alarms, monotonic_s: Callable[[], float]
    ) -> None:
        counter, gauge = partial(Counter, registry=registry), partial(Gauge, registry=registry)
        self.partitions = PartitionFamilies(monotonic_s)
        registry.register(self.partitions)
        self.starts = counter("tocsin_starts_total", "Starts of workers that reached the ledger.")
        self.refused_at = gauge(
            "tocsin_refused_timestamp_seconds",
            "When a worker was last stopped, seconds since the Unix epoch; 0 for never.",
            ["kind"],
        )
        self.ready = gauge(
            "tocsin_ready",
            "1 if the worker can do its work as far as this goes, else 0.",
            ["check"],
        )
        self.stopping = gauge(
            "tocsin_stopping_timestamp_seconds",
            "When an error began to end this worker, seconds since the Unix epoch; 0 for not.",
        )
        self.spent = gauge(
            "tocsin_budget_spent_epsilon",
            "Highest loss of a privacy unit held against the budget limit, reservations included.",
            ["scope"],
        )
        self.period_spent = gauge(
            "tocsin_budget_period_spent_epsilon",
            "The same for the budget period that it is now; unit user only.",
            ["scope"],
        )
        domains = {alarm.id: alarm.domain for alarm in alarms.running.values()}
        self.losses = LossFamilies(domains, alarms.budget)
        registry.register(self.losses)
        self.people = counter(
            "tocsin_window_people",
            "People with events in a window, over windows, by local hour of its start.",
            ["alarm", "hour"],
        )
        self.people_beyond_cap = counter(
            "tocsin_window_people_beyond_cap",
            "Those of them who do not count: they did in max_windows_per_period earlier windows.",
            ["alarm", "hour"],
        )
        self.events = counter(
            "tocsin_events_total",
            "Events read, those read again after a restart included.",
            ["feed"],
        )
        self.dropped = counter(
            "tocsin_events_dropped_total",
            "Events that no alarm can use, by what is wrong with them.",
            ["feed", "reason"],
        )
        self.last_event = gauge(
            "tocsin_last_event_timestamp_seconds",
            "Append time of the newest record read, seconds since the Unix epoch; 0 before it.",
            ["feed"],
        )
        self.window_close_to_alarm_seconds = Histogram(
            "tocsin_window_close_to_alarm_seconds",
            "Time from a window's close to its publication.",
            buckets=_WINDOW_CLOSE_TO_ALARM_BUCKETS_S,
            registry=registry,
        )
        self.denied_at = gauge(
            "tocsin_denied_timestamp_seconds",
            "When the ledger last denied a window, seconds since the Unix epoch; 0 for never.",
            ["alarm", "reason"],
        )
        self.window_due = gauge(
            "tocsin_window_due_timestamp_seconds",
            "When the oldest undecided window is to be published, seconds since the Unix epoch.",
            ["alarm"],
        )
        self.unpublished = gauge(
            "tocsin_unpublished_decisions",
            "Decisions stored that are not published yet.",
            ["alarm"],
        )
        self.alarms_left = gauge(
            "tocsin_run_alarms_left",
            "Alarms that the newest SVT run can still give.",
            ["alarm"],
        )
        for kind in KINDS:
            self.refused_at.labels(kind)
        for feed in alarms.feeds:
            self.events.labels(feed)
            self.last_event.labels(feed)
            for reason in DROPS:
                self.dropped.labels(feed, reason)
        for alarm in alarms.running:
            self.unpublished.labels(alarm)
            for reason in DENIALS:
                self.denied_at.labels(alarm, reason)
