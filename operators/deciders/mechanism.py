"""Deciders as a mechanism of alarms: ring where an aggregate has left its band.

The proofs are those of the deciders, in ``docs/research/proofs/deciders.md``: ringing is their
answer negated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.costs.charges import UniformCost
from accountant.units import from_loss_units
from operators.base import Decision, Plan
from operators.descriptors import Mechanism
from operators.single.adapter import check_statistics
from operators.single.pure import gaussian_units

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from operators.base import Band
    from operators.conditions.condition import Aim, Condition
    from operators.noise.source import NoiseSource

__all__ = ["DECIDER", "BandOperator"]


@dataclass(frozen=True, slots=True, eq=False)
class BandOperator:
    """Rings where a decider does not find the aggregate within its band.

    Guarantee: the decider's own, epsilon-differential privacy per cell; ringing is its answer
    negated. A Gaussian budget pays what that comes to.

    Args:
        condition: when a cell should ring, over all statistics of the query.
        aim: says which budget pays.
        band: the decider, which reads the first of them, and the references.
    """

    condition: Condition
    aim: Aim
    band: Band

    @property
    def plan(self) -> Plan:
        """The loss as written, or what a Gaussian budget pays for it; the limit is the same."""
        epsilon = from_loss_units(self._units)
        return Plan(DECIDER.name, epsilon, float(epsilon))

    @property
    def _units(self) -> int:
        units = self.band.decider.units
        return gaussian_units(from_loss_units(units)) if self.aim.gaussian else units

    def decide(self, statistics: NDArray[np.int64], noise: NoiseSource) -> Decision:
        """Decide every cell of one window; see :meth:`operators.base.Operator.decide`."""
        check_statistics(self.condition, statistics)
        decider = self.band.decider
        within = decider.decide(statistics[: len(decider.statistics)], self.band.references, noise)
        return Decision(~within, UniformCost(self._units, self.condition.cells))

    def chances(self, cell: int, statistics: NDArray[np.int64]) -> NDArray[np.float64] | None:
        """Return the law of one cell; see :meth:`operators.base.Operator.chances`."""
        decider = self.band.decider
        references = np.full(statistics.shape[1], self.band.references[cell], dtype=np.int64)
        return decider.chances(statistics[: len(decider.statistics)], references)


DECIDER: Final = Mechanism(
    name="decider",
    releases="which predicates have left their band",
    proof="deciders",
    decides="whether an aggregate left a band around a public reference",
    pays="every window and group, as written",
    keys=("decider", "bound", "epsilon", "reference", "reference_timeout"),
    needs=("epsilon", "reference"),
    refuses={
        "max_fpr": (
            "a band has no max_fpr: it follows from epsilon",
            "remove it; a larger epsilon means fewer false alarms",
        ),
        "tolerance": (
            "a band has no tolerance",
            "remove it, and write the distance as tau: ABS(... - REFERENCE) >= tau",
        ),
        "max_alarms": (
            "a band has no max_alarms",
            "remove it",
        ),
        "repeat": ("a band has no repeat", "remove it"),
        "repeat_in": ("a band has no repeat_in", "remove it"),
    },
    bands=BandOperator,
)
