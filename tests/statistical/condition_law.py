"""Conditions of one cell or of the groups of one answer, over all their data and all neighbours.

A neighbour moves all statistics at once, in any directions, and every group. What a mechanism
promises of a condition is read off its law at all data; runs are added up over their threshold.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, replace
from functools import cache, reduce
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from operators.conditions.condition import Aim, Condition, ThresholdAtom
from operators.conditions.formula import Formula, atom_of
from operators.conditions.score import Score, score_of
from operators.registry import create, price
from tests.statistical.enumeration import Bools, Floats, Ints, ints, odds
from tests.support.formulas import BETA, random_formula

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from operators.base import Operator
    from operators.svt.early import RunLooks

    Maker = Callable[[str, Condition, Aim], Operator]
    Read = Callable[[Ints], Ints]

CLOSE = 1e-9


def condition_of(
    text: str,
    thresholds: Mapping[str, int | Sequence[int]],
    *,
    places: Mapping[str, int] | None = None,
    **more: Any,
) -> Condition:
    """Return a condition; each atom is on a statistic of its own where no places are given."""
    formula = Formula.parse(text)
    places = places or {name: at for at, name in enumerate(formula.atoms)}
    atoms = {
        name: ThresholdAtom(places[name], np.atleast_1d(ints(thresholds[name])))
        for name in formula.atoms
    }
    more.setdefault("sensitivities", (1,) * (1 + max(places[name] for name in formula.atoms)))
    return Condition(formula, atoms, **more)


def repeated(condition: Condition, cells: int) -> Condition:
    """Return the same condition of one cell over many."""
    atoms = {
        name: replace(atom, thresholds=np.repeat(atom.thresholds, cells))
        for name, atom in condition.atoms.items()
    }
    return replace(condition, atoms=atoms)


@dataclass(frozen=True)
class Case:
    """A condition of one answer, its tolerances, and the values that it is enumerated on."""

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
        """Every way to fill the statistics, shape (statistics, n), of groups (.., n, members)."""
        values = np.arange(self.low, self.high + 1)
        grids = np.meshgrid(*[values] * len(self.shape), indexing="ij")
        rows, members = self.condition.statistics, self.condition.members
        flat = np.array([grid.ravel() for grid in grids]).reshape(rows, members, -1)
        return flat.transpose(0, 2, 1) if members > 1 else flat[:, 0]

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the data, one axis per statistic of a group."""
        return (self.high - self.low + 1,) * (self.condition.statistics * self.condition.members)

    @property
    def far(self) -> tuple[int, ...]:
        """How far a neighbour moves each axis."""
        return tuple(np.repeat(self.condition.sensitivities, self.condition.members).tolist())

    def least_steps(self) -> Mapping[str, int]:
        """Return k of every literal."""
        granted = dict(zip(self.condition.formula.atoms, self.tolerances, strict=True))
        return {
            one: self.condition.test(one).steps(granted[atom_of(one)])
            for one in self.condition.formula.literals
        }

    def holds(self, away: Mapping[str, int] | int) -> Bools:
        """Return where the condition, granted so much or, by literal, steps, is true of enough."""
        return holds(self.condition, self.data, away).reshape(self.shape)

    @cache  # noqa: B019  # a case lives as long as the tests
    def truths(self, promise: str = "misses") -> tuple[Bools, Bools]:
        """Return where the condition must fire and where it must not, by what is promised."""
        steps = self.least_steps()
        holds, away = self.holds(0), 1 if promise == "misses" else -1
        moved = self.holds({one: away * (k - 1) for one, k in steps.items()})
        return (holds, ~moved) if promise == "misses" else (moved, ~holds)

    @cache  # noqa: B019
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


def holds(condition: Condition, data: Ints, away: Mapping[str, int] | int = 0) -> Bools:
    """Return where a condition is true of enough groups, by definition, shape (..., answers).

    Args:
        condition: of any number of cells.
        data: shape (statistics, ..., cells).
        away: what its literals are granted, in units or, by literal, in steps.
    """
    found = {}
    for one in condition.formula.literals:
        atom, far = condition.atoms[atom_of(one)], condition.sensitivity_of(atom_of(one))
        grant = away if isinstance(away, int) else away[one] * far
        row, bound = data[atom.statistic], atom.thresholds
        found[one] = row >= bound - grant if one == atom_of(one) else row < bound + grant
    true = condition.formula.evaluate_literals(found)
    groups = true.reshape(*true.shape[:-1], -1, condition.members)
    return np.asarray(groups.sum(axis=-1) >= condition.least)


def spread(reached: Bools, sensitivities: tuple[int, ...]) -> Bools:
    """Return what is one neighbour step away or less."""
    for axis, far in enumerate(sensitivities):
        padding = [(far, far) if at == axis else (0, 0) for at in range(reached.ndim)]
        wide = np.moveaxis(np.pad(reached, padding), axis, 0)
        size = reached.shape[axis]
        near = reduce(np.logical_or, [wide[at : at + size] for at in range(2 * far + 1)])
        reached = np.moveaxis(near, 0, axis)
    return reached


def moves_of(far: Sequence[int]) -> Iterator[tuple[tuple[slice, ...], tuple[slice, ...]]]:
    """Yield where data and their neighbours are, for every way to move each axis so far."""
    for move in product(*(range(-each, each + 1) for each in far)):
        here = tuple(slice(max(0, m), min(0, m) or None) for m in move)
        yield here, tuple(slice(max(0, -m), min(0, -m) or None) for m in move)


def broken(case: Case, read: Read | None = None, steps: int | None = None) -> set[str]:
    """Return which of the three claims a score breaks, over all data and all neighbours.

    Args:
        case: what it is about.
        read: the score; the real one by default.
        steps: that it claims; the real ones by default.
    """
    score = case.score
    scores = (read or (lambda data: score.of(0, data)))(case.data).reshape(case.shape)
    true, false = case.truths()
    found = set()
    if ((scores >= 0) != true).any():
        found.add("truth")
    if (scores[false] > -(score.steps if steps is None else steps)).any():
        found.add("tolerance")
    for here, there in moves_of(case.far):
        if (np.abs(scores[here] - scores[there]) > 1).any():
            found.add("step")
    return found


REACH = {1: (12, 8, 4), 2: (5, 4, 3), 3: (3, 2, 1), 4: (1, 1, 1)}
"""By how many numbers decide an answer: thresholds, tolerances and sensitivities go so far."""


def random_cases(seed: int, count: int, *, groups: bool = False) -> list[Case]:
    """Return conditions of up to 6 literals on up to 4 statistics, many on one and the same.

    Of two or three groups each, with thresholds of their own, where there are groups.
    """
    source, cases = random.Random(seed), []
    while len(cases) < count:
        formula = random_formula(source, "abcdef"[: source.randint(1, 6)])
        atoms = len(formula.atoms)
        rows = source.randint(1, min(4, atoms))
        members = source.randint(2, 3) if groups else 1
        if rows * members not in REACH:
            continue
        reach, most, widest = REACH[rows * members]
        places = [*range(rows), *(source.randrange(rows) for _ in range(atoms - rows))]
        source.shuffle(places)
        condition = Condition(
            sensitivities=tuple(source.randint(1, widest) for _ in range(rows)),
            formula=formula,
            atoms={
                name: ThresholdAtom(
                    at, ints([source.randint(-reach, reach) for _ in range(members)])
                )
                for name, at in zip(formula.atoms, places, strict=True)
            },
            members=members,
            least=source.randint(1, members) if groups else 1,
        )
        tolerances = tuple(source.randint(0, most) for _ in range(atoms))
        edge = reach + 2 * most + widest + 1
        cases.append(Case(condition, tolerances, -edge, edge))
    return cases


def groups_of(
    text: str, thresholds: Mapping[str, Sequence[int]], least: int, tolerance: int, **more: Any
) -> Case:
    """Return a quantifier over as many groups of one statistic as there are thresholds."""
    members, names = len(next(iter(thresholds.values()))), Formula.parse(text).atoms
    more.setdefault("places", dict.fromkeys(names, 0))
    condition = condition_of(text, thresholds, members=members, least=least, **more)
    return Case(condition, (tolerance,) * len(names), -7, 7)


CASES, GROUPS = random_cases(26, 200), random_cases(2, 60, groups=True)
PROMISED, PROMISED_GROUPS = (
    [case for case in cases if case.distance() is not None] for cases in (CASES, GROUPS)
)


# --- what is decided of them


def chances(case: Case, mechanism: str, aim: Aim, make: Maker = create) -> Floats:
    """Return how likely the answer is yes, for all data."""
    operator, data = make(mechanism, case.condition, aim), case.data
    if mechanism in {"ppwlm", "dppwlm", "svt"}:  # laws that take their time
        score = case.score.of(0, data)
        _, first, back = np.unique(score, return_index=True, return_inverse=True)
    else:
        first = back = slice(None)
    found = operator.chances(0, data[:, first])
    return np.asarray(found[back].reshape(case.shape))


def loss(
    case: Case, law: Floats, distance: Callable[[Floats, Floats], Floats] = odds, edge: float = 1e-8
) -> float:
    """Return the largest distance of neighbours' laws; beyond an edge floats say nothing of it."""
    inside = np.clip(law, edge, 1 - edge)
    return max(
        float(distance(inside[here], inside[there]).max()) for here, there in moves_of(case.far)
    )


def judged(
    case: Case, mechanism: str, make: Maker = create, **more: Any
) -> tuple[float, float, float]:
    """Return the worst miss and false alarm at any data, and the worst loss per what it costs."""
    aim = replace(Aim(BETA, case.tolerances), **more)
    law = chances(case, mechanism, aim, make)
    epsilon = price(mechanism, case.condition, aim).epsilon
    must, must_not = case.truths(aim.promise)
    if aim.gaussian:
        apart = loss(case, law, lambda p, q: np.abs(ndtri(p) - ndtri(q)), 1e-9)
        lost = apart / math.sqrt(2 * epsilon)
    else:
        lost = loss(case, law) / float(epsilon)
    return float(1 - law[must].min(initial=1)), float(law[must_not].max(initial=0)), lost


def looks_loss(
    looks: RunLooks, paths: Callable[[int, int], Sequence[object]], move: object
) -> float:
    """Return the loss of two looks at an answer, by an event that moves all of a path's counts.

    Args:
        looks: at its score.
        paths: the counts of two looks, by how full two places are.
        move: what the event adds to them.
    """
    found = 0.0
    for a, b in product(range(10, 24), repeat=2):
        here = np.array(paths(a, b))
        laws = [looks.first_rings(0, each) for each in (here, here + np.array(move))]
        laws = [np.append(law, 1 - law.sum()) for law in laws]
        found = max(found, float(np.abs(np.log(laws[0] / laws[1])).max()))
    return found
