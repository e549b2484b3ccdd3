"""Mechanisms of one integer test, for conditions that consist of a single literal."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from accountant.arguments import INTEGERS, expect
from accountant.errors import ArgumentError
from operators.base import Promise
from operators.descriptors import Maker
from operators.single.abreast import decide_many

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from operators.base import Decision, Operator, Plan
    from operators.conditions.atoms import IntegerTest
    from operators.conditions.condition import Aim, Condition
    from operators.noise.source import NoiseSource
    from operators.single.abreast import Decisions

__all__ = [
    "CellOperator",
    "Single",
    "asked",
    "check_statistics",
    "of_one_test",
    "promise_of",
    "steps_of",
]


class CellOperator(Protocol):
    """A mechanism of one integer test."""

    @property
    def plan(self) -> Plan:
        """Worst-case loss per cell, from configuration alone."""
        ...

    def decide(self, statistics: NDArray[np.int64], noise: NoiseSource) -> Decision:
        """Decide every cell of one window.

        Args:
            statistics: shape (cells,), int64.
            noise: the cryptographic source.

        Returns:
            Shape (cells,) decisions and the cost of each.

        Raises:
            ValueError: statistics of another shape or type.
        """
        ...

    def chances(self, steps: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how likely a cell that is alone in its window rings, as a float.

        Args:
            steps: shape (n,), int64: step counts s' that it may have.

        Returns:
            Shape (n,): exact but for the rounding of floats; never released.
        """
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Single:
    """An operator of one test as the operator of a condition that is one literal.

    Guarantee: that of ``operator``, whose law and cost it has.

    Args:
        condition: of one literal.
        operator: planned for that literal's test.
    """

    condition: Condition
    operator: CellOperator

    @property
    def plan(self) -> Plan:
        """The operator's own."""
        return self.operator.plan

    def decide(self, statistics: NDArray[np.int64], noise: NoiseSource) -> Decision:
        """Decide every cell from the literal's own statistic; see :meth:`Operator.decide`."""
        check_statistics(self.condition, statistics)
        atom = self.condition.atoms[self.condition.formula.atoms[0]]
        return self.operator.decide(statistics[atom.statistic], noise)

    def decide_many(self, statistics: NDArray[np.int64], noise: NoiseSource) -> Decisions:
        """Decide many windows; see :class:`operators.single.abreast.DecidesMany`."""
        check_statistics(self.condition, statistics[0])
        atom = self.condition.atoms[self.condition.formula.atoms[0]]
        return decide_many(self.operator, statistics[:, atom.statistic], noise)

    def chances(self, cell: int, statistics: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the law of one cell; see :meth:`operators.base.Operator.chances`."""
        atom = self.condition.atoms[self.condition.formula.atoms[0]]
        test = self.condition.test(self.condition.formula.literals[0])
        return self.operator.chances(steps_of(test, cell, statistics[atom.statistic]))


def of_one_test(
    planned: Callable[[IntegerTest, Promise], CellOperator],
    priced: Callable[[IntegerTest, Promise], Plan] | None = None,
) -> Maker:
    """Return how a mechanism of integer tests decides conditions of one literal.

    Args:
        planned: plans its operator.
        priced: returns its plan alone, where that saves something.
    """

    def operator(condition: Condition, aim: Aim) -> Operator:
        return Single(condition=condition, operator=planned(*asked(condition, aim)))

    if priced is None:
        return Maker(operator)
    price = priced  # known to be there
    return Maker(operator, lambda condition, aim: price(*asked(condition, aim)))


def promise_of(aim: Aim) -> Promise:
    """Return an aim over one atom as the promise of an integer test."""
    return Promise(aim.max_fnr, aim.tolerances[0], aim.max_fpr)


def steps_of(test: IntegerTest, cell: int, statistic: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the step counts that one cell may have.

    Args:
        test: of all cells.
        cell: which of them.
        statistic: shape (n,), int64: what its statistic may be.

    Returns:
        Shape (n,), int64.
    """
    thresholds = np.full(statistic.size, test.thresholds[cell], dtype=np.int64)
    return replace(test, thresholds=thresholds).quantise(statistic)


def check_statistics(condition: Condition, statistics: NDArray[np.int64]) -> None:
    """Refuse statistics that are not the condition's.

    Args:
        condition: what they are read by.
        statistics: shape (statistics, cells), int64.

    Raises:
        ValueError: another shape or type.
    """
    expect(INTEGERS, statistics=statistics)
    shape = (condition.statistics, condition.cells)
    if statistics.shape != shape or statistics.dtype != np.int64:
        raise ArgumentError(
            "statistics are int64, one row per statistic and one column per cell",
            hint=f"give an array of shape {shape}",
        )


def asked(condition: Condition, aim: Aim) -> tuple[IntegerTest, Promise]:
    """Return the test of a condition of one literal, and what is promised of it."""
    return condition.test(condition.formula.literals[0]), promise_of(aim)
