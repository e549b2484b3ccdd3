"""Formulas under a Gaussian budget by exact enumeration, then by frequencies; twins must be caught.

The law of the real operator is found by giving it one draw from every interval between the
quantiles it compares with; how likely each is, another computation of the normal law says.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import pairwise, product
from typing import TYPE_CHECKING, get_args

import numpy as np
import pytest
from scipy.stats import binom

from accountant.loss.gaussian import delta_bounds
from accountant.units import UNITS_PER_EPSILON, from_loss_units
from operators.conditions.condition import Aim, Condition, Rule, ThresholdAtom
from operators.conditions.formula import Formula, atom_of
from operators.formulas.leastunits import least_squared
from operators.formulas.mirrored import Mirrored
from operators.formulas.normal import NormalTslm, NormalValue
from operators.noise.normal import NormalDraws, Quantiles
from operators.noise.source import KeyedNoise
from operators.registry import create
from tests.statistical.formula_cases import (
    BETA,
    BETWEEN,
    BETWEEN_OR,
    CHOICE,
    FAR,
    TREES,
    TWO_OF_THREE,
    Tree,
    aim_of,
)
from tests.statistical.formula_law import condition_of
from tests.support.normal import normal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

ONE = 1 << 64
ALPHA = Fraction(1, 50)
SLACK = 1e-12
CASES = (TWO_OF_THREE, CHOICE, BETWEEN, BETWEEN_OR)
EPSILONS = (0.0, 0.1, 0.3, 1.0, 2.0, 3.0)


def operator_of(tree: Tree, **more: object) -> NormalTslm:
    """Plan the operator of a random tree."""
    aim = Aim(BETA, tree.tolerances, gaussian=True)
    return NormalTslm.planned(tree.condition, replace(aim, **more))  # type: ignore[arg-type]


@cache
def planned(case: int, steps: int = 3) -> NormalTslm:
    """Plan the operator of a case, of as many steps for every atom."""
    text, thresholds = CASES[case]
    aim = aim_of(text, steps, gaussian=True)
    return NormalTslm.planned(condition_of(text, thresholds), aim)


# --- the law of the real operator


def intervals(value: NormalValue, steps: int) -> Iterator[tuple[int, Fraction]]:
    """Yield a word between every two quantiles that a channel compares with, and how likely."""
    cuts = {Fraction(0), Fraction(1)}
    for reading, line in zip(value.share.readings, value.quantiles, strict=True):
        own = int(reading.own(np.array([steps]), np.array([0]))[0])
        at = line.top + own * line.apart
        if abs(at) < 9:
            cuts.add(normal(at))
    for low, high in pairwise(sorted(cuts)):
        if high - low > Fraction(1, 10**15):
            yield math.floor((low + high) / 2 * ONE), high - low


def undrawn() -> int:
    """Fail where further bits are asked for."""
    raise AssertionError("a word between two quantiles needs no more bits")


class Words:
    """A source whose draws are given, channel by channel."""

    def __init__(self, words: Sequence[NDArray[np.uint64]]) -> None:
        """Keep them."""
        self._words = list(words)

    def bernoulli(self, thresholds: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Toss no coin: normal noise needs none."""
        raise AssertionError(f"{thresholds.size} coins are tossed")

    def normal(self, n: int) -> NormalDraws:
        """Return the next channel's."""
        words = self._words.pop(0)
        assert words.size == n
        return NormalDraws(words, undrawn)


def exact_chance(operator: NormalTslm, statistics: NDArray[np.int64]) -> Fraction:
    """Return how likely one cell rings, by every combination of draws that can matter."""
    steps = [value.share.channel.steps(statistics)[0] for value in operator.values]
    every = [list(intervals(*each)) for each in zip(operator.values, steps, strict=True)]
    combined = list(product(*every))
    words = [
        np.array([one[at][0] for one in combined], dtype=np.uint64) for at in range(len(every))
    ]
    windows = np.repeat(statistics[np.newaxis], len(combined), axis=0)
    fired = operator.decide_many(windows, Words(words)).fired[:, 0]  # type: ignore[arg-type]
    masses = (math.prod((mass for _, mass in one), start=Fraction(1)) for one in combined)
    return sum((mass for mass, rings in zip(masses, fired, strict=True) if rings), Fraction(0))


def places_of(operator: NormalTslm) -> list[list[int]]:
    """Return, per statistic, both ends of every literal's range, and far away."""
    found = [{-FAR, FAR} for _ in operator.condition.sensitivities]
    for value in operator.values:
        for reading in value.share.readings:
            atom = operator.condition.atoms[atom_of(reading.literal)]
            at, k = int(atom.thresholds[0]), reading.steps
            ends = (
                (at, at - k)
                if reading.literal in operator.condition.atoms
                else (at - 1, at - 1 + k)
            )
            found[atom.statistic].update(ends)
    return [sorted(each) for each in found]


def corners(operator: NormalTslm) -> NDArray[np.int64]:
    """Return every combination of places, shape (statistics, n)."""
    every = list(product(*places_of(operator)))
    return np.array(every, dtype=np.int64).T


def formula_at(
    operator: NormalTslm, corner: NDArray[np.int64], *, granted: bool
) -> NDArray[np.bool_]:
    """Evaluate the condition at corners, with every literal granted its tolerance or none."""
    holds = {}
    for value in operator.values:
        for reading in value.share.readings:
            atom = operator.condition.atoms[atom_of(reading.literal)]
            away = corner[atom.statistic] - int(atom.thresholds[0])
            own = away if reading.literal in operator.condition.atoms else ~away
            holds[reading.literal] = own >= (1 - reading.steps if granted else 0)
    return operator.condition.formula.evaluate_literals(holds)


def worst(operator: NormalTslm) -> tuple[float, float]:
    """Return the worst miss and the worst false alarm over all corners."""
    at = corners(operator)
    chances = operator.chances(0, at)
    assert chances is not None
    true = formula_at(operator, at, granted=False)
    granted = formula_at(operator, at, granted=True)
    miss = float(np.max(1 - chances[true], initial=0.0))
    return miss, float(np.max(chances[~granted], initial=0.0))


@pytest.mark.parametrize("case", range(len(CASES)))
def test_the_law_is_that_of_the_real_operator(case: int) -> None:
    """What plans are told of a cell, against every draw that the operator can tell apart."""
    operator = planned(case)
    at = corners(operator)
    chances = operator.chances(0, at)
    assert chances is not None
    for number in range(0, at.shape[1], 1 + at.shape[1] // 60):
        exact = exact_chance(operator, at[:, number : number + 1])
        assert float(exact) == pytest.approx(float(chances[number]), abs=SLACK)


def test_the_law_of_a_place_does_not_depend_on_the_places_beside_it() -> None:
    """So far away that floats tell no two quantiles apart."""
    operator = planned(2)
    alone = operator.chances(0, np.array([[2]]))
    beside = operator.chances(0, np.array([[10**17, 2, -(10**17)]]))
    assert alone is not None
    assert beside is not None
    assert beside.tolist() == pytest.approx([0.0, float(alone[0]), 0.0])
    assert float(alone[0]) > 0.9


def test_misses_stay_within_max_fnr_on_random_trees() -> None:
    """100 random trees: exactly, at the worst of all corners; and nothing is given away."""
    found = [worst(operator_of(tree))[0] for tree in TREES[::2]]
    assert max(found) <= float(BETA) + SLACK
    assert max(found) > float(BETA) - 1e-6


@pytest.mark.parametrize("rule", get_args(Rule))
def test_both_rates_hold_on_random_trees(rule: Rule) -> None:
    """Misses where the formula is true, alarms where it is false with every tolerance granted."""
    found = [worst(operator_of(tree, max_fpr=ALPHA, apportion=rule)) for tree in TREES[::4]]
    assert max(miss for miss, _ in found) <= float(BETA) + SLACK
    assert max(false for _, false in found) <= float(ALPHA) + SLACK
    if rule == "optimal":
        assert max(false for _, false in found) > float(ALPHA) - 1e-6


def test_thresholds_set_for_each_literal_alone_are_caught() -> None:
    """Broken twin: every literal may miss as often as the whole formula."""
    operator = planned(0)
    values = [
        NormalValue(
            replace(
                value.share,
                readings=tuple(replace(each, beta=BETA) for each in value.share.readings),
            ),
            value.mu,
        )
        for value in operator.values
    ]
    assert worst(operator)[0] <= float(BETA) + SLACK
    assert worst(replace(operator, values=tuple(values)))[0] > 1.5 * float(BETA)


@pytest.mark.parametrize("text", ["a AND NOT b", "(a AND b) OR NOT c"])
def test_false_alarms_promised_first_are_kept(text: str) -> None:
    """The mirrored decision: false alarms up to the threshold, misses beyond the tolerance."""
    formula = Formula.parse(text)
    atoms = {
        name: ThresholdAtom(min(at, 1), np.array([4 * at], dtype=np.int64))
        for at, name in enumerate(formula.atoms)
    }
    condition = Condition(formula, atoms, (1, 1))
    aim = Aim(BETA, (1,) * len(atoms), max_fpr=ALPHA, promise="false_alarms", gaussian=True)
    found = create("tslm", condition, aim)
    assert isinstance(found, Mirrored)
    silent = found.negation
    assert isinstance(silent, NormalTslm)
    miss, false = worst(silent)  # of the negation: false alarms are its misses
    assert miss <= float(ALPHA) + SLACK
    assert false <= float(BETA) + SLACK
    assert found.plan.epsilon == from_loss_units(sum(one.units for one in silent.values))
    at = corners(silent)
    laws = [each.chances(0, at) for each in (found, silent)]
    assert laws[0] is not None
    assert laws[1] is not None
    assert np.allclose(laws[0], 1 - laws[1], atol=SLACK)


# --- two neighbours, over all events


def patterns(value: NormalValue, steps: int) -> dict[tuple[bool, ...], Fraction]:
    """Return the joint law of a channel's literals, of the real comparisons."""
    every = list(intervals(value, steps))
    words = np.array([word for word, _ in every], dtype=np.uint64)
    at = np.full((words.size, 1), steps, dtype=np.int64)
    held = value.holds(at, NormalDraws(words, undrawn))
    found: dict[tuple[bool, ...], Fraction] = {}
    for number, (_, mass) in enumerate(every):
        outcome = tuple(bool(each[number, 0]) for each in held)
        found[outcome] = found.get(outcome, Fraction(0)) + mass
    return found


def afresh(value: NormalValue, steps: int) -> dict[tuple[bool, ...], Fraction]:
    """Return the law of a twin whose literals have noise of their own, each."""
    alone = [
        patterns(NormalValue(replace(value.share, readings=(each,)), value.mu), steps)
        for each in value.share.readings
    ]
    return {
        tuple(each for one in combined for (each,) in (one[0],)): math.prod(
            (mass for _, mass in combined), start=Fraction(1)
        )
        for combined in product(*(law.items() for law in alone))
    }


def joint(
    operator: NormalTslm, *, own_noise: bool = False, near: range = range(-5, 8)
) -> NDArray[np.float64]:
    """Return the law of all literals together, shape (outcomes, *places of every channel)."""
    law = np.ones((1,))
    for value in operator.values:
        laws = [(afresh if own_noise else patterns)(value, at) for at in near]
        outcomes = sorted({one for each in laws for one in each})
        mine = np.array([[float(each.get(one, 0)) for each in laws] for one in outcomes])
        law = np.einsum("a...,bx->ab...x", law, mine).reshape(-1, *law.shape[1:], len(near))
    return law


def told_apart(law: NDArray[np.float64], units: int) -> int:
    """Count moves of every channel by a step and epsilons where some event tells more than mu."""
    found, size = 0, law.shape[1]
    allowed = {each: float(delta_bounds(Fraction(each), units)[1]) for each in EPSILONS}
    for moves in product((-1, 0, 1), repeat=law.ndim - 1):
        here = tuple(slice(max(0, -m), size - max(0, m)) for m in moves)
        there = tuple(slice(max(0, m), size - max(0, -m)) for m in moves)
        p, q = law[(slice(None), *here)], law[(slice(None), *there)]
        for epsilon in EPSILONS:
            delta = np.maximum(p - math.exp(epsilon) * q, 0).sum(axis=0).max()
            found += int(delta > allowed[epsilon] + SLACK)
    return found


def units_of(operator: NormalTslm) -> int:
    """Return what a cell is charged."""
    return int(operator.plan.epsilon * UNITS_PER_EPSILON)


@pytest.mark.parametrize("case", range(len(CASES)))
def test_neighbours_are_told_apart_no_better_than_is_charged(case: int) -> None:
    """Over all events of all literals together, whatever moves; less would be too little."""
    operator = planned(case)
    law = joint(operator)
    assert np.allclose(law.sum(axis=0), 1, atol=SLACK)
    assert not told_apart(law, units_of(operator))
    assert told_apart(law, units_of(operator) // 2)
    assert told_apart(law, units_of(operator) // 4)  # half mu


def test_neighbours_of_random_trees_are_told_apart_no_better() -> None:
    """Trees of several literals of one statistic among them."""
    for tree in TREES[3::40]:
        operator = operator_of(tree)
        if len(operator.values) <= 3:
            assert not told_apart(joint(operator, near=range(-4, 5)), units_of(operator))


def test_charging_one_channel_only_is_caught() -> None:
    """Broken twin: a person who moves several statistics pays for the dearest."""
    operator = planned(0)
    assert told_apart(joint(operator), max(value.units for value in operator.values))


def test_noise_of_its_own_for_every_literal_is_caught() -> None:
    """Broken twin: two looks at one statistic, charged as one."""
    text, thresholds = ("a AND NOT b", {"a": (0, 0), "b": (0, 1)})
    condition = condition_of(text, thresholds)
    operator = NormalTslm.planned(condition, aim_of(text, gaussian=True))
    assert len(operator.values) == 1
    assert told_apart(joint(operator, own_noise=True), units_of(operator))
    assert not told_apart(joint(operator, own_noise=True), 2 * units_of(operator))


def test_a_discrete_gaussian_read_by_the_same_thresholds_is_caught() -> None:
    """Broken twin: whole-number noise of the same deviation is zCDP, and says more."""
    operator = planned(2)
    (value,) = operator.values
    mu, near = float(value.mu), range(-5, 8)
    noise = np.arange(-60, 61)
    weights = np.exp(-((noise * mu) ** 2) / 2)
    weights /= weights.sum()
    law = np.zeros((noise.size + len(near), len(near)))
    for number in range(len(near)):
        law[number : number + noise.size, number] += weights
    assert told_apart(law, units_of(operator))


# --- thresholds that are no whole steps apart


def capped(tolerance: int = 3, sensitivity: int = 3) -> NormalTslm:
    """Plan a band of a count of which a neighbour moves up to three."""
    atoms = {
        "a": ThresholdAtom(0, np.array([20], dtype=np.int64)),
        "b": ThresholdAtom(0, np.array([31], dtype=np.int64)),
    }
    condition = Condition(Formula.parse("a AND NOT b"), atoms, (sensitivity,))
    return NormalTslm.planned(condition, Aim(BETA, (tolerance,) * 2, gaussian=True))


def test_thresholds_that_are_no_whole_steps_apart_share_a_finer_grid() -> None:
    """One noise instead of two, where that is cheaper; and both rates are kept at every count."""
    operator = capped()
    (value,) = operator.values
    assert (value.share.channel.moves, value.share.channel.test.sensitivity) == (3, 1)
    assert len(operator.condition.channels) == 2
    steps = [operator.condition.test(one).steps(3) for one in ("a", "NOT b")]
    apart = sum(least_squared(k, BETA / 2, BETA / 2) for k in steps)
    assert units_of(operator) < apart
    at = np.arange(-10, 60, dtype=np.int64)[None, :]
    chances = operator.chances(0, at)
    assert chances is not None
    true, granted = (at[0] >= 20) & (at[0] < 31), (at[0] >= 20 - 6) & (at[0] < 31 + 6)
    assert (1 - chances[true]).max() <= float(BETA) + SLACK
    assert chances[~granted].max() <= float(BETA) / 2 + SLACK  # of either end alone
    for number in (24, 30, 41):
        exact = exact_chance(operator, at[:, number : number + 1])
        assert float(exact) == pytest.approx(float(chances[number]), abs=SLACK)
    coarse = capped(tolerance=0)
    assert len(coarse.values) == 2  # a step each, which is wider than the tolerance asks for


def test_neighbours_on_a_finer_grid_are_told_apart_no_better_than_is_charged() -> None:
    """However far within its cap somebody moves the count; as if by one step, it is caught."""
    operator = capped()
    law = joint(operator, near=range(-12, 24))
    size = law.shape[1]
    for units, caught in ((units_of(operator), False), (units_of(operator) // 9, True)):
        allowed = {each: float(delta_bounds(Fraction(each), units)[1]) for each in EPSILONS}
        deltas = [
            (np.maximum(p - math.exp(epsilon) * q, 0).sum(axis=0).max(), allowed[epsilon])
            for move in (1, 2, 3)
            for one, other in [(law[:, move:], law[:, : size - move])]
            for p, q in ((one, other), (other, one))
            for epsilon in EPSILONS
        ]
        assert any(delta > most + SLACK for delta, most in deltas) is caught


# --- draws


def test_sampled_misses_and_frequencies_follow_the_law() -> None:
    """Ten thousand cells at some corners, by real draws; a law of half the noise is told apart."""
    operator, cells = planned(3, 9), 10_000
    text, thresholds = CASES[3]
    many = NormalTslm.planned(condition_of(text, thresholds, cells), aim_of(text, 9, gaussian=True))
    twin = replace(
        operator, values=tuple(NormalValue(one.share, 2 * one.mu) for one in operator.values)
    )
    told = False
    for number, corner in enumerate(([2, -9], [-3, -20], [9, 0], [-9, -5], [1, 3])):
        statistics = np.repeat(np.array(corner, dtype=np.int64)[:, None], cells, axis=1)
        decision = many.decide(statistics, KeyedNoise(bytes([number])))
        rang = np.count_nonzero(decision.fired)
        law, other = (each.chances(0, statistics[:, :1]) for each in (operator, twin))
        assert law is not None
        assert other is not None
        tails = [
            min(binom.cdf(rang, cells, p), binom.sf(rang - 1, cells, p))
            for p in (float(law[0]), float(other[0]))
        ]
        assert tails[0] > 1e-4
        told = told or tails[1] < 1e-6
        assert decision.cost.worst_units == units_of(operator)
    assert told


def test_lines_of_quantiles_forget_what_they_do_not_need() -> None:
    """What is kept of places that were asked for has an end, and answers stay the same."""
    line = Quantiles(Fraction(0), Fraction(1, 10**6))
    first = line.first_bounds(np.arange(5, dtype=np.int64))
    line.first_bounds(np.arange(10**12, 10**12 + (1 << 16), dtype=np.int64))
    line.first_bounds(np.arange(3, dtype=np.int64))
    assert all(
        (one == two).all() for one, two in zip(first, line.first_bounds(np.arange(5)), strict=True)
    )
