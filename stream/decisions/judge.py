"""Reserve, draw, settle: at most one stored draw per window, whatever crashes in between.

The judge is driven by both shells. It holds no state of its own: whatever it needs to go on after
a kill is in the ledger (promise 3). Windows of a query are decided strictly in order.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from accountant.costs.charges import Charge, UniformCost, WindowKey
from accountant.records import Answer, Request
from accountant.units import to_loss_units
from stream.decisions.mechanisms import operator_of, run_of
from stream.decisions.release import encode_fired
from stream.decisions.steps import Step, no_step
from stream.model.alarms import cells_per_unit, has_runs, scope_of
from stream.model.feeds import Clock
from stream.model.references import WindowPartials, around

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from accountant.costs.charges import CellCosts
    from accountant.costs.runs import RunAfter
    from accountant.ledger.ledger import Ledger
    from accountant.records import Partial, StoredDecision
    from operators.base import Operator, Plan
    from operators.noise.source import NoiseSource
    from stream.decisions.steps import StepHook
    from stream.model.alarms import Alarms
    from stream.model.queries import Query

__all__ = ["Judge"]


class Judge:
    """Decides whatever is due, in order, against the ledger.

    Args:
        alarms: the checked configuration.
        ledger: where partials, reservations and decisions live.
        noise: the cryptographic source.
        clock_ms: wall clock; for timeouts only, never for membership.
        partitions: number of partitions per feed name.
        step: called at the named points of the protocol; tests may end the process there.
    """

    def __init__(
        self,
        *,
        alarms: Alarms,
        ledger: Ledger,
        noise: NoiseSource,
        clock_ms: Callable[[], int],
        partitions: Mapping[str, int],
        step: StepHook = no_step,
    ) -> None:
        self._alarms = alarms
        self._ledger = ledger
        self._noise = noise
        self._clock_ms = clock_ms
        self._partitions = partitions
        self._step = step
        queries = alarms.queries.values()
        self._runs = {query.id: run for query in queries if (run := run_of(query)) is not None}
        self._operators: dict[str, Operator] = {
            query.id: self._runs.get(query.id) or operator_of(query) for query in queries
        }
        self._charges = {
            query.id: to_loss_units(self._operators[query.id].plan.epsilon) for query in queries
        }

    @property
    def plans(self) -> dict[str, Plan]:
        """Every alarm's worst case, by query id."""
        return {query_id: operator.plan for query_id, operator in self._operators.items()}

    def decide_due(self, query_id: str) -> Iterator[StoredDecision]:
        """Decide every window of a query that can be decided by now, oldest first.

        Stops at the first window that is still waiting for a partition, or for the end of earlier
        windows of the same budget. Many workers may call this
        at once: one of them decides, the others find nothing to do. Should two draw all the same
        (a lost database connection drops the lock), the ledger keeps the first draw it stored.
        """
        query = self._alarms.queries[query_id]
        with self._ledger.exclusive(f"decide:{query_id}") as mine:
            while mine:
                index = self._oldest(query)
                decision = self._decide(query, index)
                if decision is None:
                    return
                yield decision

    def _oldest(self, query: Query) -> int:
        """Return the oldest undecided window; an accepted change may have cut time up anew."""
        calendar = query.calendar
        return calendar.next_active(calendar.first_starting_at(self._ledger.cursor(query.id)))

    def _decide(self, query: Query, index: int) -> StoredDecision | None:
        start_ms, end_ms = query.calendar.bounds(index)
        key = WindowKey(end_ms=end_ms, query=query.id, start_ms=start_ms)
        partials = WindowPartials.of(self._ledger.counts.partials(key))
        reason = self._reason_to_deny(query, key, partials)
        if reason is None and any(self._missing(query, partials)):
            return None
        if reason is None:
            self._admit_through(query, key)
            self._step(Step.AFTER_RESERVE, key)
            admission = self._ledger.answer(key)
            if admission is Answer.PENDING:
                return None
            if admission is not Answer.RESERVED:
                reason = _DENIALS[admission]
        next_start_ms = query.calendar.bounds(query.calendar.next_active(index + 1))[0]
        release_ms = self._release_ms(query, key)
        if reason is not None:
            return self._ledger.deny(
                key,
                fingerprint=query.fingerprint,
                reason=reason,
                next_start_ms=next_start_ms,
                release_ms=release_ms,
            )
        drawn = self._draw(query, index, partials)
        self._step(Step.AFTER_DRAW, key)
        fired = np.flatnonzero(drawn.fired)
        decision = self._ledger.settle(
            key,
            fingerprint=query.fingerprint,
            cost=drawn.cost,
            alarms=encode_fired(query, fired, late=drawn.late, unanswered=drawn.unanswered),
            alarm_count=len(fired) + len(drawn.late),
            next_start_ms=next_start_ms,
            release_ms=release_ms,
            run=drawn.run,
        )
        self._step(Step.AFTER_COMMIT, key)
        return decision

    def _draw(self, query: Query, index: int, partials: WindowPartials) -> _Drawn:
        """Decide the cells of a window; of a run, go on from where the ledger says it stands."""
        cells = len(query.domain)
        statistics = _statistics(partials.own, query.condition.statistics, cells)
        run = self._runs.get(query.id)
        if run is None:
            operator = self._operators[query.id]
            if query.reference is not None:
                operator = operator_of(around(query, _statistics(partials.reference, 1, cells)[0]))
            decided = operator.decide(statistics, self._noise)
            return _Drawn(decided.fired, decided.cost)
        periods = self._periods(*query.calendar.bounds(index))
        before = self._ledger.run(query.id, periods, query.fingerprint)
        asked = run.go_on(statistics, before, self._noise, window=index)
        # Under unit `event`, an event bears the loss of a whole run in whatever window it lies.
        shared = has_runs(query, self._alarms.budget)
        units = asked.units if shared else self._charges[query.id]
        cost = UniformCost(units, cells)
        return _Drawn(asked.fired, cost, asked.late, asked.unanswered, asked.after)

    def _periods(self, start_ms: int, end_ms: int) -> tuple[int, ...]:
        """Return the budget periods that a window touches."""
        periods = self._alarms.budget.periods
        return periods.touched(start_ms, end_ms) if periods else ()

    def _reason_to_deny(self, query: Query, key: WindowKey, partials: WindowPartials) -> str | None:
        """Say why a window is denied without looking at what it counted, or ``None``."""
        live = query.feed.clock is Clock.APPEND_TIME
        late_ms = self._clock_ms() - (key.end_ms + query.grace_ms) if live else 0
        missing, unreferenced = self._missing(query, partials)
        reference = query.reference
        reasons = {
            "reconfigured": key.start_ms < self._ledger.effective_from(query.id),
            "conflict": self._ledger.counts.conflicted(key),
            "incomplete": not all(one.complete for one in (*partials.own, *partials.reference)),
            "too_old": late_ms > query.max_age_ms,
            "partition_missing": missing and late_ms > query.decide_timeout_ms,
            "reference_timeout": reference is not None
            and unreferenced
            and late_ms > reference.timeout_ms,
        }
        return next((reason for reason, holds in reasons.items() if holds), None)

    def _missing(self, query: Query, partials: WindowPartials) -> tuple[bool, bool]:
        """Tell whether partitions of the alarm's own feed are missing, and of its reference's."""
        reference = query.reference
        wanted = 0 if reference is None else self._partitions[reference.feed.name]
        return (
            len(partials.own) < self._partitions[query.feed.name],
            len(partials.reference) < wanted,
        )

    def _release_ms(self, query: Query, key: WindowKey) -> int:
        """Return when the decision may leave: a fixed delay after the cut, for live feeds."""
        if query.feed.clock is Clock.PUNCTUATION:
            return 0
        return key.end_ms + query.grace_ms + query.publish_delay_ms

    def _admit_through(self, query: Query, key: WindowKey) -> None:
        scope = scope_of(query, self._alarms)
        sharing = [q for q in self._alarms.queries.values() if scope_of(q, self._alarms) == scope]
        requests = heapq.merge(
            *(self._requests(q, key) for q in sharing), key=lambda request: request.charge.key
        )
        self._ledger.admit(scope, list(requests), alarms={q.id for q in sharing})

    def _requests(self, query: Query, last: WindowKey) -> Iterator[Request]:
        """Yield the public schedule of one query from its oldest undecided window to ``last``."""
        budget, operator = self._alarms.budget, self._runs.get(query.id)
        cost = UniformCost(units=self._charges[query.id], cells=len(query.domain))
        run = operator.run_terms if operator is not None and has_runs(query, budget) else None
        index = self._oldest(query)
        now_ms = self._clock_ms()
        while True:
            start_ms, end_ms = query.calendar.bounds(index)
            key = WindowKey(end_ms=end_ms, query=query.id, start_ms=start_ms)
            if key > last:
                return
            yield Request(
                charge=Charge(
                    key=key,
                    cost=cost,
                    cells_per_unit=cells_per_unit(query, budget),
                    periods=self._periods(start_ms, end_ms),
                ),
                fingerprint=query.fingerprint,
                too_old=_too_old(query, end_ms, now_ms),
                run=run,
            )
            index = query.calendar.next_active(index + 1)


@dataclass(frozen=True, slots=True)
class _Drawn:
    """What was drawn for a window: nothing of it has left yet."""

    fired: NDArray[np.bool_]
    cost: CellCosts
    late: tuple[tuple[int, int], ...] = ()
    unanswered: int = 0
    run: RunAfter | None = None


_SATURATION = (1 << 62) - 1  # two of them still fit into 64 bits
_DENIALS = {
    Answer.REFUSED: "budget",
    Answer.TOO_OLD: "too_old",
    Answer.MISSED: "not_admitted",
}


def _too_old(query: Query, end_ms: int, now_ms: int) -> bool:
    if query.feed.clock is Clock.PUNCTUATION:
        return False
    return now_ms - (end_ms + query.grace_ms) > query.max_age_ms


def _statistics(partials: Sequence[Partial], statistics: int, cells: int) -> NDArray[np.int64]:
    """Add up the partitions' sparse vectors, saturating; units live in one partition each.

    Returns:
        Shape (statistics, cells), int64.
    """
    total = np.zeros(statistics * cells, dtype=np.int64)
    for partial in partials:
        added = np.zeros_like(total)
        added[partial.index] = np.clip(partial.value, -_SATURATION, _SATURATION)
        total = np.clip(total + added, -_SATURATION, _SATURATION)
    return total.reshape(statistics, cells)
