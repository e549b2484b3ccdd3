"""Random trees of atoms: the worst corner of the shift, of boundaries and of samples."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
from scipy.stats import binom

from accountant.units import from_loss_units
from operators.conditions.condition import Aim, Condition, ThresholdAtom
from operators.conditions.formula import atom_of
from operators.formulas.probe import Probe
from operators.formulas.probe_ent import ProbeEnt
from operators.noise.source import KeyedNoise
from operators.single.ladder import Grid
from tests.statistical.condition_law import CASES
from tests.statistical.enumeration import ints
from tests.statistical.formula_cases import (
    BETA,
    ONE,
    positions,
)
from tests.support.boundaries import crossing_bound

HALF = Fraction(1, 2)


def test_boundaries_keep_max_fnr_on_random_trees():
    """200 random trees: along no prime implicant may any walk pass boundaries more often."""
    grid = Grid(first=Fraction(1, 1000), rounds=3)
    for number, tree in enumerate(CASES):
        aim = Aim(BETA, tree.tolerances)
        operator = ProbeEnt.planned(tree.condition, aim, grid=grid)
        crossing = crossings(operator.scales)
        for implicant in tree.condition.formula.prime_implicants():
            if len({atom_of(one) for one in implicant}) == len(implicant):
                assert sum(crossing[one] for one in implicant) <= BETA
        if number % 16 == 1:  # two phases of independent noise: their marginals add up
            for fresh in (None, HALF):
                first = replace(aim, first_tolerances=(9,) * len(tree.tolerances))
                probe = Probe.planned(tree.condition, first, fresh=fresh)
                crossing = crossings(probe.scales)
                for implicant in tree.condition.formula.prime_implicants():
                    if len({atom_of(one) for one in implicant}) == len(implicant):
                        assert sum(crossing[one] for one in implicant) <= BETA


def crossings(scales):
    """Return per literal how often any walk of its mechanism can pass a boundary, certified."""
    found = {}
    for scale in scales:
        levels = [from_loss_units(units) for units in scale.units]
        for reading, rungs in zip(scale.share.readings, scale.rungs, strict=True):
            drop = Fraction(rungs.coin, ONE)
            if scale.chain is not None:
                found[reading.literal] = sum(crossing_bound(levels, rungs.low, drop), Fraction(0))
                continue
            no_coin = Fraction(0)
            single = [
                sum(crossing_bound([t], [low], drop if t == levels[-1] else no_coin), no_coin)
                for t, low in zip(levels, rungs.low, strict=True)
            ]
            found[reading.literal] = single[0] + max(single[1:], default=no_coin)
    return found


def true_corner(condition):
    """Return data at the thresholds, or next to them, that a condition is true of."""
    near = [[at for at in places if abs(at) < 1000] for places in positions(condition)]
    for corner in product(*near):
        found = {
            channel.statistic: at for channel, at in zip(condition.channels, corner, strict=True)
        }
        rows = ints([[found[row]] for row in range(condition.statistics)])
        if condition.truth(rows).all():
            return found
    return None


def test_sampled_misses_close_to_the_thresholds():
    """Real operators at their thresholds: no more than max_fnr with 99.9% confidence."""
    cells, tested = 10_000, 0
    for number in range(0, len(CASES), 23):
        tree = CASES[number]
        corner = true_corner(tree.condition)
        if corner is None:
            continue
        many = Condition(
            tree.condition.formula,
            {
                name: ThresholdAtom(atom.statistic, np.repeat(atom.thresholds, cells))
                for name, atom in tree.condition.atoms.items()
            },
            tree.condition.sensitivities,
        )
        statistics = ints([[corner[at]] * cells for at in range(many.statistics)])
        assert many.truth(statistics).all()
        aim = Aim(BETA, tree.tolerances, first_tolerances=(9,) * len(tree.tolerances))
        for at, operator in enumerate(
            (
                Probe.planned(many, aim),
                Probe.planned(many, aim, fresh=HALF),
                ProbeEnt.planned(many, aim),
            )
        ):
            decision = operator.decide(statistics, KeyedNoise(f"{number} {at}".encode()))
            missed = np.count_nonzero(~decision.fired)
            assert binom.sf(missed - 1, cells, float(BETA)) > 0.001
            assert decision.cost.worst_units <= operator.plan.epsilon * 10**12
            tested += 1
    assert tested > 15
