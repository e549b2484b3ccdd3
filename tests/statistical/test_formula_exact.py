"""Mechanisms for formulas, exactly: realised losses, misses at the worst corner, broken twins.

Losses and error rates of walks come from the law of everything that up to three channels can show
(``formula_law``); those of the threshold shift from the joint law of its literals; the promise on
misses of 200 random trees from both, and from the boundary events that no walk can escape.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, cast, get_args
from unittest.mock import patch

import numpy as np
import pytest
from scipy.stats import binom

import operators.formulas.probe
from accountant.units import from_loss_units
from operators.conditions.condition import Aim, Condition, Refine, Rule, ThresholdAtom
from operators.conditions.formula import Formula, atom_of
from operators.formulas.probe import Probe
from operators.formulas.probe_ent import ProbeEnt
from operators.formulas.treewalk import Rungs, Scale, Walk
from operators.formulas.tslm import SharedTslm
from operators.noise.source import KeyedNoise
from operators.registry import create
from operators.single.ladder import Grid
from tests.statistical import formula_law as distant
from tests.statistical.chain_law import Floats, Side, laplace, worst_walk
from tests.statistical.formula_law import (
    FormulaLaw,
    Outcomes,
    Prepared,
    SureCoins,
    condition_of,
    random_formula,
)
from tests.support.boundaries import crossing_bound

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from operators.base import Decision
    from operators.noise.gradual import GradualNoise
    from operators.noise.source import NoiseSource

BETA = Fraction(1, 20)
ONE = 1 << 64
FAR = 10**6
SLACK = 1e-10
SMALL = Grid(first=Fraction(2, 5), rounds=2, finest_share=Fraction(1, 4))
THREE = Grid(first=Fraction(2, 5), rounds=2, refinement=2, finest_share=Fraction(1, 4))

# Formulas with, per atom, its statistic and threshold; step counts below are those of channels.
TWO_OF_THREE = ("(a AND b) OR c", {"a": (0, 0), "b": (1, 0), "c": (2, 0)})
CHOICE = ("(a AND b) OR (NOT a AND c)", {"a": (0, 0), "b": (1, 0), "c": (2, 0)})
BETWEEN = ("a AND NOT b", {"a": (0, 0), "b": (0, 4)})
BETWEEN_OR = ("(a AND NOT b) OR c", {"a": (0, 0), "b": (0, 3), "c": (1, 0)})
BOTH = ("a AND b", {"a": (0, 0), "b": (1, 0)})
EITHER = ("a OR NOT b", {"a": (0, 0), "b": (1, 0)})


def aim_of(text: str, steps: int = 3, **more: object) -> Aim:
    """Return an aim of k = ``steps`` (odd) for every atom, its first phase five times as wide."""
    atoms = len(Formula.parse(text).atoms)
    tolerance = (steps - 1) // 2
    aim = Aim(BETA, (tolerance,) * atoms, first_tolerances=(5 * tolerance + 2,) * atoms)
    return replace(aim, **more)  # type: ignore[arg-type]  # fields of an aim


@cache
def enumerated(name: str, walk: str) -> tuple[FormulaLaw, Outcomes]:
    """Enumerate one of the cases: a formula's name, and mechanism with rule."""
    text, thresholds = CASES[name]
    condition = condition_of(text, thresholds)
    mechanism, _, rule = walk.partition(", ")
    operator: ProbeEnt | Probe
    if mechanism == "probe-ent":
        aim = aim_of(text, max_fpr=2 * BETA)
        grid = THREE if rule and len(condition.formula.literals) < 3 else SMALL
        operator = ProbeEnt.planned(condition, aim, grid=grid)
    else:
        aim = aim_of(text, refine="fresh" if mechanism == "fresh" else "gradual")
        rounds = operators.formulas.probe._ROUNDS
        try:
            operators.formulas.probe._ROUNDS = 3 if name in {"between", "a AND b"} else 2  # type: ignore[misc]
            operator = Probe.planned(condition, aim)
        finally:
            operators.formulas.probe._ROUNDS = rounds  # type: ignore[misc]
    law = FormulaLaw(text, thresholds, aim, operator, free=bool(rule))
    return law, law.outcomes()


CASES = {
    "(a AND b) OR c": TWO_OF_THREE,
    "choice by a": CHOICE,
    "between": BETWEEN,
    "between, or c": BETWEEN_OR,
    "a AND b": BOTH,
    "a OR NOT b": EITHER,
}
WALKS = ["probe-ent", "probe-ent, any rule", "probe, any rule", "fresh, any rule"]


def transcripts(of: FormulaLaw, found: Outcomes, positions: list[list[int]]) -> Floats:
    """Return the law of (answer, levels read) at all positions: one axis per channel, then it."""
    channels = found.stopped.shape[1]
    keys = found.fired.astype(np.int64)
    for at in range(channels):
        keys = keys * 8 + found.stopped[:, at] + 1
    names, where = np.unique(keys, return_inverse=True)
    where = where.reshape(keys.shape)
    marginals = [
        [each.law(at) for at in places] for each, places in zip(of.classes, positions, strict=True)
    ]
    law = np.zeros((*map(len, positions), names.size))
    for corner in product(*(range(len(places)) for places in positions)):
        joint = np.ones(1)
        for own, at in zip(marginals, corner, strict=True):
            joint = np.multiply.outer(joint, own[at]).ravel()
        for weight, row in zip(found.weights, where, strict=True):
            law[corner] += weight * np.bincount(row, weights=joint, minlength=names.size)
    return law


def charges(found: Outcomes) -> Floats:
    """Return what each of the transcripts is charged, in their order."""
    keys = found.fired.astype(np.int64)
    for at in range(found.stopped.shape[1]):
        keys = keys * 8 + found.stopped[:, at] + 1
    _, first = np.unique(keys, return_index=True)
    charged: Floats = found.charged.ravel()[first]
    return charged


def excess_loss(of: FormulaLaw, found: Outcomes, charged: Floats, places: range) -> float:
    """Return how far the loss of some transcript exceeds its charge.

    Neighbours move every channel by a step up, a step down or not at all.
    """
    law = transcripts(of, found, [[*places]] * found.stopped.shape[1])
    assert law.sum(axis=-1) == pytest.approx(1, abs=1e-9)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(law)
        worst = -math.inf
        for moves in product((-1, 0, 1), repeat=law.ndim - 1):
            here = tuple(slice(max(0, -m), len(places) - max(0, m)) for m in moves)
            there = tuple(slice(max(0, m), len(places) - max(0, -m)) for m in moves)
            losses = np.abs(logs[here] - logs[there]) - charged
            worst = max(worst, float(np.nanmax(losses)))  # both impossible: nan
    return worst


# Loss ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("walk", WALKS)
@pytest.mark.parametrize("name", CASES)
def test_no_transcript_loses_more_than_it_is_charged(name: str, walk: str) -> None:
    """Answer and levels read of up to three channels, all of them moved by the neighbour."""
    of, found = enumerated(name, walk)
    assert excess_loss(of, found, charges(found), range(-4, 3)) < 1e-9
    worst = float(sum(Fraction(s.charges[-1], 10**12) for s in of.operator.scales))
    assert found.charged.max() <= worst + SLACK
    assert float(of.operator.plan.epsilon) == pytest.approx(worst)


def test_charging_the_last_channel_only_is_caught() -> None:
    """A twin that forgets what was read of the channels before."""
    of, found = enumerated("a AND b", "probe-ent")
    keys = found.fired.astype(np.int64) * 8 + found.stopped[:, 0] + 1
    keys = keys * 8 + found.stopped[:, 1] + 1
    _, first = np.unique(keys, return_index=True)
    epsilons = [[*(u / 1e12 for u in scale.charges), 0.0] for scale in of.operator.scales]
    paid = np.where(
        found.stopped[:, 1] >= 0,
        np.array(epsilons[1])[found.stopped[:, 1]],
        np.array(epsilons[0])[found.stopped[:, 0]],
    )
    assert excess_loss(of, found, paid.ravel()[first], range(-4, 3)) > 0.3


def test_fresh_noise_charged_as_gradual_is_caught() -> None:
    """A second phase with noise of its own that is charged for the second phase only."""
    of, found = enumerated("a AND b", "fresh, any rule")
    keys = found.fired.astype(np.int64) * 8 + found.stopped[:, 0] + 1
    keys = keys * 8 + found.stopped[:, 1] + 1
    _, first = np.unique(keys, return_index=True)
    paid = np.zeros(found.charged.shape)
    for at, scale in enumerate(of.operator.scales):
        paid += np.array([*(u / 1e12 for u in scale.units), 0.0])[found.stopped[:, at]]
    assert excess_loss(of, found, paid.ravel()[first], range(-4, 3)) > 0.05


@pytest.mark.parametrize("cells", [1, 2, 7])
@pytest.mark.parametrize("name", ["(a AND b) OR c", "between, or c"])
@pytest.mark.parametrize("mechanism", ["probe-ent", "probe"])
def test_what_was_not_read_has_no_influence(mechanism: str, name: str, cells: int) -> None:
    """Values of other levels, or of channels that a cell left, redrawn: the same decision."""
    text, thresholds = CASES[name]
    condition = condition_of(text, thresholds, cells)
    operator = create(mechanism, condition, aim_of(text, 7))
    assert isinstance(operator, ProbeEnt | Probe)
    statistics = np.zeros((condition.statistics, cells), dtype=np.int64)
    rng = np.random.default_rng(cells)
    skipped = 0
    for _ in range(8):
        chains = []
        for scale in operator.scales:
            assert scale.chain is not None
            moved = rng.integers(-40, 12, cells)
            chains.append(scale.chain.draw(KeyedNoise(rng.bytes(8)), cells) + moved)
        before, stopped, reads = observed(operator, chains, statistics)
        for at, (chain, scale) in enumerate(zip(chains, operator.scales, strict=True)):
            levels = np.arange(len(scale.units))[:, None]
            unread = (levels > stopped[at]) | ~np.isin(levels, [to for c, to in reads if c == at])
            skipped += int(unread.sum())
            chain[unread] = rng.integers(-50, 50, int(unread.sum()))
        after, again, _ = observed(operator, chains, statistics)
        assert np.array_equal(before.fired, after.fired)
        assert before.cost == after.cost
        assert np.array_equal(stopped, again)
    assert skipped > 0


def observed(
    operator: ProbeEnt | Probe, chains: list[NDArray[np.int64]], statistics: NDArray[np.int64]
) -> tuple[Decision, NDArray[np.int8], list[tuple[int, int]]]:
    """Decide on given chains; return also where cells stopped and which levels were read."""
    prepared = tuple(
        replace(scale, chain=cast("GradualNoise", Prepared(chain.copy())))
        for scale, chain in zip(operator.scales, chains, strict=True)
    )
    walks: list[Walk] = []
    reads: list[tuple[int, int]] = []
    original = Walk.read

    def noted(walk: Walk, at: int, level: int) -> None:
        walks.append(walk)
        reads.append((at, level))
        original(walk, at, level)

    with patch.object(Walk, "read", noted):
        decision = replace(operator, scales=prepared).decide(
            statistics, cast("NoiseSource", SureCoins())
        )
    return decision, walks[0]._stopped, reads


# Error rates of enumerated walks --------------------------------------------------------------


def rates(of: FormulaLaw, found: Outcomes) -> tuple[float, float]:
    """Return the largest miss rate of true cells, and alarm rate beyond the tolerances.

    Positions are where a literal must just fire, where it must just not, and far away.
    """
    near = []
    for scale in of.operator.scales:
        edges = {-distant.FAR, distant.FAR}
        for reading in scale.share.readings:
            rises = reading.literal == atom_of(reading.literal)
            for own in (0, -reading.steps):
                edges.add((own if rises else ~own) - int(reading.offsets[0]))
        near.append(sorted(edges))
    channels = found.stopped.shape[1]
    law = transcripts(of, found, near)
    keys = found.fired.astype(np.int64)
    for at in range(channels):
        keys = keys * 8 + found.stopped[:, at] + 1
    _, first = np.unique(keys, return_index=True)
    rings = law @ found.fired.ravel()[first].astype(np.float64)
    condition = of.operator.condition
    grids = np.meshgrid(*near, indexing="ij")
    holds: dict[str, NDArray[np.bool_]] = {}
    granted: dict[str, NDArray[np.bool_]] = {}
    for grid, scale in zip(grids, of.operator.scales, strict=True):
        for reading in scale.share.readings:
            steps = reading.own(grid, slice(0, 1))
            holds[reading.literal] = steps >= 0
            granted[reading.literal] = steps > -reading.steps
    true = condition.formula.evaluate_literals(holds)
    false = ~condition.formula.evaluate_literals(granted)
    return float((1 - rings)[true].max()), float(rings[false].max())


@pytest.mark.parametrize("walk", WALKS)
@pytest.mark.parametrize("name", CASES)
def test_walks_keep_the_promise_at_every_corner(name: str, walk: str) -> None:
    """Misses within max_fnr for every walk; false alarms within max_fpr for ProBE-Ent."""
    of, found = enumerated(name, walk)
    missed, rung = rates(of, found)
    assert missed <= float(BETA) + SLACK
    assert missed > 0.1 * float(BETA)  # the channels are not simply silent
    if of.aim.max_fpr is not None:
        assert rung <= float(of.aim.max_fpr) + SLACK


def test_full_beta_for_each_operand_is_caught() -> None:
    """A twin that gives every atom of an AND the whole rate misses twice as often."""
    text, thresholds = BOTH
    of, _ = enumerated("a AND b", "probe-ent")
    alone = ProbeEnt.planned(condition_of("a", {"a": (0, 0)}), aim_of("a"), grid=SMALL)
    scales = tuple(
        replace(
            alone.scales[0],
            share=replace(scale.share, readings=(replace(scale.share.readings[0], beta=BETA),)),
        )
        for scale in of.operator.scales
    )
    law = replace(of, operator=replace(of.operator, scales=scales))
    assert rates(law, law.outcomes())[0] > 0.07
    assert (text, thresholds) == (law.text, law.thresholds)


def test_half_of_beta_with_the_cutoff_from_the_same_noise_is_caught() -> None:
    """Two phases of beta / 2 on one gradual release, the level of the second picked from it."""
    condition = condition_of("a", {"a": (0, 0)})
    rounds = operators.formulas.probe._ROUNDS
    try:
        operators.formulas.probe._ROUNDS = 12  # type: ignore[misc]
        scale = Probe.planned(condition, aim_of("a", first_tolerances=(15,))).scales[0]
    finally:
        operators.formulas.probe._ROUNDS = rounds  # type: ignore[misc]
    levels = tuple(units / 1e12 for units in scale.units)
    sound = scale.rungs[0]
    side = Side(levels, sound.low, sound.high, sound.coin / ONE)
    assert worst_walk(side)[0] <= float(BETA) + SLACK
    halved = tuple(
        max(0, math.ceil(-math.log(float(BETA) / 2 * (1 + math.exp(-t))) / t - 1e-12) - 1)
        for t in levels
    )
    assert worst_walk(replace(side, shifts=halved, drop=0.0))[0] > 0.06


# Random trees ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tree:
    """A random condition of one cell, with the tolerances of its atoms."""

    condition: Condition
    tolerances: tuple[int, ...]


def random_trees(seed: int, count: int) -> list[Tree]:
    """Return random trees of up to 6 atoms, some on one statistic, thresholds near each other."""
    source = random.Random(seed)
    trees: list[Tree] = []

    while len(trees) < count:
        formula = random_formula(source)
        shared = source.random() < 0.4
        places = {name: at for at, name in enumerate(formula.atoms)}
        if shared and len(places) > 1:
            places = {name: max(0, at - 1) for name, at in places.items()}
        atoms = {
            name: ThresholdAtom(at, np.array([source.randint(-3, 3)], dtype=np.int64))
            for name, at in places.items()
        }
        condition = Condition(formula, atoms, (1,) * (1 + max(places.values())))
        trees.append(Tree(condition, tuple(source.choice([0, 1, 2, 5]) for _ in formula.atoms)))
    return trees


TREES = random_trees(11, 200)


def positions(condition: Condition) -> list[list[int]]:
    """Return, per channel, the statistic at and just below every threshold, and far away."""
    return [
        sorted(
            {
                int(condition.atoms[name].thresholds[0]) - below
                for name in channel.offsets
                for below in (0, 1)
            }
            | {-FAR, FAR}
        )
        for channel in condition.channels
    ]


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


def test_rungs_never_lose_and_ring_at_once() -> None:
    """At no level can a literal be decided both ways, one noise or several."""
    for number in range(0, len(TREES), 20):
        tree = TREES[number]
        aim = Aim(BETA, tree.tolerances, first_tolerances=(25,) * len(tree.tolerances))
        for operator in (
            ProbeEnt.planned(tree.condition, aim),
            Probe.planned(tree.condition, aim),
            Probe.planned(tree.condition, replace(aim, refine="fresh")),
        ):
            for rungs in (rungs for scale in operator.scales for rungs in scale.rungs):
                assert isinstance(rungs, Rungs)
                assert all(-low < high for low, high in zip(rungs.low, rungs.high, strict=True))
