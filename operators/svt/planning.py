"""The cheapest run whose questions keep a promise on misses and false alarms.

With one-sided noise on the threshold, a dearer threshold only raises the chance to ring and dearer
alarms only lower it. So for every correction there is one least pair of prices that keeps the
promise, and only corrections in (-steps, 0] come into question. Proof:
``docs/research/proofs/svt.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from itertools import count
from typing import Final

from accountant.errors import ArgumentError
from accountant.units import UNITS_PER_EPSILON, from_loss_units
from operators.search import least, passing_zero
from operators.svt.difference import OneSided
from operators.svt.terms import SvtPlan

__all__ = ["planned_terms"]

_LEAST_RATE: Final = Fraction(1, 10**40)  # certified bounds are finer by far
_BELOW: Final = 1 - 2.0**-32  # further below than floats are off
_PATIENCE: Final = 64  # rounds; a promise worth its noise takes fewer than half as many
_FEWEST_OPEN: Final = 1
_FEWEST_EACH: Final = 2  # loss units per alarm, the least that terms allow


@lru_cache(maxsize=4096)  # a search for what is wanted sketches hundreds
def planned_terms(
    steps: int,
    alpha: Fraction,
    beta: Fraction,
    *,
    alarms: int,
    questions: int,
    monotone: bool,
    put_back: bool = False,
    certified: bool = True,
    either: bool = False,
) -> SvtPlan:
    """Return the terms of the cheapest run that keeps a promise per question.

    A question at ``s' >= 0`` is missed with probability at most beta, one at ``s' <= -steps`` rings
    with probability at most alpha / questions, each for itself: the threshold's noise is shared, so
    errors of one run come together. Both are certified. No run with one-sided noise is cheaper,
    whatever its split and correction: over the correction, the loss falls and then rises.

    Args:
        steps: k >= 1 steps from "must fire" to "must not fire".
        alpha: in (0, 1).
        beta: in (0, 1), alpha + beta < 1.
        alarms: of the run.
        questions: about one cell.
        monotone: whether all step counts move one way.
        put_back: when a cell is asked again.
        certified: else the loss is only what floats say, and nothing is promised: much faster, for
            searches.
        either: whether one neighbour pays for the threshold or for the alarms and never for both,
            so that the dearer of the two is sought to be cheap, and not their sum.

    Returns:
        Terms with a one-sided threshold, in whole loss units.

    Raises:
        ValueError: numbers out of range, or a rate finer than 1e-40.
    """
    if steps < 1 or alarms < 1 or questions < 1:
        raise ArgumentError("a run has steps, alarms and questions, at least one of each")
    if min(alpha / questions, beta) < _LEAST_RATE or alpha + beta >= 1:
        raise ArgumentError("rates of errors are at least 1e-40 and add up to less than 1")
    search = _Search(steps, alpha / questions, beta, alarms, monotone, either)
    correction = search.best_correction()
    units = search.least_units(correction) if certified else search.likely_units(correction)
    open_units, alarm_units = units
    return SvtPlan(
        open_units=open_units,
        alarm_units=alarm_units,
        alarms=alarms,
        monotone=monotone,
        questions=questions,
        correction=correction,
        put_back=put_back,
        one_sided=True,
    )


@dataclass(frozen=True, slots=True)
class _Search:
    """Runs that keep a promise, by their correction r."""

    steps: int
    alpha: Fraction
    beta: Fraction
    alarms: int
    monotone: bool
    either: bool

    @property
    def moved(self) -> int:
        """What an alarm costs over the rate of a question's noise."""
        return 1 if self.monotone else 2

    def best_correction(self) -> int:
        """Return the correction with the least loss: it falls up to there and rises beyond."""
        low, high = 1 - self.steps, 0
        while low < high:
            middle = (low + high) // 2
            if self._loss(middle) < self._loss(middle + 1):
                high = middle
            else:
                low = middle + 1
        return low

    def least_units(self, r: int) -> tuple[int, int]:
        """Return the least loss units of threshold and alarm that keep the promise, certified.

        From below both, each is raised to what the other asks for until nothing moves: the least
        pair of all, as each asks for more when the other is raised. Only for a promise that is
        nearly a guess is that a long way, and not walked unit by unit.
        """
        open_units, each = self.likely_units(r, _BELOW)
        for hurry in count(-_PATIENCE):
            open_units = least(partial(self._rarely_misses, r, each), open_units - 1, open_units)
            raised = least(partial(self._rarely_rings, r, open_units), each - 1, each)
            if raised == each:
                break
            each = raised + (1 << hurry if hurry >= 0 else 0)
        return open_units, each

    def likely_units(self, r: int, share: float = 1.0) -> tuple[int, int]:
        """Return about these least loss units, by floats, or a share of them."""
        opening, asking = self._rates(r)
        units = UNITS_PER_EPSILON * share
        return (
            max(_FEWEST_OPEN, int(opening * units)),
            max(_FEWEST_EACH, int(asking * self.moved * units)),
        )

    def _loss(self, r: int) -> float:
        opening, asking = self._rates(r)
        ringing = self.alarms * self.moved * asking
        return max(opening, ringing) if self.either else opening + ringing

    def _rates(self, r: int) -> tuple[float, float]:
        """Return the least rates of threshold and questions for -steps < r <= 0, in floats.

        Both errors are then at their bounds. With n = r + steps, u = ln(1 / alpha) - n query_rate
        gives the threshold's rate by the false alarms and P[X < r] = exp(r rate)(1 - exp(-u)) by
        the misses, which rise in u.
        """
        most, goal, reach = _log_inverse(self.alpha), _log_inverse(self.beta), r + self.steps

        def threshold_rate(u: float) -> float:
            return math.log1p(-math.expm1((u - most) / reach) / math.expm1(u))

        def spare(u: float) -> float:
            return -r * threshold_rate(u) - math.log(-math.expm1(-u)) - goal

        u = low = _log_inverse(1 - self.beta)
        if r and spare(low) > 0:
            # Floats that tie are left to the certified bounds.
            u = most
            if spare(most) < 0:
                u = passing_zero(lambda u: -spare(u), low, most)
        return threshold_rate(u), (most - u) / reach

    def _rarely_misses(self, r: int, each: int, open_units: int) -> bool:
        return 1 - self._law(open_units, each).bounds(r)[0] <= self.beta

    def _rarely_rings(self, r: int, open_units: int, each: int) -> bool:
        return self._law(open_units, each).bounds(r + self.steps)[1] <= self.alpha

    def _law(self, open_units: int, each: int) -> OneSided:
        return OneSided(from_loss_units(each) / self.moved, from_loss_units(open_units))


def _log_inverse(x: Fraction) -> float:
    """Return ln(1 / x), also close to 1."""
    return -math.log1p(-float(1 - x)) if x > Fraction(1, 2) else -math.log(x)
