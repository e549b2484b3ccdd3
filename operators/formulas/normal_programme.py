"""The convex programme behind an apportionment under a Gaussian budget, solved from inside.

Plain numbers in and out, as in :mod:`operators.formulas.programme`: the caller rounds the rates
into their constraints and computes the charge from the rounded ones.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from operators.formulas.programme import Side

__all__ = ["least_squares"]

_STAGES: Final = range(0, 13, 2)  # exponents of ten of the barrier's sharpness
_MOST_STEPS_PER_STAGE: Final = 60
_AT_REST: Final = 1e-9
_SMALLEST_STRIDE: Final = 1e-12
_LAW: Final = NormalDist()


def least_squares(
    steps: Sequence[float], reads: Sequence[int], sides: Sequence[Side]
) -> list[NDArray[np.float64]]:
    """Return rates of least summed ``mu^2 / 2``, one array per side.

    A literal of k steps is served where ``k mu >= z(alpha) + z(beta)``, z being the normal law's
    upper quantile.

    Args:
        steps: k per literal, in moves of a neighbour.
        reads: index of the statistic that a literal reads.
        sides: misses, and false alarms where they are bounded by themselves; with one side, both
            errors of a literal have one rate.
    """
    return _NormalProgramme(steps, reads, sides).solve()


class _NormalProgramme:
    """The apportionment as a smooth programme, solved from inside by a barrier method.

    The variables are mu (per statistic, in units of the start) and the rates (per literal and side,
    in units of the side's bound). Below 1/2 the quantile z falls and is convex in the rate, so that
    the programme is convex, whichever literals share a statistic; above, its curvature is left out,
    which keeps every step a descent. Every point visited is feasible, so stopping early is sound.
    """

    def __init__(self, steps: Sequence[float], reads: Sequence[int], sides: Sequence[Side]) -> None:
        self._bounds = np.array([side.bound for side in sides])
        self._rows = [np.zeros((len(side.sets), len(steps))) for side in sides]
        for rows, side in zip(self._rows, sides, strict=True):
            for row, members in zip(rows, side.sets, strict=True):
                row[list(members)] = 1.0
        # With one side, both errors have its rate: each literal's quantile counts twice.
        self._times = 2.0 / len(sides)
        rates = np.array([0.9 * np.array(side.start) for side in sides]) / self._bounds[:, None]
        self._reads = np.array(reads)
        self._steps = np.array(steps, dtype=np.float64)
        needed = self._needed(rates)[0].sum(axis=0) / self._steps
        self._unit = np.zeros(self._reads.max() + 1)
        np.maximum.at(self._unit, self._reads, 1.1 * needed)
        self._weights = self._unit**2 / (self._unit**2).sum()
        self._point = np.concatenate([np.ones(self._unit.size), rates.ravel()])

    def solve(self) -> list[NDArray[np.float64]]:
        """Return beta and (where it is bounded by itself) alpha, per literal."""
        for stage in _STAGES:
            for _ in range(_MOST_STEPS_PER_STAGE):
                if not self._improved(10.0**stage):
                    break
        return list(self._rates(self._point) * self._bounds[:, None])

    def _improved(self, sharpness: float) -> bool:
        """Take one damped Newton step on the barrier; say if it got anywhere."""
        x = self._point
        gradient, hessian = self._derivatives(x, sharpness)
        try:
            step = -np.linalg.solve(hessian, gradient)
        except np.linalg.LinAlgError:
            return False
        fall = float(gradient @ step)
        if not fall < -_AT_REST:
            return False
        before = self._barrier(x, sharpness)
        stride = 1.0
        while stride > _SMALLEST_STRIDE:
            tried = x + stride * step
            if self._barrier(tried, sharpness) - before <= 0.1 * stride * fall:
                self._point = tried
                return True
            stride /= 2
        return False

    def _rates(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        return x[self._unit.size :].reshape(len(self._rows), -1)

    def _needed(
        self, rates: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return every quantile, its slope and its curvature, shape (sides, literals)."""
        scale = self._bounds[:, None]
        z = np.array([[-_LAW.inv_cdf(each) for each in row] for row in (rates * scale).tolist()])
        slope = -scale * math.sqrt(2 * math.pi) * np.exp(z * z / 2)
        return self._times * z, self._times * slope, self._times * z * slope * slope

    def _slacks(
        self, x: NDArray[np.float64], needed: NDArray[np.float64]
    ) -> list[NDArray[np.float64]]:
        sums = [1 - rows @ b for rows, b in zip(self._rows, self._rates(x), strict=True)]
        mu = x[: self._unit.size] * self._unit
        return [*sums, self._steps * mu[self._reads] - needed.sum(axis=0)]

    def _barrier(self, x: NDArray[np.float64], sharpness: float) -> float:
        rates = self._rates(x)
        if not (x > 0).all() or not (rates < 1).all():
            return math.inf
        slacks = self._slacks(x, self._needed(rates)[0])
        if any((each <= 0).any() for each in slacks):
            return math.inf
        cost = float(self._weights @ x[: self._unit.size] ** 2)
        return sharpness * cost - float(sum(np.log(each).sum() for each in slacks))

    def _derivatives(
        self, x: NDArray[np.float64], sharpness: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the barrier's gradient and its curvature, where positive, as a matrix."""
        statistics, literals, each = self._unit.size, self._steps.size, np.arange(self._steps.size)
        needed, slope, curvature = self._needed(self._rates(x))
        *sums, served = self._slacks(x, needed)
        gradient, hessian = np.zeros(x.size), np.zeros((x.size, x.size))
        gradient[:statistics] = 2 * sharpness * self._weights * x[:statistics]
        hessian[range(statistics), range(statistics)] = 2 * sharpness * self._weights
        jacobian = np.zeros((literals, x.size))
        jacobian[each, self._reads] = -self._steps * self._unit[self._reads] / served
        for number, rows in enumerate(self._rows):
            first = statistics + number * literals
            block = slice(first, first + literals)
            scaled = rows / sums[number][:, None]
            gradient[block] += scaled.sum(axis=0)
            hessian[block, block] += scaled.T @ scaled
            jacobian[each, first + each] = slope[number] / served
            at = first + each
            hessian[at, at] += np.maximum(curvature[number], 0) / served
        return gradient + jacobian.sum(axis=0), hessian + jacobian.T @ jacobian
