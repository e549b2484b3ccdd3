"""Quantifiers by enumeration: one neighbour moves every group at once, in any directions.

The data are all statistics of all groups of one answer; twins that a reader of the SQL might write
are caught by the same checks.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.stats import norm

from accountant.errors import ArgumentError, ConfigError
from accountant.units import UNITS_PER_EPSILON, to_loss_units
from operators.conditions.atoms import IntegerTest
from operators.conditions.comparison import Comparison
from operators.conditions.condition import Aim, Condition, ThresholdAtom
from operators.conditions.formula import Formula, atom_of
from operators.conditions.score import score_of
from operators.registry import ALL, create, mechanism_of, price
from operators.single.ladder import Ladder
from operators.svt.early import RunLooks, early_terms
from operators.svt.mechanism import Svt
from operators.svt.planning import planned_terms
from tests.statistical.enumeration import Bools, Floats, Ints, ints, least_epsilon
from tests.statistical.test_progressive_exact import SMALL, jumpy, outcomes
from tests.statistical.test_score_exact import BETA, Case, broken, moves_of
from tests.statistical.test_score_mechanisms_exact import chances, loss, odds, run_loss

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


CLOSE = 1e-9
SLACK = 1e-6


@dataclass(frozen=True)
class Groups(Case):
    """A condition of one answer about a few groups, and all that these may count."""

    __hash__ = Case.__hash__

    @property
    def data(self) -> Ints:
        """Every way to fill the groups, shape (statistics, n, members)."""
        values = np.arange(self.low, self.high + 1, dtype=np.int64)
        grids = np.meshgrid(*[values] * len(self.shape), indexing="ij")
        rows, members = self.condition.statistics, self.condition.members
        flat = np.array([grid.ravel() for grid in grids]).reshape(rows, members, -1)
        return flat.transpose(0, 2, 1)

    @property
    def shape(self) -> tuple[int, ...]:
        """One axis per statistic of a group."""
        return (self.high - self.low + 1,) * (self.condition.statistics * self.condition.members)

    @property
    def far(self) -> tuple[int, ...]:
        """A neighbour moves every group."""
        return tuple(far for far in self.condition.sensitivities for _ in self.groups)

    @property
    def groups(self) -> range:
        """Which there are."""
        return range(self.condition.members)

    def holds(self, away: Mapping[str, int]) -> Bools:
        """Return where the formula, every literal granted so many steps, is true of enough."""
        found, data = {}, self.data
        for one in self.condition.formula.literals:
            atom = self.condition.atoms[atom_of(one)]
            grant = away[one] * self.condition.sensitivity_of(atom_of(one))
            row, bound = data[atom.statistic], atom.thresholds
            found[one] = row >= bound - grant if one == atom_of(one) else row < bound + grant
        true = self.condition.formula.evaluate_literals(found)
        return (true.sum(axis=1) >= self.condition.least).reshape(self.shape)


def groups_of(
    text: str,
    thresholds: Mapping[str, tuple[int, ...]],
    least: int,
    *,
    tolerances: tuple[int, ...],
    places: Mapping[str, int] | None = None,
    sensitivities: tuple[int, ...] = (1,),
    span: tuple[int, int] = (-7, 7),
) -> Groups:
    """Return a quantifier over as many groups as there are thresholds."""
    formula = Formula.parse(text)
    atoms = {
        name: ThresholdAtom((places or {}).get(name, 0), ints(thresholds[name]))
        for name in formula.atoms
    }
    members = len(thresholds[formula.atoms[0]])
    condition = Condition(formula, atoms, sensitivities, members=members, least=least)
    return Groups(condition, tolerances, *span)


def random_groups(seed: int, count: int) -> list[Groups]:
    """Return quantifiers over two or three groups with thresholds of their own."""
    source, cases = random.Random(seed), []
    texts = ("a", "NOT a", "a AND NOT b", "(a AND NOT b) OR c", "a OR (b AND NOT c)")
    while len(cases) < count:
        text, rows = source.choice(texts), source.choice((1, 1, 2))
        names, members = Formula.parse(text).atoms, 2 if rows == 2 else source.choice((2, 3))
        if len(names) < rows:
            continue
        cases.append(
            groups_of(
                text,
                {name: tuple(source.randint(-2, 2) for _ in range(members)) for name in names},
                source.randint(1, members),
                tolerances=tuple(source.randint(0, 1) for _ in names),
                places={name: at % rows for at, name in enumerate(names)},
                sensitivities=(1, 1) if rows == 2 else (source.randint(1, 2),),
                span=(-5, 5) if rows == 2 else (-8, 8),
            )
        )
    return cases


CASES = random_groups(3, 60)
PROMISED = [case for case in CASES if case.distance() is not None]
CROWDED = groups_of("a", {"a": (1, 2, 3)}, 2, tolerances=(1,))


def test_the_score_of_groups_is_one_test_of_sensitivity_one() -> None:
    """True iff >= 0, at most -k beyond tolerances, one step for a neighbour that moves them all.

    K is the length of the shortest way from true to false: no mechanism of the answer pays less.
    """
    for case in CASES:
        assert not broken(case, lambda data, of=case: of.score.of(0, data), case.score.steps)
    assert len(PROMISED) > 40
    for case in PROMISED:
        assert case.score.steps == case.distance()


def apart(one: Floats, other: Floats) -> Floats:
    """Return how far quantiles lie apart."""
    return np.abs(one - other)


@pytest.mark.parametrize("mechanism", ["tslm", "gdp", "ppwlm", "dppwlm", "svt"])
def test_groups_are_decided_as_one_cell_is(mechanism: str) -> None:
    """Misses, false alarms and loss at all data and all neighbours; the plan is at its limit."""
    for case in PROMISED[:: 2 if mechanism == "tslm" else 6]:
        gaussian = mechanism == "gdp"
        name, aim = "tslm" if gaussian else mechanism, Aim(BETA, case.tolerances, gaussian=gaussian)
        plan, (true, false) = price(name, case.condition, aim), case.truths()
        law = chances(case, name, aim)
        inside, epsilon = np.clip(law, 1e-8, 1 - 1e-8), float(plan.epsilon)
        lost = loss(case, norm.ppf(inside), apart) if gaussian else loss(case, inside, odds)
        assert lost <= (math.sqrt(2 * epsilon) if gaussian else epsilon) * (1 + 1e-5)
        assert law[true].min() >= 1 - BETA - CLOSE
        assert law[false].max() <= BETA + CLOSE
        if mechanism == "tslm":  # at the limit of the steps that there are
            distance = case.distance()
            assert distance is not None
            assert float(plan.epsilon) == pytest.approx(float(least_epsilon(distance, BETA, BETA)))
            assert plan.ratio == pytest.approx(1, abs=1e-9)


def test_false_alarms_first_turn_the_quantifier_round() -> None:
    """Not "at least j" is "at least n - j + 1 not": false alarms up to the threshold."""
    for case in PROMISED[::5]:
        aim = Aim(BETA, case.tolerances, max_fpr=BETA, promise="false_alarms")
        found = create("tslm", case.condition, aim).chances(0, case.data)
        assert found is not None
        law, (true, _) = found.reshape(case.shape), case.truths()
        assert law[~true].max() <= BETA + CLOSE
        lost = loss(case, np.clip(law, 1e-8, 1 - 1e-8), odds)
        assert lost <= float(price("tslm", case.condition, aim).epsilon) * (1 + SLACK)


def summed(steps: Ints, _present: Bools, _least: int) -> Ints:
    """Twin: the score added up over the groups."""
    return np.asarray(steps.sum(axis=1))


def found_in_data(steps: Ints, present: Bools, least: int) -> Ints:
    """Twin: the j-th smallest over the groups that are there: EVERY room that has anybody."""
    del least
    return np.asarray(np.where(present, steps, 99).min(axis=1))


def half_of_those(steps: Ints, present: Bools, _least: int) -> Ints:
    """Twin: half of the groups that are there, whichever they are."""
    ranked = -np.sort(-np.where(present, steps, -99), axis=1)
    asked = np.maximum(-(-present.sum(axis=1) // 2), 1) - 1
    return np.asarray(ranked[np.arange(len(ranked)), asked])


@pytest.mark.parametrize("twin", [summed, found_in_data, half_of_those])
def test_scores_of_groups_that_data_choose_are_caught(
    twin: Callable[[Ints, Bools, int], Ints],
) -> None:
    """One record moves them by several steps, and the loss passes what is charged."""
    case = groups_of("a", {"a": (5, 5, 5)}, 2, tolerances=(2,), span=(0, 9))
    each = Condition.single(IntegerTest(Comparison.GE, ints([5]), 1))
    single = score_of(each, (2,))

    def read(data: Ints) -> Ints:
        steps = single.of(0, data.reshape(1, -1)).reshape(data.shape[1:])
        return twin(steps, data[0] > 0, case.condition.least)

    assert "step" in broken(case, read, 1)
    operator = create("tslm", each, Aim(BETA, (2,)))
    scores = read(case.data)
    law = operator.chances(0, scores[None] + 5)
    assert law is not None
    inside = np.clip(law, 1e-8, 1 - 1e-8).reshape(case.shape)
    epsilon = float(price("tslm", case.condition, Aim(BETA, (2,))).epsilon)
    assert epsilon == float(operator.plan.epsilon)
    assert loss(case, inside, odds) > 1.9 * epsilon


def test_every_transcript_of_levels_is_charged_enough() -> None:
    """DPPWLM on two answers of three groups: what a transcript loses of one is what it cost."""
    of = Ladder.planned(3, BETA, BETA, SMALL)
    charged = np.repeat(np.array(of.units[:3], np.float64) / UNITS_PER_EPSILON, 2)
    case = replace(CROWDED, low=-3, high=4)
    scores = case.score.of(0, case.data).reshape(case.shape)
    moved = {
        pair
        for here, there in moves_of(case)
        for pair in zip(scores[here].ravel().tolist(), scores[there].ravel().tolist(), strict=True)
    }
    assert {one - other for one, other in moved} == {-1, 0, 1}
    for one, other in moved:
        laws = [outcomes(of, jumpy, (score, -1)) for score in (one, other)]
        lost = np.abs(np.log(laws[0] / laws[1])).max(axis=1)
        assert (lost <= charged + 1e-6).all()


def test_runs_of_groups_pay_by_the_way_that_they_move() -> None:
    """One more person moves "at least two rooms" one way, and "between" of a room either way."""
    up = replace(CROWDED.condition, monotone=True)
    aim = Aim(BETA, (2,), alarms=1)
    run, score = Svt.planned(up, aim), score_of(up, (2,))
    rises = {
        tuple((score.read(data + more) - score.read(data)).tolist())
        for data in CROWDED.data[:, ::7].transpose(1, 0, 2)
        for more in np.array(list(product((0, 1), repeat=3)))[:, None, :]
    }
    assert rises == {(0,), (1,)}
    for move in product((0, 1), repeat=2):
        for sign in (1, -1):
            lost = run_loss(run.terms, [sign * each for each in move])
            assert lost <= run.terms.epsilon_units / UNITS_PER_EPSILON + CLOSE

    between = groups_of("a AND NOT b", {"a": (1, 1), "b": (4, 4)}, 2, tolerances=(2, 2)).condition
    aim = replace(aim, tolerances=(2, 2))
    mixed = Svt.planned(between, aim)
    score = score_of(between, (2, 2))
    moves = [
        int((score.read(np.array([row]) + 1) - score.read(np.array([row])))[0])
        for row in ([0, 0], [5, 5])
    ]
    assert moves == [1, -1]
    assert run_loss(mixed.terms, moves) <= mixed.terms.epsilon_units / UNITS_PER_EPSILON + CLOSE
    twin = Svt.planned(replace(between, monotone=True), aim).terms
    assert run_loss(twin, moves) > 1.2 * twin.epsilon_units / UNITS_PER_EPSILON


def test_the_steady_price_of_early_evaluations_of_groups_is_caught() -> None:
    """ANY of two rooms: an event in one shows at one look, and at the next the other is fuller."""
    of = groups_of("a", {"a": (20, 20)}, 1, tolerances=(2,)).condition
    of = replace(of, monotone=True, steady=True)
    aim = Aim(BETA, (2,), looks=2)
    score, real = score_of(of, (2,)), early_terms(of, aim)
    early = mechanism_of("svt").operator(of, aim)
    assert to_loss_units(early.plan.epsilon) == real.epsilon_units
    twin = planned_terms(score.steps, BETA, BETA, alarms=1, questions=2, monotone=True, either=True)

    def lost(terms: object) -> float:
        found, looks = 0.0, RunLooks(score, terms)  # type: ignore[arg-type]
        for a, b in product(range(10, 24), repeat=2):
            laws = []
            for more in (0, 1):
                paths = np.array([[[a + more, 0], [a + more, b]]])  # (statistics, looks, groups)
                law = looks.first_rings(0, paths)
                laws.append(np.append(law, 1 - law.sum()))
            found = max(found, float(np.abs(np.log(laws[0] / laws[1])).max()))
        return found

    assert lost(real) <= real.epsilon_units / UNITS_PER_EPSILON + SLACK
    assert lost(twin) > 1.5 * max(twin.open_units, twin.alarm_units) / UNITS_PER_EPSILON


def test_answers_are_of_groups_that_follow_each_other() -> None:
    """Two answers of three groups, windows abreast: shapes, truth and decisions agree."""
    thresholds = {"a": (1, 2, 3, 4, 5, 6)}
    of = replace(groups_of("a", thresholds, 1, tolerances=(0,)).condition, members=3, least=2)
    assert (of.cells, of.answers) == (6, 2)
    source = np.random.default_rng(5)
    windows = source.integers(-3, 10, (50, 1, 6))
    plain = (windows[:, 0] >= np.array(thresholds["a"])).reshape(50, 2, 3).sum(axis=2) >= 2
    assert (np.array([of.truth(each) for each in windows]) == plain).all()
    score = score_of(of, (0,))
    assert ((score.read(windows) >= 0) == plain).all()
    assert (score.read(windows) == [score.read(each) for each in windows]).all()
    for at, window in product(range(2), windows):
        own = window[:, None, 3 * at : 3 * at + 3]
        assert score.of(at, own).tolist() == [score.read(window)[at]]
    interleaved = (windows[:, 0] >= np.array(thresholds["a"])).reshape(50, 3, 2).sum(axis=1) >= 2
    assert (interleaved != plain).any()  # twin: the outer fields last


def test_who_cannot_count_groups_says_so() -> None:
    """Mechanisms that decide cell by cell refuse, and so do numbers that no groups have."""
    of, aim = CROWDED.condition, Aim(BETA, (1,), first_tolerances=())
    able = {name for name, one in ALL.items() if one.quantifies}
    assert able == {"tslm", "ppwlm", "dppwlm", "svt", "nlm"}
    for name in ALL.keys() - able:
        for ask in (create, price):
            with pytest.raises(ConfigError, match="each group by itself"):
                ask(name, of, aim)
    for wrong in ({"least": 0}, {"least": 4}, {"members": 2}):
        with pytest.raises(ArgumentError):
            replace(of, **wrong)


def test_any_number_of_groups_costs_what_one_does() -> None:
    """What one cell costs is what any number of groups costs, whatever number it takes."""
    alone = Condition.single(IntegerTest(Comparison.GE, ints([20]), 1))
    for members, least in ((1, 1), (6, 3), (50, 1), (50, 50)):
        of = replace(
            groups_of("a", {"a": (20,) * members}, 1, tolerances=(5,)).condition, least=least
        )
        for name in ("tslm", "ppwlm", "svt"):
            aim = Aim(BETA, (5,))
            assert price(name, of, aim).epsilon == price(name, alone, aim).epsilon
