"""The convex programme behind an apportionment, solved from inside.

Plain numbers in and out: nothing here is exact, and nothing needs to be. The caller rounds the
rates into their constraints and computes the charge from the rounded ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["Side", "least_losses"]

_WINDOW: Final = 2  # constraints on either side of a curve's turning point
# Exponents of ten of the barrier's sharpness, a stage each. The rounded-off curves only lead near
# the solution: pressed harder, the point would lie too close to walls that are not there.
_AT_ONCE: Final = range(0, 13, 2)
_ROUNDED_OFF: Final = range(4)
_AFTERWARDS: Final = range(3, 13)
_MOST_STEPS_PER_STAGE: Final = 60
_MOST_STEPS: Final = 840  # in all; with the rows below, about a second at most
_MOST_ROWS: Final = 512  # sums that the barrier knows of at a time
_AT_REST: Final = 1e-6
_SMALLEST_STRIDE: Final = 1e-12


@dataclass(frozen=True, slots=True)
class Side:
    """One kind of error.

    Args:
        sets: indices of literals whose rates add up to the bound at most; every literal is in one.
        bound: the bound.
        start: a feasible rate per literal.
    """

    sets: Sequence[Sequence[int]]
    bound: float
    start: Sequence[float]


def least_losses(
    steps: Sequence[int], reads: Sequence[int], losses: Sequence[float], sides: Sequence[Side]
) -> list[NDArray[np.float64]]:
    """Return rates of (nearly) least summed loss, one array per side.

    Args:
        steps: k per literal.
        reads: index of the statistic that a literal reads.
        losses: the loss per statistic that the starting rates need.
        sides: misses, and false alarms where they are bounded by themselves; with one side, both
            errors of a literal have one rate.
    """
    return _Programme(steps, reads, losses, sides).solve()


class _Programme:
    """The apportionment as a smooth programme, solved from inside by a barrier method.

    The variables are e (per statistic, in units of the start), b = ln beta and a = ln alpha (per
    literal; one vector where alpha is beta). A literal of k steps is served at loss e iff
    exp(a + j e) + exp(b + (k - j) e) >= 1 for every j in 0..k, and only the j about the turning
    point of its curve bind. Over real j they are a + b + k e >= -2 ln 2, which is linear, implies
    them, and is little more at small e: a programme with both errors is solved in that form first.
    Every point visited is feasible, so stopping early is sound. Of very many sums the barrier knows
    those nearest to their bound when a stage begins; all of them are checked at every step.
    """

    def __init__(
        self,
        steps: Sequence[int],
        reads: Sequence[int],
        losses: Sequence[float],
        sides: Sequence[Side],
    ) -> None:
        self._rounded_off = len(sides) > 1
        self._unit = np.array(losses)
        self._reads = np.array(reads)
        self._steps = np.array(steps, dtype=np.int64)
        self._every = [np.zeros((len(side.sets), len(steps))) for side in sides]
        for rows, side in zip(self._every, sides, strict=True):
            for row, members in zip(rows, side.sets, strict=True):
                row[list(members)] = 1 / side.bound
        self._sums = self._every
        self._steps_left = _MOST_STEPS
        logs = [np.log(0.9 * np.array(side.start)) for side in sides]
        self._point = np.concatenate([np.ones(self._unit.size), *logs])
        while not self._inside(self._point):
            self._point[: self._unit.size] *= 1.1

    def solve(self) -> list[NDArray[np.float64]]:
        """Return beta and (where it is bounded by itself) alpha, per literal."""
        if self._rounded_off:
            self._sharpen(_ROUNDED_OFF)
            self._rounded_off = False
            self._sharpen(_AFTERWARDS)
        else:
            self._sharpen(_AT_ONCE)
        return [np.exp(each) for each in self._logs(self._point)]

    def _sharpen(self, stages: range) -> None:
        for stage in stages:
            self._sums = [
                rows[np.argsort(rows @ -np.exp(b), kind="stable")[:_MOST_ROWS]]
                for rows, b in zip(self._every, self._logs(self._point), strict=True)
            ]
            for _ in range(min(_MOST_STEPS_PER_STAGE, self._steps_left)):
                self._steps_left -= 1
                if not self._improved(10.0**stage):
                    break

    def _improved(self, sharpness: float) -> bool:
        """Take one damped Newton step on the barrier; say if it got anywhere."""
        x = self._point
        at = self._pairs(x)
        cost = np.zeros(x.size)
        cost[: self._unit.size] = sharpness * self._unit / self._unit.sum()
        gradient, hessian = self._derivatives(x, at)
        gradient += cost
        try:
            step = -np.linalg.solve(hessian, gradient)
        except np.linalg.LinAlgError:
            return False
        fall = float(gradient @ step)
        if not fall < -_AT_REST:
            return False
        before = self._barrier(x, at)
        # No rate may change by more than a factor e^2 at once, which keeps exponentials in range.
        stride = min(1.0, 2.0 / float(np.abs(step).max()))
        while stride > _SMALLEST_STRIDE:
            tried = x + stride * step
            if self._inside(tried):
                rise = stride * float(cost @ step) + self._barrier(tried, at) - before
                if rise <= 0.1 * stride * fall:
                    self._point = tried
                    return True
            stride /= 2
        return False

    def _logs(self, x: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        return list(x[self._unit.size :].reshape(len(self._every), -1))

    def _losses(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        losses: NDArray[np.float64] = np.take(x[: self._unit.size] * self._unit, self._reads)
        return losses

    def _inside(self, x: NDArray[np.float64]) -> bool:
        """Say whether every constraint holds strictly, the curves at their own turning points."""
        if not (x[: self._unit.size] > 0).all():
            return False
        every = zip(self._every, self._logs(x), strict=True)
        if not all((rows @ np.exp(b) < 1).all() for rows, b in every):
            return False
        return bool((np.logaddexp(*self._curves(x, self._pairs(x))) > 0).all())

    def _pairs(self, x: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        """Return the curve constraints in use: indices of literals and their j."""
        literals = np.arange(self._steps.size)
        if len(self._every) == 1:  # alpha is beta: the curve turns in its middle
            return literals, -(-self._steps // 2)
        e = self._losses(x)
        turning = np.ceil((self._logs(x)[0] + self._steps * e + np.log1p(np.exp(-e))) / e)
        window = turning[:, None] + np.arange(-_WINDOW, _WINDOW + 1)
        j = np.clip(window, 0, self._steps[:, None]).astype(np.int64)
        return np.repeat(literals, 2 * _WINDOW + 1), j.ravel()

    def _curves(
        self, x: NDArray[np.float64], at: tuple[NDArray[np.intp], NDArray[np.int64]]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return a + j e and b + (k - j) e."""
        i, j = at
        logs, e = self._logs(x), self._losses(x)[i]
        rising, falling = logs[-1][i] + j * e, logs[0][i] + (self._steps[i] - j) * e
        if self._rounded_off:
            rising = falling = (rising + falling) / 2
        return rising, falling

    def _slacks(
        self, x: NDArray[np.float64], at: tuple[NDArray[np.intp], NDArray[np.int64]]
    ) -> list[NDArray[np.float64]]:
        sums = [1 - rows @ np.exp(b) for rows, b in zip(self._sums, self._logs(x), strict=True)]
        return [*sums, np.logaddexp(*self._curves(x, at))]

    def _barrier(
        self, x: NDArray[np.float64], at: tuple[NDArray[np.intp], NDArray[np.int64]]
    ) -> float:
        slacks = self._slacks(x, at)
        if any((each <= 0).any() for each in slacks):
            return np.inf
        return -float(sum(np.log(each).sum() for each in slacks))

    def _derivatives(
        self, x: NDArray[np.float64], at: tuple[NDArray[np.intp], NDArray[np.int64]]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the barrier's gradient and its curvature, where positive, as a matrix.

        The curve constraints are convex where concave ones would be wanted; leaving their own
        curvature out keeps the matrix positive definite, and the step a descent.
        """
        statistics, literals = self._unit.size, self._steps.size
        gradient, hessian = np.zeros(x.size), np.zeros((x.size, x.size))
        slacks = self._slacks(x, at)
        for number, (rows, b) in enumerate(zip(self._sums, self._logs(x), strict=True)):
            first = statistics + number * literals
            block = slice(first, first + literals)
            scaled = rows * np.exp(b) / slacks[number][:, None]
            gradient[block] = scaled.sum(axis=0)
            hessian[block, block] = scaled.T @ scaled + np.diag(gradient[block])
        i, j = at
        rising, falling = self._curves(x, at)
        share = np.exp(rising - slacks[-1])
        statistic, each = self._reads[i], np.arange(i.size)
        jacobian = np.zeros((i.size, x.size))
        slopes = share * j + (1 - share) * (self._steps[i] - j)
        jacobian[each, statistic] = slopes * self._unit[statistic]
        jacobian[each, statistics + i] += np.exp(falling - slacks[-1])
        jacobian[each, x.size - literals + i] += share
        jacobian /= slacks[-1][:, None]
        return gradient - jacobian.sum(axis=0), hessian + jacobian.T @ jacobian
