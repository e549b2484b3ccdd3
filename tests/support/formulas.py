"""Conditions and aims of formulas for tests."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from operators.conditions.condition import Aim, Condition, ThresholdAtom
from operators.conditions.formula import Formula

if TYPE_CHECKING:
    import random

BETA = Fraction(1, 20)
FORMULAS = ("tslm", "probe", "probe-ent")


def random_formula(source: random.Random, names: str) -> Formula:
    """Return a random formula over some names that is not constant."""

    def written(depth):
        if depth == 0 or source.random() < 0.3:
            name = source.choice(names)
            return name if source.random() < 0.7 else f"NOT {name}"
        parts = [written(depth - 1) for _ in range(source.randint(2, 3))]
        text = f"({source.choice([' AND ', ' OR ']).join(parts)})"
        return text if source.random() < 0.8 else f"NOT {text}"

    while True:
        try:
            return Formula.parse(written(3))
        except ValueError:  # it is constant
            continue


def condition(
    text: str, cells: int = 1, *, statistics: tuple[int, ...] = (), sensitivity: int = 1
) -> Condition:
    """Return a condition with all thresholds at 100, each atom on a statistic of its own."""
    formula = Formula.parse(text)
    where = statistics or tuple(range(len(formula.atoms)))
    atoms = {
        name: ThresholdAtom(at, np.full(cells, 100, dtype=np.int64))
        for name, at in zip(formula.atoms, where, strict=True)
    }
    return Condition(formula, atoms, (sensitivity,) * (max(where) + 1))


def aim(atoms: int, tolerance: int = 5, **more: object) -> Aim:
    """Return an aim of one tolerance for all atoms, its first phase six times as wide."""
    plain = Aim(BETA, (tolerance,) * atoms, first_tolerances=(6 * tolerance,) * atoms)
    return replace(plain, **more)  # type: ignore[arg-type]  # fields of an aim
