"""The filter says yes exactly while the worst-off unit stays under the wall."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from unittest.mock import Mock

from hypothesis import given
from hypothesis import strategies as st

from accountant.budget.filter import EventFilter, UserFilter, WithRoom
from accountant.budget.standings import Standing
from accountant.costs.charges import Charge, UniformCost, WindowKey
from accountant.loss.overlap import Held
from accountant.records import Answer
from accountant.regions.shapes import ANYWHERE
from accountant.units import PrivacyUnit


def charge(start, end, units, periods=()):
    """Return a charge of one cell."""
    return Charge(WindowKey(end, "q", start), UniformCost(units, 3), 1, periods)


def standing(one, units=None, *, is_open=False):
    """Return what a charge holds: its worst case, or ``units``."""
    loss = one.loss_units if units is None else units
    return Standing(Held(one.key.start_ms, one.key.end_ms, loss), is_open, one.periods)


def granted(judge, one):
    """Ask, hold what is granted as ended at its worst, and say whether it was."""
    answer = judge.answer(one, ANYWHERE)
    assert answer is not Answer.PENDING
    if answer is Answer.RESERVED:
        judge.hold(standing(one))
    return answer is Answer.RESERVED


charges = st.lists(
    st.builds(
        lambda start, size, units: charge(start, start + size, units),
        st.integers(0, 30),
        st.integers(1, 12),
        st.integers(0, 4),
    ),
    max_size=14,
)


@given(charges, st.integers(0, 12), st.integers(0, 14))
def test_event_filter_resumes_from_what_is_held(asked, wall, cut):
    """Made anew from the charges held so far, with or without what fits beside the sum."""
    asked = sorted(asked, key=lambda each: each.key)
    answers = list(map(partial(granted, EventFilter(wall, [])), asked))
    held = [standing(one) for one, yes in zip(asked[:cut], answers[:cut], strict=True) if yes]
    room = wall - sum(one.held.loss_units for one in held)
    for second in EventFilter(wall, held), WithRoom(room, lambda: EventFilter(wall, held)):
        assert [granted(second, one) for one in asked[cut:]] == answers[cut:]


def test_what_stands_is_looked_at_where_it_does_not_fit_beside_the_sum():
    """And not before; one unit of room that is not there would be granted."""
    judge = Mock(return_value=EventFilter(4, [standing(charge(0, 10, 2))]))
    exact = WithRoom(2, judge)
    assert granted(exact, charge(5, 15, 2))
    assert not judge.called
    assert not granted(exact, charge(5, 20, 1))
    assert granted(exact, charge(20, 30, 4)), "nothing stands there, though the sum is full"
    judge.assert_called_once()
    assert granted(WithRoom(3, judge), charge(5, 15, 3))


@st.composite
def some_open(draw):
    """Draw earlier windows, some open, one way for them to end, and a window to ask about."""
    unit = draw(st.sampled_from(PrivacyUnit))
    now, then = [], []
    for _ in range(draw(st.integers(0, 6))):
        start, size, units = (draw(st.integers(*span)) for span in ((0, 20), (1, 10), (0, 4)))
        periods = tuple(range(start // 10 * 10, start + size, 10))
        one = charge(start, start + size, units, periods if unit is PrivacyUnit.USER else ())
        is_open = draw(st.booleans())
        now.append(standing(one, is_open=is_open))
        then.append(standing(one, draw(st.integers(0, units)) if is_open else units))
    periods = (0, 10) if unit is PrivacyUnit.USER else ()
    return now, then, charge(5, 15, draw(st.integers(0, 4)), periods), unit


def judged(unit, wall, earlier, asked):
    """Return the answer of a filter that holds earlier windows one by one."""
    judge = UserFilter(wall, {}, {}) if unit is PrivacyUnit.USER else EventFilter(wall, [])
    for one in earlier:
        judge.hold(one)
    return judge.answer(asked, ANYWHERE)


@given(some_open(), st.integers(0, 8))
def test_an_answer_given_early_is_the_last_word(drawn, wall):
    """However the open windows end, an answer that was given stays; at both ends it differs."""
    now, then, asked, unit = drawn
    early, late = judged(unit, wall, now, asked), judged(unit, wall, then, asked)
    assert late is not Answer.PENDING
    assert early in {late, Answer.PENDING}
    at_worst = [replace(one, open=False) for one in now]
    at_least = [ended for ended, was in zip(at_worst, now, strict=True) if not was.open]
    ends = {judged(unit, wall, one, asked) for one in (at_worst, at_least)}
    assert (early is Answer.PENDING) is (len(ends) == 2)


def test_no_period_means_no_budget():
    """Under unit user a charge without periods is refused, even a free one."""
    assert not granted(UserFilter(3, {}, {}), charge(0, 5, 0))
