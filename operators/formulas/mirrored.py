"""False alarms promised at the threshold, misses beyond the tolerance: the mirrored problem.

A mechanism that seldom misses a true condition, asked of the condition's negation, seldom calls a
false condition true. So the negation is decided, its misses bounded by what false alarms may be,
and the answer is turned round: what the mechanism proves of misses is then proved of false alarms,
and the other way round. Privacy is the mechanism's own, as turning an answer round looks at
nothing else. The proof is in ``docs/research/proofs/score.md``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from accountant.errors import ConfigError
from operators.base import Decision
from operators.single.batched import Decisions, decide_many
from operators.single.held import among

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from operators.base import Operator, Plan
    from operators.conditions.condition import Aim, Condition
    from operators.noise.source import NoiseSource

__all__ = ["Mirrored", "mirrored"]


@dataclass(frozen=True, slots=True, eq=False)
class Mirrored:
    """Ring where the negation of the condition was not decided to hold.

    Guarantee: loss and cost are those of ``negation``, cell by cell and transcript by transcript. A
    cell whose condition is false rings with probability at most ``max_fpr``, whichever mechanism
    decides. One whose condition holds with every literal moved against it by twice its tolerance is
    missed with probability at most ``max_fnr``, if the mechanism keeps ``max_fpr`` for conditions
    as they stand; of ``probe`` that is an estimate, as its false alarms are. Between the two, a
    true condition may be missed at any rate.

    Args:
        negation: an operator of the condition's negation, planned for the aim of :func:`mirrored`.

    Source: ProBE, Definition 3.2, with its two bounds exchanged.
    """

    negation: Operator

    @property
    def plan(self) -> Plan:
        """The negation's own."""
        return self.negation.plan

    def decide(self, statistics: NDArray[np.int64], noise: NoiseSource) -> Decision:
        """Decide every cell of one window; see :meth:`operators.base.Operator.decide`."""
        found = self.negation.decide(statistics, noise)
        return Decision(fired=~found.fired, cost=found.cost)

    def decide_many(self, statistics: NDArray[np.int64], noise: NoiseSource) -> Decisions:
        """Decide many windows; see :class:`operators.single.batched.DecidesMany`."""
        found = decide_many(self.negation, statistics, noise)
        return Decisions(~found.fired, found.units)

    def among(self, cells: NDArray[np.intp]) -> Mirrored:
        """Return what decides some cells; see :func:`operators.single.held.among`."""
        return Mirrored(among(self.negation, cells))

    def chances(self, cell: int, statistics: NDArray[np.int64]) -> NDArray[np.float64] | None:
        """Return the law of one cell; see :meth:`operators.base.Operator.chances`."""
        found = self.negation.chances(cell, statistics)
        return None if found is None else 1 - found


def mirrored(condition: Condition, aim: Aim) -> tuple[Condition, Aim]:
    """Return what to ask of a mechanism whose answer is turned round.

    Args:
        condition: when a cell should ring.
        aim: what is promised, false alarms first.

    Raises:
        ConfigError: no ``max_fpr``, or a window that is looked at several times.
    """
    if aim.max_fpr is None:
        raise ConfigError("bounded_error: fpr needs max_fpr", hint="write max_fpr: 0.05")
    if aim.looks > 1:
        raise ConfigError(
            "bounded_error: fpr does not support CUMULATE",
            hint="write TUMBLE or HOP, or remove bounded_error",
        )
    turned = replace(aim, max_fnr=aim.max_fpr, max_fpr=aim.max_fnr, promise="misses")
    return condition.negated, turned
