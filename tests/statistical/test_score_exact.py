"""The score of a condition, by enumeration of data, neighbours and distances; twins are caught."""

from __future__ import annotations

import random
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, reduce
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest

from operators.conditions.condition import Condition, ThresholdAtom
from operators.conditions.formula import Formula, atom_of
from operators.conditions.score import Score, score_of
from operators.conditions.syntax import fold
from operators.single.tslm import theoretical_limit
from tests.statistical.enumeration import Bools, Ints, ints
from tests.statistical.formula_law import random_formula

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Read = Callable[[Ints], Ints]

BETA = Fraction(1, 20)
SHARED = "(a AND NOT b) OR c"  # of one count: above 100 and below 50, or above 200


@dataclass(frozen=True)
class Case:
    """A condition of one cell, its tolerances, and the data that it is enumerated on."""

    condition: Condition
    tolerances: tuple[int, ...]
    low: int
    high: int

    @property
    def score(self) -> Score:
        """What is under test."""
        return score_of(self.condition, self.tolerances)

    @property
    def data(self) -> Ints:
        """Every vector of statistics, shape (statistics, n)."""
        values = np.arange(self.low, self.high + 1, dtype=np.int64)
        grids = np.meshgrid(*[values] * self.condition.statistics, indexing="ij")
        return np.array([grid.ravel() for grid in grids])

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the data, one axis per statistic."""
        return (self.high - self.low + 1,) * self.condition.statistics

    @property
    def far(self) -> tuple[int, ...]:
        """How far a neighbour moves each axis."""
        return self.condition.sensitivities

    def least_steps(self) -> Mapping[str, int]:
        """Return k of every literal."""
        granted = dict(zip(self.condition.formula.atoms, self.tolerances, strict=True))
        return {
            one: self.condition.test(one).steps(granted[atom_of(one)])
            for one in self.condition.formula.literals
        }

    def holds(self, away: Mapping[str, int]) -> Bools:
        """Return where the condition is true with every literal granted so many steps."""
        found = {}
        for one in self.condition.formula.literals:
            atom = self.condition.atoms[atom_of(one)]
            bound = int(atom.thresholds[0])
            grant = away[one] * self.condition.sensitivity_of(atom_of(one))
            row = self.data[atom.statistic]
            found[one] = row >= bound - grant if one == atom_of(one) else row < bound + grant
        return self.condition.formula.evaluate_literals(found).reshape(self.shape)

    @cache  # noqa: B019  # a case lives as long as the tests
    def truths(self) -> tuple[Bools, Bools]:
        """Return where the condition is true, and where it is false beyond its tolerances."""
        steps = self.least_steps()
        granted = self.holds({one: k - 1 for one, k in steps.items()})
        return self.holds(dict.fromkeys(steps, 0)), ~granted

    def distance(self) -> int | None:
        """Return the fewest neighbour steps from true to false beyond tolerances, by search."""
        reached, false = self.truths()
        if not reached.any() or not false.any():
            return None
        for steps in range(self.high - self.low + 1):
            if (reached & false).any():
                return steps
            reached = spread(reached, self.far)
        raise AssertionError("no way leads there")


def spread(reached: Bools, sensitivities: tuple[int, ...]) -> Bools:
    """Return what is one neighbour step away or less."""
    for axis, far in enumerate(sensitivities):
        padding = [(far, far) if at == axis else (0, 0) for at in range(reached.ndim)]
        wide = np.moveaxis(np.pad(reached, padding), axis, 0)
        size = reached.shape[axis]
        near = reduce(np.logical_or, [wide[at : at + size] for at in range(2 * far + 1)])
        reached = np.moveaxis(near, 0, axis)
    return reached


def broken(case: Case, read: Read, steps: int) -> set[str]:
    """Return which of the three claims a score breaks, over all data and all neighbours.

    Every neighbour moves all statistics at once, each by up to its sensitivity, either way.
    """
    scores = read(case.data).reshape(case.shape)
    true, false = case.truths()
    found = set()
    if ((scores >= 0) != true).any():
        found.add("truth")
    if (scores[false] > -steps).any():
        found.add("tolerance")
    for here, there in moves_of(case):
        if (np.abs(scores[here] - scores[there]) > 1).any():
            found.add("step")
    return found


def moves_of(case: Case) -> Iterator[tuple[tuple[slice, ...], tuple[slice, ...]]]:
    """Yield where data and their neighbours are, for every way to move all statistics."""
    for move in product(*(range(-far, far + 1) for far in case.far)):
        here = tuple(slice(max(0, m), min(0, m) or None) for m in move)
        yield here, tuple(slice(max(0, -m), min(0, -m) or None) for m in move)


def checked(case: Case) -> set[str]:
    """Check the real score."""
    score = case.score
    return broken(case, lambda data: score.of(0, data), score.steps)


def random_cases(seed: int, count: int) -> list[Case]:
    """Return conditions of up to 6 literals on up to 4 statistics, many on one and the same."""
    source = random.Random(seed)
    cases = []
    while len(cases) < count:
        formula = random_formula(source)
        atoms = len(formula.atoms)
        rows = source.randint(1, min(4, atoms))
        places = [*range(rows), *(source.randrange(rows) for _ in range(atoms - rows))]
        source.shuffle(places)
        widest = {1: 4, 2: 3, 3: 1, 4: 1}[rows]
        sensitivities = tuple(source.randint(1, widest) for _ in range(rows))
        reach = {1: 12, 2: 5, 3: 3, 4: 1}[rows]
        condition = Condition(
            formula,
            {
                name: ThresholdAtom(at, ints([source.randint(-reach, reach)]))
                for name, at in zip(formula.atoms, places, strict=True)
            },
            sensitivities,
        )
        most = {1: 8, 2: 4, 3: 2, 4: 1}[rows]
        tolerances = tuple(source.randint(0, most) for _ in range(atoms))
        edge = reach + 2 * most + widest + 1
        cases.append(Case(condition, tolerances, -edge, edge))
    return cases


def counts(text: str, thresholds: dict[str, int], tolerances: tuple[int, ...]) -> Case:
    """Return a condition over one count."""
    atoms = {name: ThresholdAtom(0, ints([at])) for name, at in thresholds.items()}
    return Case(Condition(Formula.parse(text), atoms, (1,)), tolerances, -10, 260)


CASES = random_cases(26, 200)


def test_the_score_is_the_condition_as_one_test_of_sensitivity_one() -> None:
    """200 random trees: true iff >= 0, at most -k beyond tolerances, one step per neighbour."""
    assert [at for at, case in enumerate(CASES) if checked(case)] == []


def test_the_score_has_all_the_steps_that_there_are() -> None:
    """K is the length of the shortest way from true to false beyond tolerances, never less.

    A mechanism is a test of k steps along that way, so its loss is the limit of k: the ratio is 1.
    """
    equal = more = 0
    for case in CASES:
        distance = case.distance()
        plain = min(case.least_steps().values())
        if distance is None:  # nothing is promised
            assert case.score.steps == plain
            continue
        assert case.score.steps == distance >= plain
        equal, more = equal + (distance == plain), more + (distance > plain)
    assert equal > 50
    assert more > 20


@pytest.mark.parametrize(
    ("text", "thresholds", "tolerances", "steps", "epsilon"),
    [
        ("a OR b", {"a": 101, "b": 201}, (5, 0), 11, 0.415),
        ("a OR b", {"a": 101, "b": 151}, (0, 60), 71, 0.065),
        (SHARED, {"a": 101, "b": 50, "c": 201}, (1, 1, 20), 41, 0.112),
    ],
)
def test_literals_on_one_statistic_leave_more_steps_than_the_strictest(
    text: str, thresholds: dict[str, int], tolerances: tuple[int, ...], steps: int, epsilon: float
) -> None:
    """Whoever is above 200 is far from everything that is false: the narrow literal costs less."""
    case = counts(text, thresholds, tolerances)
    assert case.score.steps == steps == case.distance()
    assert not checked(case)
    assert theoretical_limit(steps, BETA, BETA) == pytest.approx(epsilon, abs=5e-4)


def test_cells_with_other_thresholds_have_scores_of_their_own() -> None:
    """Which sets of literals can hold together is found cell by cell; the fewest steps count."""
    thresholds = {"a": [101, 21, 31], "b": [50, 50, 30], "c": [201, 201, 400]}
    formula = Formula.parse(SHARED)
    atoms = {name: ThresholdAtom(0, ints(each)) for name, each in thresholds.items()}
    score = score_of(Condition(formula, atoms, (1,)), (1, 1, 20))
    data = np.arange(-10, 460, dtype=np.int64)
    alone = []
    for cell in range(3):
        case = counts(SHARED, {name: each[cell] for name, each in thresholds.items()}, (1, 1, 20))
        alone.append(case.score.steps)
        assert score.of(cell, data[None]).tolist() == case.score.of(0, data[None]).tolist()
    assert alone == [41, 3, 41]
    assert score.steps == 3
    assert score.decisive in {"a", "NOT b"}
    windows = ints([[[75, 30, 0]], [[201, 10, 500]]])
    assert score.read(windows).tolist() == [score.read(each).tolist() for each in windows]
    assert (score.read(windows) >= 0).tolist() == [[False, True, False], [True, False, True]]


def test_what_is_written_without_need_costs_nothing() -> None:
    """``a OR (a AND b)`` is ``a``: the strict b of another statistic sets no price."""
    atoms = {name: ThresholdAtom(at, ints([3])) for at, name in enumerate("ab")}
    score = score_of(Condition(Formula.parse("a OR (a AND b)"), atoms, (1, 1)), (4, 0))
    assert (score.steps, score.decisive) == (9, "a")


def test_one_inequality_that_is_off_is_caught() -> None:
    """Twin: one literal's test is strict where it is not, so its step count is one too low."""

    def off(case: Case) -> Read:
        first = case.condition.formula.literals[0]
        return lambda data: plain(case, data, {first: 1})

    assert all("truth" in broken(each, off(each), 1) for each in CASES[:50] if matters(each))


def test_what_is_not_quantised_is_caught() -> None:
    """Twin: the largest of raw distances moves by a whole sensitivity for one record."""
    wide = [each for each in CASES if min(each.condition.sensitivities) > 1]
    assert len(wide) > 10

    def raw(case: Case) -> Read:
        def read(data: Ints) -> Ints:
            def distance(one: str) -> Ints:
                atom = case.condition.atoms[atom_of(one)]
                apart: Ints = data[atom.statistic] - atom.thresholds[0]
                return apart if one == atom_of(one) else ~apart

            return folded(case, distance)

        return read

    assert all("step" in broken(each, raw(each), each.score.steps) for each in wide)


def test_the_largest_of_the_steps_is_caught() -> None:
    """Twin: k of the widest literal; the strictest then fires where it may not."""
    caught = [
        "tolerance" in broken(each, lambda data, of=each: of.score.of(0, data), most)
        for each in CASES
        if (most := max(each.least_steps().values())) > each.score.steps
        and each.distance() is not None
    ]
    assert len(caught) > 50
    assert all(caught)


def test_the_most_steps_with_the_plain_score_are_caught() -> None:
    """Twin: 75 people are 26 steps from 101 and from 50, and are promised 41."""
    case = counts(SHARED, {"a": 101, "b": 50, "c": 201}, (1, 1, 20))
    assert broken(case, lambda data: plain(case, data), case.score.steps) == {"tolerance"}
    assert plain(case, np.array([[75]])).tolist() == [-26]
    assert not broken(case, lambda data: plain(case, data), 3)  # with the strictest it is sound


def plain(case: Case, data: Ints, lower: Mapping[str, int] | None = None) -> Ints:
    """Return AND as the least and OR as the largest step count, as they are written."""

    def steps(one: str) -> Ints:
        test = case.condition.test(one).at(np.zeros(data.shape[1], np.intp))
        own = test.quantise(data[case.condition.atoms[atom_of(one)].statistic])
        return own - (lower or {}).get(one, 0)

    return folded(case, steps)


def folded(case: Case, leaf: Callable[[str], Ints]) -> Ints:
    """Fold a condition's literals."""
    found: Ints = fold(
        case.condition.formula.monotone, leaf, lambda p: np.min(p, 0), lambda p: np.max(p, 0)
    )
    return found


def matters(case: Case) -> bool:
    """Tell whether the first literal alone decides some data at its threshold."""
    first = case.condition.formula.literals[0]
    lower = plain(case, case.data, {first: 1})
    return bool(((plain(case, case.data) >= 0) != (lower >= 0)).any())
