"""Random trees of atoms: the worst corner of the shift, of boundaries and of samples."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy.stats import binom

from accountant.units import from_loss_units
from operators.conditions.condition import Aim
from operators.conditions.formula import atom_of
from operators.formulas.probe import Probe
from operators.formulas.probe_ent import ProbeEnt
from operators.noise.source import KeyedNoise
from operators.single.ladder import Grid
from tests.statistical.condition_law import CASES, repeated, spread
from tests.statistical.enumeration import ONE
from tests.support.boundaries import crossing_bound
from tests.support.formulas import BETA

HALF = Fraction(1, 2)


def planned(condition, tolerances, first):
    """Return mechanisms with one noise, or several, for each channel."""
    aim = Aim(BETA, tolerances, first_tolerances=(first,) * len(tolerances))
    return (
        ProbeEnt.planned(condition, aim),
        Probe.planned(condition, aim),
        Probe.planned(condition, aim, fresh=HALF),
    )


def test_boundaries_keep_max_fnr_on_random_trees():
    """200 random trees: along no prime implicant may any walk pass boundaries more often.

    At no level can a literal be decided both ways, one noise or several.
    """
    grid = Grid(first=Fraction(1, 1000), rounds=3)
    for number, tree in enumerate(CASES):
        mechanisms = [ProbeEnt.planned(tree.condition, Aim(BETA, tree.tolerances), grid=grid)]
        if number % 16 == 1:  # two phases of independent noise: their marginals add up
            mechanisms += planned(tree.condition, tree.tolerances, 9)[1:]
        for scales in (each.scales for each in mechanisms):
            crossing = crossings(scales)
            for implicant in tree.condition.formula.prime_implicants():
                if len({atom_of(one) for one in implicant}) == len(implicant):
                    assert sum(crossing[one] for one in implicant) <= BETA
            for rungs in (rungs for scale in scales for rungs in scale.rungs):
                assert all(-low < high for low, high in zip(rungs.low, rungs.high, strict=True))


def crossings(scales):
    """Return per literal how often any walk of its mechanism can pass a boundary, certified."""
    found = {}
    for scale in scales:
        levels = [from_loss_units(units) for units in scale.units]
        for reading, rungs in zip(scale.share.readings, scale.rungs, strict=True):
            drop = Fraction(rungs.coin, ONE)
            if scale.chain is not None:
                found[reading.literal] = sum(crossing_bound(levels, rungs.low, drop))
                continue
            coins = [Fraction(0)] * scale.last + [drop]
            single = [
                crossing_bound([t], [low], coin)[0]
                for t, low, coin in zip(levels, rungs.low, coins, strict=True)
            ]
            found[reading.literal] = single[0] + max(single[1:], default=0)
    return found


def test_sampled_misses_close_to_the_thresholds():
    """Real operators where a neighbour is false: no more than max_fnr with 99.9% confidence."""
    cells, tested = 10_000, 0
    for number, tree in enumerate(CASES[::23]):
        edge = tree.holds(0) & spread(~tree.holds(0), tree.far)
        corner = tree.data[:, edge.ravel()][:, :1]
        if not corner.size:
            continue
        statistics = corner.repeat(cells, axis=1)
        for at, operator in enumerate(planned(repeated(tree.condition, cells), tree.tolerances, 9)):
            decision = operator.decide(statistics, KeyedNoise(f"{number} {at}".encode()))
            missed = np.count_nonzero(~decision.fired)
            assert binom.sf(missed - 1, cells, float(BETA)) > 0.001
            assert decision.cost.worst_units <= operator.plan.epsilon * 10**12
            tested += 1
    assert tested > 15
