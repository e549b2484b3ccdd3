"""What every mechanism looks like from outside.

An operator is planned from configuration alone (its worst-case loss is known before any data is
read), then decides windows. It does no I/O, reads no clock and holds no state between windows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from fractions import Fraction

    import numpy as np
    from numpy.typing import NDArray

    from accountant.costs.charges import CellCosts
    from operators.noise.source import NoiseSource

__all__ = ["Decision", "Operator", "Plan", "Promise"]


@dataclass(frozen=True, slots=True)
class Promise:
    """What the analyst asked for, per cell, about the bounded statistic of decided windows.

    Args:
        max_fnr: most probable miss of a true alarm, in (0, 1).
        tolerance: MIDE's ``u``, half the uncertain region, in units of the statistic (>= 0): from
            ``c + 1`` on an alarm is due, at ``c - 2u`` and below one is false.
        max_fpr: most probable false alarm beyond the tolerance; ``None`` means as ``max_fnr``.
    """

    max_fnr: Fraction
    tolerance: int
    max_fpr: Fraction | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """The worst case of one window, known before data is read.

    Args:
        mechanism: its name as in the configuration.
        epsilon: loss of one cell at worst; a whole number of loss units.
        limit: the least epsilon any mechanism can pay for the same promise. For a formula it is a
            lower bound, seldom reached: what its most demanding literal would cost alone. Without
            ``max_fpr`` it is that among mechanisms that also keep ``max_fnr`` as false-alarm rate
            where a literal decides alone.
    """

    mechanism: str
    epsilon: Fraction
    limit: float

    @property
    def ratio(self) -> float:
        """How many times the theoretical minimum is paid; infinite where that is nothing."""
        return float(self.epsilon) / self.limit if self.limit else math.inf


@dataclass(frozen=True, slots=True)
class Decision:
    """The outcome of one window.

    Args:
        fired: shape (cells,), bool: which cells ring.
        cost: realised loss per cell, never above the plan's; ex post, where cells differ.
    """

    fired: NDArray[np.bool_]
    cost: CellCosts


class Operator(Protocol):
    """A mechanism, configured for one query."""

    @property
    def plan(self) -> Plan:
        """Worst-case loss per cell, from configuration alone."""
        ...

    def decide(self, statistics: NDArray[np.int64], noise: NoiseSource) -> Decision:
        """Decide every cell of one window.

        Args:
            statistics: shape (statistics, cells), int64: the exact integer statistics of every
                cell, in the order of the condition.
            noise: the cryptographic source; drawn from once per cell or more.

        Returns:
            Shape (cells,) decisions and the cost of each.

        Raises:
            ValueError: statistics of another shape or type.
        """
        ...
