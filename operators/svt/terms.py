"""What a run of sparse-vector questions costs and how it is asked, as data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from accountant.arguments import NUMBER, WHOLE, expect, instance_of
from accountant.errors import ArgumentError
from accountant.units import from_loss_units
from operators.search import least
from operators.svt.difference import OneSided, TwoSided
from operators.svt.split import optimal_split

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from operators.svt.difference import Difference

__all__ = [
    "MOST_ALARMS",
    "MOST_QUESTIONS",
    "SvtPlan",
    "accuracy",
    "log_at_least",
    "log_below",
    "threshold_law",
]

MOST_ALARMS: Final = 10_000
"""Most alarms of one run."""
MOST_QUESTIONS: Final = 1_000
"""Most questions about one cell of one window."""

_FARTHEST_CORRECTION: Final = 1 << 60
_LEAST_ALARM_UNITS: Final = 2  # half of it is still above the least rate of a geometric
_TAIL: Final = 45.0  # exp(-45) is nothing to a float
_MOST_POINTS: Final = 1 << 18


@dataclass(frozen=True, slots=True)
class SvtPlan:
    """The terms of a run: one noisy threshold, ``alarms`` alarms, any number of questions.

    A question about a cell with step count s' rings iff ``s' + v >= rho + correction`` with
    rho ~ DLap(eps_1), or Geo(eps_1) where ``one_sided``, drawn once per run and v ~ Geo(rate) drawn
    for every question.

    Guarantee: let the step counts of a run's questions, which may be chosen from earlier answers,
    each differ by at most one between neighbours (and, where ``monotone``, all in one direction).
    Then a run that has rung n times so far has lost at most ``open_units + n * alarm_units``, along
    every prefix of its answers. Questions without an alarm cost nothing.
    Proof: ``docs/research/proofs/svt.md``.

    Args:
        open_units: eps_1 in loss units, at least 1: paid once, by opening the run.
        alarm_units: x = eps_2 / c in loss units, at least 2: paid by every alarm.
        alarms: c, after which the run is spent; 1 to ``MOST_ALARMS``.
        monotone: whether adding a privacy unit moves no step count of the run down, or none up.
        questions: how often a cell of one window is asked in all while the answer is negative; 1 to
            ``MOST_QUESTIONS``.
        correction: r, steps added to the threshold, within +-2^60.
        put_back: ask a negative cell again among the questions of the next window, instead of at
            once, after all others of its own.
        one_sided: the threshold's noise is never below 0: half the variance for the same loss.
            ``Svt.planned`` has it; without, this is the paper's SVT-Exp.

    Raises:
        ValueError: numbers outside these ranges.

    Source: SVT-Exp, Algorithm 2 and Theorem 3, on integers; one-sided noise is not the paper's.
    """

    open_units: int
    alarm_units: int
    alarms: int
    monotone: bool = False
    questions: int = 1
    correction: int = 0
    put_back: bool = False
    one_sided: bool = False

    def __post_init__(self) -> None:
        """Refuse terms under which something would be free or could not be drawn."""
        expect(WHOLE, open_units=self.open_units, alarm_units=self.alarm_units)
        expect(WHOLE, alarms=self.alarms, questions=self.questions, correction=self.correction)
        if self.open_units < 1 or self.alarm_units < _LEAST_ALARM_UNITS:
            raise ArgumentError(
                "a run costs at least one loss unit to open and two per alarm",
                hint="write SvtPlan.of_budget(units=to_loss_units(epsilon), alarms=2)",
            )
        if not 1 <= self.alarms <= MOST_ALARMS or not 1 <= self.questions <= MOST_QUESTIONS:
            raise ArgumentError(
                "`alarms` or `questions` is out of range",
                hint="write alarms=1, questions=1, or more",
            )
        if abs(self.correction) > _FARTHEST_CORRECTION:
            raise ArgumentError("a correction lies within 2^60 steps")

    @classmethod
    def of_budget(
        cls,
        units: int,
        alarms: int,
        *,
        monotone: bool = False,
        **more: Any,
    ) -> SvtPlan:
        """Split a budget by the optimal w; never above it, and below by less than ``alarms`` units.

        The threshold's noise is the paper's, which w is optimal for.

        Args:
            units: eps_1 + eps_2 in loss units.
            alarms: as in the class, like all others.
            monotone: as there.
            more: what else the class takes, but for ``one_sided``.

        Raises:
            ValueError: a budget that is too small for its alarms.
        """
        expect(WHOLE, units=units, alarms=alarms)
        w = optimal_split(alarms, monotone=monotone)
        each = units * w.numerator // ((w.denominator + w.numerator) * alarms)
        return cls(
            open_units=units - alarms * each,
            alarm_units=each,
            alarms=alarms,
            monotone=monotone,
            **more,
        )

    @property
    def threshold_rate(self) -> Fraction:
        """Rate of the threshold's noise per step."""
        return from_loss_units(self.open_units)

    @property
    def query_rate(self) -> Fraction:
        """Rate of a question's geometric noise per step."""
        return from_loss_units(self.alarm_units) / (1 if self.monotone else 2)

    @property
    def difference(self) -> Difference:
        """Law of a question's noise less the threshold's."""
        law = OneSided if self.one_sided else TwoSided
        return law(self.query_rate, self.threshold_rate)

    @property
    def epsilon_units(self) -> int:
        """Loss of the whole run at worst, in loss units."""
        return self.cost_units(opening=True, rung=self.alarms)

    def first_ring(self, step: int) -> float:
        """Return the probability that a run's first questions, all about one cell, ring.

        One sum over the threshold's noise, which all ``questions`` share. A float: for plans.

        Args:
            step: the cell's step count s'.

        Raises:
            ValueError: several questions against a threshold whose noise has two sides.
        """
        needed = self.correction - step
        if self.questions == 1:
            return self.difference.at_least(needed)
        if not self.one_sided:
            raise ValueError("several questions are added up over one-sided noise only")
        slow, fast = float(self.threshold_rate), float(self.query_rate)
        first = max(1, needed)  # steps that a question must add at the least noise that asks so
        reach = _TAIL / slow, (_TAIL + math.log(self.questions)) / fast
        beyond = np.arange(math.ceil(min(reach)), dtype=np.float64)
        silent = self.questions * np.log1p(-np.exp(-fast * (first + beyond)))
        asked = -math.expm1(-slow) * np.exp(-slow * beyond)
        surely = -math.expm1(-slow * (first - needed))
        return surely + (1 - surely) * float(-np.expm1(silent) @ asked)

    def first_rings(self, steps: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return :meth:`first_ring` of many step counts, shape (n,)."""
        return np.array([self.first_ring(step) for step in steps.tolist()], np.float64)

    def cost_units(self, opening: bool, rung: int) -> int:
        """Return what a stretch of the run cost, in loss units; stretches add up exactly.

        Args:
            opening: whether the run was opened in it.
            rung: alarms in it.

        Raises:
            ValueError: more alarms than the run has, or fewer than none.
        """
        if not 0 <= rung <= self.alarms:
            raise ArgumentError("`rung` is not from 0 to the alarms of the SVT run")
        return opening * self.open_units + rung * self.alarm_units


def accuracy(plan: SvtPlan, negatives: int, beta: float) -> float:
    """Return the (alpha, beta)-accuracy of a run, by its exact law.

    With probability at least 1 - beta, a run that meets ``negatives`` cells at ``s' <= -alpha`` and
    ``plan.alarms`` at ``s' >= alpha`` in the last place, each asked for the first time, and each
    negative one ``plan.questions`` times, answers all of them right: all share the threshold's
    noise, so this is one sum over it. In floats: for plans, not for promises.

    Args:
        plan: the terms.
        negatives: cells expected below the threshold, >= 0.
        beta: in (0, 1).

    Returns:
        alpha in steps, a whole number of at least 1.

    Raises:
        ValueError: fewer than no negatives, or beta outside (0, 1).

    Source: SVT-Exp, Definition 3 and Theorem 4, whose bound this number meets or beats.
    """
    expect(instance_of(SvtPlan), plan=plan)
    expect(WHOLE, negatives=negatives)
    expect(NUMBER, beta=beta)
    if negatives < 0 or not 0 < beta < 1:
        raise ArgumentError(
            "accuracy needs negatives >= 0 and beta in (0, 1)",
            hint="write accuracy(plan, negatives=20, beta=0.05)",
        )
    noise, masses = threshold_law(plan)
    asked = negatives * plan.questions

    def keeps(alpha: int) -> bool:
        quiet = log_below(plan, noise + (plan.correction + alpha))
        ring = log_at_least(plan, noise + (plan.correction - alpha))
        # 0 * -inf is no answer: nobody who isn't asked is answered wrong.
        right = plan.alarms * ring + (asked * quiet if asked else 0.0)
        return float(masses @ -np.expm1(right)) <= beta

    return float(least(keeps, 0, 1))


def threshold_law(
    plan: SvtPlan, beyond: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return points of the threshold's noise and their masses; thinned out where there are many.

    Args:
        plan: the terms.
        beyond: steps to go on behind the point where hardly any mass is left.
    """
    rate = float(plan.threshold_rate)
    reach = math.ceil(_TAIL / rate) + beyond
    stride = 1 + 2 * reach // _MOST_POINTS
    half = np.arange(0.0, reach + stride, stride)
    points = half if plan.one_sided else np.concatenate([-half[:0:-1], half])
    masses = np.exp(-rate * np.abs(points))
    return points, masses / masses.sum()


def log_at_least(plan: SvtPlan, needed: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ln P[v >= needed]."""
    return -float(plan.query_rate) * np.maximum(needed, 0.0)


def log_below(plan: SvtPlan, needed: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ln P[v < needed], -inf where a question always rings."""
    ring = np.exp(log_at_least(plan, needed))
    return np.log1p(-ring, out=np.full(ring.shape, -np.inf), where=ring < 1)
