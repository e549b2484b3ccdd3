"""Severity levels: several thresholds on one statistic, decided by one draw per cell.

Every level has the extremal curve of its own promise, all of them of one loss. One uniform per cell
is read against all curves, and the highest level whose curve it lies below rings: a higher level
implies the lower ones, and neighbours lose what one curve does, not the sum. Thresholds are read
off one grid of the sensitivity. The proof is in ``docs/research/proofs/score.md``, *Severity
levels*.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, starmap
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import scipy

from accountant.costs.charges import UniformCost
from accountant.errors import ConfigError
from accountant.units import from_loss_units, to_loss_units
from operators.base import Decision, Plan, Promise
from operators.descriptors import Maker
from operators.noise.certified import exp_neg_bounds
from operators.noise.normal import Quantiles
from operators.single.adapter import check_statistics, only_test, promise_of
from operators.single.batched import Decisions
from operators.single.gaussian import gaussian_limit, least_mu, quantile_above
from operators.single.tslm import MOST_STEPS, Tslm, error_rates, step_down, step_up

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from operators.conditions.atoms import IntegerTest
    from operators.conditions.condition import Aim, Condition
    from operators.noise.source import NoiseSource

__all__ = ["SEVERITIES", "SeverityLevels", "crossed", "nested", "steps_apart"]

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
        """Decide many windows; see :class:`operators.single.batched.DecidesMany`."""
        reached = self._reached(statistics, noise)
        units = np.full(reached.shape, to_loss_units(self.plan.epsilon))
        return Decisions(reached > 0, units, reached)

    def _reached(self, statistics: NDArray[np.int64], noise: NoiseSource) -> NDArray[np.int64]:
        check_statistics(self.condition, statistics[0])
        windows, _, cells = statistics.shape
        steps = self._steps(np.tile(np.arange(cells), windows), statistics)
        return self.law.reached(steps, noise).reshape(windows, cells)

    def _steps(self, cells: NDArray[np.intp], statistics: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many steps n cells are above each level, shape (levels, n).

        Args:
            cells: shape (n,): which.
            statistics: shape (statistics, n), or by window.
        """
        test, row = _test_of(self.condition)
        near = test.at(cells).quantise(statistics[..., row, :].reshape(-1))
        return np.clip(near, -_FAR, _FAR) - self.offsets[:, cells]

    def chances(self, cell: int, statistics: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how likely any level rings; see :meth:`operators.base.Operator.chances`."""
        return np.asarray(self.severities(cell, statistics)[0])

    def severities(self, cell: int, statistics: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how likely each level or a higher one rings, shape (levels, n)."""
        return self.law.chances(self._steps(np.full(statistics.shape[1], cell), statistics))


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
        return nested(own) + _SPARE * np.arange(len(own), 0, -1, dtype=np.uint64)[:, None]

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
        own = [float(line.top) + float(line.apart) * row for line, row in rows]
        return np.asarray(scipy.special.ndtr(nested(own)))


def nested(own: list[NDArray[Any]]) -> NDArray[Any]:
    """Return, level by level, the largest of what is said of it and of all higher ones.

    Args:
        own: of every level, shape (n,).

    Returns:
        Shape (levels, n).
    """
    return np.asarray(np.maximum.accumulate(own[::-1])[::-1])


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


def _asked(
    condition: Condition, aim: Aim
) -> tuple[NDArray[np.int64], list[tuple[int, Fraction, Fraction]]]:
    """Return how many steps each level lies above the first, and all that is promised of steps.

    Thresholds are rounded down to the grid of the sensitivity that the first one lies on: what is
    read off two grids has no bounded loss. Misses stay within ``max_fnr``, at most one step of a
    tolerance is lost, and the price says so.

    Args:
        condition: of one comparison.
        aim: with severities.

    Returns:
        Shape (levels, cells), int64, and steps, alpha and beta of everything promised.

    Raises:
        ConfigError: several comparisons, levels that are not in order in some cell, or a tolerance
            that rounding takes whole.
    """
    sensitivity, levels = _test_of(condition)[0].sensitivity, aim.severities
    offsets, rooms = steps_apart(aim, sensitivity), []
    for low, high, promise in crossed(aim):
        quiet = (levels[low].distances - (2 * promise.tolerance + 1)) // sensitivity
        steps = int((offsets[high] - quiet).min())
        if steps < 1:
            raise ConfigError(
                f"the threshold of severity {levels[low].name} does not differ from that of"
                f" {levels[0].name} by a multiple of {sensitivity}",
                hint=f"write thresholds that differ by multiples of {sensitivity}",
            )
        rooms.append((min(steps, MOST_STEPS), *error_rates(promise)))
    return offsets, rooms


def steps_apart(aim: Aim, step: int) -> NDArray[np.int64]:
    """Return how many whole steps each level lies above the first, shape (levels, cells).

    Args:
        aim: with severities.
        step: in units of the statistic.

    Raises:
        ConfigError: levels that are not in order, or not a step apart, in some cell.
    """
    levels = aim.severities
    distances = np.stack([each.distances for each in levels])
    if not 2 <= len(levels) <= MOST_SEVERITIES:
        raise ConfigError(
            f"an alarm has 2 to {MOST_SEVERITIES} severity levels, not {len(levels)}",
            hint="write severity: {warning: 80, critical: 100}, or remove severity",
        )
    if max(distances.max(), *(2 * each.tolerance for _, _, each in crossed(aim))) >= _FAR:
        raise ConfigError(
            "the thresholds of severity levels differ too much", hint="write smaller numbers"
        )
    offsets = distances // step
    for (low, below), (high, above) in pairwise(zip(levels, offsets, strict=True)):
        if (low.distances < 0).any() or (above <= below).any():
            raise ConfigError(
                f"the threshold of severity {high.name} is not {step} or more beyond that of"
                f" {low.name} in every group",
                hint="write levels from the least severe to the most severe",
            )
    return offsets


def _priced(condition: Condition, aim: Aim) -> Plan:
    """Return the plan of levels: the dearest of all that is asked of one curve."""
    rooms = _asked(condition, aim)[1]
    if aim.gaussian:
        units = to_loss_units(max(starmap(least_mu, rooms)) ** 2 / 2)
        return Plan("tslm", from_loss_units(units), max(starmap(gaussian_limit, rooms)))
    test, _ = _test_of(condition)
    # The spare units are within the rates: the exact curves promise less of both.
    plans = [
        Tslm.priced(test, Promise(beta - _WITHIN, 0, alpha - _WITHIN, steps))
        for steps, alpha, beta in rooms
    ]
    epsilon = max(_LEAST, *(plan.epsilon for plan in plans))
    return Plan("tslm", epsilon, max(plan.limit for plan in plans))


def _planned(condition: Condition, aim: Aim) -> SeverityLevels:
    (offsets, rooms), plan = _asked(condition, aim), _priced(condition, aim)
    missed = [each.aim(aim).max_fnr for each in aim.severities]
    law: _Curves | _Normal
    if aim.gaussian:
        mu = max(starmap(least_mu, rooms))
        law = _Normal(tuple(Quantiles(quantile_above(beta), mu) for beta in missed))
    else:
        whole = _ONE - _SPARE * (len(missed) + 1)
        ratio = exp_neg_bounds(plan.epsilon, _BITS)[1]
        law = _Curves(tuple(_table(beta - _WITHIN, ratio, whole) for beta in missed))
    return SeverityLevels(condition, offsets, plan, law)


SEVERITIES: Final = Maker(_planned, _priced)
"""How levels are planned for the extremal curve, whichever budget pays."""


def _table(miss: Fraction, ratio: int, whole: int) -> tuple[NDArray[np.uint64], int]:
    """Return the curve that misses so much at step 0, as parts of ``whole``, until it is flat.

    Args:
        miss: probability of not ringing at step 0.
        ratio: exp(-epsilon) in units of 2^-128, rounded up.
        whole: what probability one is, in units of 2^-64.
    """
    one = 1 << _BITS
    start = -(-(1 - miss).numerator * one // miss.denominator)

    def run(step: Callable[[int, int, int], int], last: int) -> list[int]:
        point, found = start, [start * whole >> _BITS]
        while found[-1] != last:
            point = step(point, ratio, one)
            found.append(point * whole >> _BITS)
        return found

    below, above = run(step_down, 0), run(step_up, whole - 1)
    table = np.array([*below[:0:-1], *above], dtype=np.uint64)
    table.setflags(write=False)
    return table, 1 - len(below)


def _test_of(condition: Condition) -> tuple[IntegerTest, int]:
    hint = "write one comparison, as HAVING COUNT(*) > SEVERITY"
    return only_test(condition, "severity levels need one comparison", hint)
