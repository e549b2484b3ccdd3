"""The SVT-Exp paper's Figures 7 and 8 and Table 5: how well the top c of a list are found.

Parameters are the paper's: epsilon from 0.01 to 2, c = 50 (5 for Adult), alpha = 0, k = floor(m /
c), one threshold noise a run (no resampling), 100 runs. What it leaves open, the traversals of the
queue after which a run ends, is 100 here, and varied; 1 is a run without appending.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np

from benchmarks.papers.svt.methods import BEST, methods, shares
from benchmarks.papers.svt.trials import CAPS, best_possible, run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from benchmarks.papers.svt.data import Scores

EPSILONS: Final = (0.01, 0.05, 0.1, 0.5, 1.0, 2.0)
TRAVERSALS: Final = 100
NO_APPEND: Final = 1
ADDED: Final = "adult-middle"
"""A data set that is shown and not counted: it was added when the others had been seen."""
BOUND: Final = "ranking, 1/eps2"
SCALED_BOUND: Final = "ranking, c/eps2"
PRINTED_OPTIMAL: Final = {
    0.01: 35450.45, 0.05: 7147.15, 0.1: 2803.30, 1.0: 280.78, 2.0: 138.89
}  # fmt: skip
PRINTED_MEAN: Final = {0.01: 5332.08, 0.05: 1046.42, 0.1: 523.21, 1.0: 52.32, 2.0: 26.16}

RIVALS: Final = ("SVT-Lap", "SVT-Gau", "SVT-Exp, none")
"""Whom SVT-Exp with the optimal correction and appending is to beat."""

Results: TypeAlias = "dict[tuple[str, float], dict[str, NDArray[np.float64]]]"
"""NCR, shape (runs, caps), by data set and epsilon, then by method."""


@dataclass(frozen=True, slots=True)
class Duel:
    """One method, SVT-Exp with the optimal correction, against another.

    Args:
        data: name of the data set.
        epsilon: of the run.
        rival: name of the other method.
        ours: mean of the one.
        theirs: mean of the other.
        error: standard error of the difference.
    """

    data: str
    epsilon: float
    rival: str
    ours: float
    theirs: float
    error: float

    @property
    def ahead(self) -> bool:
        """Whether ours is better by more than two standard errors."""
        return self.ours - self.theirs > 2 * self.error

    @property
    def behind(self) -> bool:
        """Whether ours is worse by more than two standard errors."""
        return self.theirs - self.ours > 2 * self.error


def measured(
    data: Mapping[str, Scores],
    runs: int,
    rng: np.random.Generator,
    *,
    epsilons: Sequence[float] = EPSILONS,
) -> Results:
    """Run every method on every data set at every epsilon.

    Args:
        data: by name.
        runs: of each.
        rng: of noise and order.
        epsilons: of a whole run.
    """
    found: Results = {}
    for name, scores in data.items():
        for epsilon in epsilons:
            every = methods(scores, epsilon)
            one = {each: run(scores, method, runs, rng) for each, method in every.items()}
            _, second = shares("exp", scores.alarms, epsilon, monotone=True)
            one[BOUND] = best_possible(scores, 1 / second, runs, rng)
            one[SCALED_BOUND] = best_possible(scores, scores.alarms / second, runs, rng)
            found[name, epsilon] = one
    return found


def duels(
    found: Results,
    rivals: Sequence[str],
    cap: int,
    *,
    ours: str = BEST,
) -> list[Duel]:
    """Compare one method with others in every case.

    Args:
        found: the runs.
        rivals: names of the others.
        cap: traversals, of ``CAPS``.
        ours: name of the one.
    """
    at = CAPS.index(cap)
    result = []
    for (name, epsilon), every in found.items():
        mine = every[ours][:, at]
        for rival in rivals:
            theirs = every[rival][:, at]
            error = np.sqrt(mine.var() / mine.size + theirs.var() / theirs.size)
            means = float(mine.mean()), float(theirs.mean())
            result.append(Duel(name, epsilon, rival, *means, float(error)))
    return result


def average(found: Results, name: str, cap: int = TRAVERSALS) -> float:
    """Return the mean NCR of one method over all cases, after so many traversals."""
    at = CAPS.index(cap)
    return float(np.mean([each[name][:, at].mean() for each in found.values()]))


def counted(found: Results) -> Results:
    """Return the cases that are counted: those of every data set but the one added later."""
    return {key: each for key, each in found.items() if key[0] != ADDED}


def higher(cases: Sequence[Duel]) -> int:
    """Return in how many cases ours is better."""
    return sum(each.ours > each.theirs for each in cases)


def ahead(cases: Sequence[Duel]) -> int:
    """Return in how many cases ours is better beyond sampling error."""
    return sum(each.ahead for each in cases)


def behind(cases: Sequence[Duel]) -> int:
    """Return in how many cases ours is worse beyond sampling error."""
    return sum(each.behind for each in cases)


def table_5(epsilon: float, split: Literal["exp", "lap"], factor: int) -> tuple[float, float]:
    """Return the scales that the paper's Table 5 may rest on, at c = 50.

    Args:
        epsilon: of the run.
        split: whose w of its Table 4.
        factor: 1 for noise of the scale c / epsilon_2, 2 for its Algorithm 2's 2c / epsilon_2.

    Returns:
        The mean of the query noise, which is the mean correction, and the threshold noise's scale.
    """
    first, second = shares(split, 50, epsilon, monotone=False)
    return factor * 50 / second, 1 / first


def needed_negatives(correction: float, query_scale: float, threshold_scale: float) -> float:
    """Return the k for which a correction is optimal at alpha = 0: Gamma(r) = k / (k + 1).

    Args:
        correction: r > 0.
        query_scale: of the exponential noise.
        threshold_scale: of the Laplace noise, another one.
    """
    r, s, b = correction, query_scale, threshold_scale
    above = exp(-r / s) * s * s / (s * s - b * b) - exp(-r / b) * b / (2 * (s - b))
    return 1 / above - 1
