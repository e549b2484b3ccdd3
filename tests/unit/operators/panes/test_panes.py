"""What panes take and refuse, how questions share them, and when they are worth it."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from accountant.errors import ArgumentError
from accountant.units import to_loss_units
from operators.conditions.condition import Aim, Condition, ThresholdAtom
from operators.conditions.formula import Formula
from operators.noise.source import SeededSource
from operators.panes import Panes
from operators.panes.windows import PaneWindows
from operators.single.tslm import Tslm
from tests.statistical.panes_law import RATE
from tests.statistical.panes_law import asked as asked_of
from tests.support.streams import OneByOne

NOISE = SeededSource(1)
asked = partial(asked_of, threshold=120, cells=2)


def alone(question):
    """Return the epsilon of a window that is decided for itself."""
    return Tslm.priced(question.test, question.promise).epsilon


def test_questions_share_the_dearest_of_their_noises():
    """An hour, a day and two thresholds: the most demanding is paid, and all promises are kept."""
    questions = [asked(12, 20), asked(60, 20, threshold=500), asked(4, 9, threshold=80)]
    shared = Panes.planned(questions)
    apart = [Panes.planned([each]).units for each in questions]
    assert shared.cost.worst_units == shared.units == max(apart)
    assert all(error <= RATE for at in range(3) for error in shared.errors(at))
    assert shared.shifts[0] < 20  # narrower noise than an hour needs: fewer false alarms, too


def test_counts_at_the_ends_of_int64_do_not_wrap():
    """They saturate, which brings no two further apart."""
    panes = Panes.planned([asked(3, 9)])
    ends = np.array([np.iinfo(np.int64).min, np.iinfo(np.int64).max])
    noisy = panes.release(np.tile(ends, (3, 1)), NOISE)
    assert np.abs(noisy).max() <= 2**52
    assert panes.decide(0, noisy).tolist() == [False, True]
    assert panes.chances(0, ends).tolist() == [0, 1]


def test_a_window_of_its_own_pane_costs_what_tslm_costs():
    """TUMBLE is one pane: nothing is shared, and nothing is lost but what rounds."""
    question = asked(1, 20)
    assert abs(to_loss_units(alone(question)) - Panes.planned([question]).units) <= 1


def test_sixty_panes_and_three_thresholds_cost_a_twentieth():
    """A sliding hour of minutes: three thresholds pay once for panes, and 180 times for TSLM."""
    hour = [asked(60, 20, threshold=threshold) for threshold in (80, 120, 160)]
    apart = 60 * sum(map(alone, hour))
    assert round(float(apart), 2) == 20.2
    assert apart > 20 * Panes.planned(hour).plan.epsilon


def test_cumulative_windows_pay_once_for_all_their_steps():
    """After 5, 10, ... 60 minutes of every hour: the whole hour's noise is what all steps share."""
    steps = [asked(panes, 20) for panes in range(1, 13)]
    shared, last = (Panes.planned(each).plan.epsilon for each in (steps, steps[-1:]))
    assert shared == last < sum(map(alone, steps)) / 3


def test_a_person_who_counts_in_every_pane_is_better_off_with_windows():
    """Unit `user` without a cap over the period: as many panes as windows, each of them dearer."""
    hour = asked(12, 20)
    pane = Panes.planned([hour]).plan.epsilon
    assert 180 * alone(hour) < 180 * pane
    assert 6 * 12 * alone(hour) > 6 * pane


def over_many():
    """Return windows of three panes over two statistics, of which the second is read."""
    atom = ThresholdAtom(1, np.array([20, 24, 40]))
    condition = Condition(Formula.parse("a"), {"a": atom}, (1, 1))
    return PaneWindows.planned(condition, Aim(RATE, (5,), panes=3))


def sliding(panes):
    """Return windows of three panes, then one of two at the end."""
    return [*(range(at, at + 3) for at in range(panes - 2)), range(panes - 2, panes)]


def test_windows_tried_at_once_ring_as_those_that_are_released():
    """Panes released together, windows decided together: bit for bit what each by itself gives."""
    operator, panes = over_many(), 40
    counts = np.random.default_rng(3).integers(0, 16, (panes, 2, 3))
    many, alone, fresh = (OneByOne(b"panes") for _ in range(3))
    noisy = operator.release_many(counts, many)
    assert np.array_equal(noisy, [operator.release(each, alone) for each in counts])
    spans = [slice(rows.start, rows.stop) for rows in sliding(panes)]
    fired = operator.reached_many(noisy, sliding(panes)) > 0
    assert np.array_equal(fired, [operator.reached(noisy[span]) > 0 for span in spans])
    assert 0 < fired.mean() < 1
    anew = (operator.release_many(counts[span], fresh) for span in spans)  # the broken twin
    assert not np.array_equal(fired, [operator.reached(each) > 0 for each in anew])


def test_a_running_sum_that_wraps_changes_no_window():
    """Counts as far out as panes say, more of them than int64 could add up."""
    operator = over_many()
    noisy = np.full((5_000, 3), 2**52)
    noisy[4_000:] *= -1
    fired = operator.reached_many(noisy, [range(3_990, 3_993), range(4_990, 4_993)]) > 0
    assert fired.tolist() == [[True] * 3, [False] * 3]


def test_windows_of_more_panes_than_planned_are_refused():
    """Their noise was never planned for."""
    with pytest.raises(ArgumentError):
        over_many().reached_many(np.zeros((9, 3), int), [range(4)])
