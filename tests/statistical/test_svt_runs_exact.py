"""Runs as they are drawn: answers by the definition, stored states, frequencies and errors."""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from operators.svt.difference import OneSided, TwoSided
from operators.svt.run import ask, open_run
from tests.statistical.enumeration import GivenNoise, geometric_masses, ints
from tests.statistical.svt_law import (
    AT,
    REACH,
    exponential,
    law,
    run_of,
    terms,
)


class Given(GivenNoise):
    """Chosen noise: the threshold's, then that of every question; and keys, of every round."""

    def __init__(self, drawn, keys=None):
        """Take the noise in the order of drawing."""
        super().__init__(ints(drawn))
        self.keys = keys

    def uint64(self, n):
        """Return the first keys; in order of place where there are none."""
        return np.array(self.keys[:n] if self.keys else range(n), dtype=np.uint64)


def outcomes(run, steps):
    """Return the law of which cells ring and how many were asked."""
    found = defaultdict(float)
    for said, mass in law(run, steps).items():
        rang = tuple(sorted(cell for cell, answer in said if answer))
        found[rang, len({cell for cell, _ in said})] += mass
    return found


@pytest.mark.parametrize("one_sided", [True, False])
@pytest.mark.parametrize("alarms", [1, 2])
@pytest.mark.parametrize("monotone", [False, True])
def test_every_noise_is_answered_as_defined(alarms, monotone, one_sided):
    """Run over all noises of two cells, the code's answers add up to the law, all tails folded."""
    plan = terms(alarms, opening=Fraction(4), monotone=monotone, one_sided=one_sided)
    far, most, steps = 5, 6, (1, -1)
    found = defaultdict(float)
    masses = dict(zip(range(-far, far + 1), run_of(plan).threshold[REACH - far :], strict=False))
    tails = geometric_masses(plan.query_rate, most)  # no threshold so near tells those apart
    for z, *drawn in product(masses, range(most + 1), range(most + 1)):
        if masses[z]:
            noise = Given([z, *drawn])
            decided = ask(plan, open_run(plan, noise), np.array(steps), noise)
            assert noise.rates == [plan.threshold_rate, plan.query_rate]
            rang = tuple(np.flatnonzero(decided.fired).tolist())
            mass = masses[z] * tails[drawn[0]] * tails[drawn[1]]
            found[rang, int(decided.answered.sum())] += mass
    # The enumeration leaves out the threshold's tails.
    for outcome, mass in outcomes(run_of(plan), steps).items():
        assert found[outcome] == pytest.approx(mass, abs=3 * math.exp(-4 * far))


def simulated(plan, steps, drawn, keys):
    """Ask one question after the other, as the definition has it; return rang, asked, left."""
    noise, left = iter(drawn), plan.alarms
    threshold = next(noise)
    rang, asked = set[int](), set[int]()
    for _ in range(plan.questions):
        waiting = [cell for cell in range(len(steps)) if cell not in rang]
        adds = dict(zip(waiting, noise, strict=False))
        # A round's keys go by the places of those that wait.
        for at in sorted(range(len(waiting)), key=lambda at: (keys[at], at)):
            if not left:
                break
            cell = waiting[at]
            asked.add(cell)
            if steps[cell] + adds[cell] >= threshold + plan.correction:
                rang.add(cell)
                left -= 1
    return rang, asked, left


def test_whole_windows_answer_as_single_questions_do():
    """On 800 random windows, with ties of the order: one by one and all at once agree."""
    rng = np.random.default_rng(5)
    for _ in range(800):
        cells, questions = int(rng.integers(1, 9)), int(rng.integers(1, 4))
        plan = terms(
            int(rng.integers(1, 6)),
            questions=questions,
            correction=int(rng.integers(-3, 4)),
            one_sided=bool(rng.integers(2)),
        )
        steps = rng.integers(-6, 4, cells).tolist()
        drawn = [*rng.integers(-4, 5, 1), *rng.integers(0, 6, cells * questions)]
        keys = rng.integers(0, 5, cells).tolist()
        noise = Given(drawn, keys)
        decided = ask(plan, open_run(plan, noise), ints(steps), noise)
        rang, asked, left = simulated(plan, steps, drawn, keys)
        assert set(np.flatnonzero(decided.fired).tolist()) == rang
        assert set(np.flatnonzero(decided.answered).tolist()) == asked
        assert decided.state.left == left
        assert decided.rung == plan.alarms - left


@pytest.mark.parametrize(
    ("fast", "slow"), [("0.3", "0.7"), ("0.7", "0.3"), ("1/2", "1/2"), ("2", "3"), ("40", "41")]
)
def test_difference_follows_its_definition(fast, slow):
    """Closed forms of both laws, float and certified, meet the sum over both noises."""
    rates = Fraction(fast), Fraction(slow)
    for one_sided, m in product((True, False), (-9, -1, 0, 1, 2, 17)):
        of = (OneSided if one_sided else TwoSided)(*rates)
        masses = np.exp(-float(rates[1]) * np.abs(AT)) * ((AT >= 0) | (not one_sided))
        direct = float(masses @ exponential(float(rates[0]))(-m)) / masses.sum()
        assert of.at_least(m) == pytest.approx(direct, rel=1e-9, abs=1e-15)
        assert of.at_least(m) + of.below(m) == pytest.approx(1, abs=1e-15)
        if one_sided:
            lo, hi = of.bounds(m)
            assert 0 <= lo <= hi <= 1
            assert hi - lo < Fraction(1, 10**60)
            assert of.at_least(m) == pytest.approx(float(lo), rel=1e-12)
            assert of.below(m) == pytest.approx(float(1 - lo), rel=1e-12)
