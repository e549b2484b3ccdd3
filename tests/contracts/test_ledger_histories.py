"""Random transcripts of a ledger: whatever the interleaving, the fixed order gives the answers."""

from __future__ import annotations

from random import Random

import pytest

from accountant.budget import filter as filter_module
from accountant.budget.filter import EventFilter, UserFilter
from accountant.ledger import door
from accountant.log import state
from accountant.log.state import Budget, ChargeState, Reservation
from accountant.records import Answer
from accountant.rules import admission
from accountant.units import PrivacyUnit
from tests.support.ledgers import EVENT, USER, each_unit, open_ledger
from tests.support.transcripts import Play, random_case

DATABASES = ["sqlite"]
PLAYS = 6
CASES_FOR_A_TWIN = 60


def play(url, unit, seed, interleaving=0):
    """Play one case in one interleaving."""
    case = random_case(Random(f"{unit} {seed}"), unit)
    Play(case, Random(f"{seed} {interleaving}"), lambda: open_ledger(url)).run()


@each_unit
def test_answers_follow_the_order_whatever_the_interleaving(new_url, monkeypatch, unit):
    """Every answer, and all that was spent, is what serving windows one by one gives.

    However much of what is past each worker has forgotten, and wherever the state was written down.
    """
    for number in range(PLAYS):
        monkeypatch.setattr(state, "_SPARE", (0, 1, 10**6)[number % 3])
        monkeypatch.setattr(door, "_IMAGE_EVERY", (1, 10**6)[number % 2])
        play(new_url(), unit, number // 2, number % 2)


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
def test_broken_twins_are_caught(tmp_path, monkeypatch, twin, unit):
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
