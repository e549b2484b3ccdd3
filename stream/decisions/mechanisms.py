"""Which operator decides an alarm, and at what price: the one place that knows them all.

Most mechanisms are made from condition and aim (``operators.registry``). A band is decided by a
decider, planned when the configuration was read; here it becomes an operator like any other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from accountant.costs.charges import UniformCost
from accountant.units import from_loss_units
from operators.base import Decision, Plan
from operators.registry import create, price
from operators.single.adapter import check_statistics
from stream.model.references import clamped

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from operators.base import Operator
    from operators.conditions.condition import Aim, Condition
    from operators.noise.source import NoiseSource
    from stream.model.alarms import Alarms
    from stream.model.queries import Band, Query

__all__ = ["DECIDER", "BandOperator", "operator_of", "plans_of", "price_of"]

DECIDER: Final = "decider"
"""The mechanism of bands, as configurations name it."""


@dataclass(frozen=True, slots=True, eq=False)
class BandOperator:
    """Rings where a decider does not find the aggregate within its band.

    Guarantee: the decider's own, epsilon-differential privacy per cell; ringing is its answer
    negated.

    Args:
        condition: when a cell should ring, over all statistics of the query.
        band: the decider, which reads the first of them, and the references.
    """

    condition: Condition
    band: Band

    @property
    def plan(self) -> Plan:
        """The loss as written; as it is given, the limit is the same."""
        epsilon = from_loss_units(self.band.decider.units)
        return Plan(DECIDER, epsilon, float(epsilon))

    def around(self, references: NDArray[np.int64]) -> BandOperator:
        """Return the same around the references of one window, shape (cells,), int64.

        They are clamped to what deciders take.
        """
        return replace(self, band=replace(self.band, references=clamped(references)))

    def decide(self, statistics: NDArray[np.int64], noise: NoiseSource) -> Decision:
        """Decide every cell of one window.

        Args:
            statistics: shape (statistics, cells), int64.
            noise: the cryptographic source.

        Raises:
            ValueError: statistics of another shape or type.
        """
        check_statistics(self.condition, statistics)
        decider = self.band.decider
        within = decider.decide(statistics[: len(decider.statistics)], self.band.references, noise)
        return Decision(~within, UniformCost(decider.units, self.condition.cells))


def operator_of(query: Query) -> Operator:
    """Plan the operator of an alarm.

    Raises:
        ConfigError: its aim cannot be kept.
    """
    if query.band is not None:
        return BandOperator(query.condition, query.band)
    return create(query.mechanism, query.condition, query.aim)


def price_of(query: Query, aim: Aim | None = None) -> Plan:
    """Return the plan of an alarm, without making what only decisions need.

    Args:
        query: the alarm.
        aim: what to ask for instead of its own aim. A band's loss is written down: no aim moves it.

    Raises:
        ConfigError: the aim cannot be kept.
    """
    if query.band is not None:
        return BandOperator(query.condition, query.band).plan
    return price(query.mechanism, query.condition, query.aim if aim is None else aim)


def plans_of(alarms: Alarms) -> dict[str, Plan]:
    """Return every alarm's worst case, by id, from configuration alone."""
    return {query.id: price_of(query) for query in alarms.queries.values()}
