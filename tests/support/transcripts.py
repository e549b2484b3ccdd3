"""Random schedules and transcripts of a ledger, and what must become of them, worked out by hand.

A *case* is a budget, some queries and an oracle that says of every window how it would end: denied,
decided at these losses, cell by cell, or of a query with SVT runs, with so many alarms.
:func:`expected` serves a case strictly one window after
the other, each ended before the next is asked about, by plain loops over instants and rows.
:class:`Play` drives a real ledger through the same case in a random interleaving of everything that
callers do, and compares.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from accountant.costs.charges import UniformCost
from accountant.records import Answer
from accountant.regions.groupings import Grouping, grouping_of
from accountant.regions.regions import Not, Region, ValueSet
from accountant.regions.shapes import Shape
from accountant.units import PrivacyUnit
from tests.support.archived import move_all
from tests.support.ledgers import (
    CELLS,
    Series,
    deny,
    must_verify,
    requests,
    set_up,
    settle,
    status_of,
    without_checkpoint,
)
from tests.support.runs import now, ring

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from random import Random

    from accountant.costs.charges import WindowKey
    from accountant.costs.runs import RunTerms
    from accountant.ledger.ledger import Ledger

GRAIN_MS = 5
"""No window starts or ends between two multiples of it."""
LAST_MS = 90

Cells = tuple[int, ...]
Row = tuple[int, int]

# What may be asked of a row's two attributes, and which values meet it.
X = [
    ({}, frozenset(range(4))),
    ({"x": 0}, frozenset({0})),
    ({"x": Not(0)}, frozenset({1, 2, 3})),
    ({"x": {0, 1}}, frozenset({0, 1})),
    ({"x": {1, 2}}, frozenset({1, 2})),
    ({"x": set()}, frozenset()),
]
Y = [({}, frozenset(range(4))), ({"y": 0}, frozenset({0})), ({"y": 1}, frozenset({1}))]
ROWS = [(x, y) for x in range(4) for y in range(4)]
KNOWN = {
    name: Grouping(name, (name,), (tuple(map(ValueSet.of, range(CELLS))),)).text for name in "xy"
}
"""Groupings whose cells are written down; those with a plain name are known by that alone."""


@dataclass(frozen=True)
class Query:
    """A series, the rows that its region holds, and which cell a row is in."""

    series: Series
    rows: frozenset[Row]

    @property
    def known(self) -> bool:
        """Whether the ledger knows which cell a row is in."""
        return self.series.shape.grouping in KNOWN.values()

    @property
    def cells(self) -> str:
        """What its cells are."""
        return self.series.shape.grouping or self.series.query

    def cell(self, row: Row) -> int:
        """Return the cell of a row: its ``x``, its ``y``, or anything else the query looks at."""
        found = grouping_of(self.series.shape.grouping)
        name = self.series.shape.grouping if found is None else found.name
        return {"x": row[0], "y": row[1]}.get(name, (row[0] + row[1]) % CELLS)


def anybody(series: Series, name: str) -> Query:
    """Return a query by which somebody lost whose rows and cells are not known any more."""
    return Query(replace(series, query=name, shape=Shape(), windows=None), frozenset(ROWS))


@dataclass(frozen=True)
class Run:
    """An SVT run of a query: the periods that it is in, alarms left, and when it is over."""

    periods: tuple[int, ...]
    left: int
    over_ms: int


Runs = dict[str, Run]


@dataclass(frozen=True)
class Case:
    """A budget, its queries, how windows would end, and what a run costs of those with runs."""

    unit: PrivacyUnit
    wall: int
    queries: dict[str, Query]
    ends: Mapping[WindowKey, Any] = field(default_factory=dict)
    too_old: frozenset[WindowKey] = frozenset()
    terms: Mapping[str, RunTerms] = field(default_factory=dict)

    @property
    def series(self) -> list[Series]:
        """The schedules."""
        return [query.series for query in self.queries.values()]

    def inside(self, key: WindowKey, runs: Runs) -> int:
        """Return the alarms that are left of the run that a window is in, 0 where it is in none."""
        run = runs.get(key.query)
        return run.left if run is not None and run.periods == tuple(self.periods(key)) else 0

    def worst(self, key: WindowKey, runs: Runs) -> Cells:
        """Return what a window costs at worst."""
        left = self.inside(key, runs)
        units = left * self.terms[key.query].alarm_units if left else 0
        return (units or self.queries[key.query].series.units,) * CELLS

    def ring(self, key: WindowKey, wanted: int, runs: Runs) -> Cells:
        """Go on with a run, or open one; return what so many alarms cost, if they are left."""
        terms, inside, periods = self.terms[key.query], self.inside(key, runs), self.periods(key)
        rung = min(wanted, inside or terms.alarms)
        over_ms = periods[1] + 2 * self.queries[key.query].series.size if periods[1:] else 10**9
        runs[key.query] = Run(tuple(periods), (inside or terms.alarms) - rung, over_ms)
        return self.realised(terms, rung, opening=not inside)

    @staticmethod
    def realised(terms: RunTerms, rung: int, *, opening: bool) -> Cells:
        """Return what a window of a run costs."""
        return (rung * terms.alarm_units + terms.open_units * opening,) * CELLS

    def kept(self, name: str, period: int, end_ms: int, runs: Runs, lost: int) -> int:
        """Return what others leave to a query that lost so much: its run's rest, its share."""
        run = runs.get(name)
        if run is not None and period in run.periods and end_ms < run.over_ms:
            lost += run.left * self.terms[name].alarm_units
        return max(lost, self.queries[name].series.share)

    def periods(self, key: WindowKey) -> range:
        """Return the periods that a window touches."""
        size = self.queries[key.query].series.period
        return range(key.start_ms // size * size, key.end_ms, size) if size else range(0)

    def dearest(self, key: WindowKey, cells: Cells) -> int:
        """Return what somebody loses who reaches the dearest cells of a window."""
        reached = self.queries[key.query].series.cells_per_unit
        return sum(sorted(cells, reverse=True)[:reached])

    def losses(
        self,
        held: Mapping[WindowKey, Cells],
        rows: Iterable[Row],
        instants: range | None = None,
        *,
        truly: bool = False,
    ) -> Iterator[int]:
        """Yield what rows lose, at every instant; cells that are not known are taken to meet.

        Truly, each row is in one cell of every query, known or not.
        """
        for row in rows:
            for at in instants or instants_of(held):
                cells = defaultdict(Counter)
                loss = 0
                for key, costs in held.items():
                    query = self.queries[key.query]
                    if not (key.start_ms <= at < key.end_ms and row in query.rows):
                        continue
                    if truly or query.known:
                        loss += costs[query.cell(row)]
                    else:
                        cells[query.cells].update(dict(enumerate(costs)))
                yield loss + sum(max(each.values()) for each in cells.values())

    def query_losses(self, held: Mapping[WindowKey, Cells]) -> Counter[tuple[int, str]]:
        """Return what one person loses at most, by period and query."""
        by_query = defaultdict(list)
        for key, costs in held.items():
            for period in self.periods(key):
                by_query[period, key.query].append(self.dearest(key, costs))
        return Counter(
            {
                at: sum(sorted(each, reverse=True)[: self.queries[at[1]].series.windows])
                for at, each in by_query.items()
            }
        )

    def period_losses(self, held: Mapping[WindowKey, Cells]) -> Counter[int]:
        """Return what one person loses at most, by period."""
        losses = Counter[int]()
        for (period, _), loss in self.query_losses(held).items():
            losses[period] += loss
        return losses

    def fits(self, key: WindowKey, held: Mapping[WindowKey, Cells], runs: Runs) -> bool:
        """Say whether a window's worst case fits beside what is held, and what others keep."""
        worst = self.worst(key, runs)
        if self.unit is PrivacyUnit.USER:
            losses = self.query_losses({**held, key: worst})
            return all(
                losses[period, key.query]
                + sum(
                    self.kept(name, period, key.end_ms, runs, losses[period, name])
                    for name in self.queries
                    if name != key.query
                )
                <= self.wall
                for period in self.periods(key)
            )
        room = self.wall - self.dearest(key, worst)
        inside = range(key.start_ms, key.end_ms, GRAIN_MS)
        return max(self.losses(held, self.queries[key.query].rows, inside), default=0) <= room

    def spent(self, held: Mapping[WindowKey, Cells]) -> int:
        """Return what the worst-off unit lost."""
        if self.unit is PrivacyUnit.USER:
            return max(self.period_losses(held).values(), default=0)
        return max(self.losses(held, ROWS), default=0)


def instants_of(held: Iterable[WindowKey]) -> range:
    """Return instants at which all that windows hold is held."""
    return range(0, max((key.end_ms for key in held), default=0), GRAIN_MS)


def expected(case: Case) -> tuple[dict[WindowKey, Answer], dict[WindowKey, Cells]]:
    """Serve every window in order, each ended before the next is asked about.

    Returns:
        every answer, and what the decided windows cost.
    """
    answers, held, runs = {}, {}, {}
    for key in sorted(case.ends):
        fits = case.fits(key, held, runs)
        answers[key] = Answer.RESERVED if fits else Answer.REFUSED
        if key in case.too_old:
            answers[key] = Answer.TOO_OLD
        end = case.ends[key]
        if answers[key] is Answer.RESERVED and end is not None:
            held[key] = case.ring(key, end, runs) if key.query in case.terms else end
    return answers, held


def random_query(rng: Random, name: str, period: int, groupings: list[str]) -> Query:
    """Draw a query's windows, rows, cells and bounds."""
    calendars = [(10, 10, 0), (20, 10, 0), (30, 10, 5), (60, 30, 0), (25, 15, 5), (5, 30, 10)]
    size, step, first = rng.choice(calendars)
    (x, xs), (y, ys) = rng.choices(X, [6, 3, 3, 3, 3, 1])[0], rng.choice(Y)
    series = Series(
        *(name, size, step, rng.choices(range(4), [1, 3, 4, 3])[0]),
        cells_per_unit=rng.randint(1, CELLS) if period else 1,
        period=period,
        first=first,
        shape=Shape(Region.of({**x, **y}).canonical, rng.choice(groupings)),
        windows=rng.choice([None, 1, 2, 3]) if period else None,
    )
    return Query(series, frozenset((a, b) for a in xs for b in ys))


def random_case(rng: Random, unit: PrivacyUnit) -> Case:
    """Draw a budget with two to four queries of many kinds, and an oracle."""
    period = rng.choice([30, 60, 10**6]) if unit is PrivacyUnit.USER else 0
    # A budget knows the cells of all that have a name, or of none: one that knows some knows all.
    groupings = ["", *(["x", "x", "y"] if rng.random() < 0.5 else [KNOWN[each] for each in "xxy"])]
    names = rng.sample(["a", "b", "c", "d"], rng.randint(2, 4))
    queries = {name: random_query(rng, name, period, groupings) for name in names}
    ends = {}
    refunds = rng.choice((0.3, 0.9, 1.0))
    for request in requests([query.series for query in queries.values()], LAST_MS):
        ends[request.charge.key] = _random_end(rng, request.charge.cost.units, refunds)
    old = frozenset(key for key in ends if rng.random() < 0.03)
    wall = rng.randint(2, 12) if period else rng.randint(2, 6)
    return Case(unit, wall, queries, ends, old)


@dataclass
class Play:
    """Plays a case on an empty ledger, by two workers in an interleaving of their own.

    Args:
        case: what to play.
        rng: draws the interleaving.
        reopen: opens the ledger.
    """

    case: Case
    rng: Random
    reopen: Callable[[], Ledger]
    answers: dict[WindowKey, Answer] = field(default_factory=dict)
    ended: dict[WindowKey, Cells] = field(default_factory=dict)
    files: int = 0

    def run(self) -> None:
        """Play until every window has ended, check all along, and compare with the fixed order."""
        self.workers = [self.reopen() for _ in range(2)]
        try:
            series = self.case.series
            set_up(self.ledger, self.case.unit, self.case.wall, series)
            steps = [self._ask, self._archive, self._open_anew]
            steps += [partial(self._decide, one) for one in series]
            for _ in range(self.rng.randint(5, 25)):
                self.rng.choices(steps, [4, 1, 1] + [6] * len(series))[0]()
                self.check()
            self._ask(LAST_MS)
            while len(self.ended) < len(self.case.ends):  # some query can always go on
                self.rng.shuffle(series)
                assert sum(self._decide(one, len(self.case.ends)) for one in series), "stuck"
                self.check()
            self.compare()
        finally:
            for one in self.workers:
                one.close()

    @property
    def ledger(self) -> Ledger:
        """The ledger, as the worker knows it whose turn it is."""
        return self.rng.choice(self.workers)

    def _ask(self, until_ms=None):
        if until_ms is None:
            until_ms = self.rng.randrange(0, LAST_MS + 1, GRAIN_MS)
        found = requests(self.case.series, until_ms)
        self.ledger.admit(
            "s",
            [
                replace(
                    one,
                    too_old=one.charge.key in self.case.too_old,
                    run=self.case.terms.get(one.charge.key.query),
                )
                for one in found
            ],
        )

    def _open_anew(self):
        self.workers.pop(0).close()
        self.workers.append(self.reopen())

    def _archive(self):
        self.ledger.mark_published(*self.ended)
        before = without_checkpoint(self.ledger.reports.status())
        self.files += 1
        until_ms = self.rng.randrange(0, LAST_MS + 1, GRAIN_MS)
        move_all(self.ledger, until_ms, f"file {self.files}")
        assert without_checkpoint(self.ledger.reports.status()) == before

    def _decide(self, series, most=None):
        """Decide the next windows of a query, as many as drawn or as can be; say how many."""
        decided = 0
        for _ in range(self.rng.randint(1, 4) if most is None else most):
            index = (self.ledger.cursor(series.query) - series.first) // series.step
            key = series.key(index)
            if key not in self.case.ends or not self._end(series, index, key):
                break
            decided += 1
        return decided

    def _end(self, series, index, key):
        end, frontier = self.case.ends[key], self.ledger.frontier("s")
        asked = frontier is not None and key <= frontier
        if end is None and (asked or self.rng.random() < 0.3):
            deny(self.ledger, series, index)
            self.ended[key] = (0,) * CELLS
            return True
        if not asked:
            return False
        answer = self.ledger.answer(key)
        if answer is Answer.PENDING:
            return False
        self.answers[key] = answer
        if answer is Answer.RESERVED and end is not None:
            self.ended[key] = self.settle(series, index, end)
        else:
            deny(self.ledger, series, index, str(answer))
            self.ended[key] = (0,) * CELLS
        return True

    def settle(self, series: Series, index: int, end: Any) -> Cells:
        """End a granted window: at one number for all cells or one for each, or as its run does."""
        terms = self.case.terms.get(series.query)
        if terms is None:
            one = end[0] if len(set(end)) == 1 and self.rng.random() < 0.5 else None
            settle(self.ledger, series, index, units=one, cells=None if one is not None else end)
            return tuple(end)
        before = now(self.ledger, index, series)
        rung = min(end, terms.alarms if before is None else before.left)
        cells = self.case.realised(terms, rung, opening=before is None)
        ring(self.ledger, index, rung, series, terms, cost=UniformCost(cells[0], CELLS))
        return cells

    def check(self) -> None:
        """Check the wall, every answer that is still open, and the ledger against itself."""
        must_verify(self.ledger)
        if self.case.terms:
            assert status_of(self.ledger).spent_units <= self.case.wall
            self._check_turns()
            return
        worst, least, granted, waiting = self._standing()
        for key in waiting:
            before = {one: cells for one, cells in worst.items() if one < key}
            assert not self.case.fits(key, before, {}), f"{key} waits, though it fits in any case"
            before = {one: cells for one, cells in least.items() if one < key}
            assert self.case.fits(key, before, {}), f"{key} waits, though it can never fit"
        if self.case.unit is PrivacyUnit.EVENT:
            assert max(self.case.losses(granted, ROWS, truly=True), default=0) <= self.case.wall
        assert self.case.spent(granted) <= self.case.wall

    def _check_turns(self):
        """Check that windows of a run are answered one after the other."""
        frontier, waiting = self.ledger.frontier("s"), set[str]()
        for key in sorted(self.case.ends.keys() - self.ended.keys()):
            if frontier is None or key > frontier or key.query not in self.case.terms:
                continue
            answer = self.ledger.answer(key)
            if key.query in waiting:
                assert answer is Answer.PENDING, f"{key} was answered before its turn"
            if answer in {Answer.PENDING, Answer.RESERVED}:
                waiting.add(key.query)

    def _standing(self):
        """Return what windows may cost at worst, at least, what is granted, and what waits."""
        worst, granted = dict(self.ended), dict(self.ended)
        waiting, frontier = [], self.ledger.frontier("s")
        for key in self.case.ends.keys() - self.ended.keys():
            answer = self.ledger.answer(key) if frontier and key <= frontier else None
            if answer not in {Answer.PENDING, Answer.RESERVED}:
                continue
            worst[key] = self.case.worst(key, {})
            if answer is Answer.RESERVED:
                granted[key] = worst[key]
            else:
                waiting.append(key)
        return worst, self.ended, granted, waiting

    def compare(self) -> None:
        """Compare every answer and what was spent with the fixed order."""
        answers, held = expected(self.case)
        for key, answer in sorted(self.answers.items()):
            assert answer is answers[key], key
        spent = {key: cells for key, cells in self.ended.items() if any(cells)}
        assert spent == {key: cells for key, cells in held.items() if any(cells)}
        status = status_of(self.ledger)
        assert (status.reservations, status.pending) == (0, 0)
        assert status.spent_units == self.case.spent(held)
        assert +Counter(status.periods) == +self.case.period_losses(held)


def _random_end(rng, worst, refunds):
    """Draw a denial, a full cost, an even one below it, or one cell by cell."""
    if rng.random() < 0.1:
        return None
    if rng.random() > refunds:
        return (worst,) * CELLS
    if rng.random() < 0.4:
        return (rng.randint(0, worst),) * CELLS
    return tuple(rng.choice((0, 0, rng.randint(0, worst))) for _ in range(CELLS))
