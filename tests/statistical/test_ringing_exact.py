"""How likely a cell rings: every mechanism's law against an enumeration of its own; broken twins.

The recursion over mixtures is compared with a lattice, formulas with the real mechanism driven over
every class of noise, runs with the law of transcripts, deciders with grids of noise, and what is
read level by level with draws from a seeded source.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from operators.base import Promise
from operators.conditions.atoms import IntegerTest
from operators.conditions.comparison import Comparison
from operators.conditions.condition import Aim, Condition
from operators.deciders import (
    Count,
    LaplaceBand,
    Quantile,
    RaceBand,
    SparseBand,
    Sum,
    TightBand,
)
from operators.formulas.chances import walk_chances
from operators.formulas.probe import Probe
from operators.formulas.probe_ent import ProbeEnt
from operators.noise import mixtures
from operators.noise.mixtures import Mixture
from operators.noise.source import KeyedNoise
from operators.registry import create
from operators.single.nlm import Nlm
from operators.single.progressive import Dppwlm, Ppwlm
from operators.single.tslm import Tslm
from operators.svt.mechanism import Svt
from tests.statistical.chain_law import ladder_law
from tests.statistical.deciders_law import Scripted, enumerated, rows_of, within
from tests.statistical.enumeration import ONE, bernoulli_chi_square, ints, laplace_masses
from tests.statistical.formula_law import BETWEEN, THREE, FormulaLaw, aim_of
from tests.statistical.svt_law import law as transcripts
from tests.statistical.svt_law import run_of, terms
from tests.statistical.test_progressive_exact import PROMISES, ladder
from tests.support.formulas import BETA

STEPS = np.arange(-9, 6)
CLOSE = 1e-9
ABOVE = IntegerTest(Comparison.GT, ints([20]), 1)
NINE = Promise(BETA, 9)


def on_a_lattice(of, step, levels=()):
    """Return how likely a cell rings that reads these levels, by sums over the noise itself."""
    return sum(rings for rings, _ in ladder_law(of, step, levels))


def worst_gap(chances, of):
    """Return how far a law is from the lattice's at any of the steps, all levels being read."""
    exact = [on_a_lattice(of, step) for step in STEPS.tolist()]
    return float(np.abs(chances(STEPS) - exact).max())


@pytest.mark.parametrize("promise", [PROMISES[0], PROMISES[3], PROMISES[4]], ids=str)
def test_a_ladder_rings_as_on_a_lattice(promise):
    """The sum over mixtures is that over the lattice, whichever levels are read."""
    of = ladder(*promise)
    assert worst_gap(of.chances, of) < CLOSE
    last = len(of.units) - 1
    for levels in ([0, last], [0, 1, last], [0, last - 1, last]):
        (found,) = of.chances(np.array([-2]), levels)
        assert abs(found - on_a_lattice(of, -2, levels)) < CLOSE


def test_broken_twins_of_the_recursion_are_caught(monkeypatch):
    """Noise drawn afresh per level, a forgotten jump, a level left out: none has the law."""
    of = ladder()
    whole = mixtures.ring_chance

    def afresh(*args, **_):
        return whole(*args, fresh=True)

    with monkeypatch.context() as patch:
        patch.setattr("operators.single.ladder.ring_chance", afresh)
        assert worst_gap(of.chances, of) > 1e-3
    with monkeypatch.context() as patch:
        patch.setattr(Mixture, "value", lambda _self, _x: 0.0)
        assert worst_gap(of.chances, of) > 1e-3
    assert worst_gap(lambda steps: of.chances(steps, [0, 3]), of) > 1e-3


def test_rates_far_apart_lose_no_digits():
    """A first level of 1e-5, whose noise spans millions, keeps the law's symmetries to 1e-9."""
    of = Dppwlm.planned(ABOVE, NINE).ladder
    chances = of.chances(np.arange(-60, 60))
    assert (np.diff(chances) > -CLOSE).all()
    assert of.chances(np.array([-(10**7), 10**7])) == pytest.approx([0, 1], abs=1e-9)
    # With one rate for both errors the whole mechanism is its own mirror image.
    mirrored = 1 - of.chances(-of.steps - np.arange(-60, 60))
    assert chances == pytest.approx(mirrored, abs=1e-7)


def test_the_law_is_that_of_draws():
    """Windows of one cell, decided by the real mechanisms, ring as often as said."""
    noise, runs, steps = KeyedNoise(b"ringing" * 5), 20_000, np.array([-16, -11, -8, -5, 0])
    for planned in (Ppwlm, Dppwlm):
        operator = planned.planned(ABOVE, NINE)
        last = len(operator.ladder.units) - 1
        for value, level in product((-500, -3, 0, 40), range(last)):  # alone, a cell skips no level
            counts = np.zeros(last + 1, int)
            assert operator.following(level, np.array([value]), counts) == level + 1
        values, drops = operator.ladder.noisy(steps.repeat(runs), noise)
        fired, _ = operator.ladder.walk(values, drops, lambda level, _read, _counts: level + 1)
        rang = fired.reshape(steps.size, runs).sum(axis=1)
        assert bernoulli_chi_square(rang, runs, operator.chances(steps)) > 1e-4
        less = operator.chances(steps - 1)  # a twin one step off
        assert bernoulli_chi_square(rang, runs, less) < 1e-9


def test_one_comparison_rings_by_its_table():
    """TSLM by its integers; NLM by the sum over its noise."""
    statistics, bounds = np.arange(-10, 50), (7, 20)
    both = IntegerTest(Comparison.LE, ints(bounds), 3)
    single = create("tslm", Condition.single(both), Aim(BETA, (4,)))
    for cell, bound in enumerate(bounds):
        alone = IntegerTest(Comparison.LE, np.full(60, bound), 3)
        law = Tslm.planned(alone, Promise(BETA, 4)).law(statistics) / ONE
        assert single.chances(cell, statistics[np.newaxis]) == pytest.approx(law, abs=1e-15)
    nlm = Nlm.planned(ABOVE, NINE)
    masses = laplace_masses(nlm.plan.epsilon, 400)
    summed = masses[::-1].cumsum()[400 + STEPS]
    assert nlm.chances(STEPS) == pytest.approx(summed, abs=1e-12)


@pytest.mark.parametrize("kind", ["probe-ent", "probe", "fresh"])
def test_a_walk_of_one_channel_rings_as_it_is_walked(kind):
    """ProBE's walks over one channel, by the real mechanism over every class of its values."""
    condition, aim = BETWEEN, aim_of(BETWEEN)
    operator = (
        ProbeEnt.planned(condition, aim, grid=THREE)
        if kind == "probe-ent"
        else Probe.planned(condition, aim, fresh=Fraction(1, 2) if kind == "fresh" else None)
    )
    law, places = FormulaLaw(operator), range(-5, 11)
    likely = sum(weight * each.fired[:, 0] for weight, each in law.outcomes)
    exact = [float(likely @ law.classes[0].law(at)) for at in places]
    statistics = ints([places])
    assert operator.chances(0, statistics) == pytest.approx(exact, abs=1e-9)
    last = operator.scales[0].last
    twin = walk_chances(condition.formula, operator.scales, 0, statistics, [last])
    assert np.abs(twin - exact).max() > 1e-3


@pytest.mark.parametrize("questions", [1, 2, 5])
@pytest.mark.parametrize("correction", [-3, 0, 2])
def test_the_first_ring_of_a_run_is_that_of_its_transcripts(questions, correction):
    """One cell of a fresh run, asked so often: every transcript in which it rings."""
    plan, once = (terms(questions=each, correction=correction) for each in (questions, 1))
    twin = 0.0
    for step in range(-6, 6):
        every = transcripts(run_of(plan), (step,))
        exact = sum(chance for said, chance in every.items() if any(answer for _, answer in said))
        assert plan.first_ring(step) == pytest.approx(exact, abs=1e-9)
        apart = 1 - (1 - once.first_ring(step)) ** questions  # no threshold is shared
        twin = max(twin, abs(apart - exact))
    assert questions == 1 or twin > 1e-2


def test_svt_rings_by_its_own_steps():
    """The operator asks about the cell's own threshold and sensitivity."""
    test = IntegerTest(Comparison.GE, ints([5, 40]), 2)
    operator = Svt.planned(Condition.single(test), Aim(BETA, (3,), alarms=2))
    (low,), (high,) = (operator.chances(cell, np.array([[20]])) for cell in (0, 1))
    assert low == operator.terms.first_ring(7)
    assert high == operator.terms.first_ring(-10)
    assert operator.chances(1, np.array([[40]]))[0] >= 1 - BETA


@pytest.mark.parametrize(
    "band",
    [
        LaplaceBand.planned(Count(), Fraction(1, 2), 4),
        TightBand.planned(Count(), Fraction(1, 2), 4),
        TightBand.planned(Quantile(Fraction(1, 2), range(20)), Fraction(2), 4),
        RaceBand.planned(Sum(0, 4), Fraction(2), 4),
    ],
    ids=lambda band: str(band.name),
)
def test_deciders_ring_as_they_decide(band):
    """One minus "within", over a grid of noise where the decider draws one, else by its law."""
    for size in (0, 3, 6, 7, 9, 13, 14, 17):
        rows = rows_of(band, (1,) * size, 10)
        (said,) = band.chances(rows, np.array([10]))
        exact = enumerated if isinstance(band, RaceBand) else within
        assert said == pytest.approx(1 - exact(band, rows, 10, Scripted(60)), abs=1e-6)


def test_deciders_without_a_law_say_so():
    """The sparse vector over capped sums has none."""
    nothing = SparseBand.planned(Sum(0, 4), Fraction(2), 4)
    assert nothing.chances(rows_of(nothing, (1, 2), 3), np.array([3])) is None
