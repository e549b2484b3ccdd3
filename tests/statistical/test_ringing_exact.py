"""How likely a cell rings: every mechanism's law against an enumeration of its own; broken twins.

The recursion over mixtures is compared with a lattice, formulas with the real mechanism driven over
every class of noise, runs with the law of transcripts, deciders with grids of noise, and what is
read level by level with draws from a seeded source.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest

from operators.base import Promise
from operators.conditions.atoms import IntegerTest
from operators.conditions.comparison import Comparison
from operators.conditions.condition import Aim, Condition
from operators.deciders import (
    Count,
    ExponentialBand,
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
from operators.registry import ALL, create
from operators.single.ladder import Grid, Ladder
from operators.single.nlm import Nlm
from operators.single.progressive import Dppwlm, Ppwlm
from operators.single.tslm import Tslm
from operators.svt.mechanism import Svt
from tests.statistical.chain_law import ladder_law, laplace
from tests.statistical.deciders_law import enumerated, rows_of
from tests.statistical.enumeration import ONE, bernoulli_chi_square, ints
from tests.statistical.formula_cases import BETWEEN, THREE, aim_of
from tests.statistical.formula_law import FormulaLaw, condition_of
from tests.statistical.svt_law import law as transcripts
from tests.statistical.svt_law import run_of, terms
from tests.support.formulas import BETA

STEPS = np.arange(-9, 6)
CLOSE = 1e-9
ABOVE = IntegerTest(Comparison.GT, ints([20]), 1)
GRIDS = {
    "four levels": (Grid(first=Fraction(1, 6)), 3, BETA, BETA),
    "ten levels": (Grid(first=Fraction(1, 6), refinement=3), 3, BETA, BETA),
    "uneven": (Grid(first=Fraction(1, 6)), 7, Fraction(1, 100), Fraction(1, 5)),
}


@cache
def ladder(name):
    """Plan the levels of a grid."""
    grid, steps, beta, alpha = GRIDS[name]
    return Ladder.planned(steps, alpha, beta, grid)


def on_a_lattice(of, step, levels=()):
    """Return how likely a cell rings that reads these levels, by sums over the noise itself."""
    return sum(rings for rings, _ in ladder_law(of, step, levels))


def worst_gap(chances, of):
    """Return how far a law is from the lattice's at any of the steps, all levels being read."""
    exact = [on_a_lattice(of, step) for step in STEPS.tolist()]
    return float(np.abs(chances(STEPS) - exact).max())


@pytest.mark.parametrize("name", GRIDS)
def test_a_ladder_rings_as_on_a_lattice(name):
    """The sum over mixtures is that over the lattice, whichever levels are read."""
    of = ladder(name)
    assert worst_gap(of.chances, of) < CLOSE
    last = len(of.units) - 1
    for levels in ([0, last], [0, 1, last], [0, last - 1, last]):
        (found,) = of.chances(np.array([-2]), levels)
        assert abs(found - on_a_lattice(of, -2, levels)) < CLOSE


def test_broken_twins_of_the_recursion_are_caught(monkeypatch):
    """Noise drawn afresh per level, a forgotten jump, a level left out: none has the law."""
    of = ladder("four levels")
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
    of = Dppwlm.planned(ABOVE, Promise(BETA, 9)).ladder
    chances = of.chances(np.arange(-60, 60))
    assert (np.diff(chances) > -CLOSE).all()
    assert of.chances(np.array([-(10**7), 10**7])) == pytest.approx([0, 1], abs=1e-9)
    # With one rate for both errors the whole mechanism is its own mirror image.
    mirrored = 1 - of.chances(-of.steps - np.arange(-60, 60))
    assert chances == pytest.approx(mirrored, abs=1e-7)


def test_the_choice_of_levels_moves_a_law_little():
    """As the proof's page says of the case of the guide: by 0.022 at most."""
    of = Dppwlm.planned(ABOVE, Promise(BETA, 9)).ladder
    last = len(of.units) - 1
    widest = 0.0
    for step in (-21, -16, -13, -5, -3, 0, 8):
        picks = product((False, True), repeat=last - 1)
        every = (
            [0, *(at for at, taken in enumerate(each, 1) if taken), last]
            for each in picks
            if sum(each) in {0, 1, 7, 8} or each[3:5] == (True, True)
        )
        chances = [float(of.chances(np.array([step]), levels)[0]) for levels in every]
        widest = max(widest, max(chances) - min(chances))
    assert 0.01 < widest < 0.022


def test_the_law_is_that_of_draws():
    """Windows of one cell, decided by the real mechanisms, ring as often as said."""
    noise, runs, steps = KeyedNoise(b"ringing" * 5), 20_000, (-16, -11, -8, -5, 0)
    for planned in (Ppwlm, Dppwlm):
        operator = planned.planned(ABOVE, Promise(BETA, 9))
        levels = range(len(operator.ladder.units) - 1)
        none = np.zeros(len(levels) + 1, int)
        for value in (-500, -3, 0, 40):  # a cell alone goes on to the next level
            read = np.array([value])
            assert [operator.following(at, read, none) for at in levels] == [
                at + 1 for at in levels
            ]
        rang = []
        for step in steps:
            values, drops = operator.ladder.noisy(np.full(runs, step), noise)
            fired, _ = operator.ladder.walk(values, drops, lambda level, _read, _counts: level + 1)
            rang.append(int(fired.sum()))
        said = operator.chances(np.array(steps))
        assert bernoulli_chi_square(np.array(rang), runs, said) > 1e-4
        less = operator.chances(np.array(steps) - 1)  # a twin one step off
        assert bernoulli_chi_square(np.array(rang), runs, less) < 1e-9


def test_one_comparison_rings_by_its_table():
    """TSLM by its integers; NLM by the sum over its noise."""
    test = IntegerTest(Comparison.LE, ints([7, 20]), 3)
    statistics = np.arange(-10, 50)
    operator = Tslm.planned(test, Promise(BETA, 4))
    single = create("tslm", Condition.single(test), Aim(BETA, (4,)))
    for cell in (0, 1):
        both = np.stack([np.repeat(one, 60) for one in (0, 0)])
        both[cell] = statistics
        whole = [operator.law(pair) for pair in both.T]
        law = np.array([each[cell] for each in whole]) / ONE
        assert single.chances(cell, statistics[np.newaxis]) == pytest.approx(law, abs=1e-15)
    nlm = Nlm.planned(ABOVE, Promise(BETA, 9))
    at = np.arange(-400, 401)
    masses = laplace(float(nlm.plan.epsilon), at)
    summed = [float(masses[at >= -step].sum()) for step in STEPS.tolist()]
    assert nlm.chances(STEPS) == pytest.approx(summed, abs=1e-12)


@pytest.mark.parametrize("kind", ["probe-ent", "probe", "fresh"])
def test_a_walk_of_one_channel_rings_as_it_is_walked(kind):
    """ProBE's walks over one channel, by the real mechanism over every class of its values."""
    text, thresholds = BETWEEN
    aim = aim_of(text)
    condition = condition_of(text, thresholds)
    operator = (
        ProbeEnt.planned(condition, aim, grid=THREE)
        if kind == "probe-ent"
        else Probe.planned(condition, aim, fresh=Fraction(1, 2) if kind == "fresh" else None)
    )
    law = FormulaLaw(text, thresholds, aim, operator, free=False)
    outcomes, (classes,) = law.outcomes(), law.classes
    places = range(-5, 11)
    exact = [float(outcomes.weights @ outcomes.fired @ classes.law(at).ravel()) for at in places]
    statistics = ints([places])
    said = operator.chances(0, statistics)
    assert said == pytest.approx(exact, abs=1e-9)
    twin = walk_chances(
        condition.formula, operator.scales, 0, statistics, [operator.scales[0].last]
    )
    assert np.abs(twin - exact).max() > 1e-3


@pytest.mark.parametrize("questions", [1, 2, 5])
@pytest.mark.parametrize("correction", [-3, 0, 2])
def test_the_first_ring_of_a_run_is_that_of_its_transcripts(questions, correction):
    """One cell of a fresh run, asked so often: every transcript in which it rings."""
    plan = terms(questions=questions, correction=correction)
    run = run_of(plan)
    twin = 0.0
    for step in range(-6, 6):
        every = transcripts(run, (step,))
        exact = sum(chance for said, chance in every.items() if any(answer for _, answer in said))
        assert plan.first_ring(step) == pytest.approx(exact, abs=1e-9)
        alone = terms(correction=correction).first_ring(step)
        twin = max(twin, abs(1 - (1 - alone) ** questions - exact))  # no threshold is shared
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
        ExponentialBand.planned(Count(), Fraction(1, 2), 4),
        TightBand.planned(Count(), Fraction(1, 2), 4),
        RaceBand.planned(Sum(0, 4), Fraction(2), 4),
    ],
    ids=lambda band: str(band.name),
)
def test_deciders_ring_as_they_decide(band):
    """One minus "within", over a grid of noise where the decider draws one, else by its errors."""
    for size in (0, 3, 6, 7, 9, 13, 14, 17):
        data, references = (1,) * size, np.array([10])
        rows = rows_of(band, data, 10)
        chances = band.chances(rows, references)
        (said,) = chances
        if isinstance(band, LaplaceBand | RaceBand):
            assert said == pytest.approx(1 - enumerated(band, data, 10, 60), abs=1e-6)
        if not 0.05 < said < 0.95:
            continue
        draws, noise = 4_000, KeyedNoise(bytes([size]) * 32)
        within = band.decide(np.repeat(rows, draws, axis=1), np.repeat(references, draws), noise)
        counted = np.array([int((~within).sum())])
        assert bernoulli_chi_square(counted, draws, np.array([said])) > 1e-5
        if abs(said - 0.5) > 0.1:  # a twin that says how likely "within" is
            assert bernoulli_chi_square(counted, draws, np.array([1 - said])) < 1e-9


def test_deciders_without_a_law_say_so():
    """The sparse vector over capped sums has none; a quantile's is asked about counts."""
    nothing = SparseBand.planned(Sum(0, 4), Fraction(2), 4)
    rows = rows_of(nothing, (1, 2), 3)
    assert nothing.chances(rows, np.array([3])) is None
    median = TightBand.planned(Quantile(Fraction(1, 2), range(10)), Fraction(2), 2)
    said = median.chances(rows_of(median, (4, 4, 5), 4), np.array([4]))
    assert said[0] < 0.1


def test_what_chooses_from_all_cells_says_so():
    """Descriptors tell which laws are those of a cell alone in its window."""
    assert {name for name, one in ALL.items() if one.collective} == {
        "ppwlm",
        "dppwlm",
        "probe",
        "probe-ent",
    }
