"""Simulated replays of a file: every window of all its alarms in order, and what came of it.

A replay is one draw of everything that ``tocsin run --replay`` would draw: windows ask their budget
as they do there (:mod:`stream.simulation.budgets`), what is denied draws nothing, and what a window
does not cost is there for those after it. Whatever is tallied is private: truth comes from exact
statistics.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from accountant.costs.charges import UniformCost
from accountant.costs.levels import LevelCosts
from accountant.units import to_loss_units
from operators.registry import create
from operators.single.batched import decide_many
from stream.decisions.mechanisms import as_charged, panes_of, run_of
from stream.simulation.budgets import Asking, Budgets, in_order, keys_at, unlimited
from stream.simulation.draws.held import Holding, holds_since
from stream.simulation.draws.panes import over_panes, tally_of_panes
from stream.simulation.draws.runs import RunDraws
from stream.simulation.draws.tally import Tally
from stream.simulation.draws.truth import first_held, may_fire, must_fire

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from accountant.costs.charges import CellCosts, Charge, WindowKey
    from operators.base import Operator, RunOperator
    from operators.noise.source import NoiseSource
    from operators.single.looks import EarlyAlarms
    from stream.model.alarm import Alarm
    from stream.model.alarms import Alarms
    from stream.simulation.draws.panes import OverPanes
    from stream.simulation.history import CountedAlarm

__all__ = ["Played", "operator_tried"]

_ENTRIES: Final = 400_000  # statistics that are spread out in memory at once


def operator_tried(alarm: Alarm) -> Operator:
    """Plan what decides an alarm, also by a mechanism that no configuration may name.

    Raises:
        ConfigError: its aim cannot be kept.
    """
    special = run_of(alarm) or panes_of(alarm)
    return special or create(
        alarm.mechanism, alarm.condition, alarm.aim, band=alarm.band, experimental=True
    )


@dataclass(frozen=True, eq=False)
class _Alarm:
    """One alarm that is drawn, and what every replay of it shares."""

    asking: Asking
    counted: CountedAlarm
    operator: Operator

    @property
    def alarm(self) -> Alarm:
        """The alarm."""
        return self.asking.alarm

    @cached_property
    def since(self) -> NDArray[np.intp] | None:
        """Which earlier windows hold each one; ``None`` without a hold."""
        return holds_since(self.alarm, self.counted) if self.alarm.hold_ms else None

    @cached_property
    def truth(self) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Per window and cell, the first step at which it is true, and whether it may fire at all.

        As many as there are steps where it is true at none.
        """
        first, may = [], []
        for part in self.chunks():
            rows = self.counted.looked_at(part.start, part.stop).transpose(2, 0, 1, 3)
            asked = self.alarm.condition, self.alarm.aim, rows
            first.append(first_held(must_fire(*asked)))
            may.append(may_fire(*asked).any(axis=1))
        return np.concatenate(first), np.concatenate(may)

    def chunks(self) -> Iterator[slice]:
        """Cut the windows into pieces of bounded size."""
        counted = self.counted
        stride = max(1, _ENTRIES // (counted.cells * counted.statistics * counted.looks))
        edges = [*range(0, counted.windows, stride), counted.windows]
        yield from (slice(*each) for each in pairwise(edges))


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
            self.deny(at)
        else:
            budgets.settle(one, charge, self.decide(at))

    def charge(self, at: int) -> Charge:
        """Return what a window asks for."""
        return self.asking.charges[at]

    def decide(self, at: int) -> CellCosts:
        """Decide a window that was granted; return what it cost."""
        return self.asking.charges[at].cost

    def deny(self, at: int) -> None:
        """Take what was drawn for a window back: nobody drew it."""


class _Windows(_Draw):
    """Windows that share no noise: drawn together, but for those of an alarm with a hold."""

    def __init__(self, alarm: _Alarm, noise: NoiseSource) -> None:
        super().__init__(alarm.asking)
        self.alarm, self._noise = alarm, noise
        counted, cells = alarm.counted, alarm.alarm.condition.answers
        self.holding = Holding.of(alarm.since, counted.windows, cells)
        self.held = np.zeros((counted.windows, cells), np.bool_)
        self.units = np.zeros((counted.windows, cells), np.int64)
        self.reached: NDArray[np.int64] | None = None
        self.prepare()

    def prepare(self) -> None:
        """Draw what depends on nothing that is drawn before it."""
        if self.alarm.since is not None:
            return
        levels = []
        for part in self.alarm.chunks():
            statistics = self.alarm.counted.stacked(part.start, part.stop)
            found = decide_many(self.alarm.operator, statistics, self._noise)
            self.holding.fired[part], self.units[part] = found.fired, found.units
            levels += [] if found.reached is None else [found.reached]
        self.reached = np.concatenate(levels) if levels else None

    def decide(self, at: int) -> CellCosts:
        """Decide a window, or return what it cost."""
        if self.alarm.since is None:
            return LevelCosts.of(self.units[at])
        statistics = self.alarm.counted.dense(at)
        found = self.holding.ask(at, self.alarm.operator, statistics, self._noise)
        self.held[at], cost = found
        self.units[at] = cost.as_array()
        return cost

    def deny(self, at: int) -> None:
        """Take a window back."""
        self.held[at] = self.holding.at(at)
        self.holding.fired[at], self.units[at] = False, 0
        if self.reached is not None:
            self.reached[at] = 0

    def tally(self) -> Tally:
        """Return what came of the replay."""
        alarm, (first, may), tally = self.alarm, self.alarm.truth, Tally()
        true = first < alarm.counted.looks
        fired = self.holding.fired
        tally.count(fired, true=true, granted=may, held=self.held)
        lost = self.denied.reshape(alarm.counted.windows, -1).any(axis=1)
        tally.deny(np.asarray(lost), fired, true & ~self.held)
        if self.reached is not None:
            rows = alarm.counted.stacked(0, alarm.counted.windows).transpose(1, 0, 2)
            tally.count_severities(self.reached, alarm.alarm.condition, alarm.alarm.aim, rows)
        self.losses(tally, true)
        tally.spread()
        return tally

    def losses(self, tally: Tally, _true: NDArray[np.bool_]) -> None:
        """Tally what was paid."""
        tally.charge(self.units, self.asking.charges[0].cells_per_unit)


class _Runs(_Windows):
    """Windows of SVT runs: a threshold, its alarms, and who is asked again are of several."""

    def prepare(self) -> None:
        """Open nothing yet."""
        operator = cast("RunOperator", self.alarm.operator)
        self._runs = RunDraws(operator, self._noise, self.holding)

    def charge(self, at: int) -> Charge:
        """Return what is left of the window's run, or all of another."""
        whole = self.asking.charges[at]
        run = self._runs.open(whole.periods)
        if run is None or not self.asking.in_runs:
            return whole
        cost = UniformCost(run.left * run.alarm_units, whole.cost.cells)
        return replace(whole, cost=cost)

    def decide(self, at: int) -> CellCosts:
        """Ask the window's cells."""
        charge = self.asking.charges[at]
        held, units = self._runs.ask(at, self.alarm.counted.dense(at), charge.periods)
        self.held[at] = held
        if self.asking.in_runs:
            return UniformCost(units, charge.cost.cells)
        return LevelCosts.of(np.where(held, 0, charge.cost.units))

    def deny(self, at: int) -> None:
        """Leave the window; what an older one is asked again later stays."""
        self.held[at] = self.holding.at(at)

    def losses(self, tally: Tally, true: NDArray[np.bool_]) -> None:
        """Tally what every run lost; in which windows it was spent, not all were answered."""
        cut = np.array(self._runs.cut, np.intp)
        tally.leave(self.holding.fired[cut], true=(true & ~self.held)[cut])
        tally.charge_shared(*self._runs.units)


class _Steps(_Windows):
    """Windows that are evaluated step by step: who fires at one is done for the window."""

    def prepare(self) -> None:
        """Draw every window from end to end."""
        operator, counted = cast("EarlyAlarms", self.alarm.operator), self.alarm.counted
        parts = [
            operator.first_looks(counted.looked_at(part.start, part.stop), self._noise)
            for part in self.alarm.chunks()
        ]
        self.fired_at = np.concatenate(parts)
        self._paid = to_loss_units(operator.plan.epsilon)

    def decide(self, at: int) -> CellCosts:
        """Evaluate a step: windows share no noise, so whom a hold spares may be drawn before."""
        window, look = divmod(at, self.alarm.counted.looks)
        if not look:
            self.held[window] = held = self.holding.at(window)
            self.units[window] = np.where(held, 0, self._paid)
        self.holding.fired[window] |= (self.fired_at[window] == look) & ~self.held[window]
        return LevelCosts.of(np.where(self.held[window], 0, self.asking.units))

    def deny(self, at: int) -> None:
        """Leave the step, and so all later ones of its window."""
        window, look = divmod(at, self.alarm.counted.looks)
        if not look:
            self.held[window] = self.holding.at(window)

    def losses(self, tally: Tally, _true: NDArray[np.bool_]) -> None:
        """Tally delays, too."""
        looks = self.alarm.counted.looks
        fired_at = np.where(self.holding.fired, self.fired_at, looks)
        first = np.where(self.held, looks, self.alarm.truth[0])
        tally.delays.count(fired_at, first, looks)
        super().losses(tally, _true)


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
        self._drawn: dict[str, _Alarm] = {}
        self._over: dict[str, tuple[_Alarm, OverPanes]] = {}
        for name, query in alarms.running.items():
            if name not in counted and name not in others:
                continue
            keys = others[name] if name in others else keys_at(query, counted[name].starts_ms)
            operator = operator_tried(query)
            units = to_loss_units(as_charged(query, operator.plan).epsilon)
            asking = Asking(query, alarms, keys, units)
            if not query.panes:  # of windows over panes, these pay
                self._asking[name] = asking
            if name not in counted or name in alarms.panes:
                continue
            alarm = _Alarm(asking, counted[name], operator)
            if query.panes:
                over = over_panes(query, counted[name], counted[query.panes])
                self._over[name] = alarm, over
            else:
                self._drawn[name] = alarm
        # What no budget denies, and no window before it changes, is drawn at once.
        free = unlimited(self._asking)
        self._order = in_order(
            one
            for one in self._asking.values()
            if one.scope not in free or one.alarm.hold_ms or _kind(one.alarm) is not _Windows
        )

    def replay(self, noise: NoiseSource) -> dict[str, Tally]:
        """Replay the file once; return what came of every alarm that is drawn."""
        budgets = Budgets(self._asking.values())
        drawn = {name: _kind(one.alarm)(one, noise) for name, one in self._drawn.items()}
        draws = {name: drawn.get(name) or _Draw(one) for name, one in self._asking.items()}
        for name, at in self._order:
            draws[name].step(at, budgets)
        found = {name: one.tally() for name, one in drawn.items()}
        for name, (alarm, over) in self._over.items():
            denied, query = draws[alarm.alarm.panes].denied, alarm.alarm
            lost = np.array([denied[rows.start : rows.stop].any() for rows in over.windows])
            found[name] = tally_of_panes(
                alarm.operator, query.condition, query.aim, over, noise, runs=1, denied=lost
            )
        return found


def _kind(alarm: Alarm) -> type[_Windows]:
    if alarm.aim.looks > 1:
        return _Steps
    return _Windows if run_of(alarm) is None else _Runs
