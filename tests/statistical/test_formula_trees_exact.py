"""Random trees of atoms: the worst corner of the shift, of boundaries and of samples."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, get_args

import numpy as np
from scipy.stats import binom

from accountant.units import from_loss_units
from operators.conditions.condition import Aim, Condition, Refine, Rule, ThresholdAtom
from operators.conditions.formula import atom_of
from operators.formulas.probe import Probe
from operators.formulas.probe_ent import ProbeEnt
from operators.formulas.tslm import SharedTslm
from operators.noise.source import KeyedNoise
from operators.registry import create
from operators.single.ladder import Grid
from tests.statistical.chain_law import Floats, laplace
from tests.statistical.formula_cases import (
    BETA,
    BETWEEN,
    BETWEEN_OR,
    CHOICE,
    ONE,
    SLACK,
    TREES,
    TWO_OF_THREE,
    aim_of,
    positions,
)
from tests.statistical.formula_law import (
    condition_of,
)
from tests.support.boundaries import crossing_bound

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from operators.formulas.treewalk import Scale


def worst_corner(
    operator: SharedTslm, *, share_boolean: bool = False
) -> tuple[float, dict[int, int]]:
    """Return the largest miss rate of the threshold shift over all true corners, and where.

    The twin derives ``NOT a`` from the decision on ``a``.
    """
    condition = operator.condition
    places = positions(condition)
    names = [each.literal for value in operator.values for each in value.share.readings]
    axes = np.indices((2,) * len(names)).astype(np.bool_)
    missed = ~condition.formula.evaluate_literals(dict(zip(names, axes, strict=True)))
    risk: NDArray[np.float64] = missed.astype(np.float64)
    for value, own in zip(operator.values, places, strict=True):
        laws = np.array([patterns(condition, operator, value, at, share_boolean) for at in own])
        width = len(value.share.readings)
        risk = np.tensordot(risk.reshape(1 << width, *risk.shape[width:]), laws, (0, 1))
    grids = np.meshgrid(*places, indexing="ij")
    statistic = {
        channel.statistic: grid for channel, grid in zip(condition.channels, grids, strict=True)
    }
    true = condition.formula.evaluate(
        {
            name: statistic[atom.statistic] >= int(atom.thresholds[0])
            for name, atom in condition.atoms.items()
        }
    )
    if not true.any():
        return 0.0, {}
    at = np.unravel_index(np.argmax(np.where(true, risk, -1)), risk.shape)
    corner = {key: int(grid[at]) for key, grid in statistic.items()}
    return float(risk[at]), corner


def patterns(
    condition: Condition,
    operator: SharedTslm,
    value: object,
    at: int,
    share_boolean: bool,
) -> Floats:
    """Return the joint law of which literals of a channel ring, the statistic being ``at``."""
    channel = next(each for each in operator.values if each is value)
    rate = float(from_loss_units(channel.units))
    reach = math.ceil(36 / rate)
    noise = np.arange(-reach, reach + 1)
    weights = laplace(rate, noise)
    firing: dict[str, Floats] = {}
    for reading, cut in zip(channel.share.readings, channel.cuts, strict=True):
        name = atom_of(reading.literal)
        distance = at - int(condition.atoms[name].thresholds[0]) + noise
        own = distance if name == reading.literal else ~distance
        firing[reading.literal] = np.where(
            own == -cut.shift, 1 - float(cut.drop), (own > -cut.shift).astype(np.float64)
        )
    law = weights[None, :]
    for literal, rings in firing.items():
        name = atom_of(literal)
        if share_boolean and name != literal and name in firing:
            # Bits so far end with the atom's own: copy its opposite.
            order = list(firing)
            bit = np.arange(law.shape[0]) >> (order.index(literal) - order.index(name) - 1) & 1
            split = np.stack([law * (bit == 1)[:, None], law * (bit == 0)[:, None]], axis=1)
        else:
            split = np.stack([law * (1 - rings), law * rings], axis=1)
        law = split.reshape(-1, noise.size)
    result: Floats = law.sum(axis=1)
    return result


@cache
def shift_of(number: int) -> SharedTslm:
    """Plan the threshold shift of one of the random trees."""
    tree = TREES[number]
    return SharedTslm.planned(tree.condition, Aim(BETA, tree.tolerances))


def test_threshold_shift_keeps_max_fnr_on_random_trees() -> None:
    """200 random trees: the exact miss rate at the worst of all corners is at most max_fnr."""
    worst = max(worst_corner(shift_of(number))[0] for number in range(len(TREES)))
    assert worst <= float(BETA) + SLACK
    assert worst > float(BETA) - 1e-6  # nothing is given away


def test_boundaries_keep_max_fnr_on_random_trees() -> None:
    """200 random trees: along no prime implicant may any walk pass boundaries more often."""
    grid = Grid(first=Fraction(1, 1000), rounds=3)
    for number, tree in enumerate(TREES):
        aim = Aim(BETA, tree.tolerances, apportion="probe" if number % 8 else "optimal")
        operator = ProbeEnt.planned(tree.condition, aim, grid=grid)
        crossing = crossings(operator.scales)
        for implicant in tree.condition.formula.prime_implicants():
            if len({atom_of(one) for one in implicant}) == len(implicant):
                assert sum(crossing[one] for one in implicant) <= BETA
        if number % 16 == 1:  # two phases of independent noise: their marginals add up
            for refine in get_args(Refine):
                first = (9,) * len(tree.tolerances)
                probe = Probe.planned(
                    tree.condition,
                    replace(aim, first_tolerances=first, refine=refine),
                )
                crossing = crossings(probe.scales)
                for implicant in tree.condition.formula.prime_implicants():
                    if len({atom_of(one) for one in implicant}) == len(implicant):
                        assert sum(crossing[one] for one in implicant) <= BETA


def crossings(scales: tuple[Scale, ...]) -> Mapping[str, Fraction]:
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


def test_sampled_misses_at_the_worst_corner() -> None:
    """Real operators where the shift misses most: no more than max_fnr with 99.9% confidence."""
    cells, tested = 10_000, 0
    for number in range(0, len(TREES), 23):
        tree = TREES[number]
        _, corner = worst_corner(shift_of(number))
        if not corner:
            continue
        many = Condition(
            tree.condition.formula,
            {
                name: ThresholdAtom(atom.statistic, np.repeat(atom.thresholds, cells))
                for name, atom in tree.condition.atoms.items()
            },
            tree.condition.sensitivities,
        )
        statistics = np.array(
            [[corner[at]] * cells for at in range(many.statistics)], dtype=np.int64
        )
        assert many.truth(statistics).all()
        aim = Aim(BETA, tree.tolerances, first_tolerances=(9,) * len(tree.tolerances))
        for mechanism, each in (
            ("tslm", aim),
            ("probe", aim),
            ("probe", replace(aim, refine="fresh")),
            ("probe-ent", aim),
        ):
            operator = create(mechanism, many, each)
            decision = operator.decide(statistics, KeyedNoise(f"{number} {mechanism}".encode()))
            missed = np.count_nonzero(~decision.fired)
            assert binom.sf(missed - 1, cells, float(BETA)) > 0.001
            assert decision.cost.worst_units <= operator.plan.epsilon * 10**12
            tested += 1
    assert tested > 20


def test_optimal_plans_never_cost_more() -> None:
    """epsilon(optimal) <= that of the other rules, for every mechanism's plan and both phases.

    A whole level's loss is the least whose coins fit 64 bits: at equal rates one loss unit is
    within that rounding.
    """
    for number in range(0, len(TREES), 10):
        tree = TREES[number]
        unit = Fraction(len(tree.condition.channels), 10**12)
        wide = tuple((9, 40, 0)[at % 3] for at in range(number, number + len(tree.tolerances)))
        aim = Aim(BETA, tree.tolerances, first_tolerances=wide)
        fresh = replace(aim, refine="fresh")
        for plan, each in (
            (lambda *asked: SharedTslm.planned(*asked).plan, aim),
            (Probe.priced, aim),
            (Probe.priced, fresh),
            (ProbeEnt.priced, aim),
        ):
            optimal = plan(tree.condition, each).epsilon
            for rule in get_args(Rule):
                other = plan(tree.condition, replace(each, apportion=rule)).epsilon
                assert optimal <= other + unit


def test_shared_boolean_is_caught() -> None:
    """Deriving NOT a from the decision on a misses nearly always just below the threshold."""
    text, thresholds = CHOICE
    operator = SharedTslm.planned(condition_of(text, thresholds), aim_of(text, 9))
    assert worst_corner(operator)[0] <= float(BETA) + SLACK
    assert worst_corner(operator, share_boolean=True)[0] > 0.5


def test_threshold_shift_loses_its_charge_and_no_more() -> None:
    """Both answers at neighbours that move every statistic, for three channels and a shared one."""
    for text, thresholds in (TWO_OF_THREE, CHOICE, BETWEEN, BETWEEN_OR):
        condition = condition_of(text, thresholds)
        operator = SharedTslm.planned(condition, aim_of(text))
        near = range(-6, 9)
        names = [each.literal for value in operator.values for each in value.share.readings]
        axes = np.indices((2,) * len(names)).astype(np.bool_)
        table = condition.formula.evaluate_literals(dict(zip(names, axes, strict=True)))
        rings: NDArray[np.float64] = table.astype(np.float64)
        for value in operator.values:
            laws = np.array([patterns(condition, operator, value, at, False) for at in near])
            width = len(value.share.readings)
            rings = np.tensordot(rings.reshape(1 << width, *rings.shape[width:]), laws, (0, 1))
        worst = 0.0
        for moves in product((-1, 0, 1), repeat=rings.ndim):
            here = tuple(slice(max(0, -m), len(near) - max(0, m)) for m in moves)
            there = tuple(slice(max(0, m), len(near) - max(0, -m)) for m in moves)
            for law in (rings, 1 - rings):
                worst = max(worst, float(np.abs(np.log(law[here] / law[there])).max()))
        assert worst <= float(operator.plan.epsilon) + 1e-9
        assert worst > 0.3 * float(operator.plan.epsilon)
