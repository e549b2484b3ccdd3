"""Mechanisms of formulas by enumeration: what transcripts lose, what cells miss, broken twins."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from unittest.mock import patch

import numpy as np
import pytest

import operators.formulas.probe
from operators.conditions.condition import Aim
from operators.conditions.formula import atom_of
from operators.formulas.batched import Walks
from operators.formulas.probe import Probe
from operators.formulas.probe_ent import ProbeEnt
from operators.noise.source import KeyedNoise
from operators.registry import create
from operators.single.ladder import Grid
from tests.statistical import formula_law as distant
from tests.statistical.chain_law import Side, worst_walk
from tests.statistical.condition_law import CASES as RANDOM
from tests.statistical.formula_cases import (
    BETA,
    BETWEEN,
    BETWEEN_OR,
    BOTH,
    CHOICE,
    ONE,
    SLACK,
    THREE,
    TWO_OF_THREE,
    aim_of,
)
from tests.statistical.formula_law import (
    FormulaLaw,
    Prepared,
    SureCoins,
    condition_of,
)

SMALL = Grid(first=Fraction(2, 5), rounds=2, finest_share=Fraction(1, 4))
EITHER = ("a OR NOT b", {"a": (0, 0), "b": (1, 0)})


def probe(condition, aim, rounds, fresh=None):
    """Plan ProBE with so many levels."""
    with patch.object(operators.formulas.probe, "_ROUNDS", rounds):
        return Probe.planned(condition, aim, fresh=fresh)


@cache
def enumerated(name, walk):
    """Enumerate one of the cases: a formula's name, and mechanism with rule."""
    text, thresholds = CASES[name]
    condition = condition_of(text, thresholds)
    mechanism, _, rule = walk.partition(", ")

    if mechanism == "probe-ent":
        aim = aim_of(text, max_fpr=2 * BETA)
        grid = THREE if rule and len(condition.formula.literals) < 3 else SMALL
        operator = ProbeEnt.planned(condition, aim, grid=grid)
    else:
        aim, fresh = aim_of(text), Fraction(1, 2) if mechanism == "fresh" else None
        operator = probe(condition, aim, 3 if name in {"between", "a AND b"} else 2, fresh)
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


def told(found):
    """Return one outcome of every transcript, and which transcript each is, (coins, outcomes)."""
    keys = found.fired.astype(np.int64)
    for at in range(found.stopped.shape[1]):
        keys = keys * 8 + found.stopped[:, at] + 1
    _, first, where = np.unique(keys, return_index=True, return_inverse=True)
    return first, where.reshape(keys.shape)


def transcripts(of, found, positions):
    """Return the law of (answer, levels read) at all positions: one axis per channel, then it."""
    first, where = told(found)
    marginals = [
        [each.law(at) for at in places] for each, places in zip(of.classes, positions, strict=True)
    ]
    law = np.zeros((*map(len, positions), first.size))
    for corner in product(*(range(len(places)) for places in positions)):
        joint = np.ones(1)
        for own, at in zip(marginals, corner, strict=True):
            joint = np.multiply.outer(joint, own[at]).ravel()
        for weight, row in zip(found.weights, where, strict=True):
            law[corner] += weight * np.bincount(row, weights=joint, minlength=first.size)
    return law


def excess_loss(
    of,
    found,
    paid=None,
    places=range(-4, 3),
):
    """Return how far the loss of some transcript exceeds its charge, or what a twin has it pay.

    Neighbours move every channel by a step up, a step down or not at all.
    """
    charged = (found.charged if paid is None else paid).ravel()[told(found)[0]]
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


@pytest.mark.parametrize("walk", WALKS)
@pytest.mark.parametrize("name", CASES)
def test_no_transcript_loses_more_than_it_is_charged(name, walk):
    """Answer and levels read of up to three channels, all of them moved by the neighbour."""
    of, found = enumerated(name, walk)
    assert excess_loss(of, found) < 1e-9
    worst = float(sum(Fraction(s.charges[-1], 10**12) for s in of.operator.scales))
    assert found.charged.max() <= worst + SLACK
    assert float(of.operator.plan.epsilon) == pytest.approx(worst)


def test_charging_the_last_channel_only_is_caught():
    """A twin that forgets what was read of the channels before."""
    of, found = enumerated("a AND b", "probe-ent")
    first, second = (
        np.array([*(u / 1e12 for u in scale.charges), 0.0])[found.stopped[:, at]]
        for at, scale in enumerate(of.operator.scales)
    )
    assert excess_loss(of, found, np.where(found.stopped[:, 1] >= 0, second, first)) > 0.3


def test_fresh_noise_charged_as_gradual_is_caught():
    """A second phase with noise of its own that is charged for the second phase only."""
    of, found = enumerated("a AND b", "fresh, any rule")
    paid = np.zeros(found.charged.shape)
    for at, scale in enumerate(of.operator.scales):
        paid += np.array([*(u / 1e12 for u in scale.units), 0.0])[found.stopped[:, at]]
    assert excess_loss(of, found, paid) > 0.05


@pytest.mark.parametrize("cells", [1, 2, 7])
@pytest.mark.parametrize("name", ["(a AND b) OR c", "between, or c"])
@pytest.mark.parametrize("mechanism", ["probe-ent", "probe"])
def test_what_was_not_read_has_no_influence(mechanism, name, cells):
    """Values of other levels, or of channels that a cell left, redrawn: the same decision."""
    text, thresholds = CASES[name]
    condition = condition_of(text, thresholds, cells)
    operator = create(mechanism, condition, aim_of(text, 7))
    assert isinstance(operator, ProbeEnt | Probe)
    statistics = np.zeros((condition.statistics, cells), int)
    rng = np.random.default_rng(cells)
    skipped = 0
    for _ in range(8):
        chains = []
        for scale in operator.scales:
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


def observed(operator, chains, statistics):
    """Decide on given chains; return also where cells stopped and which levels were read."""
    prepared = tuple(
        replace(scale, chain=Prepared(chain.copy()))
        for scale, chain in zip(operator.scales, chains, strict=True)
    )
    walks = []
    reads = []
    original = Walks.read

    def noted(walk, at, level, windows):
        walks.append(walk)
        reads.append((at, level))
        original(walk, at, level, windows)

    with patch.object(Walks, "read", noted):
        decision = replace(operator, scales=prepared).decide(statistics, SureCoins())
    return decision, walks[0]._stopped[:, 0], reads


def rates(of, found):
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
    law = transcripts(of, found, near)
    rings = law @ found.fired.ravel()[told(found)[0]].astype(np.float64)
    condition = of.operator.condition
    grids = np.meshgrid(*near, indexing="ij")
    holds = {}
    granted = {}
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
def test_walks_keep_the_promise_at_every_corner(name, walk):
    """Misses within max_fnr for every walk; false alarms within max_fpr for ProBE-Ent."""
    of, found = enumerated(name, walk)
    missed, rung = rates(of, found)
    assert missed <= float(BETA) + SLACK
    assert missed > 0.1 * float(BETA)  # the channels are not simply silent
    if of.aim.max_fpr is not None:
        assert rung <= float(of.aim.max_fpr) + SLACK


def split_law(first_share, *, kept=True):
    """Return the law under a split; broken where both phases take its larger part."""
    text, thresholds = BOTH
    condition, aim = condition_of(text, thresholds), aim_of(text)
    operator = probe(condition, aim, 2, first_share)
    if not kept:
        whole, scales = probe(condition, aim, 2, 1 - first_share), []
        for scale, wide in zip(operator.scales, whole.scales, strict=True):
            rungs = tuple(
                replace(
                    own,
                    low=(other.low[0], *own.low[1:]),
                    high=(other.high[0], *own.high[1:]),
                )
                for own, other in zip(scale.rungs, wide.rungs, strict=True)
            )
            units = (wide.units[0], *scale.units[1:])
            scales.append(replace(scale, rungs=rungs, units=units))
        operator = replace(operator, scales=tuple(scales))
    return FormulaLaw(text, thresholds, aim, operator, free=True)


@pytest.mark.parametrize("first_share", [Fraction(1, 10), Fraction(9, 10)])
def test_any_split_of_the_phases_keeps_the_promise(first_share):
    """Misses at every corner stay within max_fnr, however the rates are split between phases."""
    law = split_law(first_share)
    found = law.outcomes()
    missed, _ = rates(law, found)
    assert missed <= float(BETA) + SLACK
    assert excess_loss(law, found, places=range(-6, 7)) <= SLACK


def test_a_phase_that_uses_more_than_its_part_is_caught():
    """A twin whose two phases each have nine tenths of the rates misses too often."""
    law = split_law(Fraction(1, 10), kept=False)
    assert rates(law, law.outcomes())[0] > float(BETA) * 1.2


def test_full_beta_for_each_operand_is_caught():
    """A twin that gives every atom of an AND the whole rate misses twice as often."""
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


def test_half_of_beta_with_the_cutoff_from_the_same_noise_is_caught():
    """Two phases of beta / 2 on one gradual release, the level of the second picked from it."""
    condition = condition_of("a", {"a": (0, 0)})
    scale = probe(condition, aim_of("a", first_tolerances=(15,)), 12).scales[0]
    levels = tuple(units / 1e12 for units in scale.units)
    sound = scale.rungs[0]
    side = Side(levels, sound.low, sound.high, sound.coin / ONE)
    assert worst_walk(side)[0] <= float(BETA) + SLACK
    halved = tuple(
        max(0, math.ceil(-math.log(float(BETA) / 2 * (1 + math.exp(-t))) / t - 1e-12) - 1)
        for t in levels
    )
    assert worst_walk(replace(side, shifts=halved, drop=0.0))[0] > 0.06


def test_rungs_never_lose_and_ring_at_once():
    """At no level can a literal be decided both ways, one noise or several."""
    for number in range(0, len(RANDOM), 20):
        tree = RANDOM[number]
        aim = Aim(BETA, tree.tolerances, first_tolerances=(25,) * len(tree.tolerances))
        for operator in (
            ProbeEnt.planned(tree.condition, aim),
            Probe.planned(tree.condition, aim),
            Probe.planned(tree.condition, aim, fresh=Fraction(1, 2)),
        ):
            for rungs in (rungs for scale in operator.scales for rungs in scale.rungs):
                assert all(-low < high for low, high in zip(rungs.low, rungs.high, strict=True))
