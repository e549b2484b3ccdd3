"""TSLM for formulas: one noisy value per channel, one shifted threshold per literal.

Every literal is decided from its channel's noisy value with a shift (and a coin at the tie) of its
own, and the formula is evaluated over the literals. The proof is in
``docs/proofs/prime-implicants.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.arguments import expect, instance_of
from accountant.costs.charges import UniformCost
from accountant.units import from_loss_units
from operators.base import Decision, Plan
from operators.conditions.condition import Aim, Condition
from operators.descriptors import Maker, Mechanism
from operators.formulas.chances import SharedValue, shared_chances
from operators.formulas.literals import apportioned, formula_limit, least_common_rate
from operators.formulas.normal import NormalTslm
from operators.noise.source import SOURCE
from operators.single import gaussian
from operators.single.abreast import Decisions, steps_of_many
from operators.single.adapter import check_statistics, of_one_test
from operators.single.looks import each_look
from operators.single.tslm import Tslm

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from operators.noise.source import NoiseSource

__all__ = ["TSLM", "SharedTslm", "SharedValue"]

_ONE: Final = 1 << 64


@dataclass(frozen=True, slots=True, eq=False)
class SharedTslm:
    """Threshold shift over a formula: decide every literal, combine the decisions.

    A literal whose own noisy step count is x rings where ``x > -shift``, at the tie ``x = -shift``
    unless its coin says drop.

    Guarantee: per cell, neighbouring statistics (each at most its sensitivity apart, all of them at
    once) give every outcome with probabilities within a factor exp(epsilon), epsilon being the sum
    over the channels, however many literals read each. A cell whose condition is true is missed
    with probability at most ``max_fnr``; with ``max_fpr``, one whose condition is false with every
    literal granted its tolerance rings with probability at most that. Both refer to the bounded
    statistics of a decided window.

    Args:
        condition: when a cell should ring.
        plan: worst-case loss and its limit, see ``formula_limit``.
        values: one per channel.

    Source: MIDE, Algorithm 1 (threshold shift); ProBE, Algorithm 2 and Theorems 4.3 and 4.5, with
    the sum over occurrences replaced by that over each prime implicant.
    """

    condition: Condition
    plan: Plan
    values: tuple[SharedValue, ...]

    @classmethod
    def planned(cls, condition: Condition, aim: Aim) -> SharedTslm:
        """Share the rates out and find the least rate per channel that serves its literals.

        Args:
            condition: when a cell should ring.
            aim: what the analyst asked for.

        Raises:
            ConfigError: an aim that cannot be kept, is met by guessing, or spans too many steps.
        """
        expect(instance_of(Condition), condition=condition)
        expect(instance_of(Aim), aim=aim)
        values = tuple(
            SharedValue(share, *least_common_rate(share.readings))
            for share in apportioned(condition, aim)
        )
        epsilon = from_loss_units(sum(value.units for value in values))
        plan = Plan(mechanism=TSLM.name, epsilon=epsilon, limit=formula_limit(condition, aim))
        return cls(condition=condition, plan=plan, values=values)

    def decide(self, statistics: NDArray[np.int64], noise: NoiseSource) -> Decision:
        """Decide every cell of one window; see :meth:`operators.base.Operator.decide`.

        One discrete Laplace per channel and cell, and one coin per literal and cell, are drawn.
        """
        check_statistics(self.condition, statistics)
        fired = self._fired(statistics[np.newaxis], noise)[0]
        return Decision(fired=fired, cost=UniformCost(units=self._units, cells=fired.size))

    def decide_many(self, statistics: NDArray[np.int64], noise: NoiseSource) -> Decisions:
        """Decide many windows; see :class:`operators.single.abreast.DecidesMany`."""
        check_statistics(self.condition, statistics[0])
        fired = self._fired(statistics, noise)
        return Decisions(fired, np.full(fired.shape, self._units, dtype=np.int64))

    @property
    def _units(self) -> int:
        return sum(value.units for value in self.values)

    def _fired(self, statistics: NDArray[np.int64], noise: NoiseSource) -> NDArray[np.bool_]:
        """Return which cells of which windows ring, shape (windows, cells)."""
        expect(SOURCE, noise=noise)
        holds: dict[str, NDArray[np.bool_]] = {}
        for value in self.values:
            noisy = steps_of_many(value.share.channel, statistics)
            drawn = noise.discrete_laplace(from_loss_units(value.units), noisy.size)
            noisy += drawn.reshape(noisy.shape)
            for reading, cut in zip(value.share.readings, value.cuts, strict=True):
                own = reading.own(noisy)
                # finest_cut made the coin whole in these units, below one.
                coins = np.full(noisy.size, int(cut.drop * _ONE), dtype=np.uint64)
                drops = noise.bernoulli(coins).reshape(noisy.shape)
                holds[reading.literal] = (own > -cut.shift) | ((own == -cut.shift) & ~drops)
        return self.condition.formula.evaluate_literals(holds)

    def chances(self, cell: int, statistics: NDArray[np.int64]) -> NDArray[np.float64] | None:
        """Return the law of one cell; see :meth:`operators.base.Operator.chances`."""
        return shared_chances(self.condition.formula, self.values, cell, statistics)


_SINGLE: Final = of_one_test(Tslm.planned, Tslm.priced)
_GAUSSIAN: Final = of_one_test(gaussian.planned, gaussian.priced)

TSLM: Final = Mechanism(
    name="tslm",
    releases="which predicates ring",
    single=_SINGLE,
    early=each_look(_SINGLE, _GAUSSIAN),
    gaussian=_GAUSSIAN,
    gaussian_formula=Maker(NormalTslm.planned),
    formula=Maker(SharedTslm.planned),
    colours=("#2563eb", "#6ea8fe"),
)
