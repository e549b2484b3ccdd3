"""Reserve, draw, settle: at most one stored draw per window, whatever crashes in between.

The judge is driven by both shells. It holds no state of its own: whatever it needs to go on after
a kill is in the ledger (promise 3). It remembers only how far it has asked, so that a decision
lists what is new of the schedule and not all of it. Windows of an alarm are decided strictly in
order.
"""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np

from accountant.costs.charges import UniformCost
from accountant.costs.levels import LevelCosts
from accountant.records import Answer, Request
from accountant.units import to_loss_units
from operators.single.held import decide_asked
from stream.decisions.counts import counts_of
from stream.decisions.held import held_cells
from stream.decisions.mechanisms import as_charged, operator_of, panes_of, run_of
from stream.decisions.panes import TOKEN_BYTES, StoredPanes
from stream.decisions.registration import charge_of
from stream.decisions.release import Drawn, encode_fired
from stream.decisions.schedule import window_after, window_from, windows_through
from stream.decisions.steps import Step, no_step
from stream.decisions.waiting import Awaited
from stream.model.alarms import has_runs, scope_of
from stream.model.feeds import Clock
from stream.model.holds import in_runs
from stream.model.references import WindowPartials, around, feeds_of, references_of
from stream.model.routing import counted_from, partitions_of_window

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from accountant.costs.charges import CellCosts, WindowKey
    from accountant.costs.runs import StoredRun
    from accountant.ledger.ledger import Ledger
    from accountant.records import Partial, StoredDecision
    from operators.base import Operator, PaneOperator, RunOperator
    from operators.noise.source import NoiseSource
    from operators.single.looks import EarlyAlarms
    from stream.decisions.schedule import Window
    from stream.decisions.steps import StepHook
    from stream.model.alarm import Alarm
    from stream.model.alarms import Alarms

__all__ = ["Judge", "statistics_of"]


class Judge:
    """Decides whatever is due, in order, against the ledger.

    Args:
        alarms: the checked configuration.
        ledger: where partials, reservations and decisions live.
        noise: the cryptographic source; a seeded one is refused.
        clock_ms: wall clock; for timeouts only, never for membership.
        step: called at the named points of the protocol; tests may end the process there.
    """

    def __init__(
        self,
        *,
        alarms: Alarms,
        ledger: Ledger,
        noise: NoiseSource,
        clock_ms: Callable[[], int],
        step: StepHook = no_step,
    ) -> None:
        self._alarms = alarms
        self._ledger = ledger
        self._noise = noise.for_release()
        self._clock_ms = clock_ms
        self._step = step
        self._running = alarms.running
        queries = self._running.values()
        self._stored = StoredPanes(alarms, ledger)
        self._operators: dict[str, Operator] = {
            alarm.id: run_of(alarm) or panes_of(alarm) or operator_of(alarm) for alarm in queries
        }
        self.plans = {
            alarm.id: as_charged(alarm, self._operators[alarm.id].plan) for alarm in queries
        }
        """Every window's worst case, by alarm id."""
        self._charges = {name: to_loss_units(plan.epsilon) for name, plan in self.plans.items()}
        self._scopes = {alarm.id: scope_of(alarm, alarms) for alarm in queries}
        self._sharing: defaultdict[str, dict[str, Alarm]] = defaultdict(dict)
        for alarm in queries:
            self._sharing[self._scopes[alarm.id]][alarm.id] = alarm
        self._following: dict[str, list[Window]] = {}

    def due(self) -> list[str]:
        """Return the alarms that may have a window to decide, from one short read.

        A window is looked at once something was counted in it, or its cut has passed (for
        timeouts), or an applied change takes effect behind it. Of others there is nothing to say.
        """
        now_ms = self._clock_ms()
        stands = [each for each in self._ledger.progress.queries() if each.query in self._running]
        cursors_ms = {each.query: each.cursor_ms for each in stands}
        return [
            each.query
            for each in stands
            if each.counted
            or each.reconfigured
            or self._cut_passed(self._running[each.query], cursors_ms, now_ms)
        ]

    def decide_due(self, *alarm_ids: str) -> Iterator[StoredDecision]:
        """Decide every window of some alarms that can be decided by now, the oldest of all first.

        What is decided of panes is there for the windows over them, which end no earlier. An alarm
        is left at its first window that is still waiting for a partition, or for the end of earlier
        windows of the same budget. Many workers may call this
        at once: one of them decides, the others find nothing to do. Should two draw all the same
        (a lost database connection drops the lock), the ledger keeps the first draw it stored.
        """
        cursors_ms = self._ledger.progress.cursors(alarm_ids)
        following = {name: self._place(name, cursors_ms[name]) for name in alarm_ids}
        while following:
            alarm_id = min(following, key=following.__getitem__)
            with self._ledger.exclusive(f"decide:{alarm_id}") as mine:
                decision = self._decide(self._running[alarm_id]) if mine else None
            if decision is None:
                del following[alarm_id]
            else:
                following[alarm_id] = self._place(alarm_id, decision.key.start_ms + 1)
                yield decision

    def _place(self, alarm_id: str, since_ms: int) -> tuple[int, bool, str]:
        """Return an alarm's place in the order: when its first window from a time on ends (ms)."""
        alarm = self._running[alarm_id]
        return window_from(alarm, since_ms).key.end_ms, bool(alarm.panes), alarm_id

    def _decide(self, alarm: Alarm) -> StoredDecision | None:
        """Decide the oldest window; ``None`` while it waits."""
        window = window_from(alarm, self._ledger.cursor(alarm.id))
        key, index, _ = window
        look = self._over_panes if alarm.panes else self._counted
        found = look(alarm, key, index)
        if found is None:
            return None
        if not isinstance(found, str):
            self._admit_through(alarm, key)
            self._step(Step.AFTER_RESERVE, key)
            admission = self._ledger.answer(key)
            if admission is Answer.PENDING:
                return None
            found = found if admission is Answer.RESERVED else _DENIALS[admission]
        next_start_ms = window_after(window).key.start_ms
        watched = alarm.feed.clock is Clock.WATERMARKS
        release_ms = 0 if watched else key.end_ms + alarm.grace_ms + alarm.publish_delay_ms
        if isinstance(found, str):
            return self._ledger.deny(
                key,
                fingerprint=alarm.fingerprint,
                reason=found,
                next_start_ms=next_start_ms,
                release_ms=release_ms,
            )
        drawn = found()
        self._step(Step.AFTER_DRAW, key)
        decision = self._ledger.settle(
            key,
            fingerprint=alarm.fingerprint,
            cost=drawn.cost,
            alarms=encode_fired(alarm, drawn),
            alarm_count=drawn.alarms,
            next_start_ms=next_start_ms,
            release_ms=release_ms,
            run=drawn.run,
            noisy=drawn.noisy,
        )
        self._step(Step.AFTER_COMMIT, key)
        return decision

    def _counted(self, alarm: Alarm, key: WindowKey, index: int) -> _Found | None:
        """Look at what was counted of a window; ``None`` while it still waits for more."""
        partials = WindowPartials.of(self._ledger.counts.partials(key))
        # Read after the counts: who counted the window knew of every growth that it is behind.
        partitions = self._partitions(alarm, key, index)
        awaited = Awaited(alarm, partials, partitions) if partitions else None
        reason = self._reason_to_deny(alarm, key, partials, awaited)
        if reason is not None:
            return reason
        if awaited is None or awaited:
            return None
        if _is_early(alarm):
            # What a step adds is charged with that step, for all later ones of its window: where
            # one was denied its events were never paid for, and the rest tells nothing of them.
            looks = cast("EarlyAlarms", self._operators[alarm.id])
            if not looks.continues(self._run_before(alarm, index), index):
                return "step_missed"
        if alarm.firsts and not self._stored.continues(alarm, index):
            return "step_missed"
        return partial(self._draw, alarm, key, index, partials)

    def _over_panes(self, alarm: Alarm, key: WindowKey, index: int) -> _Found | None:
        """Look at the panes of a window, and at nothing else; ``None`` until they have ended."""
        start_ms, end_ms = alarm.calendar.counted(index)
        if start_ms < self._ledger.effective_from(alarm.id):
            return "reconfigured"
        if _too_old(alarm, key.end_ms, self._clock_ms()):
            return "too_old"
        if self._ledger.cursor(alarm.panes) < key.end_ms:
            return None
        noisy = self._stored.over(alarm, start_ms, end_ms)
        if isinstance(noisy, str):
            return noisy
        if not self._stored.continues(alarm, index):
            return "step_missed"
        operator = cast("PaneOperator", self._operators[alarm.id])
        free = UniformCost(0, len(alarm.domain))

        def draw() -> Drawn:
            counts = counts_of(alarm, operator, noisy)
            reached = operator.reached(noisy)
            return Drawn(reached > 0, free, counts=counts, reached=reached)

        return draw

    def _draw(self, alarm: Alarm, key: WindowKey, index: int, partials: WindowPartials) -> Drawn:
        """Decide the cells of a window; of a run, go on from where the ledger says it stands.

        Args:
            alarm: whose window it is.
            key: the window.
            index: its number.
            partials: what is stored for it.
        """
        cells, counted_cells = len(alarm.domain), len(alarm.counted)
        operator = self._operators[alarm.id]
        statistics = statistics_of(partials.own, alarm.condition.statistics, counted_cells)
        if alarm.readers:
            noisy = cast("PaneOperator", operator).release(statistics, self._noise)
            cost = UniformCost(self._charges[alarm.id], cells)
            silent = np.zeros(cells, dtype=np.bool_)
            kept = self._stored.kept(alarm, noisy, self._noise.token(TOKEN_BYTES))
            return Drawn(silent, cost, noisy=kept)
        held = held_cells(alarm, key, self._ledger.progress)
        if not (in_runs(alarm) or _is_early(alarm)):
            if alarm.reference is not None:
                rows = len(alarm.reference.aggregates)
                counted = statistics_of(partials.reference, rows, cells)
                operator = operator_of(around(alarm, references_of(alarm, counted)))
            decided = decide_asked(operator, statistics, held, self._noise)
            return Drawn(decided.fired, decided.cost, reached=decided.reached)
        run, before = cast("RunOperator | EarlyAlarms", operator), self._run_before(alarm, index)
        asked = run.go_on(statistics, before, self._noise, window=index, held=held)
        # Under unit `event`, an event bears the loss of a whole run in whatever window it lies; of
        # steps, in the first that counts it, for all those of its window.
        shared = has_runs(alarm, self._alarms.budget)
        units = asked.units if shared else self._charges[alarm.id]
        spent: CellCosts = (
            UniformCost(units, cells)
            if held is None or shared
            else LevelCosts.of(np.where(held, 0, units))
        )
        return Drawn(asked.fired, spent, asked.late, asked.unanswered, asked.after)

    def _run_before(self, alarm: Alarm, index: int) -> StoredRun | None:
        """Return the run that a window goes on with, as the ledger has it; ``None`` to open one."""
        periods = self._alarms.budget.touched(*alarm.calendar.bounds(index))
        return self._ledger.run(alarm.id, periods, alarm.fingerprint)

    def _partitions(self, alarm: Alarm, key: WindowKey, index: int) -> dict[str, int] | None:
        """Return over how many partitions a window's events are routed, by feed.

        ``None`` where one of the feeds got more of them meanwhile.
        """
        layouts, calendar = self._ledger.growths.layouts(), alarm.calendar
        counted_ms = calendar.counted(counted_from(alarm, self._alarms.budget, index))[0]
        found = {}
        for feed in feeds_of(alarm):
            known = layouts[feed.name]
            since_ms = calendar.counted(index)[0] if feed is not alarm.feed else counted_ms
            partitions = partitions_of_window(alarm, feed, known, since_ms, key.end_ms)
            if partitions is None:
                return None
            found[feed.name] = partitions
        return found

    def _reason_to_deny(
        self, alarm: Alarm, key: WindowKey, partials: WindowPartials, awaited: Awaited | None
    ) -> str | None:
        """Say why a window is denied without looking at what it counted, or ``None``.

        Args:
            alarm: whose window it is.
            key: the window.
            partials: what is stored for it.
            awaited: what it lacks; ``None`` where its feeds' partitions changed meanwhile. That is
                known of windows that have ended alone, while a growth is not done.
        """
        over = self._clock_ms() > key.end_ms + alarm.grace_ms
        reasons = {
            "reconfigured": key.start_ms < self._ledger.effective_from(alarm.id),
            "repartitioned": awaited is None and over,
            "conflict": self._ledger.counts.conflicted(key),
            "incomplete": not all(one.complete for one in (*partials.own, *partials.reference)),
            "too_old": _too_old(alarm, key.end_ms, self._clock_ms()),
        }
        reason = next((reason for reason, holds in reasons.items() if holds), None)
        if reason is not None or awaited is None or alarm.feed.clock is Clock.WATERMARKS:
            return reason
        cut_ms = key.end_ms + alarm.grace_ms
        return awaited.too_long(self._ledger.counts, cut_ms, self._clock_ms())

    def _cut_passed(self, alarm: Alarm, cursors_ms: Mapping[str, int], now_ms: int) -> bool:
        """Tell whether the cut of the oldest undecided window has passed, on a live feed.

        Of a window over panes: whether they have ended, on any.
        """
        end_ms = window_from(alarm, cursors_ms[alarm.id]).key.end_ms
        if alarm.panes:
            return cursors_ms.get(alarm.panes, -1) >= end_ms
        if alarm.feed.clock is Clock.WATERMARKS:
            return False  # its marks tell the time, and every mark makes a count
        return now_ms > end_ms + alarm.grace_ms

    def _admit_through(self, alarm: Alarm, key: WindowKey) -> None:
        """Ask for every window of the budget up to one that is the oldest undecided of its query.

        What this process has asked for is served, and is not listed again.
        """
        scope = self._scopes[alarm.id]
        sharing, progress = self._sharing[scope], self._ledger.progress
        following = self._following.get(scope)
        if following is None:
            cursors = progress.cursors(sharing)
            following = [window_from(one, cursors[name]) for name, one in sharing.items()]
        windows, rest = windows_through(following, key)
        if windows:
            # Others may have passed windows over since they were listed: nobody asks for those.
            cursors = progress.cursors({window.alarm.id for window in windows})
            now_ms = self._clock_ms()
            requests = [
                self._request(window, now_ms)
                for window in windows
                if window.key.start_ms >= cursors[window.alarm.id]
            ]
            self._ledger.admit(scope, requests, alarms=sharing.keys())
        self._following[scope] = rest

    def _request(self, window: Window, now_ms: int) -> Request:
        """Return what is asked for a window of the public schedule."""
        key, _, alarm = window
        budget, run = self._alarms.budget, cast("RunOperator", self._operators[alarm.id])
        return Request(
            charge=charge_of(alarm, budget, key, self._charges[alarm.id]),
            fingerprint=alarm.fingerprint,
            too_old=_too_old(alarm, key.end_ms, now_ms),
            run=run.run_terms if in_runs(alarm) and has_runs(alarm, budget) else None,
        )


_Found: TypeAlias = "str | Callable[[], Drawn]"
"""Why a window is denied, or what draws for it."""

_SATURATION = (1 << 62) - 1  # with a count of one partition it still fits into 64 bits
_DENIALS = {
    Answer.REFUSED: "budget",
    Answer.TOO_OLD: "too_old",
    Answer.MISSED: "not_admitted",
}


def _is_early(alarm: Alarm) -> bool:
    """Whether windows are looked at while they fill; those over panes are as often as one likes."""
    return alarm.aim.looks > 1 and not alarm.readers


def _too_old(alarm: Alarm, end_ms: int, now_ms: int) -> bool:
    if alarm.feed.clock is Clock.WATERMARKS:
        return False
    return now_ms - (end_ms + alarm.grace_ms) > alarm.max_age_ms


def statistics_of(partials: Sequence[Partial], statistics: int, cells: int) -> NDArray[np.int64]:
    """Add up the partitions' sparse vectors, saturating; units live in one partition each.

    Returns:
        Shape (statistics, cells), int64.
    """
    total = np.zeros(statistics * cells, dtype=np.int64)
    for one in partials:
        added = total[one.index] + one.value
        total[one.index] = np.clip(added, -_SATURATION, _SATURATION)
    return total.reshape(statistics, cells)
