"""Many windows of one query decided at once, as an operator decides each of them.

For trying alarms out: what is stored and released is decided window by window. Every cell of every
window has noise of its own, and what a window's cells choose together they choose by that window
alone, so the laws are those of single windows. With the same noise the answers are the same bit for
bit (``tests/unit/operators/test_batched.py``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast, runtime_checkable

import numpy as np

from accountant.costs.levels import LevelCosts, level_costs
from operators.base import Decision

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from operators.conditions.atoms import IntegerTest
    from operators.conditions.condition import Channel
    from operators.noise.source import NoiseSource

__all__ = [
    "Decides",
    "DecidesMany",
    "Decisions",
    "EachByItself",
    "decide_many",
    "repeated",
    "retested",
    "steps_of_many",
]


@dataclass(frozen=True, slots=True, eq=False)
class Decisions:
    """The outcome of many windows.

    Args:
        fired: shape (windows, cells), bool: which cells ring.
        units: shape (windows, cells), int64: realised loss per cell, in loss units.
        reached: shape (windows, cells), int64: of an alarm with severity levels, how many fire.
    """

    fired: NDArray[np.bool_]
    units: NDArray[np.int64]
    reached: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, decisions: Iterable[Decision], windows: int) -> Decisions:
        """Return what one decision, or one per window, says of so many windows."""
        every = list(decisions)
        fired = np.concatenate([each.fired for each in every])
        units = np.concatenate([level_costs(each.cost).as_array() for each in every])
        return cls(fired.reshape(windows, -1), units.reshape(windows, -1))

    @property
    def only(self) -> Decision:
        """What was decided of the only window."""
        return Decision(self.fired[0], LevelCosts.of(self.units[0]))


class Decides(Protocol):
    """An operator of conditions, or of single cells."""

    def decide(self, statistics: NDArray[np.int64], noise: NoiseSource) -> Decision:
        """Decide every cell of one window."""
        ...


_Cells = TypeVar("_Cells", bound=Decides)


@runtime_checkable
class DecidesMany(Protocol):
    """An operator that decides many windows for less than one by one."""

    def decide_many(self, statistics: NDArray[np.int64], noise: NoiseSource) -> Decisions:
        """Decide every cell of every window; see :func:`decide_many`."""
        ...


def decide_many(operator: Decides, statistics: NDArray[np.int64], noise: NoiseSource) -> Decisions:
    """Decide every cell of every window, one by one where the operator knows no faster way.

    Args:
        operator: of the query, or of single cells.
        statistics: shape (windows, statistics, cells), or (windows, cells) of single cells, int64,
            at least one window.
        noise: the cryptographic source.

    Raises:
        ValueError: statistics of another shape or type.
    """
    if isinstance(operator, DecidesMany):
        return operator.decide_many(statistics, noise)
    return Decisions.of((operator.decide(each, noise) for each in statistics), len(statistics))


def repeated(test: IntegerTest, windows: int) -> IntegerTest:
    """Return the test of so many windows' cells, one window after the other."""
    return replace(test, thresholds=np.tile(test.thresholds, windows))


def retested(operator: _Cells, change: Callable[[IntegerTest], IntegerTest]) -> _Cells:
    """Return what decides as an operator of one test does, of the cells of another.

    Args:
        operator: a dataclass with a ``test``.
        change: makes the other test of its own.
    """
    whole = cast("Any", operator)
    found: _Cells = replace(whole, test=change(whole.test))
    return found


class EachByItself:
    """Operators of one test that decide the cells of all windows as if they were one window's."""

    __slots__ = ()

    def decide_many(self: Decides, statistics: NDArray[np.int64], noise: NoiseSource) -> Decisions:
        """Decide many windows; see :class:`operators.single.batched.DecidesMany`.

        Args:
            statistics: shape (windows, cells), int64.
            noise: the cryptographic source.
        """
        windows = len(statistics)
        wide = retested(self, lambda test: repeated(test, windows))
        return Decisions.of([wide.decide(statistics.reshape(-1), noise)], windows)


def steps_of_many(channel: Channel, statistics: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a channel's step counts in every cell of every window.

    Args:
        channel: of the query's condition.
        statistics: shape (windows, statistics, cells), int64.

    Returns:
        Shape (windows, cells), int64.
    """
    windows = len(statistics)
    wide = replace(channel, test=repeated(channel.test, windows))
    return wide.steps(statistics.transpose(1, 0, 2).reshape(statistics.shape[1], -1)).reshape(
        windows, -1
    )
