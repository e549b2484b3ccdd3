"""The exact law of early alarms: which look rings first, by the definition and by the code."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from operators.single.looks import EarlyAlarms
    from tests.statistical.enumeration import Floats, Ints

Path = tuple[int, ...]
"""Step counts of one cell, one per look."""
Twin = Literal["", "fresh", "again", "within"]

REACH = 400  # what is cut off of any threshold noise is under exp(-100)
AT = np.arange(REACH)


@dataclass(frozen=True)
class Run:
    """The looks of one cell as the enumeration sees them; a sound one, or a broken twin.

    Args:
        open_eps: of the threshold's noise.
        alarm_eps: of a question's noise.
        correction: added to the threshold.
        twin: ``fresh``: a new threshold at every look; ``again``: a cell that rang is asked again;
            ``within``: tells whether half of the last step's growth would have rung as well.
    """

    open_eps: float
    alarm_eps: float
    correction: int = 0
    twin: Twin = ""

    @property
    def both(self) -> float:
        """What a cell of a window is charged where a neighbour may pay for threshold and ring."""
        return self.open_eps + self.alarm_eps

    @property
    def dearer(self) -> float:
        """What it is charged where an event counts alike in all later steps."""
        return max(self.open_eps, self.alarm_eps)


@cache
def law(run: Run, path: Path) -> Mapping[Hashable, float]:
    """Return the probability of every outcome: the first look that rang, or -1."""
    weights = -math.expm1(-run.open_eps) * np.exp(-run.open_eps * AT)
    if run.twin == "again":
        return _again(run, path, weights)
    found = {}
    quiet = weights
    for look, step in enumerate(path):
        rings = _rings(run, step)
        if run.twin == "within":
            before = path[look - 1] if look else step
            halfway = _rings(run, (before + step) // 2)
            found[look, "early"] = float(quiet @ np.minimum(halfway, rings))
            found[look, "late"] = float(quiet @ np.maximum(rings - halfway, 0.0))
        else:
            found[look] = float(quiet @ rings)
        quiet = quiet * (1 - rings)
        if run.twin == "fresh":
            quiet = quiet.sum() * weights
    found[-1] = float(quiet.sum())
    return found


def _again(run: Run, path: Path, weights: Floats) -> Mapping[Hashable, float]:
    states = {(): weights}
    for step in path:
        rings = _rings(run, step)
        states = {
            (*said, answer): mass * (rings if answer else 1 - rings)
            for said, mass in states.items()
            for answer in (True, False)
        }
    return {said: float(mass.sum()) for said, mass in states.items()}


def _rings(run: Run, step: int) -> Floats:
    return np.exp(-run.alarm_eps * np.maximum(AT + run.correction - step, 0))


def worst_loss(ours: Mapping[Hashable, float], theirs: Mapping[Hashable, float]) -> float:
    """Return the largest logarithm of how much likelier an outcome is here than there."""
    worst = -math.inf
    for said, mass in ours.items():
        if mass < 1e-30:  # below, what was cut off could count
            continue
        other = theirs.get(said, 0.0)
        worst = max(worst, math.log(mass / other) if other > 0 else math.inf)
    return worst


def neighbours(path: Path) -> list[Path]:
    """Return the paths with one event more or less: it lies in a step and in all later ones."""
    return [
        _moved(path, range(first, len(path)), by) for first in range(len(path)) for by in (1, -1)
    ]


def forgetting(path: Path) -> list[Path]:
    """Return those where a later event makes no difference of it, as in a distinct count."""
    looks = range(len(path))
    spans = [looks[first:last] for first in looks for last in looks[first + 1 :]]
    return neighbours(path) + [_moved(path, span, by) for span in spans for by in (1, -1)]


def _moved(path: Path, looks: range, by: int) -> Path:
    return tuple(step + by * (look in looks) for look, step in enumerate(path))


def growing(path: Path) -> bool:
    """Tell whether a path is one of a count."""
    return all(before <= after for before, after in pairwise(path))


def steps_of(early: EarlyAlarms, path: Path) -> list[Ints]:
    """Return the statistics of every look that give all cells a path's step counts."""
    literal = early.condition.formula.literals[0]
    test = early.condition.test(literal)
    cells = early.condition.cells
    zero = int(test.thresholds[0]) + int(test.quantise(test.thresholds)[0] < 0)
    return [np.full((1, cells), zero + step, dtype=np.int64) for step in path]
