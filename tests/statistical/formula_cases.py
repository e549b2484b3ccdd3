"""Conditions that formulas are tried on, and their aims."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from fractions import Fraction

from operators.conditions.condition import Aim, Condition, ThresholdAtom
from operators.conditions.formula import Formula
from tests.statistical.enumeration import ints
from tests.statistical.formula_law import (
    random_formula,
)

BETA = Fraction(1, 20)
ONE = 1 << 64
FAR = 10**6
SLACK = 1e-10
# Formulas with, per atom, its statistic and threshold; step counts below are those of channels.
TWO_OF_THREE = ("(a AND b) OR c", {"a": (0, 0), "b": (1, 0), "c": (2, 0)})
CHOICE = ("(a AND b) OR (NOT a AND c)", {"a": (0, 0), "b": (1, 0), "c": (2, 0)})
BETWEEN = ("a AND NOT b", {"a": (0, 0), "b": (0, 4)})
BETWEEN_OR = ("(a AND NOT b) OR c", {"a": (0, 0), "b": (0, 3), "c": (1, 0)})


def aim_of(text: str, steps: int = 3, **more: object) -> Aim:
    """Return an aim of k = ``steps`` (odd) for every atom, its first phase five times as wide."""
    atoms = len(Formula.parse(text).atoms)
    tolerance = (steps - 1) // 2
    aim = Aim(BETA, (tolerance,) * atoms, first_tolerances=(5 * tolerance + 2,) * atoms)
    return replace(aim, **more)  # type: ignore[arg-type]  # fields of an aim


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
            name: ThresholdAtom(at, ints([source.randint(-3, 3)])) for name, at in places.items()
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
