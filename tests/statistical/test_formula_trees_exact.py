"""Random trees of atoms: how often any walk of a mechanism may pass its boundaries."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from accountant.units import from_loss_units
from operators.conditions.condition import Aim
from operators.conditions.formula import atom_of
from operators.formulas.probe import Probe
from operators.formulas.probe_ent import ProbeEnt
from operators.single.ladder import Grid
from tests.statistical.condition_law import CASES
from tests.statistical.enumeration import ONE
from tests.support.boundaries import crossing_bound
from tests.support.formulas import BETA


def test_boundaries_keep_max_fnr_on_random_trees():
    """200 random trees: along no prime implicant may any walk pass boundaries more often.

    At no level can a literal be decided both ways, one noise or several.
    """
    grid = Grid(first=Fraction(1, 1000), rounds=3)
    for number, tree in enumerate(CASES):
        condition, aim = tree.condition, Aim(BETA, tree.tolerances)
        mechanisms = [ProbeEnt.planned(condition, aim, grid=grid)]
        if number % 16 == 1:  # two phases of independent noise: their marginals add up
            aim = replace(aim, first_tolerances=(9,) * len(tree.tolerances))
            fresh = (None, Fraction(1, 2))
            mechanisms += [Probe.planned(condition, aim, fresh=each) for each in fresh]
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
