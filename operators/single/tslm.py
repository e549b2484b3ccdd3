"""TSLM: the threshold decision that pays no more than theory asks for.

A table of exact probabilities over the step count s' of an integer test. The table is the extremal
curve of epsilon-differential privacy through the promised miss probability, rounded so that every
two neighbouring entries satisfy the definition in exact integers. The proof is in
``docs/research/proofs/tslm.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.arguments import NUMBER, WHOLE, expect, instance_of
from accountant.costs.charges import UniformCost
from accountant.errors import ArgumentError, ConfigError
from accountant.units import UNITS_PER_EPSILON, from_loss_units, to_loss_units
from operators.base import Decision, Plan, Promise
from operators.conditions.atoms import IntegerTest
from operators.noise.certified import exp_neg_bounds
from operators.noise.source import SOURCE
from operators.search import least, passing_zero
from operators.single.batched import EachByItself

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from operators.noise.source import NoiseSource

__all__ = [
    "MOST_STEPS",
    "Tslm",
    "error_rates",
    "extremal_table",
    "planned_steps",
    "room_of",
    "step_down",
    "step_up",
    "theoretical_limit",
]

MOST_STEPS: Final = 100_000
"""Most steps between "must fire" and "must not fire" that are planned for."""

_ONE: Final = 1 << 64  # probability one
_RATE_BITS: Final = 128
_LEAST_RATE: Final = Fraction(1, 10**12)
_MOST_BEYOND: Final = 100_000  # entries further out; constant from there on, which costs nothing


@dataclass(frozen=True, slots=True, eq=False)
class Tslm(EachByItself):
    """The extremal curve of one integer test, as a table of dyadic probabilities.

    ``P[fire | s'] = probabilities[s' - lowest] / 2^64`` inside the table, and as at its nearer end
    beyond it, where s' is the step count of ``IntegerTest.quantise``. Every cell is one independent
    Bernoulli of that probability.

    Guarantee: per cell, neighbouring statistics (at most ``sensitivity`` apart) give every outcome
    with probabilities within a factor exp(epsilon), exactly; with the table of
    :mod:`operators.single.gaussian` the outcomes are mu-GDP instead. A cell whose test is true is
    missed with probability at most ``max_fnr``; one at ``s' <= -k`` fires with probability at most
    ``max_fpr``; both refer to the bounded statistic of a decided window. No mechanism keeps that
    promise for less than ``plan.limit``.

    Args:
        test: the integer test.
        plan: worst-case loss and its limit.
        units: the plan's epsilon in loss units.
        probabilities: shape (entries,), uint64, in units of 2^-64, increasing.
        lowest: step count of the first entry.

    Source: MIDE, Algorithm 1 (threshold shift) and Definition 3 (beta-false negative rate), with
    the Laplace law replaced by the extremal one; optimality as in ``docs/research/proofs/tslm.md``.
    """

    test: IntegerTest
    plan: Plan
    units: int
    probabilities: NDArray[np.uint64] = field(repr=False)
    lowest: int

    @classmethod
    def planned(cls, test: IntegerTest, promise: Promise) -> Tslm:
        """Find the least whole number of loss units that keeps the promise, and its table.

        Args:
            test: the integer test.
            promise: what the analyst asked for.

        Raises:
            ConfigError: a promise that cannot be kept, is met by guessing, or spans too many steps.
        """
        plan = cls.priced(test, promise)
        units = to_loss_units(plan.epsilon)
        steps, _, beta = room_of(test, promise)
        table, lowest = extremal_table(1 - beta, plan.epsilon, reach=steps)
        table.setflags(write=False)
        return cls(test=test, plan=plan, units=units, probabilities=table, lowest=lowest)

    @classmethod
    def priced(cls, test: IntegerTest, promise: Promise) -> Plan:
        """Return the plan of :meth:`planned` without its table, which takes far longer to make."""
        room = room_of(test, promise)
        limit = theoretical_limit(*room)
        units = _least_units(*room, start=round(limit * UNITS_PER_EPSILON))
        return Plan(mechanism="tslm", epsilon=from_loss_units(units), limit=limit)

    def law(self, statistics: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return every cell's exact probability of firing, in units of 2^-64.

        Private as the statistics are: for the draw, tests and simulation; never released.

        Args:
            statistics: shape (cells,), int64.

        Returns:
            Shape (cells,), uint64.
        """
        return self._at(self.test.quantise(statistics))

    def chances(self, steps: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the law; see :meth:`operators.single.adapter.CellOperator.chances`."""
        return self._at(steps) / float(_ONE)

    def decide(self, statistics: NDArray[np.int64], noise: NoiseSource) -> Decision:
        """Decide every cell, by one 64-bit draw each against the table.

        See :meth:`operators.single.adapter.CellOperator.decide`.
        """
        expect(SOURCE, noise=noise)
        fired = noise.bernoulli(self.law(statistics))
        return Decision(fired=fired, cost=UniformCost(units=self.units, cells=self.test.cells))

    def _at(self, steps: NDArray[np.int64]) -> NDArray[np.uint64]:
        index = np.clip(steps, self.lowest, self.lowest + self.probabilities.size - 1)
        index -= self.lowest
        return self.probabilities[index]


def room_of(test: IntegerTest, promise: Promise) -> tuple[int, Fraction, Fraction]:
    """Check a promise and return what its price follows from: steps, alpha and beta.

    Args:
        test: the integer test.
        promise: what the analyst asked for.

    Raises:
        ConfigError: as :func:`error_rates` and :func:`planned_steps`.
    """
    expect(instance_of(IntegerTest), test=test)
    alpha, beta = error_rates(promise)
    return planned_steps(test, promise), alpha, beta


def planned_steps(test: IntegerTest, promise: Promise) -> int:
    """Return the steps of a promise: its own, or ``test.steps(promise.tolerance)``.

    Args:
        test: the integer test.
        promise: what the analyst asked for.

    Raises:
        ConfigError: more than ``MOST_STEPS``.
    """
    steps = promise.steps or test.steps(promise.tolerance)
    if steps > MOST_STEPS:
        raise ConfigError(
            f"a tolerance of {promise.tolerance} is {steps} steps of the sensitivity; the limit is"
            f" {MOST_STEPS}",
            hint="declare a coarser resolution for the summed field, or a smaller tolerance",
        )
    return steps


def error_rates(promise: Promise) -> tuple[Fraction, Fraction]:
    """Check a promise and return ``(alpha, beta)``: its false-alarm and miss bounds.

    Args:
        promise: what the analyst asked for; without ``max_fpr``, ``max_fnr`` stands for both.

    Raises:
        ConfigError: rates outside (0, 1), finer than 1e-12, or met by guessing (alpha + beta >= 1);
            a negative tolerance.
    """
    expect(instance_of(Promise), promise=promise)
    alpha = promise.max_fnr if promise.max_fpr is None else promise.max_fpr
    beta = promise.max_fnr
    for name, rate in (("max_fnr", beta), ("max_fpr", alpha)):
        if not 0 < rate < 1:
            raise ConfigError(f"{name} is not between 0 and 1", hint=f"write {name}: 0.05")
        if rate < _LEAST_RATE:
            raise ConfigError(
                f"{name} is below 1e-12",
                hint=f"write {name}: 1e-12 or more",
            )
    if alpha + beta >= 1:
        raise ConfigError(
            "max_fnr and max_fpr (max_fnr where it is absent) add up to 1 or more, so chance alone"
            " meets them",
            hint="lower max_fnr, or declare a max_fpr below 1 - max_fnr",
        )
    if promise.tolerance < 0:
        raise ConfigError("the tolerance is negative", hint="write tolerance: 0 or more")
    return alpha, beta


def theoretical_limit(steps: int, alpha: Fraction | float, beta: Fraction | float) -> float:
    """Return the least epsilon of any mechanism for a promise over ``steps`` steps.

    The map p -> min(e^eps p, 1 - e^-eps (1 - p)) is the most that a firing probability can rise per
    step; iterated from alpha it must reach 1 - beta. It multiplies p while p <= 1 / (1 + e^eps) and
    shrinks 1 - p from there on, hence a closed form, solved for eps by halving.

    Args:
        steps: k >= 1.
        alpha: bound on firing at s' = -k.
        beta: bound on missing at s' = 0; alpha + beta < 1.
    """
    expect(WHOLE, steps=steps)
    expect(NUMBER, alpha=alpha, beta=beta)
    if not (steps > 0 and alpha > 0 and beta > 0 and alpha + beta < 1):
        raise ArgumentError(
            "steps are 1 or more; alpha and beta are above 0, and below 1 together",
            hint="write theoretical_limit(19, Fraction(1, 20), Fraction(1, 20))",
        )
    return _limit(steps, float(alpha), float(beta))


@lru_cache(maxsize=4096)  # a search asks for the same promise hundreds of times
def _limit(steps: int, a: float, b: float) -> float:
    goal = math.log1p(-b) - math.log(b)
    # From p = a, ln(p) rises by eps a step until p passes 1 / (1 + e^eps).

    def excess(eps: float) -> float:
        rises = max(0, math.ceil((-math.log(a) - _softplus(eps)) / eps))
        if rises >= steps:
            log_p = math.log(a) + steps * eps
            return log_p - math.log(-math.expm1(log_p)) - goal
        log_p = math.log(a) + rises * eps
        log_rest = math.log(-math.expm1(log_p)) - (steps - rises) * eps
        return math.log(-math.expm1(log_rest)) - log_rest - goal

    one_step = max(math.log1p(-b) - math.log(a), math.log1p(-a) - math.log(b))
    if steps == 1:
        return one_step
    low = one_step / steps  # no step raises ln(p) or lowers ln(1 - p) by more than eps
    return passing_zero(excess, low * (1 - 1e-12), one_step)


def extremal_table(
    anchor: Fraction, epsilon: Fraction, *, reach: int
) -> tuple[NDArray[np.uint64], int]:
    """Return the extremal curve through ``anchor`` at s' = 0, as exact integers.

    Every two neighbouring entries satisfy both inequalities of epsilon-differential privacy in
    integers: the recursions divide by a certified upper bound of exp(-epsilon) and round inwards.

    Args:
        anchor: probability of firing at s' = 0, rounded up to units of 2^-64.
        epsilon: loss per step, > 0.
        reach: entries that the table needs below s' = 0.

    Returns:
        The table, shape (entries,), uint64, in units of 2^-64, and the step count of its first
        entry. It ends where the recursion stops moving (or far out); beyond, it is constant.
    """
    ratio = exp_neg_bounds(epsilon, _RATE_BITS)[1]
    start = _anchored(anchor)
    below = _run(start, ratio, step_down, reach + _MOST_BEYOND)
    above = _run(start, ratio, step_up, _MOST_BEYOND)
    table = np.array([*reversed(below), start, *above], dtype=np.uint64)
    return table, -len(below)


def _least_units(steps: int, alpha: Fraction, beta: Fraction, *, start: int) -> int:
    """Return the least whole epsilon (loss units) whose table has P(-k) <= alpha.

    P(-k) falls as epsilon rises, integers and all (each recursion is monotone in both its
    arguments), so a bracket around the float solution and bisection find the least exactly.
    """
    ceiling = alpha.numerator * _ONE // alpha.denominator
    anchor = _anchored(1 - beta)

    def fits(units: int) -> bool:
        ratio = exp_neg_bounds(from_loss_units(units), _RATE_BITS)[1]
        reached = anchor
        for _ in range(steps):
            following = step_down(reached, ratio)
            if following == reached:
                break
            reached = following
        return reached <= ceiling

    return least(fits, 0, max(1, start))  # at no loss P(-k) = P(0), which is above alpha


def _anchored(anchor: Fraction) -> int:
    """Round a probability up to units of 2^-64."""
    return -(-anchor.numerator * _ONE // anchor.denominator)


def step_down(p: int, ratio: int, one: int = _ONE) -> int:
    """Return the least neighbour below ``p``: fires at least q p, misses at most (1 - p) / q.

    Args:
        p: probability of firing, in units of ``1 / one``.
        ratio: q in units of 2^-128, rounded up.
        one: probability one.
    """
    return max(-(-p * ratio >> _RATE_BITS), one - ((one - p) << _RATE_BITS) // ratio)


def step_up(p: int, ratio: int, one: int = _ONE) -> int:
    """Return the largest neighbour above ``p``: the mirror image of :func:`step_down`."""
    return min((p << _RATE_BITS) // ratio, one + (-(one - p) * ratio >> _RATE_BITS))


def _run(start: int, ratio: int, step: Callable[[int, int], int], most: int) -> list[int]:
    """Iterate ``step`` until it stops moving, ``most`` times at most; leave out ``start``."""
    entries: list[int] = []
    current = start
    while len(entries) < most and (following := step(current, ratio)) != current:
        entries.append(following)
        current = following
    return entries


def _softplus(x: float) -> float:
    """Return ln(1 + e^x)."""
    return x + math.log1p(math.exp(-x))
