"""Windows some of whose cells are held: they are not asked, answer nothing and cost nothing.

Guarantee: the law and the cost of the others are those of a window that has no other cells, so that
nothing that is drawn, chosen or paid depends on what a held cell counts. Which cells are held has
to follow from what was released before. Proof: ``docs/research/proofs/hold.md``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from accountant.costs.levels import LevelCosts, level_costs
from operators.base import Decision

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from operators.base import Operator
    from operators.noise.source import NoiseSource

__all__ = ["among", "decide_asked"]


def among(operator: Operator, cells: NDArray[np.intp]) -> Operator:
    """Return what decides some cells of a window, and reads no others: at the same price, at once.

    Args:
        operator: of all cells, by a mechanism that reads ``hold``.
        cells: shape (n,), at least one: which are decided, in this order; given are statistics of
            all of them.
    """
    found: Operator = cast("Any", operator).among(cells)
    return found


def decide_asked(
    operator: Operator,
    statistics: NDArray[np.int64],
    held: NDArray[np.bool_] | None,
    noise: NoiseSource,
) -> Decision:
    """Decide the cells of one window that are not held.

    Args:
        operator: of all cells, by a mechanism that reads ``hold``.
        statistics: shape (statistics, cells), int64.
        held: shape (cells,), bool; ``None`` for an alarm without hold.
        noise: the cryptographic source.

    Raises:
        ValueError: as :meth:`operators.base.Operator.decide`.
    """
    if held is None:
        return operator.decide(statistics, noise)
    fired, units = np.zeros_like(held), np.zeros(held.size, dtype=np.int64)
    asked = np.flatnonzero(~held)
    if asked.size:
        found = among(operator, asked).decide(statistics, noise)
        fired[asked], units[asked] = found.fired, level_costs(found.cost).as_array()
    return Decision(fired, LevelCosts.of(units))
