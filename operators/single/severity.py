"""Severity levels: several thresholds on one statistic, decided by one draw per cell.

Every level has the extremal curve of its own promise, all of them of one loss. One uniform per cell
is read against all curves, and the highest level whose curve it lies below rings: a higher level
implies the lower ones, and neighbours lose what one curve does, not the sum. Thresholds are read
off one grid of the sensitivity. The proof is in ``docs/proofs/score.md``, *Severity levels*.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np
import scipy

from accountant.costs.charges import UniformCost
from accountant.errors import ConfigError
from accountant.units import from_loss_units, to_loss_units
from operators.base import Decision, Plan, Promise
from operators.conditions.formula import atom_of
from operators.descriptors import Maker
from operators.noise.certified import exp_neg_bounds
from operators.noise.normal import Quantiles
from operators.single.abreast import Decisions
from operators.single.adapter import check_statistics, promise_of, steps_of
from operators.single.gaussian import gaussian_limit, least_mu, quantile_above
from operators.single.tslm import MOST_STEPS, Tslm, error_rates, step_down, step_up

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from operators.conditions.atoms import IntegerTest
    from operators.conditions.condition import Aim, Condition
    from operators.noise.source import NoiseSource

__all__ = ["SEVERITIES", "SeverityLevels", "crossed", "offsets_of", "steps_apart"]

MOST_SEVERITIES: Final = 7
_FAR: Final = 1 << 60
_BITS: Final = 128  # of curves while they are computed: off by less than 2^-76 everywhere
_ONE: Final = 1 << 64
_SPARE: Final = 1 << 13
"""Units of 2^-64 that every outcome has beside its share of the curves. Rounding moves an outcome
by one unit; at ``_LEAST`` and above, this much outweighs that."""

_LEAST: Final = Fraction(1, 1 << 11)
_WITHIN: Final = Fraction(1, 1 << 47)  # of both rates, more than the spare units of all outcomes


@dataclass(frozen=True, slots=True, eq=False)
class SeverityLevels:
    """The operator of an alarm with severity levels.

    Guarantee: per cell, neighbouring statistics (at most one sensitivity apart) give every set of
    outcomes (no level, or one that is the highest to ring) with probabilities within a factor
    exp(epsilon), exactly; under a Gaussian budget, outcomes are mu-GDP. Every level keeps its own
    ``max_fnr`` and ``max_fpr`` at its own threshold and tolerance, counting higher levels as it.

    Args:
        condition: of one comparison, at the first level's thresholds.
        offsets: shape (levels, cells), int64: steps from the first level up to each.
        plan: of a cell, whatever rings; its limit is what any mechanism pays for these levels.
        law: reads one draw per cell against all curves.
    """

    condition: Condition
    offsets: NDArray[np.int64]
    plan: Plan
    law: _Curves | _Normal

    def decide(self, statistics: NDArray[np.int64], noise: NoiseSource) -> Decision:
        """Decide every cell of one window; see :meth:`operators.base.Operator.decide`."""
        (reached,) = self._reached(statistics[None], noise)
        units = to_loss_units(self.plan.epsilon)
        return Decision(reached > 0, UniformCost(units, reached.size), reached)

    def decide_many(self, statistics: NDArray[np.int64], noise: NoiseSource) -> Decisions:
        """Decide many windows; see :class:`operators.single.abreast.DecidesMany`."""
        reached = self._reached(statistics, noise)
        units = np.full(reached.shape, to_loss_units(self.plan.epsilon))
        return Decisions(reached > 0, units, reached)

    def _reached(self, statistics: NDArray[np.int64], noise: NoiseSource) -> NDArray[np.int64]:
        check_statistics(self.condition, statistics[0])
        test, row = _test_of(self.condition)
        near = np.stack([test.quantise(each[row]) for each in statistics])
        steps = np.clip(near, -_FAR, _FAR) - self.offsets[:, None]
        return self.law.reached(steps.reshape(len(steps), -1), noise).reshape(near.shape)

    def chances(self, cell: int, statistics: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how likely any level rings; see :meth:`operators.base.Operator.chances`."""
        return np.asarray(self.severities(cell, statistics)[0])

    def severities(self, cell: int, statistics: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how likely each level or a higher one rings, shape (levels, n)."""
        test, row = _test_of(self.condition)
        near = np.clip(steps_of(test, cell, statistics[row]), -_FAR, _FAR)
        return self.law.chances(near - self.offsets[:, [cell]])


@dataclass(frozen=True, slots=True, eq=False)
class _Curves:
    """Extremal curves of one loss, in units of 2^-64.

    Args:
        tables: per level, the probabilities by step, increasing, and the step of the first; the
            curves are constant beyond.
    """

    tables: tuple[tuple[NDArray[np.uint64], int], ...]

    def cuts(self, steps: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return what a draw lies below for each level or a higher one to ring: they fall."""
        rows = zip(steps, self.tables, strict=True)
        own = [table[np.clip(row - low, 0, table.size - 1)] for row, (table, low) in rows]
        nested = np.maximum.accumulate(np.stack(own)[::-1])[::-1]
        return nested + _SPARE * np.arange(len(own), 0, -1, dtype=np.uint64)[:, None]

    def reached(self, steps: NDArray[np.int64], noise: NoiseSource) -> NDArray[np.int64]:
        """Return how many levels each of n cells reaches: steps have shape (levels, n)."""
        below = noise.uint64(steps.shape[1]) < self.cuts(steps)
        return np.asarray(below.sum(axis=0), np.int64)

    def chances(self, steps: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how likely each level or a higher one rings, shape (levels, n)."""
        return self.cuts(steps) / float(_ONE)


@dataclass(frozen=True, slots=True, eq=False)
class _Normal:
    """Quantiles that one exact normal draw is compared with: curves of mu-GDP."""

    lines: tuple[Quantiles, ...]

    def reached(self, steps: NDArray[np.int64], noise: NoiseSource) -> NDArray[np.int64]:
        """Return how many levels each cell reaches; see :meth:`_Curves.reached`."""
        drawn, found = noise.normal(steps.shape[1]), np.zeros(steps.shape[1], dtype=np.int64)
        for level, (line, row) in enumerate(zip(self.lines, steps, strict=True)):
            found[drawn.below(line, row)] = level + 1
        return found

    def chances(self, steps: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the law as floats; see :meth:`_Curves.chances`."""
        rows = zip(self.lines, steps, strict=True)
        own = np.stack([float(line.top) + float(line.apart) * row for line, row in rows])
        return np.asarray(scipy.special.ndtr(np.maximum.accumulate(own[::-1])[::-1]))


def crossed(aim: Aim) -> Iterator[tuple[int, int, Promise]]:
    """Yield what every level asks together with each one from it on: its number, the other's.

    A level must ring where a higher one must, with the higher one's ``max_fnr``, and must not where
    it must not itself: so any mechanism keeps that promise, too, over the steps between the two.

    Args:
        aim: with severities.

    Raises:
        ConfigError: a level's rates or tolerance cannot be kept.
    """
    own = [promise_of(each.aim(aim)) for each in aim.severities]
    rates = [error_rates(each) for each in own]
    for low, promise in enumerate(own):
        for high in range(low, len(own)):
            alpha, beta = rates[low][0], rates[high][1]
            if alpha + beta < 1:
                yield low, high, Promise(beta, promise.tolerance, alpha)


def offsets_of(condition: Condition, aim: Aim) -> tuple[NDArray[np.int64], list[Promise]]:
    """Return how many steps each level lies above the first, and all that is promised of steps.

    Thresholds are rounded down to the grid of the sensitivity that the first one lies on: what is
    read off two grids has no bounded loss. Misses stay within ``max_fnr``, at most one step of a
    tolerance is lost, and the price says so.

    Args:
        condition: of one comparison.
        aim: with severities.

    Returns:
        Shape (levels, cells), int64, and promises of so many steps.

    Raises:
        ConfigError: several comparisons, levels that are not in order in some cell, or a tolerance
            that rounding takes whole.
    """
    test, _ = _test_of(condition)
    sensitivity, names = test.sensitivity, [each.name for each in aim.severities]
    distances = np.stack([each.distances for each in aim.severities])
    offsets = steps_apart(aim, sensitivity)
    asked = []
    for low, high, promise in crossed(aim):
        quiet = (distances[low] - (2 * promise.tolerance + 1)) // sensitivity
        steps = int((offsets[high] - quiet).min())
        if steps < 1:
            raise ConfigError(
                f"severity {names[low]} is off the steps of {sensitivity} from {names[0]}, by all"
                " of its tolerance",
                hint=f"let levels lie whole multiples of {sensitivity} apart, or widen tolerance",
            )
        asked.append(replace(promise, steps=min(steps, MOST_STEPS)))
    return offsets, asked


def steps_apart(aim: Aim, step: int) -> NDArray[np.int64]:
    """Return how many whole steps each level lies above the first, shape (levels, cells).

    Args:
        aim: with severities.
        step: in units of the statistic.

    Raises:
        ConfigError: levels that are not in order, or not a step apart, in some cell.
    """
    names = [each.name for each in aim.severities]
    distances = np.stack([each.distances for each in aim.severities])
    if not 2 <= len(names) <= MOST_SEVERITIES:
        raise ConfigError(
            f"an alarm has 2 to {MOST_SEVERITIES} severity levels, not {len(names)}",
            hint="write severity: {warning: 80, critical: 100}, or a threshold without the key",
        )
    if max(distances.max(), *(2 * each.tolerance for _, _, each in crossed(aim))) >= _FAR:
        raise ConfigError("severity levels lie too far apart", hint="write smaller numbers")
    offsets = distances // step
    for at in range(1, len(names)):
        if (distances[at - 1] < 0).any() or (offsets[at] <= offsets[at - 1]).any():
            raise ConfigError(
                f"severity {names[at]} does not imply {names[at - 1]}: for every predicate it"
                f" lies {step} or more beyond it",
                hint="write levels from the least severe to the most severe",
            )
    return offsets


def _priced(condition: Condition, aim: Aim) -> Plan:
    """Return the plan of levels: the dearest of all that is asked of one curve."""
    asked = offsets_of(condition, aim)[1]
    if aim.gaussian:
        limit = max(gaussian_limit(each.steps or 0, *error_rates(each)) for each in asked)
        return Plan("tslm", from_loss_units(to_loss_units(_mu(asked) ** 2 / 2)), limit)
    test, _ = _test_of(condition)
    plans = [Tslm.priced(test, _narrowed(each)) for each in asked]
    epsilon = max(_LEAST, *(plan.epsilon for plan in plans))
    return Plan("tslm", epsilon, max(plan.limit for plan in plans))


def _planned(condition: Condition, aim: Aim) -> SeverityLevels:
    (offsets, asked), plan = offsets_of(condition, aim), _priced(condition, aim)
    missed = [promise_of(each.aim(aim)).max_fnr for each in aim.severities]
    law: _Curves | _Normal
    if aim.gaussian:
        law = _Normal(tuple(Quantiles(quantile_above(beta), _mu(asked)) for beta in missed))
    else:
        whole = _ONE - _SPARE * (len(missed) + 1)
        ratio = exp_neg_bounds(plan.epsilon, _BITS)[1]
        law = _Curves(tuple(_table(beta - _WITHIN, ratio, whole) for beta in missed))
    return SeverityLevels(condition, offsets, plan, law)


SEVERITIES: Final = Maker(_planned, _priced)
"""How levels are planned for the extremal curve, whichever budget pays."""


def _mu(asked: list[Promise]) -> Fraction:
    return max(least_mu(each.steps or 0, *error_rates(each)) for each in asked)


def _narrowed(promise: Promise) -> Promise:
    """Return what the exact curves promise, so that the spare units are within the rates."""
    alpha, beta = error_rates(promise)
    return replace(promise, max_fnr=beta - _WITHIN, max_fpr=alpha - _WITHIN)


def _table(miss: Fraction, ratio: int, whole: int) -> tuple[NDArray[np.uint64], int]:
    """Return the curve that misses so much at step 0, as parts of ``whole``, until it is flat.

    Args:
        miss: probability of not ringing at step 0.
        ratio: exp(-epsilon) in units of 2^-128, rounded up.
        whole: what probability one is, in units of 2^-64.
    """
    one = 1 << _BITS
    start = point = -(-(1 - miss).numerator * one // miss.denominator)
    below = [point * whole >> _BITS]
    while below[-1] > 0:
        point = step_down(point, ratio, one)
        below.append(point * whole >> _BITS)
    point, entries = start, below[::-1]
    while entries[-1] < whole - 1:
        point = step_up(point, ratio, one)
        entries.append(point * whole >> _BITS)
    table = np.array(entries, dtype=np.uint64)
    table.setflags(write=False)
    return table, 1 - len(below)


def _test_of(condition: Condition) -> tuple[IntegerTest, int]:
    """Return the one test of a condition, and which statistic it reads."""
    literals = condition.formula.literals
    if len(literals) > 1:
        raise ConfigError(
            f"severity levels are of one comparison; this condition comes to {len(literals)} tests",
            hint="write one comparison, as HAVING COUNT(*) > SEVERITY",
        )
    return condition.test(literals[0]), condition.atoms[atom_of(literals[0])].statistic
