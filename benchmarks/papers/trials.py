"""A mechanism run many times on the same cells, and what it costs and gets wrong."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from accountant.costs.charges import UniformCost
from accountant.costs.levels import LevelCosts
from accountant.costs.minentropy import min_entropy_levels
from accountant.units import UNITS_PER_EPSILON

if TYPE_CHECKING:
    from collections.abc import Callable

    from operators.base import Decision

    Decide: TypeAlias = Callable[[], "Outcome"]

_Floats: TypeAlias = NDArray[np.float64]

_NODES = 20_000  # of the min-entropy search


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """One run.

    Args:
        fired: which cells ring, shape (cells,).
        levels: epsilons that cells have lost, shape (levels,).
        counts: how many cells lost each, shape (levels,).
    """

    fired: NDArray[np.bool_]
    levels: _Floats
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, fired: NDArray[np.bool_], lost: _Floats) -> Outcome:
        """Return the outcome in which each cell lost its own epsilon, shape (cells,)."""
        levels, counts = np.unique(lost, return_counts=True)
        return cls(fired, levels, counts)


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """Many runs of one mechanism on one query.

    Args:
        worst: epsilon of the dearest cell (the papers' ex-post epsilon), shape (runs,).
        mean: mean epsilon of the cells, shape (runs,).
        entropy: normalised min-entropy of the cells' epsilons, shape (runs,).
        missed: false negatives, shape (runs,).
        rung: false positives, shape (runs,).
        positives: cells whose condition is true.
        negatives: the others.
        beyond: false positives among cells that lie beyond the tolerance, shape (runs,).
        far: how many such cells there are; 0 where it was not asked.
    """

    worst: _Floats
    mean: _Floats
    entropy: _Floats
    missed: NDArray[np.int64]
    rung: NDArray[np.int64]
    positives: int
    negatives: int
    beyond: NDArray[np.int64]
    far: int

    @property
    def fnr(self) -> float:
        """False negatives over positives, as the papers average them; NaN without positives."""
        return float(self.missed.mean()) / self.positives if self.positives else math.nan

    @property
    def fpr(self) -> float:
        """False positives over negatives, those within the tolerance included."""
        return float(self.rung.mean()) / self.negatives if self.negatives else math.nan

    @property
    def far_fpr(self) -> float:
        """False positives over negatives, both beyond the tolerance; NaN where there is none."""
        return float(self.beyond.mean()) / self.far if self.far else math.nan

    def value(self, measure: str) -> float:
        """Return the mean over the runs of ``worst``, ``mean`` or ``entropy``, or a rate."""
        if measure in {"fnr", "fpr", "far_fpr"}:
            return float(getattr(self, measure))
        return float(getattr(self, measure).mean())


def outcome(decision: Decision) -> Outcome:
    """Return what an operator decided, with its costs as epsilons."""
    cost = decision.cost
    if isinstance(cost, UniformCost):
        levels, counts = [cost.units], np.array([cost.cells])
    elif isinstance(cost, LevelCosts):
        levels, counts = list(cost.levels), np.bincount(cost.index, minlength=len(cost.levels))
    else:
        raise TypeError("costs are uniform or by level")
    return Outcome(decision.fired, np.array(levels, dtype=np.float64) / UNITS_PER_EPSILON, counts)


def measure(
    decide: Decide, truth: NDArray[np.bool_], runs: int, *, far: NDArray[np.bool_] | None = None
) -> Measured:
    """Run a mechanism and compare it with the truth.

    Args:
        decide: decides all cells once, with noise of its own.
        truth: which cells should ring, shape (cells,).
        runs: how often.
        far: which cells should not, tolerance granted, shape (cells,); ``None`` leaves them out.
    """
    out = np.zeros_like(truth) if far is None else far
    done = [decide() for _ in range(runs)]
    return Measured(
        worst=np.array([each.levels[each.counts > 0].max() for each in done]),
        mean=np.array([each.levels @ each.counts / truth.size for each in done]),
        entropy=np.array(
            [
                min_entropy_levels(each.levels, each.counts, node_limit=_NODES).normalised
                for each in done
            ]
        ),
        missed=np.array([np.count_nonzero(truth & ~each.fired) for each in done]),
        rung=np.array([np.count_nonzero(each.fired & ~truth) for each in done]),
        positives=int(truth.sum()),
        negatives=int(truth.size - truth.sum()),
        beyond=np.array([np.count_nonzero(each.fired & out) for each in done]),
        far=int(out.sum()),
    )
