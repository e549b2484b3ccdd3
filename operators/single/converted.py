"""What is pure, paid by a Gaussian budget: the same decisions, at the price of their worst case.

Losses that depend on what was drawn do not add up in ``mu^2 / 2``, so nothing is given back: every
cell costs what its mechanism could have lost. Proof: ``docs/research/proofs/gaussian.md``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from accountant.costs.charges import UniformCost
from accountant.units import from_loss_units, to_loss_units
from operators.base import Decision
from operators.descriptors import Maker
from operators.single.held import among
from operators.single.pure import gaussian_units

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from operators.base import Operator, Plan
    from operators.conditions.condition import Aim, Condition
    from operators.noise.source import NoiseSource

__all__ = ["Converted", "converted", "converted_plan"]


@dataclass(frozen=True, slots=True, eq=False)
class Converted:
    """A pure operator that a Gaussian budget pays.

    Guarantee: per cell, the decisions are those of ``operator``, which is epsilon-private at worst,
    and so mu-GDP with ``mu^2 / 2`` as in ``plan``, whatever it would have lost ex post.

    Args:
        operator: decides.
        plan: the price of a cell, as ``mu^2 / 2``.
    """

    operator: Operator
    plan: Plan

    def decide(self, statistics: NDArray[np.int64], noise: NoiseSource) -> Decision:
        """Decide every cell of one window; see :meth:`operators.base.Operator.decide`."""
        fired = self.operator.decide(statistics, noise).fired
        return Decision(fired, UniformCost(to_loss_units(self.plan.epsilon), fired.size))

    def among(self, cells: NDArray[np.intp]) -> Converted:
        """Return what decides some cells; see :func:`operators.single.held.among`."""
        return replace(self, operator=among(self.operator, cells))

    def chances(self, cell: int, statistics: NDArray[np.int64]) -> NDArray[np.float64] | None:
        """Return the law of one cell; see :meth:`operators.base.Operator.chances`."""
        return self.operator.chances(cell, statistics)


def converted(maker: Maker, limit: Callable[[Condition, Aim], float]) -> Maker:
    """Return how what a maker plans is paid by a Gaussian budget.

    Args:
        maker: of pure operators.
        limit: the least ``mu^2 / 2`` that a promise takes of any mechanism.
    """

    def plan_of(pure: Plan, condition: Condition, aim: Aim) -> Plan:
        return converted_plan(pure, limit(condition, aim))

    def planned(condition: Condition, aim: Aim) -> Operator:
        operator = maker.planned(condition, replace(aim, gaussian=False))
        return Converted(operator, plan_of(operator.plan, condition, aim))

    def price(condition: Condition, aim: Aim) -> Plan:
        return plan_of(maker.price(condition, replace(aim, gaussian=False)), condition, aim)

    return Maker(planned, price)


def converted_plan(pure: Plan, limit: float) -> Plan:
    """Return a plan whose pure loss at worst is paid by a Gaussian budget.

    Args:
        pure: the plan.
        limit: the least ``mu^2 / 2`` that the promise takes of any mechanism.
    """
    return replace(pure, epsilon=from_loss_units(gaussian_units(pure.epsilon)), limit=limit)
