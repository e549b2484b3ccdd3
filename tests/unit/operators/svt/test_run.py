"""Runs: fair, resumable, spent in the end, and charged for alarms only."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from accountant.errors import LedgerCorruptError
from accountant.units import UNITS_PER_EPSILON
from operators import (
    RunState,
    Svt,
    price,
)
from operators.noise.source import KeyedNoise
from operators.svt import (
    ask,
    open_run,
)
from operators.svt.variants import gaussian_epsilon, laplace_questions
from tests.support.svt import aim, condition, plan


@pytest.mark.long
def test_user_in_every_window_is_charged_for_alarms_only():
    """Over 1,000 windows a run costs eps_1 and its alarms; every window alone would pay again."""
    made = Svt.planned(condition(2), aim(5, alarms=10))
    alone = price("tslm", condition(2), aim(5))
    noise = KeyedNoise(b"user")
    state = made.open(noise)
    quiet, loud = np.full((1, 2), -400), np.array([[400, -400]])
    charged = rung = 0
    for window in range(1_000):
        decided = made.ask(loud if window % 250 == 0 else quiet, state, noise, window)
        state = RunState.from_bytes(decided.state.to_bytes())
        charged += made.cost_units(window == 0, decided.rung)
        rung += decided.rung
    assert rung == state.rung == 4
    assert charged == made.terms.open_units + 4 * made.terms.alarm_units
    assert charged < made.terms.epsilon_units < 10 * alone.epsilon * UNITS_PER_EPSILON


def test_spent_run_answers_nothing():
    """After its alarms nothing is asked; the window that spends it answers as far as it asked."""
    made = Svt.planned(condition(100), aim(5, alarms=3))
    noise, loud = KeyedNoise(b"spent"), np.full((1, 100), 10_000)
    first = made.ask(loud, made.open(noise), noise)
    assert first.rung == first.answered.sum() == 3
    assert (first.fired == first.answered).all()
    assert (first.state.left, first.state.rung) == (0, 3)
    second = made.ask(loud, first.state, noise)
    assert not (second.fired | second.answered).any()
    assert second.state == first.state
    decision = made.decide(loud, noise)
    assert decision.fired.sum() == 3
    assert decision.cost.worst_units == made.terms.epsilon_units


def test_cells_put_back_are_asked_with_later_windows():
    """A negative cell is asked ``questions`` times in all, names its own window, then is let go."""
    terms = plan(4, questions=3, put_back=True)
    noise, far = KeyedNoise(b"back"), 10**6

    def asked(state, window, cells=1):
        return ask(terms, state, np.full(cells, -far), noise, window=window)

    silent = asked(RunState(0, 4, 0, terms.open_units), 7, cells=2).state
    assert silent.queue.tolist() == [[7, 0, -far, 1], [7, 1, -far, 1]]
    lucky = silent.queue.copy()
    lucky[0, 2] = far  # what a lucky draw would do
    second = asked(replace(silent, queue=lucky), 8)
    assert (second.late, second.rung, second.fired.any()) == (((7, 0),), 1, False)
    assert second.state.queue.tolist() == [[7, 1, -far, 2], [8, 0, -far, 1]]
    third = asked(second.state, 9).state
    assert third.queue[:, :2].tolist() == [[8, 0], [9, 0]]
    assert (third.left, third.rung) == (3, 1)


def test_state_survives_storage():
    """Bytes give back an equal state, show nothing in a repr, and bad ones are refused."""
    state = RunState(-(1 << 50), 2, 1, 10**12, np.array([[1 << 40, 2, -(1 << 60), 1]]))
    stored = state.to_bytes()
    again = RunState.from_bytes(stored)
    assert again == state != replace(state, left=1)
    assert hash(again) == hash(state)
    assert not any(str(1 << secret) in repr(state) for secret in (50, 60))
    with pytest.raises(ValueError, match="read-only"):
        again.queue[0, 0] = 1
    newer = stored.replace(b"\x96\x01", b"\x96\x02", 1)
    for bad in (b"", b"\xc0", newer, stored[:-1], stored + b"\x00"):
        with pytest.raises(LedgerCorruptError) as caught:
            RunState.from_bytes(bad)
        assert caught.value.__cause__ is None
        assert str(1 << 50) not in str(caught.value)


def test_costs_of_windows_add_up():
    """However alarms fall into windows, the increments sum to the run's loss, to the unit."""
    terms = plan(4, open_units=7, alarm_units=3)
    for parts in product(range(5), repeat=3):
        if sum(parts) <= 4:
            costs = [terms.cost_units(opening=not at, rung=n) for at, n in enumerate(parts)]
            assert sum(costs) == 7 + sum(parts) * 3
    assert terms.epsilon_units == 7 + 12


def test_extreme_counts_are_answered():
    """Statistics at the ends of int64 saturate and ring, or don't."""
    made = Svt.planned(condition(2), aim())
    noise = KeyedNoise(b"far")
    ends = np.array([[np.iinfo(np.int64).max, np.iinfo(np.int64).min]])
    assert made.ask(ends, made.open(noise), noise).fired.tolist() == [True, False]


def test_variants_ask_with_their_noise():
    """Laplace questions are drawn at the plan's rate; Gaussian losses grow as they should."""
    terms, noise = plan(3), KeyedNoise(b"variants")
    draw = laplace_questions(terms, noise)
    assert ask(terms, open_run(terms, noise), np.full(50, -3), noise, draw=draw).rung <= 3
    losses = [gaussian_epsilon(terms, variance, 100, 1e-6) for variance in (10.0, 100.0, 1000.0)]
    assert losses[0] > losses[1] > losses[2] > float(terms.threshold_rate)
    assert gaussian_epsilon(replace(terms, monotone=True), 10.0, 100, 1e-6) < losses[0]
