"""Windows some of whose cells are held: they are not asked, answer nothing and cost nothing.

Guarantee: the law and the cost of the others are those of a window that has no other cells, so that
nothing that is drawn, chosen or paid depends on what a held cell counts. Which cells are held has
to follow from what was released before. Proof: ``docs/proofs/hold.md``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from accountant.costs.levels import LevelCosts, level_costs
from accountant.errors import ArgumentError
from operators.base import Decision

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from operators.base import Operator
    from operators.noise.source import NoiseSource

__all__ = ["DecidesSome", "among", "decide_asked"]


@runtime_checkable
class DecidesSome(Protocol):
    """An operator that is also one of some of its cells."""

    def among(self, cells: NDArray[np.intp]) -> Operator:
        """Return the operator of some cells, at the same price, without planning it anew.

        Args:
            cells: shape (n,), at least one: which, in this order.
        """
        ...


def among(operator: Operator, cells: NDArray[np.intp]) -> Operator:
    """Return :meth:`DecidesSome.among`.

    Raises:
        ValueError: the operator decides all its cells or none.
    """
    if not isinstance(operator, DecidesSome):
        raise ArgumentError("this operator decides all cells of a window, or none")
    return operator.among(cells)


def decide_asked(
    operator: Operator,
    statistics: NDArray[np.int64],
    held: NDArray[np.bool_] | None,
    noise: NoiseSource,
) -> Decision:
    """Decide the cells of one window that are not held.

    Args:
        operator: of all cells.
        statistics: shape (statistics, cells), int64.
        held: shape (cells,), bool; ``None`` for none.
        noise: the cryptographic source.

    Raises:
        ValueError: as :meth:`operators.base.Operator.decide` and :func:`among`.
    """
    if held is None or not held.any():
        return operator.decide(statistics, noise)
    fired, units = np.zeros_like(held), np.zeros(held.size, dtype=np.int64)
    asked = np.flatnonzero(~held)
    if asked.size:
        found = among(operator, asked).decide(statistics[:, asked], noise)
        fired[asked] = found.fired
        units[asked] = level_costs(found.cost).as_array()
    return Decision(fired, LevelCosts.of(units))
