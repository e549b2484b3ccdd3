"""Simulated replays of a file: every window of all its alarms in order, and what came of it.

A replay is one draw of everything that ``tocsin run --replay`` would draw: windows ask their budget
as they do there (:mod:`stream.simulation.budgets`), what is denied draws nothing, and what a window
does not cost is there for those after it. Whatever is tallied is private: truth comes from exact
statistics.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from accountant.costs.charges import UniformCost
from accountant.costs.levels import LevelCosts, level_costs
from accountant.costs.runs import StoredRun
from accountant.errors import ConfigError
from accountant.rules.runs import usable
from accountant.units import to_loss_units
from operators.noise.source import NoiseSource
from operators.single.batched import decide_many
from operators.single.held import decide_asked
from stream.decisions.mechanisms import operator_of, panes_of, plans_of, run_of
from stream.model.holds import in_runs
from stream.planning.budget import budget_plan
from stream.simulation.budgets import Asking, Budgets, in_order, keys_at
from stream.simulation.tally import Cells, Tally
from stream.simulation.truth import first_held, may_fire, must_fire

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from accountant.costs.charges import CellCosts, Charge, WindowKey
    from operators.base import Operator, RunOperator
    from operators.single.looks import EarlyAlarms
    from stream.model.alarm import Alarm
    from stream.model.alarms import Alarms
    from stream.simulation.history import CountedAlarm

__all__ = ["Played"]

_ENTRIES: Final = 400_000  # statistics that are spread out in memory at once
_FAR: Final = 1 << 52  # what a pane counts ends here, for its operator too


@dataclass(frozen=True, eq=False)
class _Counted:
    """One alarm that is drawn, and what every replay of it shares."""

    asking: Asking
    windows: CountedAlarm
    operator: Operator

    @property
    def alarm(self) -> Alarm:
        """The alarm."""
        return self.asking.alarm

    @cached_property
    def since(self) -> NDArray[np.intp]:
        """Shape (windows,): the first window whose alarms hold each one; itself without a hold."""
        calendar = self.alarm.calendar
        numbers = calendar.containing(self.windows.starts_ms[:: self.windows.looks])[1]
        ends = np.array([calendar.bounds(number)[1] for number in numbers.tolist()], np.int64)
        return np.searchsorted(ends, ends - self.alarm.hold_ms)

    @cached_property
    def truth(self) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Per window and cell, the first step at which it is true, and whether it may fire at all.

        As many as there are steps where it is true at none.
        """
        first, may = [], []
        for part in self.chunks():
            rows = self.windows.looked_at(part.start, part.stop).transpose(2, 0, 1, 3)
            asked = self.alarm.condition, self.alarm.aim, rows
            first.append(first_held(must_fire(*asked)))
            may.append(may_fire(*asked).any(axis=1))
        return np.concatenate(first), np.concatenate(may)

    def chunks(self) -> Iterator[slice]:
        """Cut the windows into pieces of bounded size."""
        counted = self.windows
        stride = max(1, _ENTRIES // (counted.cells * counted.statistics * counted.looks))
        for first in range(0, counted.windows, stride):
            yield slice(first, min(first + stride, counted.windows))


class _Draw:
    """One alarm in one replay; of panes and of alarms that are not drawn, what they pay alone."""

    def __init__(self, asking: Asking) -> None:
        self.asking = asking
        self.denied = np.zeros(len(asking.keys), np.bool_)

    def step(self, at: int, budgets: Budgets) -> None:
        """Ask for a window and decide it; all before it have ended."""
        one, charge = self.asking, self.charge(at)
        late = one.goes_on[at] and at > 0 and bool(self.denied[at - 1])
        if late or not budgets.grant(one, charge):
            self.denied[at] = True
        else:
            budgets.settle(one, charge, self.decide(at))

    def charge(self, at: int) -> Charge:
        """Return what a window asks for."""
        return self.asking.charges[at]

    def decide(self, at: int) -> CellCosts:
        """Decide a window that was granted; return what it cost."""
        return self.asking.charges[at].cost


class _Windows(_Draw):
    """Windows that share no noise: drawn together, but for those of an alarm with a hold."""

    def __init__(self, counted: _Counted, noise: NoiseSource) -> None:
        super().__init__(counted.asking)
        self.counted, self.noise = counted, noise
        self.looks = counted.windows.looks
        shape = counted.windows.windows, counted.alarm.condition.answers
        self.fired, self.held = np.zeros(shape, np.bool_), np.zeros(shape, np.bool_)
        self.units = np.zeros(shape, np.int64)
        self.reached: NDArray[np.int64] | None = None
        self.prepare()

    def prepare(self) -> None:
        """Draw what depends on nothing that is drawn before it."""
        if self.counted.alarm.hold_ms:
            return
        levels = []
        for part in self.counted.chunks():
            statistics = self.counted.windows.stacked(part.start, part.stop)
            found = decide_many(self.counted.operator, statistics, self.noise)
            self.fired[part], self.units[part] = found.fired, found.units
            levels += [] if found.reached is None else [found.reached]
        self.reached = np.concatenate(levels) if levels else None

    def step(self, at: int, budgets: Budgets) -> None:
        """Note who is held in a window before it is asked for."""
        window, look = divmod(at, self.looks)
        if not look:
            before = self.fired[self.counted.since[window] : window]
            self.held[window] = before.any(axis=0)
        super().step(at, budgets)

    def decide(self, at: int) -> CellCosts:
        """Decide a window, or return what it cost."""
        if self.counted.alarm.hold_ms:
            statistics = self.counted.windows.dense(at)
            found = decide_asked(self.counted.operator, statistics, self.held[at], self.noise)
            self.fired[at], self.units[at] = found.fired, level_costs(found.cost).as_array()
        return LevelCosts.of(self.units[at])

    def tally(self) -> Tally:
        """Return what came of the replay; what was drawn of a window that was denied, did not."""
        counted, (first, may) = self.counted, self.counted.truth
        lost = np.asarray(self.denied.reshape(len(self.fired), -1).any(axis=1))
        if self.looks == 1:
            self.fired[lost], self.units[lost] = False, 0
        true = first < self.looks
        tally = _tallied(self.fired, true, may, ~self.held, lost)
        if self.reached is not None:
            self.reached[lost] = 0
            rows = counted.windows.stacked(0, counted.windows.windows).transpose(1, 0, 2)
            tally.severities = _severities(counted.alarm, self.reached, rows)
        self.losses(tally, true)
        return tally

    def losses(self, tally: Tally, _true: NDArray[np.bool_]) -> None:
        """Tally what was paid."""
        tally.charge(self.units, self.asking.charges[0].cells_per_unit)


class _Runs(_Windows):
    """Windows of SVT runs: a threshold, its alarms, and who is asked again are of several."""

    def prepare(self) -> None:
        """Open nothing yet."""
        self._run: StoredRun | None = None
        self._paid: list[int] = []  # by each run so far
        self._cut: list[int] = []  # windows in which a run was spent

    def charge(self, at: int) -> Charge:
        """Return what is left of the window's run, or all of another."""
        whole = self.asking.charges[at]
        run = usable(self._run, "", whole.periods)
        if run is None or not self.asking.in_runs:
            return whole
        cost = UniformCost(run.left * run.alarm_units, whole.cost.cells)
        return replace(whole, cost=cost)

    def decide(self, at: int) -> CellCosts:
        """Ask the window's cells."""
        operator, charge = cast("RunOperator", self.counted.operator), self.asking.charges[at]
        before, held = usable(self._run, "", charge.periods), self.held[at]
        step = operator.go_on(
            self.counted.windows.dense(at), before, self.noise, window=at, held=held
        )
        self.fired[at] |= step.fired
        for window, cell in step.late:
            self.fired[window, cell] = True
        if before is None:
            self._paid.append(0)
        self._paid[-1] += step.units
        if not step.after.left:
            self._cut.append(at)
        self._run = StoredRun(
            query="",
            fingerprint="",
            periods=charge.periods,
            open_units=operator.run_terms.open_units,
            alarm_units=operator.run_terms.alarm_units,
            left=step.after.left,
            alarms_rung=step.after.rung + (0 if before is None else before.alarms_rung),
            opened_start_ms=0,
            last_start_ms=at,
            state=step.after.state,
        )
        if self.asking.in_runs:
            return UniformCost(step.units, charge.cost.cells)
        return LevelCosts.of(np.where(held, 0, charge.cost.units))

    def losses(self, tally: Tally, true: NDArray[np.bool_]) -> None:
        """Tally what every run lost; in which windows it was spent, not all were answered."""
        tally.leave(self.fired[self._cut], (true & ~self.held)[self._cut])
        tally.charge_shared(*self._paid)


class _Steps(_Windows):
    """Windows that are evaluated step by step: who fires at one is done for the window."""

    def prepare(self) -> None:
        """Draw every window from end to end."""
        operator, counted = cast("EarlyAlarms", self.counted.operator), self.counted.windows
        parts = [
            operator.first_looks(counted.looked_at(part.start, part.stop), self.noise)
            for part in self.counted.chunks()
        ]
        self.fired_at = np.concatenate(parts)
        self._paid = to_loss_units(operator.plan.epsilon)

    def decide(self, at: int) -> CellCosts:
        """Evaluate a step: windows share no noise, so whom a hold spares may be drawn before."""
        window, look = divmod(at, self.looks)
        held = self.held[window]
        if not look:
            self.units[window] = np.where(held, 0, self._paid)
        self.fired[window] |= (self.fired_at[window] == look) & ~held
        return LevelCosts.of(np.where(held, 0, self.asking.units))

    def losses(self, tally: Tally, true: NDArray[np.bool_]) -> None:
        """Tally delays, too."""
        fired_at = np.where(self.fired, self.fired_at, self.looks)
        first = np.where(self.held, self.looks, self.counted.truth[0])
        tally.delay(fired_at, first, self.looks)
        super().losses(tally, true)


@dataclass(frozen=True, slots=True, eq=False)
class _OverPanes:
    """Windows over panes, which are drawn once for all of them: so they err together.

    Args:
        counted: the alarm, with its windows.
        panes: exact statistics of the panes.
        windows: per window its panes, in order.
    """

    counted: _Counted
    panes: CountedAlarm
    windows: tuple[range, ...]

    @classmethod
    def of(cls, counted: _Counted, panes: CountedAlarm) -> _OverPanes:
        """Find the panes of an alarm's windows; windows that lack one are left out.

        Raises:
            ConfigError: no window has all its panes.
        """
        alarm, windows = counted.alarm, counted.windows
        numbers = alarm.calendar.containing(windows.starts_ms)[1]
        ends_ms = [alarm.calendar.bounds(number)[1] for number in numbers.tolist()]
        first = np.searchsorted(panes.starts_ms, windows.starts_ms).tolist()
        last = np.searchsorted(panes.starts_ms, np.array(ends_ms, np.int64)).tolist()
        found = map(range, first, last)
        whole = tuple(each for each in found if len(each) == alarm.aim.panes)
        if not whole:
            raise ConfigError(
                f"the files do not hold all panes of any window of alarm {alarm.id!r}",
                hint="use an export that starts before the history",
            )
        return cls(counted, panes, whole)

    def tally(self, noise: NoiseSource, denied: NDArray[np.bool_]) -> Tally:
        """Draw all panes once, decide all windows from them, and return what came of it.

        Args:
            noise: the cryptographic source.
            denied: shape (panes,), those that a budget denied.
        """
        alarm, operator = self.counted.alarm, cast("Any", self.counted.operator)
        panes = self.panes.stacked(0, self.panes.windows)
        reached = operator.reached_many(operator.release_many(panes, noise), self.windows)
        running = np.zeros((len(panes) + 1, *panes.shape[1:]), np.int64)
        np.cumsum(np.clip(panes, -_FAR, _FAR), axis=0, out=running[1:])
        ends = [rows.stop for rows in self.windows], [rows.start for rows in self.windows]
        rows = (running[ends[0]] - running[ends[1]]).transpose(1, 0, 2)  # right if sums wrap
        lost = np.array([denied[each.start : each.stop].any() for each in self.windows])
        reached[lost] = 0
        true = must_fire(alarm.condition, alarm.aim, rows)
        may = may_fire(alarm.condition, alarm.aim, rows)
        tally = _tallied(reached > 0, true, may, np.ones_like(true), lost)
        tally.severities = _severities(alarm, reached, rows)
        tally.charge_shared(to_loss_units(operator.plan.epsilon))
        return tally


class Played:
    """A file, ready to be replayed again and again.

    Args:
        alarms: the file, with the alarms that draw on the same budgets.
        counted: of the alarms that are drawn, and of their panes.
        others: windows of what is not drawn and pays all the same, by name: its cost is known.
    """

    def __init__(
        self,
        alarms: Alarms,
        counted: Mapping[str, CountedAlarm],
        others: Mapping[str, Sequence[WindowKey]],
    ) -> None:
        self._asking: dict[str, Asking] = {}
        self._drawn: dict[str, _Counted] = {}
        self._over: dict[str, _OverPanes] = {}
        plans = plans_of(alarms)
        for name, query in alarms.running.items():
            if name not in counted and name not in others:
                continue
            keys = others[name] if name in others else keys_at(query, counted[name].starts_ms)
            asking = Asking(query, alarms, keys, to_loss_units(plans[name].epsilon))
            if not query.panes:  # of windows over panes, these pay
                self._asking[name] = asking
            if name not in counted or name in alarms.panes:
                continue
            operator = run_of(query) or panes_of(query) or operator_of(query)
            found = _Counted(asking, counted[name], operator)
            if query.panes:
                self._over[name] = _OverPanes.of(found, counted[query.panes])
            else:
                self._drawn[name] = found
        # What no budget denies, and no window before it changes, is drawn at once. An SVT run that
        # is spent may be followed by another: budgets of runs are always asked.
        runs = {one.scope for one in self._asking.values() if one.in_runs}
        planned = budget_plan(alarms, plans).scopes
        free = {each.terms.scope for each in planned if each.fits and each.worst_units} - runs
        self._order = in_order(
            one
            for one in self._asking.values()
            if one.scope not in free or one.alarm.hold_ms or _kind(one.alarm) is not _Windows
        )

    def replays(self, runs: int, on_runs: Callable[[int, int], None]) -> dict[str, Tally]:
        """Replay the file with fresh noise; return what came of every alarm that is drawn.

        Args:
            runs: replays, >= 1.
            on_runs: called with how many replays are done, of how many.
        """
        noise = NoiseSource()
        found: defaultdict[str, Tally] = defaultdict(Tally)
        for done in range(runs):
            on_runs(done, runs)
            for name, tally in self.replay(noise).items():
                found[name] += tally
        on_runs(runs, runs)
        return found

    def replay(self, noise: NoiseSource) -> dict[str, Tally]:
        """Replay the file once; return what came of every alarm that is drawn."""
        budgets = Budgets(self._asking.values())
        drawn = {name: _kind(one.alarm)(one, noise) for name, one in self._drawn.items()}
        draws = {name: drawn.get(name) or _Draw(one) for name, one in self._asking.items()}
        for name, at in self._order:
            draws[name].step(at, budgets)
        found = {name: one.tally() for name, one in drawn.items()}
        for name, over in self._over.items():
            found[name] = over.tally(noise, draws[over.counted.alarm.panes].denied)
        return found


def _kind(alarm: Alarm) -> type[_Windows]:
    if alarm.aim.looks > 1:
        return _Steps
    return _Runs if in_runs(alarm) else _Windows


def _tallied(
    fired: NDArray[np.bool_],
    true: NDArray[np.bool_],
    may: NDArray[np.bool_],
    asked: NDArray[np.bool_],
    lost: NDArray[np.bool_],
) -> Tally:
    """Tally the decisions of one replay.

    Args:
        fired: shape (windows, cells), which cells fired.
        true: the same shape, which cells have to.
        may: the same shape, which cells may.
        asked: the same shape, which cells were not held: no other one counts.
        lost: shape (windows,), which windows a budget denied.
    """
    cells = Cells.of(fired[asked], true[asked], may[asked])
    tally = Tally(len(fired), int(np.count_nonzero(lost)), [cells])
    tally.leave(fired[lost], (true & asked)[lost])
    return tally


def _severities(
    alarm: Alarm, reached: NDArray[np.int64], rows: NDArray[np.int64]
) -> list[tuple[str, Cells]]:
    """Tally decisions level by level; nothing of an alarm without levels.

    Args:
        alarm: the alarm.
        reached: shape (windows, cells), how many levels fired.
        rows: shape (statistics, windows, cells), int64.
    """
    found = []
    for number, level in enumerate(alarm.aim.severities):
        asked = level.condition(alarm.condition), level.aim(alarm.aim), rows
        cells = Cells.of(reached > number, must_fire(*asked), may_fire(*asked))
        found.append((level.name, cells))
    return found
