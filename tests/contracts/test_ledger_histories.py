"""Random transcripts of a ledger: whatever the interleaving, the fixed order gives the answers."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from accountant.budget import filter as filter_module
from accountant.budget.filter import EventFilter, UserFilter
from accountant.costs.charges import WindowKey
from accountant.costs.levels import LevelCosts
from accountant.log.entries import Admitted, Answered, Ended, Recovered, decode
from accountant.log.state import Budget, ChargeState, Reservation
from accountant.records import Answer, Outcome, SeenDecision
from accountant.rules import admission
from accountant.units import PrivacyUnit
from tests.support.ledgers import (
    CELLS,
    EVENT,
    USER,
    Series,
    deny,
    each_unit,
    must_verify,
    open_ledger,
    requests,
    set_up,
    settle,
    status_of,
)
from tests.support.transcripts import Case, Play, anybody, random_case

DATABASES = ["sqlite"]
PLAYS = 6
CASES_FOR_A_TWIN = 60


def play(url, unit, seed, interleaving=0):
    """Play one case in one interleaving."""
    case = random_case(Random(f"{unit} {seed}"), unit)
    Play(case, Random(f"{seed} {interleaving}"), lambda: open_ledger(url)).run()


@each_unit
def test_answers_follow_the_order_whatever_the_interleaving(new_url, unit):
    """Every answer, and all that was spent, is what serving windows one by one gives."""
    for number in range(PLAYS):
        play(new_url(), unit, number // 2, number % 2)


@each_unit
def test_the_log_adds_up_at_every_length(ledger, unit):
    """With 1 to 100 windows that ended somehow, its entries add up to what the ledger says."""
    period = 200 if unit is USER else 0
    series = Series("q", 20, 10, 2, cells_per_unit=2 if period else 1, period=period)
    set_up(ledger, unit, 24 if period else 4, [series])
    ends = Counter[str]()
    for index in range(100):
        ends[_end_somehow(ledger, series, index)] += 1
        by_hand, held = lost_by_hand(ledger, series)
        status = status_of(ledger)
        if period:
            assert +by_hand.period_losses(held) == Counter(dict(status.periods))
        else:  # all rows lose alike
            assert status.spent_units == max(by_hand.losses(held, [(0, 0)]), default=0)
        if index % 10 == 9:
            must_verify(ledger)
    wanted = {"settled", "cells", "denied", "refused", "too_old", "missed", "spent"}
    assert set(ends) == wanted
    assert min(ends.values()) > 2


def _end_somehow(ledger, series, index):
    """Ask for the next window, end it in one of many ways, and say how."""
    kind = index % 8
    if kind == 4:
        deny(ledger, series, index)
        return "missed"
    (request,) = requests([replace(series, first=series.key(index).start_ms)], 20 + 10 * index)
    ledger.admit("s", [replace(request, too_old=kind == 5)])
    if kind == 5:
        deny(ledger, series, index, "too_old")
        return "too_old"
    if ledger.answer(series.key(index)) is Answer.REFUSED:
        deny(ledger, series, index, "budget")
        return "refused"
    if kind == 6:
        deny(ledger, series, index)
        return "denied"
    if kind == 7:
        key = series.key(index)
        periods = request.charge.periods
        place = ("other", "q", "s", key.start_ms + 1, key.end_ms, index, Outcome.DECIDED, 1, 0)
        after = SeenDecision(*place, next_start_ms=key.start_ms + 10, periods=periods)
        ledger.upkeep.reconcile([after])
        return "spent"
    cells = (2, 1, 0, 0) if kind % 2 else None
    settle(ledger, series, index, cells=cells, units=None if cells else kind // 2)
    return "cells" if cells else "settled"


def lost_by_hand(ledger, series):
    """Return what every window cost, from the entries of the log alone."""
    queries, held, granted = {series.query: anybody(series, series.query)}, {}, set()
    for row in ledger.reports.entries():
        match decode(row.kind, row.payload):
            case Admitted(windows=windows) | Answered(windows=windows):
                granted |= {one.window for one in windows if one.answer is Answer.RESERVED}
            case Ended(window=key, settled_units=units, costs=costs):
                granted.discard(key)
                if units is not None:
                    levels = LevelCosts.decode(costs) if costs else LevelCosts.uniform(units, CELLS)
                    held[key] = levels.as_array().tolist()
            case Recovered(decisions=decisions):
                for one in decisions:
                    name = f"{one.query} {one.start_ms}"
                    queries[name] = anybody(replace(series, cells_per_unit=1), name)
                    place = WindowKey(one.end_ms, name, one.start_ms)
                    held[place] = [one.loss_units, *[0] * (CELLS - 1)]
                    passed = {each for each in granted if each.start_ms < one.next_start_ms}
                    held |= dict.fromkeys(passed, [series.units] * CELLS)
                    granted -= passed
    assert not granted
    return Case(USER if series.period else EVENT, 0, queries), held


def as_they_stand(patch):
    """Broken twin: refuses what does not fit now, so that a refund counts once it happens by."""
    for one in (EventFilter, UserFilter):
        _answering(patch, one, {Answer.PENDING: Answer.REFUSED})


def forgets_reservations(patch):
    """Broken twin: counts nothing of what has not ended."""
    for one in (EventFilter, UserFilter):
        _answering(patch, one, {Answer.PENDING: Answer.RESERVED})


def resets_every_period(patch):
    """Broken twin: forgives an event what it lost in an earlier period of 30 ms."""
    own = EventFilter.answer

    def answer(self, charge, shape):
        since_ms = (charge.key.end_ms - 1) // 30 * 30
        recent = [one for one in self._standing if one.held.start_ms >= since_ms]
        return own(EventFilter(self._wall, recent), charge, shape)

    patch.setattr(EventFilter, "answer", answer)


def drops_a_shape(patch):
    """Broken twin: takes regions that differ for regions that share no row."""
    own = filter_module.worst_loss

    def worst_loss(charges, *, meeting, **given):
        return own([one for one in charges if one.shape == meeting], **given)

    patch.setattr(filter_module, "worst_loss", worst_loss)


def refunds_twice(patch):
    """Broken twin: gives back twice what a settlement left over."""
    own = Reservation.final_units

    def final_units(self):
        realised = own.fget(self)
        settled = self.state is ChargeState.SETTLED
        return max(0, 2 * realised - self.loss_units) if settled else realised

    patch.setattr(Reservation, "final_units", property(final_units))


def forgets_periods(patch):
    """Broken twin: looks at the first period only."""
    own = UserFilter.answer

    def answer(self, charge, shape):
        return own(self, _with_periods(charge, charge.periods[:1]), shape)

    patch.setattr(UserFilter, "answer", answer)


def sees_later_windows(patch):
    """Broken twin: counts windows that come later in the order, for what they may hold."""
    own = admission.judge

    def judge(budget, *, first=None, **given):
        made = own(budget, first=first, **given)
        for one in budget.charges.values():
            later = first is not None and one.window > first
            standing = budget.standing(one) if later else None
            if standing is not None:
                made.hold(standing)
        return made

    patch.setattr(admission, "judge", judge)


def never_answers(patch):
    """Broken twin: ends windows and answers nobody."""
    patch.setattr(admission, "answers", lambda _: None)


def forgets_pending(patch):
    """Broken twin: takes it that what waits for an answer will be refused."""
    own = Budget.standing

    def standing(self, charge):
        return None if charge.asked.answer is Answer.PENDING else own(self, charge)

    patch.setattr(Budget, "standing", standing)


TWINS = [
    *((as_they_stand, unit) for unit in PrivacyUnit),
    *((forgets_reservations, unit) for unit in PrivacyUnit),
    (resets_every_period, EVENT),
    (drops_a_shape, EVENT),
    *((refunds_twice, unit) for unit in PrivacyUnit),
    (forgets_periods, USER),
    *((sees_later_windows, unit) for unit in PrivacyUnit),
    *((never_answers, unit) for unit in PrivacyUnit),
    (forgets_pending, EVENT),
]


@pytest.mark.parametrize(("twin", "unit"), TWINS)
def test_broken_twins_are_caught(
    tmp_path,
    monkeypatch,
    twin,
    unit,
):
    """The same check finds filters that forget, forgive, or look at the time of day."""
    twin(monkeypatch)

    def play_many():
        for seed in range(CASES_FOR_A_TWIN):
            play(f"sqlite:///{tmp_path}/ledger-{seed}.db", unit, seed)

    with pytest.raises(AssertionError):
        play_many()


def _answering(patch, judge, instead):
    own = judge.answer

    def answer(self, charge, shape):
        found = own(self, charge, shape)
        return instead.get(found, found)

    patch.setattr(judge, "answer", answer)


def _with_periods(charge, periods):
    return type(charge)(charge.key, charge.cost, charge.cells_per_unit, periods)
