"""Mechanisms of one integer test, for conditions of any literals: they decide its score."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from accountant.arguments import INTEGERS, expect
from accountant.errors import ArgumentError, ConfigError
from operators.base import Promise
from operators.conditions.formula import atom_of
from operators.conditions.score import score_of
from operators.descriptors import Maker
from operators.single.batched import decide_many, retested
from operators.single.gaussian import gaussian_limit
from operators.single.tslm import error_rates, room_of, theoretical_limit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import EllipsisType

    from numpy.typing import NDArray

    from operators.base import Decision, Operator, Plan
    from operators.conditions.atoms import IntegerTest
    from operators.conditions.condition import Aim, Condition
    from operators.conditions.score import Score
    from operators.noise.source import NoiseSource
    from operators.single.batched import Decisions

__all__ = [
    "CellOperator",
    "Scored",
    "asked",
    "check_statistics",
    "least_loss",
    "only_test",
    "promise_of",
    "scored",
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
class Scored:
    """An operator of one test as the operator of a condition: it decides the condition's score.

    Guarantee: that of ``operator``, whose law and cost it has, for neighbours that move all
    statistics at once; what it promises of one test holds of the whole condition
    (``docs/research/proofs/score.md``).

    Args:
        score: of the condition.
        operator: planned for the score's test.
        cells: which cells are decided; all of them, unless said.
    """

    score: Score
    operator: CellOperator
    cells: NDArray[np.intp] | EllipsisType = ...

    @property
    def plan(self) -> Plan:
        """The operator's own."""
        return self.operator.plan

    def decide(self, statistics: NDArray[np.int64], noise: NoiseSource) -> Decision:
        """Decide every cell by its score; see :meth:`Operator.decide`."""
        check_statistics(self.score.condition, statistics)
        return self.operator.decide(self.score.read(statistics)[self.cells], noise)

    def decide_many(self, statistics: NDArray[np.int64], noise: NoiseSource) -> Decisions:
        """Decide many windows; see :class:`operators.single.batched.DecidesMany`."""
        check_statistics(self.score.condition, statistics[0])
        return decide_many(self.operator, self.score.read(statistics), noise)

    def among(self, cells: NDArray[np.intp]) -> Scored:
        """Return what decides some cells; see :func:`operators.single.held.among`."""
        operator = retested(self.operator, lambda test: test.at(cells))
        return replace(self, operator=operator, cells=cells)

    def chances(self, cell: int, statistics: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the law of one cell; see :meth:`operators.base.Operator.chances`."""
        return self.operator.chances(self.score.of(cell, statistics))


def scored(
    planned: Callable[..., CellOperator],
    priced: Callable[[IntegerTest, Promise], Plan] | None = None,
    more: Callable[[Aim], Mapping[str, object]] = lambda _aim: {},
) -> Maker:
    """Return how a mechanism of integer tests decides conditions.

    Args:
        planned: plans its operator from a test and a promise.
        priced: returns its plan alone, where that saves something.
        more: what else it is planned from, by name.
    """

    def operator(condition: Condition, aim: Aim) -> Operator:
        score, promise = asked(condition, aim)
        return Scored(score, planned(score.test, promise, **more(aim)))

    def price(condition: Condition, aim: Aim) -> Plan:
        score, promise = asked(condition, aim)
        if priced is None:
            return operator(condition, aim).plan
        return priced(score.test, promise)

    return Maker(operator, price)


def least_loss(condition: Condition, aim: Aim) -> float:
    """Return the least epsilon at which any mechanism keeps an aim once, at a window's end.

    Where a Gaussian budget pays, the least ``mu^2 / 2``.

    Args:
        condition: when a cell should ring.
        aim: what the analyst asked for.

    Raises:
        ConfigError: an aim that cannot be kept.
    """
    score, promise = asked(condition, aim)
    least = gaussian_limit if aim.gaussian else theoretical_limit
    return least(*room_of(score.test, promise))


def promise_of(aim: Aim) -> Promise:
    """Return an aim over one atom as the promise of an integer test."""
    return Promise(aim.max_fnr, aim.tolerances[0], aim.max_fpr)


def only_test(condition: Condition, what: str, hint: str) -> tuple[IntegerTest, int]:
    """Return the one test of a condition, and which statistic it reads.

    Args:
        condition: when a cell should ring.
        what: takes one comparison, in words.
        hint: what to write instead.

    Raises:
        ConfigError: several comparisons.
    """
    one, *more = condition.formula.literals
    if more:
        raise ConfigError(f"{what}, but HAVING becomes {len(more) + 1}", hint=hint)
    return condition.test(one), condition.atoms[atom_of(one)].statistic


def steps_of(test: IntegerTest, cell: int, statistic: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the step counts that one cell may have.

    Args:
        test: of all cells.
        cell: which of them.
        statistic: shape (n,), int64: what its statistic may be.

    Returns:
        Shape (n,), int64.
    """
    return test.at(np.full(statistic.size, cell)).quantise(statistic)


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


def asked(condition: Condition, aim: Aim) -> tuple[Score, Promise]:
    """Return the score of a condition, and what is promised of it.

    Args:
        condition: when a cell should ring.
        aim: what the analyst asked for.

    Raises:
        ConfigError: rates or tolerances that cannot be kept.
    """
    error_rates(Promise(aim.max_fnr, min(aim.tolerances), aim.max_fpr))
    score = score_of(condition, aim.tolerances)
    at = condition.formula.atoms.index(atom_of(score.decisive))
    return score, Promise(aim.max_fnr, aim.tolerances[at], aim.max_fpr, score.steps)
