"""Mechanisms of formulas by enumeration: what transcripts lose, what cells miss, broken twins."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from unittest.mock import patch

import numpy as np
import pytest

import operators.formulas.probe
from operators.conditions.formula import atom_of
from operators.formulas.probe import Probe
from operators.formulas.probe_ent import ProbeEnt
from operators.noise.source import KeyedNoise
from operators.registry import create
from operators.single.ladder import Grid
from tests.statistical.chain_law import Side, marginal_shift, worst_walk
from tests.statistical.condition_law import condition_of, moves_of, repeated
from tests.statistical.enumeration import ONE
from tests.statistical.formula_law import (
    BETWEEN,
    FAR,
    THREE,
    FormulaLaw,
    FreeEnt,
    FreeProbe,
    aim_of,
    driven,
)
from tests.support.formulas import BETA

SLACK = 1e-10
SMALL = Grid(first=Fraction(2, 5), rounds=2, finest_share=Fraction(1, 4))
APART = {"a": 0, "b": 0, "c": 0}
BOTH, ALONE = condition_of("a AND b", APART), condition_of("a", APART)
CASES = {
    "(a AND b) OR c": condition_of("(a AND b) OR c", APART),
    "choice by a": condition_of("(a AND b) OR (NOT a AND c)", APART),
    "between": BETWEEN,
    "between, or c": condition_of(
        "(a AND NOT b) OR c", {"a": 0, "b": 3, "c": 0}, places={"a": 0, "b": 0, "c": 1}
    ),
    "a AND b": BOTH,
    "a OR NOT b": condition_of("a OR NOT b", APART),
}
WALKS = {
    "probe-ent": ProbeEnt,
    "probe-ent, any rule": FreeEnt,
    "probe, any rule": FreeProbe,
    "fresh, any rule": FreeProbe,
}


def probe(condition, aim, rounds, fresh=None, kind=FreeProbe):
    """Plan ProBE with so many levels."""
    with patch.object(operators.formulas.probe, "_ROUNDS", rounds):
        return kind.planned(condition, aim, fresh=fresh)


@cache
def enumerated(name, walk):
    """Enumerate one of the cases: a formula's name, and mechanism with rule."""
    condition, kind = CASES[name], WALKS[walk]
    if issubclass(kind, ProbeEnt):
        few = kind is FreeEnt and len(condition.formula.literals) < 3
        aim = aim_of(condition, max_fpr=2 * BETA)
        return FormulaLaw(kind.planned(condition, aim, grid=THREE if few else SMALL))
    fresh = Fraction(1, 2) if walk.startswith("fresh") else None
    rounds = 3 if name in {"between", "a AND b"} else 2
    return FormulaLaw(probe(condition, aim_of(condition), rounds, fresh))


def told(of):
    """Return, over all coins and combinations: the answer, what is charged, levels read."""
    every = [each for _, each in of.outcomes]
    fired, charged, stopped = (
        np.stack([getattr(each, name)[..., 0] for each in every])
        for name in ("fired", "charged", "stopped")
    )
    return fired, charged, stopped.swapaxes(0, 1)


def transcripts(of, positions):
    """Return the law of (answer, levels read) at all positions, and one outcome of each.

    One axis per channel, then the transcripts.
    """
    fired, _, stopped = told(of)
    keys = fired.astype(np.int64)
    for each in stopped:
        keys = keys * 8 + each + 1
    _, first, where = np.unique(keys, return_index=True, return_inverse=True)
    marginals = [
        np.array([each.law(at) for at in places])
        for each, places in zip(of.classes, positions, strict=True)
    ]
    law = np.zeros((first.size, keys.shape[1]))
    for (weight, _), row in zip(of.outcomes, where.reshape(keys.shape), strict=True):
        law[row, np.arange(row.size)] += weight
    law = law.reshape(first.size, *(own.shape[1] for own in marginals))
    for own in marginals:
        law = np.tensordot(law, own, axes=(1, 1))
    return np.moveaxis(law, 0, -1), first


def excess_loss(of, paid=None, places=range(-4, 3)):
    """Return how far the loss of some transcript exceeds its charge, or what a twin has it pay.

    Neighbours move every channel by a step up, a step down or not at all.

    Args:
        of: what is enumerated.
        paid: by levels read, of the charges of all channels.
        places: step counts of every channel.
    """
    law, first = transcripts(of, [[*places]] * len(of.classes))
    assert law.sum(axis=-1) == pytest.approx(1, abs=1e-9)
    _, charged, stopped = told(of)
    charged = (paid(stopped) if paid else charged).ravel()[first]
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(law)
        moves = moves_of((1,) * len(of.classes))
        losses = (np.abs(logs[here] - logs[there]) for here, there in moves)
        return max(float(np.nanmax(each - charged)) for each in losses)  # both impossible: nan


@pytest.mark.parametrize("walk", WALKS)
@pytest.mark.parametrize("name", CASES)
def test_no_transcript_loses_more_than_it_is_charged(name, walk):
    """Answer and levels read of up to three channels, all of them moved by the neighbour."""
    of = enumerated(name, walk)
    assert excess_loss(of) < 1e-9
    worst = float(sum(Fraction(s.charges[-1], 10**12) for s in of.operator.scales))
    assert told(of)[1].max() <= worst + SLACK
    assert float(of.operator.plan.epsilon) == pytest.approx(worst)


def charges(scales, name):
    """Return what every channel's levels are charged, in epsilon; last: nothing read."""
    return [np.array([*getattr(scale, name), 0]) / 1e12 for scale in scales]


def test_charging_the_last_channel_only_is_caught():
    """A twin that forgets what was read of the channels before."""
    of = enumerated("a AND b", "probe-ent")
    one, other = charges(of.operator.scales, "charges")

    def paid(stopped):
        return np.where(stopped[1] >= 0, other[stopped[1]], one[stopped[0]])

    assert excess_loss(of, paid) > 0.3


def test_fresh_noise_charged_as_gradual_is_caught():
    """A second phase with noise of its own that is charged for the second phase only."""
    of = enumerated("a AND b", "fresh, any rule")
    one, other = charges(of.operator.scales, "units")
    assert excess_loss(of, lambda stopped: one[stopped[0]] + other[stopped[1]]) > 0.05


@pytest.mark.parametrize("cells", [1, 2, 7])
@pytest.mark.parametrize("name", ["(a AND b) OR c", "between, or c"])
@pytest.mark.parametrize("mechanism", ["probe-ent", "probe"])
def test_what_was_not_read_has_no_influence(mechanism, name, cells):
    """Values of other levels, or of channels that a cell left, redrawn: the same decisions."""
    condition, windows = repeated(CASES[name], cells), 8
    operator = create(mechanism, condition, aim_of(condition, 7))
    rng, noise = np.random.default_rng(cells), KeyedNoise(b"unread")
    chains = []
    for scale in operator.scales:
        moved = rng.integers(-40, 12, windows * cells)
        chains.append(scale.chain.draw(noise, moved.size) + moved)
    before = driven(operator, [chain.copy() for chain in chains])
    skipped = 0
    for chain, stopped, read in zip(chains, before.stopped, before.read, strict=True):
        unread = (np.arange(len(read))[:, None] > stopped.ravel()) | ~read.repeat(cells, axis=1)
        skipped += int(unread.sum())
        chain[unread] = rng.integers(-50, 50, int(unread.sum()))
    after = driven(operator, chains)
    for one, other in zip(
        (before.fired, before.charged, before.stopped),
        (after.fired, after.charged, after.stopped),
        strict=True,
    ):
        assert np.array_equal(one, other)
    assert skipped > 0


def rates(of):
    """Return the largest miss rate of true cells, and alarm rate beyond the tolerances.

    Positions are where a literal must just fire, where it must just not, and far away.
    """
    near = []
    for scale in of.operator.scales:
        edges = {-FAR, FAR}
        for reading in scale.share.readings:
            rises = reading.literal == atom_of(reading.literal)
            for own in (0, -reading.steps):
                edges.add((own if rises else ~own) - int(reading.offsets[0]))
        near.append(sorted(edges))
    law, first = transcripts(of, near)
    rings = law @ told(of)[0].ravel()[first].astype(np.float64)
    formula = of.operator.condition.formula
    holds, granted = {}, {}
    for grid, scale in zip(np.meshgrid(*near, indexing="ij"), of.operator.scales, strict=True):
        for reading in scale.share.readings:
            steps = reading.own(grid, slice(0, 1))
            holds[reading.literal] = steps >= 0
            granted[reading.literal] = steps > -reading.steps
    missed = (1 - rings)[formula.evaluate_literals(holds)].max()
    return float(missed), float(rings[~formula.evaluate_literals(granted)].max())


@pytest.mark.parametrize("walk", WALKS)
@pytest.mark.parametrize("name", CASES)
def test_walks_keep_the_promise_at_every_corner(name, walk):
    """Misses within max_fnr for every walk; false alarms within max_fpr for ProBE-Ent."""
    of = enumerated(name, walk)
    missed, rung = rates(of)
    assert missed <= float(BETA) + SLACK
    assert missed > 0.1 * float(BETA)  # the channels are not simply silent
    assert not isinstance(of.operator, ProbeEnt) or rung <= 2 * float(BETA) + SLACK


@pytest.mark.parametrize("first_share", [Fraction(1, 10), Fraction(9, 10)])
def test_any_split_of_the_phases_keeps_the_promise(first_share):
    """Misses at every corner stay within max_fnr, however the rates are split between phases."""
    law = FormulaLaw(probe(BOTH, aim_of(BOTH), 2, first_share))
    assert rates(law)[0] <= float(BETA) + SLACK
    assert excess_loss(law, places=range(-6, 7)) <= SLACK


def test_a_phase_that_uses_more_than_its_part_is_caught():
    """A twin whose two phases each have nine tenths of the rates misses too often."""
    last, first = (probe(BOTH, aim_of(BOTH), 2, Fraction(share, 10)) for share in (1, 9))
    scales = tuple(
        replace(
            scale,
            units=(wide.units[0], *scale.units[1:]),
            rungs=tuple(
                replace(own, low=(other.low[0], own.low[1]), high=(other.high[0], own.high[1]))
                for own, other in zip(scale.rungs, wide.rungs, strict=True)
            ),
        )
        for scale, wide in zip(last.scales, first.scales, strict=True)
    )
    assert rates(FormulaLaw(replace(last, scales=scales)))[0] > float(BETA) * 1.2


def test_full_beta_for_each_operand_is_caught():
    """A twin that gives every atom of an AND the whole rate misses twice as often."""
    of = enumerated("a AND b", "probe-ent")
    (alone,) = ProbeEnt.planned(ALONE, aim_of(ALONE), grid=SMALL).scales
    scales = tuple(replace(alone, share=scale.share) for scale in of.operator.scales)
    assert rates(FormulaLaw(replace(of.operator, scales=scales)))[0] > 0.07


def test_half_of_beta_with_the_cutoff_from_the_same_noise_is_caught():
    """Two phases of beta / 2 on one gradual release, the level of the second picked from it."""
    (scale,) = probe(ALONE, aim_of(ALONE, first_tolerances=(15,)), 12, kind=Probe).scales
    levels = tuple(units / 1e12 for units in scale.units)
    (sound,) = scale.rungs
    side = Side(levels, sound.low, sound.high, sound.coin / ONE)
    assert worst_walk(side) <= float(BETA) + SLACK
    halved = tuple(marginal_shift(t, float(BETA) / 2) for t in levels)
    assert worst_walk(replace(side, shifts=halved, drop=0.0)) > 0.06
