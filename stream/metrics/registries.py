"""Two registries of metrics: one that anybody may read, one for the custodian.

The public registry is written at construction, from configuration, and by
:meth:`Metrics.published`, from decisions that have left: its text is a function of configuration
and released values alone (promise 6), so it adds nothing to the privacy loss of the decisions.
Everything else is the custodian's. ``docs/reference/metrics-and-alerts.md`` lists every name.
"""

from __future__ import annotations

import math
import time
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Final

from accountant.ledger.journal import START
from stream.metrics.journal import KINDS
from stream.metrics.readiness import CHECKS, LEDGER, Readiness
from stream.metrics.series import Custodian, Public, Registry
from stream.model.feeds import Clock
from stream.model.losses import shown_epsilon
from stream.windows.localtime import load_zone

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from accountant.audit.realised import Realised
    from accountant.costs.charges import WindowKey
    from accountant.ledger.journal import Happened
    from accountant.records import LedgerStatus, QueryStatus, ScopeStatus, StoredDecision
    from operators.base import Plan
    from stream.model.alarms import Alarms

__all__ = ["Metrics"]

_REALISED_EVERY_S: Final = 15.0
"""Adding realised losses up takes time, and nobody scrapes much more often."""


class Metrics:
    """Both registries and the methods that move them; safe to call from many threads.

    Args:
        alarms: the checked configuration.
        plans: worst case of every alarm, by id.
        monotonic_s: says how old is what was told last.
        clock_s: says which budget period it is, seconds since the Unix epoch.
    """

    def __init__(
        self,
        alarms: Alarms,
        plans: Mapping[str, Plan],
        *,
        monotonic_s: Callable[[], float] = time.monotonic,
        clock_s: Callable[[], float] = time.time,
    ) -> None:
        """Make every series that the configuration names."""
        self.public = Registry()
        """Configuration and released values only."""
        self.custodian = Registry()
        """Everything else: exact counts, drops, lags, spending."""
        self._public = Public(self.public, alarms, plans)
        self._custodian = Custodian(self.custodian, alarms, monotonic_s)
        self.partitions = self._custodian.partitions
        """Where the worker stands in its partitions: the custodian's."""
        self.readiness = Readiness(self.partitions.moving, monotonic_s)
        """Whether the worker can do its work: for anybody."""
        for check in CHECKS:
            holds = partial(self.readiness.holds, check)
            self._custodian.ready.labels(check).set_function(holds)
        self._zone = load_zone(alarms.timezone)
        self._periods = alarms.budget.periods
        self._gaussian = alarms.budget.gaussian
        self._promise = None if self._gaussian is None else self._gaussian.text
        self._live = {
            alarm.id: alarm
            for alarm in alarms.running.values()
            if alarm.feed.clock is Clock.APPEND_TIME and alarm.feed.history is None
        }
        self._cells = {alarm.id: len(alarm.domain) for alarm in alarms.running.values()}
        self._monotonic_s = monotonic_s
        self._clock_s = clock_s
        self._newest_ms: dict[str, int] = {}
        self._starts = 0
        self._realised_due_s = -math.inf

    def events_read(self, feed: str, count: int) -> None:
        """Add events read from a feed, those read again after a restart included."""
        self._custodian.events.labels(feed).inc(count)

    def people_counted(self, key: WindowKey, met: int, beyond: int) -> None:
        """Add people of a window of one partition; windows counted again count again.

        Args:
            key: the window.
            met: people who have events in it.
            beyond: how many of them a cap over a period leaves out.
        """
        start = datetime.fromtimestamp(key.start_ms / 1000, UTC).astimezone(self._zone)
        labels = key.query, f"{start.hour:02d}"
        self._custodian.people.labels(*labels).inc(met)
        self._custodian.people_beyond_cap.labels(*labels).inc(beyond)

    def appended(self, feed: str, append_ms: int) -> None:
        """Take note of when a record that was read had arrived; the newest of all is shown.

        Not when it was read: after a restart old records are read again, and a feed whose sensors
        are silent would seem alive.

        Args:
            feed: its name.
            append_ms: the broker's append time, milliseconds since the Unix epoch; negative where
                there was none yet.
        """
        self._newest_ms[feed] = max(append_ms, self._newest_ms.get(feed, 0))
        self._custodian.last_event.labels(feed).set(self._newest_ms[feed] / 1000)

    def events_dropped(self, feed: str, drops: Mapping[str, int]) -> None:
        """Add events that no alarm of the feed can use, each once, by reason."""
        for reason, count in drops.items():
            self._custodian.dropped.labels(feed, reason).inc(count)

    def published(
        self,
        decision: StoredDecision,
        window_close_to_alarm_s: float | None,
        fired: Iterable[tuple[WindowKey, Mapping[str, str]]] = (),
        counts: Iterable[tuple[Mapping[str, str], float, float]] = (),
    ) -> None:
        """Take note of a decision that has left: the only method that moves public series.

        Args:
            decision: as released.
            window_close_to_alarm_s: seconds from the window's close to its publication; ``None`` in
                replays. It slips by a publish interval when the work took long, so the custodian
                alone sees it.
            fired: window and group of every alarm that left with it.
            counts: group, noisy count and standard deviation of every count that did.
        """
        alarm = decision.key.query
        self._public.decisions.labels(alarm, str(decision.outcome)).inc()
        self._public.alarms.labels(alarm).inc(decision.alarm_count)
        self._public.window_end.labels(alarm).set(decision.key.end_ms / 1000)
        for key, group in fired:
            self._public.fired.fired(alarm, group, key.end_ms)
        self._public.counts.released(alarm, counts)
        if window_close_to_alarm_s is not None:
            self._custodian.window_close_to_alarm_seconds.observe(window_close_to_alarm_s)

    def ledger(self, status: LedgerStatus) -> None:
        """Show the ledger as it stands; that it could be read says that it answers."""
        self.readiness.answered(LEDGER)
        for alarm in status.queries.values():
            if alarm.removed:  # nobody publishes what it may have left
                self._custodian.unpublished.labels(alarm.query).set(0)
            else:
                self._show_alarm(alarm)
        for scope in status.scopes.values():
            self._show_scope(scope)

    def journal(self, entries: Mapping[str, Happened]) -> None:
        """Show how often workers have started, and what stopped them, as the ledger says."""
        for kind, entry in entries.items():
            if kind in KINDS:
                self._custodian.refused_at.labels(kind).set(entry.last_ms / 1000)
            elif kind == START and entry.times > self._starts:
                self._custodian.starts.inc(entry.times - self._starts)
                self._starts = entry.times

    def stopping(self) -> None:
        """Take note that an error ends the worker now: it should not be seen for long."""
        self._custodian.stopping.set_to_current_time()

    def realised(self, losses_of: Callable[..., Realised]) -> None:
        """Show what the groups of every alarm have really lost.

        Reads the ledger, so call it from a thread that may wait, as often as the status is shown:
        it does nothing until some seconds after the last time. One caller at a time.

        Args:
            losses_of: the ledger's report of an alarm, ``reports.realised``.

        Raises:
            DependencyError, LedgerError: as the ledger does; what was shown stays.
        """
        if self._monotonic_s() < self._realised_due_s:
            return
        losses = [losses_of(alarm, cells=cells) for alarm, cells in self._cells.items()]
        self._custodian.losses.show(losses)
        self._realised_due_s = self._monotonic_s() + _REALISED_EVERY_S

    def _show_alarm(self, status: QueryStatus) -> None:
        name, shown = status.query, self._custodian
        shown.unpublished.labels(name).set(status.unpublished)
        for reason, at_ms in status.denied_at_ms.items():
            shown.denied_at.labels(name, reason).set(at_ms / 1000)
        if status.alarms_left is not None:
            shown.alarms_left.labels(name).set(status.alarms_left)
        alarm = self._live.get(name)
        if alarm is not None:
            calendar = alarm.calendar
            oldest = calendar.next_active(calendar.first_starting_at(status.cursor_ms))
            due_ms = calendar.bounds(oldest)[1] + alarm.grace_ms + alarm.publish_delay_ms
            shown.window_due.labels(name).set(due_ms / 1000)

    def _show_scope(self, status: ScopeStatus) -> None:
        if status.promise != self._promise:
            return  # of an earlier file: one delta cannot stand beside losses of two kinds
        name, shown = status.scope, self._custodian
        shown.spent.labels(name).set(shown_epsilon(self._gaussian, status.spent_units))
        if self._periods is not None:
            now_ms = int(self._clock_s() * 1000)
            (period,) = self._periods.touched(now_ms, now_ms + 1)
            held = shown_epsilon(self._gaussian, status.periods.get(period, 0))
            shown.period_spent.labels(name).set(held)
