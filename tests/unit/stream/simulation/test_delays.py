"""How long after its condition first held an alarm fired: every pair of steps, and many draws."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from operators.conditions.condition import Aim
from operators.registry import create
from stream.simulation.results import Law
from stream.simulation.tally import Tally
from stream.simulation.truth import first_held
from tests.support.simulated import alarm, stepped
from tests.support.svt import condition

LOOKS = 4
COURSE = (20, 48, 51, 60)  # more than 50 from the third step on
RUNS = 4_000


def tallied(*pairs):
    """Return the tally of cells by the step that fired first and the first at which they held."""
    fired, held = np.array(pairs, dtype=np.int64).T
    tally = Tally()
    tally.delay(fired[None], held[None], LOOKS)
    return tally


def test_alarms_before_the_condition_are_false_and_the_others_have_a_delay():
    """By the definition, over all 25 cases: what never held, and what never fired, has none."""
    cases = list(product(range(LOOKS + 1), repeat=2))
    tally = tallied(*cases)
    true = [fired - held for fired, held in cases if held < LOOKS > fired]
    late = sorted(each for each in true if each >= 0)
    assert tally.early == sum(each < 0 for each in true) == 6
    assert tally.delays == Counter(late)
    law = Law.of(tally.delays, Fraction(900))
    expected = [900 * each for each in (np.mean(late), late[4], late[-1], late[-1])]
    assert [law.mean, law.median, law.p95, law.max] == pytest.approx(expected)
    twice = Tally()
    for each in (tally, tally):
        twice += each
    assert (twice.early, twice.delays.total()) == (12, 20)


def test_nothing_that_fired_has_no_delay():
    """No median of nothing."""
    none = tallied((LOOKS, 0), (LOOKS, 1), (LOOKS, LOOKS))
    assert (none.early, none.delays) == (0, {})
    assert Law.of(none.delays, Fraction(1)) == Law(None, None, None, None)


def test_the_first_step_that_held_is_found():
    """Also where it held no longer at the window's end."""
    holds = np.array([[[0, 1, 0], [0, 1, 1], [0, 0, 1]]], dtype=np.bool_)
    assert first_held(holds).tolist() == [[3, 0, 1]]


@pytest.mark.parametrize("mechanism", ["svt", "tslm"])
def test_measured_delays_have_the_exact_law(mechanism):
    """Alarms before the third step, and at it or after, within six standard errors of the law."""
    aim = Aim(Fraction(1, 20), (6,), looks=LOOKS)
    query = replace(alarm(1, mechanism=mechanism), condition=condition(1), aim=aim)
    tally = stepped(query, np.tile(np.array(COURSE), RUNS).reshape(-1, 1), LOOKS)
    assert tally.cells.true == RUNS
    assert tally.cells.missed + tally.early + tally.delays.total() == RUNS
    law = create(mechanism, condition(1), aim).first_rings(0, np.array([COURSE])).tolist()
    found = [tally.early, tally.delays[0], tally.delays[1]]
    for count, chance in zip(found, [sum(law[:2]), law[2], law[3]], strict=True):
        error = (chance * (1 - chance) * RUNS) ** 0.5
        assert abs(count - chance * RUNS) <= 6 * error + 1e-9


def test_delays_from_the_windows_start_are_found_out(monkeypatch):
    """A broken twin takes every condition to have held from the first step on."""
    plain = Tally.delay

    def from_start(self, fired, held, looks):
        plain(self, fired, np.minimum(held, 0), looks)

    monkeypatch.setattr(Tally, "delay", from_start)
    with pytest.raises(AssertionError):
        test_measured_delays_have_the_exact_law("svt")
