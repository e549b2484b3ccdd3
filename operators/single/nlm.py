"""NLM, the naive Laplace mechanism: a baseline for experiments only.

It compares the noisy statistic with the threshold itself, so a statistic just above the threshold
is missed up to half of the time: it does NOT keep ``max_fnr``. Proof:
``docs/research/proofs/nlm.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from accountant.arguments import expect
from accountant.costs.charges import UniformCost
from accountant.units import UNITS_PER_EPSILON, from_loss_units
from operators.base import Decision, Plan, Promise
from operators.descriptors import Mechanism
from operators.noise.certified import exp_neg_bounds
from operators.noise.likely import laplace_at_most
from operators.noise.source import SOURCE
from operators.search import least
from operators.single.adapter import scored
from operators.single.batched import EachByItself
from operators.single.tslm import room_of, theoretical_limit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from operators.conditions.atoms import IntegerTest
    from operators.noise.source import NoiseSource

__all__ = ["NLM", "Nlm"]

_RATE_BITS: Final = 128


@dataclass(frozen=True, slots=True, eq=False)
class Nlm(EachByItself):
    """Fire iff ``s' + DLap(t) >= 0``, with s' the step count of ``IntegerTest.quantise``.

    Guarantee: per cell, t-differentially private for neighbouring statistics (at most
    ``sensitivity`` apart); the discrete Laplace law is exact. The accuracy promise is the papers'
    for this mechanism, weaker than TSLM's: with tolerance u, a miss has probability at most
    ``max_fnr`` where ``s >= c + 1 + u`` and a false alarm at most ``max_fpr`` where ``s <= c - u``
    (for ``s > c``). In between, nothing is promised.

    Epsilon is the least whole number of loss units with q^j / (1 + q) <= min(max_fnr, max_fpr),
    q = exp(-epsilon), j = ceil((u + 1) / D), half of k rounded up. For D = 1 and one rate for
    both it equals TSLM's, the budget at which MIDE compares the two. ``plan.limit`` is that of
    TSLM's stronger promise.

    Args:
        test: the integer test.
        plan: worst-case loss.
        units: the plan's epsilon in loss units.

    Source: MIDE, section on the naive Laplace mechanism, with its epsilon ln(1/(2 beta))/alpha
    made exact for integers.
    """

    test: IntegerTest
    plan: Plan
    units: int

    @classmethod
    def planned(cls, test: IntegerTest, promise: Promise) -> Nlm:
        """Find the least whole number of loss units for the papers' guarantee.

        Args:
            test: the integer test.
            promise: what the analyst asked for; kept only at a distance, see the class.

        Raises:
            ConfigError: a promise that cannot be kept or is met by guessing.
        """
        steps, alpha, beta = room_of(test, promise)
        units = _least_units(-(-steps // 2), min(alpha, beta))
        limit = theoretical_limit(steps, alpha, beta)
        plan = Plan(mechanism=NLM.name, epsilon=from_loss_units(units), limit=limit)
        return cls(test=test, plan=plan, units=units)

    def decide(self, statistics: NDArray[np.int64], noise: NoiseSource) -> Decision:
        """Decide every cell; see :meth:`operators.single.adapter.CellOperator.decide`."""
        expect(SOURCE, noise=noise)
        steps = self.test.quantise(statistics)
        drawn = noise.discrete_laplace(self.plan.epsilon, steps.size)
        fired = drawn > ~steps  # z >= -s', without the overflow of negating the lowest integer
        return Decision(fired=fired, cost=UniformCost(units=self.units, cells=self.test.cells))

    def chances(self, steps: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the law; see :meth:`operators.single.adapter.CellOperator.chances`."""
        return laplace_at_most(steps, float(self.plan.epsilon))  # the noise is symmetric


def _least_units(distance: int, rate: Fraction) -> int:
    """Return the least whole epsilon (loss units) with q^distance / (1 + q) <= rate, certified."""

    def fits(units: int) -> bool:
        # Outwards: q^distance from above, 1 + q from below.
        q = Fraction(exp_neg_bounds(from_loss_units(units), _RATE_BITS)[0], 1 << _RATE_BITS)
        tail = Fraction(
            exp_neg_bounds(from_loss_units(units) * distance, _RATE_BITS)[1], 1 << _RATE_BITS
        )
        return tail <= rate * (1 + q)

    return least(fits, 0, UNITS_PER_EPSILON)


NLM: Final = Mechanism(
    name="nlm",
    releases="which predicates ring",
    proof="nlm",
    conditions=scored(Nlm.planned),
    promised=False,
    quantifies=True,
)
