"""A sequential accountant, written from ``docs/explanation/accounting.md``, and random histories.

The accountant keeps every charge as it was made and adds all of them up again whenever it is asked:
by instants and rows under unit `event`, by periods under unit `user`, as ``transcripts`` adds. It
is slow, and no part of it is the ledger's. :class:`History` drives both through the same random
life: windows that are granted, refused or denied, restarts, copies that are put back, archives,
clocks that step, and alarms that get other names.
"""

from __future__ import annotations

import copy
import shutil
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pytest

from accountant.costs.charges import WindowKey
from accountant.errors import ClockError
from accountant.records import Answer, Outcome
from accountant.units import PrivacyUnit
from tests.support.archived import move_all
from tests.support.ledgers import (
    CELLS,
    Clock,
    Series,
    deny,
    open_ledger,
    registration,
    seen,
    set_up,
    settle,
    status_of,
)
from tests.support.transcripts import Case, anybody, random_query

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

    from accountant.records import StoredDecision

Cells = tuple[int, ...]


@dataclass
class Alarm:
    """A series of windows and where it stands."""

    series: Series
    index: int = 0

    @property
    def key(self) -> WindowKey:
        """The oldest window that has not ended."""
        return self.series.key(self.index)


@dataclass
class Accountant:
    """Serves windows one after the other, in the order of their ends; a copy of it is a backup.

    Args:
        case: the budget and its queries; what was taken over is one of its own, of anybody.
        alarms: the alarms, as they stand.
        held: what every window cost that was spent, cell by cell.
        open: windows that were granted and have not ended.
        answers: to every window that was asked for.
        ended: what became of windows.
        taken_over: decisions that were published and are of another copy.
    """

    case: Case
    alarms: list[Alarm]
    held: dict[WindowKey, Cells] = field(default_factory=dict)
    open: set[WindowKey] = field(default_factory=set)
    answers: dict[WindowKey, Answer] = field(default_factory=dict)
    ended: dict[WindowKey, StoredDecision] = field(default_factory=dict)
    taken_over: set[tuple[object, ...]] = field(default_factory=set)

    @property
    def next(self) -> Alarm:
        """The alarm whose window ends next."""
        return min(self.alarms, key=lambda one: one.key)

    def ask(self, key: WindowKey) -> Answer:
        """Answer a window: whether its worst case fits beside all that was spent."""
        if key in self.answers:
            return self.answers[key]
        if self.answers and key < max(self.answers):
            return Answer.MISSED
        fits = self.case.fits(key, self.held, {})
        self.answers[key] = Answer.RESERVED if fits else Answer.REFUSED
        if fits:
            self.open.add(key)
        return self.answers[key]

    def end(self, key: WindowKey, cells: Cells | None) -> None:
        """End a window at what it cost, ``None`` for a denial: what it held is free again."""
        if key in self.open and cells is not None:
            self.held[key] = cells
        self.open.discard(key)

    def take_over(self, key: WindowKey, series: Series, index: int, cells: Cells) -> None:
        """Charge what was published and is not known, to anybody; it is not drawn again."""
        self.open = {held for held in self.open if held.query != key.query}
        name = f"{key.query} {key.start_ms}"
        self.case.queries[name] = anybody(series, name)
        self.held[WindowKey(key.end_ms, name, key.start_ms)] = cells
        for alarm in self.alarms:
            if alarm.series.query == key.query:
                alarm.index = max(alarm.index, index + 1)


class History:
    """One random life of a ledger, beside the accountant's.

    Args:
        folder: for the ledger and its copy.
        rng: draws everything.
        unit: of the budget.
    """

    def __init__(self, folder: Path, rng: Random, unit: PrivacyUnit) -> None:
        self._rng, self._folder = rng, folder
        self._clock = Clock()
        user = unit is PrivacyUnit.USER
        period = rng.choice([30, 60, 1_000]) if user else 0
        names = ("a", "b", "c")[: rng.randint(1, 3)]
        queries = {name: random_query(rng, name, period, ["", "x", "y"]) for name in names}
        case = Case(unit, rng.randint(3, 14) if user else rng.randint(2, 7), queries)
        self._now = Accountant(case, [Alarm(query.series) for query in queries.values()])
        self._copy: Accountant | None = None
        self._published: dict[tuple[object, ...], tuple[StoredDecision, Series, int]] = {}
        self._names = self._draws = self._files = 0
        self.happened: Counter[str] = Counter()
        self._ledger = self._opened()
        set_up(self._ledger, unit, case.wall, case.series)

    def run(self, windows: int) -> None:
        """Live through so many windows, and compare every answer and every sum."""
        events = [
            self._restart,
            self._back_up,
            self._put_back,
            self._archive,
            self._step,
            self._rename,
        ]
        try:
            for _ in range(windows):
                self._window()
                if self._rng.random() < 0.5:
                    self._rng.choices(events, [2, 3, 2, 2, 2, 1])[0]()
                self._compare()
        finally:
            self._ledger.close()

    def _window(self):
        """Ask for the next window in the order and end it somehow."""
        alarm = self._now.next
        key, index, series = alarm.key, alarm.index, alarm.series
        self._ledger.admit("s", [series.request(index)])
        wanted = self._now.ask(key)
        assert self._ledger.answer(key) is wanted, (key, wanted)
        self.happened[wanted] += 1
        if self._rng.random() < 0.1:
            self._back_up()
        if wanted is not Answer.RESERVED or self._rng.random() < 0.1:
            decision = deny(self._ledger, series, index)
            self._now.end(key, None)
        else:
            cells = tuple(self._rng.randint(0, series.units) for _ in range(CELLS))
            self._draws += 1
            decision = settle(self._ledger, series, index, cells=cells, alarm_count=self._draws)
            self._now.end(key, cells)
        alarm.index += 1
        self._now.ended[key] = decision
        self._publish(decision, series, index)

    def _publish(self, decision, series, index):
        if self._rng.random() < 0.1:
            return  # and nothing later of this alarm, so that it leaves in order: see _put_back
        if any(
            key.query == decision.key.query and _told(one) not in self._published
            for key, one in self._now.ended.items()
            if key < decision.key
        ):
            return
        self._published[_told(decision)] = decision, series, index
        self._ledger.mark_published(decision.key)

    def _opened(self):
        return open_ledger(f"sqlite:///{self._folder / 'ledger.db'}", self._clock)

    def _restart(self):
        self.happened["restart"] += 1
        self._ledger.close()
        self._ledger = self._opened()

    def _back_up(self):
        self.happened["copy"] += 1
        self._ledger.close()
        shutil.copy(self._folder / "ledger.db", self._folder / "copy.db")
        self._copy = copy.deepcopy(self._now)
        self._ledger = self._opened()

    def _put_back(self):
        """Put the copy in the ledger's place, and charge what was published since."""
        if self._copy is None:
            return
        self.happened["restore"] += 1
        self._ledger.close()
        shutil.copy(self._folder / "copy.db", self._folder / "ledger.db")
        self._ledger = self._opened()
        self._now = copy.deepcopy(self._copy)
        lacking, upkeep = self._lacking(), self._ledger.upkeep
        everything = [_seen(*one) for one in self._published.values()]
        assert set(upkeep.unknown_decisions(everything)) == {_seen(*one) for one in lacking}
        assert [upkeep.reconcile(everything) for _ in range(2)] == [len(lacking), 0]
        assert upkeep.unknown_decisions(everything) == []
        for decision, series, index in lacking:
            known = self._ledger.decision(decision.key)
            assert known is not None
            assert known.published
            self._now.taken_over.add(_told(decision))
            decided = decision.outcome is Outcome.DECIDED
            cells = (series.units * decided,) * CELLS
            self._now.take_over(decision.key, series, index, cells)

    def _lacking(self):
        known = {_told(one) for one in self._now.ended.values()} | self._now.taken_over
        return [one for one in self._published.values() if _told(one[0]) not in known]

    def _archive(self):
        self._files += 1
        before_ms = min(one.key.start_ms for one in self._now.alarms)
        self.happened["archive"] += bool(move_all(self._ledger, before_ms, f"file {self._files}"))

    def _step(self):
        """Set the clock on, a little back, or so far back that nothing is answered."""
        kind = self._rng.choice(["on", "a little back", "far back"])
        self.happened[f"clock: {kind}"] += 1
        if kind == "on":
            self._clock.now_ms += self._rng.randrange(86_400_000)
            return
        back_ms = 2_000 if kind == "a little back" else 3_600_000
        self._clock.now_ms -= back_ms
        if kind == "a little back":
            self._window()
        else:
            self._refused_by_its_clock()
        self._clock.now_ms += back_ms

    def _refused_by_its_clock(self):
        alarm = self._now.next
        if alarm.key not in self._now.answers:
            with pytest.raises(ClockError):
                self._ledger.admit("s", [alarm.series.request(alarm.index)])

    def _rename(self):
        """Retire an alarm and go on with it under another name: what it spent stays spent."""
        self.happened["rename"] += 1
        self._names += 1
        alarm = self._rng.choice(self._now.alarms)
        name = f"{alarm.series.query[0]}{self._names}"
        self._ledger.pins.remove_alarm(alarm.series.query)
        self._now.end(alarm.key, None)
        queries = self._now.case.queries
        before = queries[alarm.series.query]
        alarm.series = replace(alarm.series, query=name, first=alarm.key.start_ms)
        queries[name] = replace(before, series=alarm.series)
        alarm.index = 0
        self._ledger.pins.register_query(registration(alarm.series))

    def _compare(self):
        status, case, held = status_of(self._ledger), self._now.case, self._now.held
        if not self._now.open:
            assert status.spent_units == case.spent(held), self.happened
            assert +Counter(dict(status.periods)) == +case.period_losses(held)


def _told(decision):
    """Return what a record says of a window's end."""
    return decision.key, decision.sequence, decision.epsilon_units, decision.alarm_count


def _seen(decision, series, index):
    charge = series.request(index).charge
    reached = {"cells_per_unit": charge.cells_per_unit, "periods": charge.periods}
    return seen(decision, next_start_ms=series.key(index + 1).start_ms, **reached)
