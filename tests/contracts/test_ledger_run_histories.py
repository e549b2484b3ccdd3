"""Random histories of runs beside other queries: any interleaving gives what the order gives."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from random import Random
from typing import TYPE_CHECKING, ClassVar

import pytest

from accountant.budget.keeping import Keeper, Keepers, OpenRun
from accountant.costs.charges import UniformCost
from accountant.costs.runs import RunTerms
from accountant.errors import LedgerError
from accountant.log.state import Budget
from accountant.records import Answer
from accountant.rules import admission, runs, standing
from tests.support.ledgers import (
    CELLS,
    USER,
    Series,
    must_verify,
    open_ledger,
    requests,
    settle,
    status_of,
)
from tests.support.runs import now, ring
from tests.support.transcripts import Interleaving

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accountant.costs.charges import WindowKey
    from accountant.units import PrivacyUnit

LAST_MS = 120
DATABASES = ["sqlite"]
PLAYS = 6
CASES_FOR_A_TWIN = 40


@dataclass(frozen=True)
class Case:
    """A budget, its queries, and how every window would end.

    Args:
        wall: of the budget.
        series: the queries' windows.
        terms: what a run costs, of those that have runs.
        ends: alarms that would ring, or loss a cell of a query without runs; ``None``: denied.
        unit: whose budget it is.
    """

    wall: int
    series: Mapping[str, Series]
    terms: Mapping[str, RunTerms]
    ends: Mapping[WindowKey, int | None]
    unit: PrivacyUnit = USER

    def periods(self, key):
        """Return the periods that a window touches."""
        size = self.series[key.query].period
        return tuple(range(key.start_ms // size * size, key.end_ms, size))


@dataclass
class Expected:
    """What the fixed order makes of a case: answers, losses by period, alarms by window."""

    answers: dict[WindowKey, Answer] = field(default_factory=dict)
    lost: Counter[int] = field(default_factory=Counter)
    rung: dict[WindowKey, int] = field(default_factory=dict)


@dataclass
class Rest:
    """What a query holds by period, and its run: periods, alarms left, and when it is over."""

    held: Counter[int] = field(default_factory=Counter)
    periods: tuple[int, ...] = ()
    left: int = 0
    over_ms: int = 10**9

    def kept(self, case, query, period, end_ms):
        """Return what others have to leave it, what it holds included."""
        reserve = 0
        if period in self.periods and end_ms < self.over_ms:
            reserve = self.left * case.terms[query].alarm_units
        return max(self.held[period] + reserve, case.series[query].share)


def expected(case):
    """Serve every window in order, each ended before the next is asked about."""
    found = Expected()
    rests = {query: Rest() for query in case.series}
    for key in sorted(case.ends):
        terms, end, periods = case.terms.get(key.query), case.ends[key], case.periods(key)
        own = rests[key.query]
        inside = own.left if own.periods == periods else 0
        worst = case.series[key.query].units
        if terms is not None and inside:
            worst = inside * terms.alarm_units
        others = [(rest, query) for query, rest in rests.items() if query != key.query]
        fits = all(
            own.held[period]
            + worst
            + sum(rest.kept(case, query, period, key.end_ms) for rest, query in others)
            <= case.wall
            for period in periods
        )
        found.answers[key] = Answer.RESERVED if fits else Answer.REFUSED
        if not fits or end is None:
            continue
        loss = end
        if terms is not None:
            rung = min(end, inside or terms.alarms)
            own.periods, own.left = periods, (inside or terms.alarms) - rung
            own.over_ms = 10**9
            if len(periods) > 1:
                own.over_ms = periods[1] + 2 * case.series[key.query].size
            loss = rung * terms.alarm_units + (0 if inside else terms.open_units)
            found.rung[key] = rung
        own.held.update(dict.fromkeys(periods, loss))
        found.lost.update(dict.fromkeys(periods, loss))
    return found


def random_case(rng):
    """Draw one or two queries with runs, up to two without, a wall near a run's worst, and ends."""
    period = rng.choice([30, 60, 10**6])
    calendars = [(10, 10, 0), (20, 10, 0), (30, 10, 5), (25, 15, 5), (5, 30, 10)]
    series = {}
    terms = {}
    for name in rng.sample("abcd", rng.randint(1, 4)):
        size, step, first = rng.choice(calendars)
        units = rng.randint(1, 3)
        if not terms or (len(terms) < 2 and rng.random() < 0.4):
            terms[name] = RunTerms(rng.randint(1, 4), rng.randint(1, 3), rng.randint(1, 4))
            units = terms[name].worst_units
        series[name] = Series(name, size, step, units, period=period, first=first)
    ends = {}
    loud = rng.choice((0.1, 0.3))
    for request in requests(list(series.values()), LAST_MS):
        key = request.charge.key
        end = rng.randint(0, series[key.query].units)
        if key.query in terms:
            end = rng.randint(1, 3) if rng.random() < loud else 0
        ends[key] = None if rng.random() < 0.1 else end
    worst = max(one.worst_units for one in terms.values())
    wall = worst + rng.choice((0, 0, 1, 3, worst))
    for name in rng.sample(sorted(series), rng.choice((0, 0, 1, min(2, len(series))))):
        free = wall - sum(one.share for one in series.values())
        series[name] = replace(series[name], share=rng.randint(0, min(free, wall // 2)))
    return Case(wall, series, terms, ends)


def realised(terms, rung, *, opening):
    """Return what a window of a run costs."""
    return rung * terms.alarm_units + (terms.open_units if opening else 0)


@dataclass
class RunPlay(Interleaving):
    """Plays a case of runs beside other queries."""

    case: Case
    rung: dict[WindowKey, int] = field(default_factory=dict)
    last_ms: ClassVar[int] = LAST_MS

    def series(self):
        """Return the windows of all queries."""
        return list(self.case.series.values())

    def asked(self, request):
        """Return it with the terms of its run."""
        return replace(request, run=self.case.terms.get(request.charge.key.query))

    def settle(self, series, index, end):
        """Decide a window of a run as its mechanism would, and settle others as they end."""
        if series.query in self.case.terms:
            self._ring(series, index, end)
        else:
            settle(self.ledger, series, index, units=end)
        return ()

    def _ring(self, series, index, wanted):
        """Decide a window of a run as its mechanism would."""
        key, terms = series.key(index), self.case.terms[series.query]
        before = now(self.ledger, index, series)
        rung = min(wanted, terms.alarms if before is None else before.left)
        cost = UniformCost(realised(terms, rung, opening=before is None), CELLS)
        ring(self.ledger, index, rung, series, terms, cost=cost)
        self.rung[key] = rung

    def check(self):
        """Check the wall, the ledger against itself, and that every run answers in turn."""
        status = status_of(self.ledger)
        assert status.spent_units <= self.case.wall
        must_verify(self.ledger)
        frontier, waiting = self.ledger.frontier("s"), set[str]()
        for key in sorted(self.case.ends.keys() - self.ended.keys()):
            if frontier is None or key > frontier or key.query not in self.case.terms:
                continue
            answer = self.ledger.answer(key)
            if key.query in waiting:
                assert answer is Answer.PENDING, f"{key} was answered before its turn"
            if answer in {Answer.PENDING, Answer.RESERVED}:
                waiting.add(key.query)

    def compare(self):
        """Compare every answer, every alarm and what was spent with the fixed order."""
        wanted = expected(self.case)
        for key, answer in sorted(self.answers.items()):
            assert answer is wanted.answers[key], key
        assert self.rung == wanted.rung
        status = status_of(self.ledger)
        assert (status.reservations, status.pending) == (0, 0)
        assert dict(status.periods) == {at: units for at, units in wanted.lost.items() if units}


def play(url, seed, interleaving=0):
    """Play one case in one interleaving."""
    case = random_case(Random(f"runs {seed}"))
    RunPlay(case, Random(f"{seed} {interleaving}"), lambda: open_ledger(url)).run()


def test_answers_follow_the_order_whatever_the_interleaving(new_url):
    """Every answer, every alarm, and all that was spent, is what serving one by one gives."""
    for number in range(PLAYS):
        play(new_url(), number // 2, number % 2)


def holds_a_whole_run(patch):
    """Broken twin: reserves a whole run inside one, and refuses what fits."""
    patch.setattr(runs, "held_units", lambda _run, charge: charge.loss_units)


def goes_on_over_periods(patch):
    """Broken twin: uses a run in the next period, too."""

    def usable(run, fingerprint, periods):
        del fingerprint, periods
        return run if run is not None and run.left else None

    patch.setattr(runs, "usable", usable)


def opens_for_nothing(patch):
    """Broken twin: charges the alarms, and not the threshold that they were compared with."""
    patch.setitem(globals(), "realised", lambda terms, rung, **_: rung * terms.alarm_units)
    own = runs.continued

    def continued(stored, charge, cost, after, alarm_count):
        if after is not None and after.previous is None:
            cost = UniformCost(cost.worst_units + after.terms.open_units, cost.cells)
        return own(stored, charge, cost, after, alarm_count)

    patch.setattr(runs, "continued", continued)


def answers_before_its_turn(patch):
    """Broken twin: takes the run as it stands when a window is asked for."""
    own = admission._answered
    patch.setattr(admission, "_answered", lambda *given: own(*given[:3], set()))


def keeps_nothing_for_a_run(patch):
    """Broken twin: gives others what the alarms of an open run may cost, and cuts it off."""
    patch.setattr(OpenRun, "after", lambda *_: None)


def keeps_no_share(patch):
    """Broken twin: knows of shares, and lets anybody have them."""
    patch.setattr(standing, "_with_share", lambda *_: Keeper())


def keeps_shares_drawn_already(patch):
    """Broken twin: keeps the whole share beside what its alarm has drawn of it."""

    def with_share(query, *_):
        return Keeper(query.share_units)

    patch.setattr(standing, "_with_share", with_share)


def keeps_from_itself(patch):
    """Broken twin: an alarm has to leave its own share, and what its own run may cost."""
    own = Keepers.beside
    patch.setattr(Keepers, "beside", lambda self, _, period: own(self, "nobody", period))


def keeps_what_a_run_has_now(patch):
    """Broken twin: keeps what a run has left by now, not what it had when a window's turn was."""
    own = Budget.last_in_runs
    patch.setattr(Budget, "last_in_runs", lambda self, _before=None: own(self))


TWINS = [
    keeps_nothing_for_a_run,
    keeps_no_share,
    keeps_shares_drawn_already,
    keeps_from_itself,
    keeps_what_a_run_has_now,
    holds_a_whole_run,
    goes_on_over_periods,
    opens_for_nothing,
    answers_before_its_turn,
]


@pytest.mark.parametrize("twin", TWINS)
def test_broken_twins_are_caught(tmp_path, monkeypatch, twin):
    """The same check finds ledgers that hold too much, charge too little, or answer too early."""
    twin(monkeypatch)

    def play_many():
        for seed in range(CASES_FOR_A_TWIN):
            play(f"sqlite:///{tmp_path}/ledger-{seed}.db", seed)

    with pytest.raises((AssertionError, LedgerError)):
        play_many()
