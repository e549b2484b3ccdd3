"""A sequential accountant, written from ``docs/explanation/accounting.md``, and random histories.

The accountant keeps every charge as it was made and adds all of them up again whenever it is asked:
by instants and rows under unit `event`, by periods under unit `user`. It is slow, and no part of it
is the ledger's. :class:`History` drives both through the same random life: windows that are
granted, refused or denied, restarts, copies that are put back, archives, clocks that step, and
alarms that get other names.
"""

from __future__ import annotations

import copy
import shutil
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from accountant.errors import ClockError
from accountant.records import Answer, Outcome, SeenDecision
from accountant.regions.regions import Region
from accountant.regions.shapes import Shape
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
)

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

    from accountant.costs.charges import WindowKey
    from accountant.ledger.ledger import Ledger
    from accountant.records import StoredDecision

__all__ = ["Accountant", "History"]

ROWS = [(x, y) for x in range(3) for y in range(2)]
FILTERS = [
    ({}, frozenset(ROWS)),
    ({"x": 0}, frozenset(row for row in ROWS if row[0] == 0)),
    ({"x": {0, 1}}, frozenset(row for row in ROWS if row[0] < 2)),
    ({"y": 1}, frozenset(row for row in ROWS if row[1] == 1)),
]
GRAIN_MS = 5  # no window begins or ends between two multiples of it


@dataclass(frozen=True)
class Charged:
    """One charge: what each cell lost, over which rows and when.

    Args:
        key: its window.
        cells: what they lost; under unit `user`, how many of the dearest count is ``reached``.
        rows: whose loss it is; of a decision that was taken over, anybody's.
        cells_of: charges over the same cells add up cell by cell; empty for dearest ones.
        periods: that the window touches.
        reached: cells that one person may be in.
        few: name of the windows of which one person may be in so many alone, and how many;
            ``None`` where they may be in all.
    """

    key: WindowKey
    cells: tuple[int, ...]
    rows: frozenset[tuple[int, int]]
    cells_of: str
    periods: tuple[int, ...]
    reached: int
    few: tuple[str, int] | None = None

    @property
    def of_a_person(self) -> int:
        """What somebody loses who is in the dearest cells."""
        return sum(sorted(self.cells, reverse=True)[: self.reached])


@dataclass
class Accountant:
    """Serves windows one after the other, in the order of their ends.

    Args:
        unit: what neighbours differ in.
        wall: no unit loses more, but for what was published before a copy was put back.
    """

    unit: PrivacyUnit
    wall: int
    spent: list[Charged] = field(default_factory=list)
    open: dict[WindowKey, Charged] = field(default_factory=dict)
    answers: dict[WindowKey, Answer] = field(default_factory=dict)
    last: WindowKey | None = None

    def ask(self, worst: Charged) -> Answer:
        """Answer a window: whether its worst case fits beside all that was spent."""
        key = worst.key
        if key in self.answers:
            return self.answers[key]
        if self.last is not None and key < self.last:
            return Answer.MISSED
        self.last = key
        fits = self._fits(worst)
        self.answers[key] = Answer.RESERVED if fits else Answer.REFUSED
        if fits:
            self.open[key] = worst
        return self.answers[key]

    def end(self, key: WindowKey, cells: tuple[int, ...] | None) -> None:
        """End a window at what it cost, ``None`` for a denial: what it held is free again."""
        held = self.open.pop(key, None)
        if held is not None and cells is not None:
            self.spent.append(replace(held, cells=cells))

    def take_over(self, published: Charged, series: str) -> None:
        """Charge what was published and is not known, at its worst, to anybody; not drawn again."""
        self.open = {key: held for key, held in self.open.items() if key.query != series}
        self.spent.append(replace(published, rows=frozenset(ROWS), cells_of="", few=None))

    def lost(self, asked: Charged | None = None) -> int:
        """Return what the worst-off unit lost that a window can concern, or anybody."""
        if self.unit is PrivacyUnit.USER:
            totals = self.by_period()
            return max((totals[at] for at in (asked.periods if asked else totals)), default=0)
        last_ms = max((one.key.end_ms for one in self.spent), default=0)
        start_ms, end_ms = (asked.key.start_ms, asked.key.end_ms) if asked else (0, last_ms)
        rows = asked.rows if asked else frozenset(ROWS)
        instants = range(start_ms, end_ms, GRAIN_MS)
        return max((self._row_lost(row, at) for row in rows for at in instants), default=0)

    def by_period(self, *asked: Charged) -> Counter[int]:
        """Return what one person lost at most, by period; also with what is asked for."""
        totals: Counter[int] = Counter()
        few: defaultdict[tuple[int, tuple[str, int]], list[int]] = defaultdict(list)
        for one in (*self.spent, *asked):
            for period in one.periods:
                if one.few is None:
                    totals[period] += one.of_a_person
                else:
                    few[period, one.few].append(one.of_a_person)
        for (period, (_, windows)), losses in few.items():
            totals[period] += sum(sorted(losses, reverse=True)[:windows])
        return totals

    def _fits(self, asked: Charged) -> bool:
        if self.unit is PrivacyUnit.EVENT:
            return self.lost(asked) + max(asked.cells) <= self.wall
        totals = self.by_period(asked)
        return all(totals[period] <= self.wall for period in asked.periods)

    def _row_lost(self, row: tuple[int, int], at_ms: int) -> int:
        """Add up the cells of each grouping, and the dearest of every grouping."""
        lost, cells = 0, {}
        for one in self.spent:
            if not (one.key.start_ms <= at_ms < one.key.end_ms and row in one.rows):
                continue
            if one.cells_of:
                cells.setdefault(one.cells_of, Counter()).update(dict(enumerate(one.cells)))
            else:
                lost += max(one.cells)
        return lost + sum(max(each.values()) for each in cells.values())


@dataclass
class Alarm:
    """A series of windows and where it stands."""

    series: Series
    rows: frozenset[tuple[int, int]]
    index: int = 0

    @property
    def key(self) -> WindowKey:
        """The oldest window that has not ended."""
        return self.series.key(self.index)

    def charged(self, key: WindowKey, cells: tuple[int, ...]) -> Charged:
        """Return a charge for one of its windows."""
        periods = self.series.request(self.index_of(key)).charge.periods
        of = self.series.shape.grouping or key.query
        most = self.series.windows
        few = None if most is None else (key.query, most)
        return Charged(key, cells, self.rows, of, periods, self.series.cells_per_unit, few)

    def index_of(self, key: WindowKey) -> int:
        """Return the number of one of its windows."""
        return (key.start_ms - self.series.first) // self.series.step


@dataclass
class State:
    """What a copy of the ledger goes back to: the accountant and the alarms, as they stood."""

    accountant: Accountant
    alarms: list[Alarm]
    ended: dict[WindowKey, StoredDecision] = field(default_factory=dict)
    taken_over: set[tuple[object, ...]] = field(default_factory=set)


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
        alarms = [self._alarm(name, period) for name in ("a", "b", "c")[: rng.randint(1, 3)]]
        self._now = State(
            Accountant(unit, rng.randint(3, 14) if user else rng.randint(2, 7)), alarms
        )
        self._copy: State | None = None
        self._published: dict[tuple[object, ...], tuple[StoredDecision, Charged, int]] = {}
        self._names = self._draws = self._files = 0
        self.happened: Counter[str] = Counter()
        self._ledger = self._opened()
        set_up(self._ledger, unit, self._now.accountant.wall, [one.series for one in alarms])

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

    def _window(self) -> None:
        """Ask for the next window in the order and end it somehow."""
        alarm = min(self._now.alarms, key=lambda one: one.key)
        key, index, series = alarm.key, alarm.index, alarm.series
        worst = alarm.charged(key, (series.units,) * CELLS)
        self._ledger.admit("s", [series.request(index)])
        wanted = self._now.accountant.ask(worst)
        assert self._ledger.answer(key) is wanted, (key, wanted)
        self.happened[wanted] += 1
        if self._rng.random() < 0.1:
            self._back_up()
        if wanted is not Answer.RESERVED or self._rng.random() < 0.1:
            decision = deny(self._ledger, series, index)
            self._now.accountant.end(key, None)
        else:
            cells = tuple(self._rng.randint(0, series.units) for _ in range(CELLS))
            self._draws += 1
            decision = settle(self._ledger, series, index, cells=cells, alarm_count=self._draws)
            self._now.accountant.end(key, cells)
        alarm.index += 1
        self._now.ended[key] = decision
        self._publish(decision, worst, alarm.key.start_ms)

    def _publish(self, decision: StoredDecision, worst: Charged, next_start_ms: int) -> None:
        if self._rng.random() < 0.1:
            return  # and nothing later of this alarm, so that it leaves in order: see _put_back
        if any(
            key.query == decision.key.query and not self._is_published(one)
            for key, one in self._now.ended.items()
            if key < decision.key
        ):
            return
        self._published[_told(decision)] = decision, worst, next_start_ms
        self._ledger.mark_published(decision.key)

    def _is_published(self, decision: StoredDecision) -> bool:
        return _told(decision) in self._published

    def _opened(self) -> Ledger:
        return open_ledger(f"sqlite:///{self._folder / 'ledger.db'}", self._clock)

    def _restart(self) -> None:
        self.happened["restart"] += 1
        self._ledger.close()
        self._ledger = self._opened()

    def _back_up(self) -> None:
        self.happened["copy"] += 1
        self._ledger.close()
        shutil.copy(self._folder / "ledger.db", self._folder / "copy.db")
        self._copy = copy.deepcopy(self._now)
        self._ledger = self._opened()

    def _put_back(self) -> None:
        """Put the copy in the ledger's place, and charge what was published since."""
        if self._copy is None:
            return
        self.happened["restore"] += 1
        self._ledger.close()
        shutil.copy(self._folder / "copy.db", self._folder / "ledger.db")
        self._ledger = self._opened()
        self._now = copy.deepcopy(self._copy)
        lacking = self._lacking()
        everything = [_seen(*one) for one in self._published.values()]
        self._ledger.upkeep.reconcile(everything)
        for decision, worst, _ in lacking:
            self._now.taken_over.add(_told(decision))
            decided = decision.outcome is Outcome.DECIDED
            cells = worst.cells if decided else (0,) * CELLS
            self._now.accountant.take_over(replace(worst, cells=cells), decision.key.query)
            for alarm in self._now.alarms:
                if alarm.series.query == decision.key.query and alarm.key <= decision.key:
                    alarm.index = alarm.index_of(decision.key) + 1

    def _lacking(self) -> list[tuple[StoredDecision, Charged, int]]:
        known = {_told(one) for one in self._now.ended.values()} | self._now.taken_over
        return [one for one in self._published.values() if _told(one[0]) not in known]

    def _archive(self) -> None:
        self._files += 1
        before_ms = min(one.key.start_ms for one in self._now.alarms)
        self.happened["archive"] += bool(move_all(self._ledger, before_ms, f"file {self._files}"))

    def _step(self) -> None:
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

    def _refused_by_its_clock(self) -> None:
        alarm = min(self._now.alarms, key=lambda one: one.key)
        if alarm.key in self._now.accountant.answers:
            return
        try:
            self._ledger.admit("s", [alarm.series.request(alarm.index)])
        except ClockError:
            return
        raise AssertionError("a clock that went back far was taken for right")

    def _rename(self) -> None:
        """Retire an alarm and go on with it under another name: what it spent stays spent."""
        self.happened["rename"] += 1
        self._names += 1
        alarm = self._rng.choice(self._now.alarms)
        name = f"{alarm.series.query[0]}{self._names}"
        self._ledger.pins.remove_alarm(alarm.series.query)
        self._now.accountant.end(alarm.key, None)
        alarm.series = replace(alarm.series, query=name, first=alarm.key.start_ms)
        alarm.index = 0
        self._ledger.pins.register_query(registration(alarm.series))

    def _compare(self) -> None:
        status = self._ledger.reports.status().scopes["s"]
        if not self._now.accountant.open:
            assert status.spent_units == self._now.accountant.lost(), self.happened
            assert +Counter(dict(status.periods)) == +self._now.accountant.by_period()

    def _alarm(self, name: str, period: int) -> Alarm:
        size, step = self._rng.choice([(10, 10), (20, 10), (30, 10), (25, 15)])
        given, rows = self._rng.choice(FILTERS)
        shape = Shape(Region.of(dict(given)).canonical, self._rng.choice(["", "x", "y"]))
        reached = self._rng.randint(1, CELLS) if period else 1
        units = self._rng.randint(1, 3)
        most = (None, 1, 2)[(units + reached + len(given)) % 3] if period else None
        series = Series(name, size, step, units, reached, period, shape=shape, windows=most)
        return Alarm(series, rows)


def _told(decision: StoredDecision) -> tuple[object, ...]:
    """Return what a record says of a window's end."""
    return decision.key, decision.sequence, decision.epsilon_units, decision.alarm_count


def _seen(decision: StoredDecision, worst: Charged, next_start_ms: int) -> SeenDecision:
    reached = {"cells_per_unit": worst.reached, "periods": worst.periods}
    return seen(decision, next_start_ms=next_start_ms, **reached)
