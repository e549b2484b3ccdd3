"""How much an event weighs in a statistic: the one word for it in counting and in mechanisms."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Statistic", "Weight"]


class Weight(StrEnum):
    """What a cell's integer statistic adds up, x being a field's value in granules."""

    COUNT = "count"
    """1 per event."""
    DISTINCT_UNITS = "distinct_units"
    """1 per privacy unit."""
    SUM = "sum"
    """Clipped x."""
    OFFSET = "offset"
    """``scale`` times clipped x, less the cell's pivot: the sign of a mean's distance to it."""
    RANK = "rank"
    """``above`` where clipped x exceeds the cell's pivot, else ``not_above``: for quantiles."""
    LINEAR = "linear"
    """Whole multiples of what several counts and sums add up, of every term it counts in."""


@dataclass(frozen=True, slots=True)
class Statistic:
    """One integer per cell that a mechanism asks the counting for.

    Args:
        weight: COUNT (of events, or of privacy units where the aggregate is), SUM, OFFSET or RANK.
        cap: of SUM, values weigh no more than this; ``None`` where the clip is enough.
        pivot: of RANK in granules, of OFFSET in granules over ``scale``.
        relative: whether the cell's reference is added to ``pivot``.
        widths: how many half-widths of the cell's band are added to ``pivot``: -1, 0 or 1.
        scale: of OFFSET, at least 1.
        above: of RANK.
        not_above: of RANK.
        sensitivity: how far one privacy unit moves the statistic.
    """

    weight: Weight = Weight.COUNT
    cap: int | None = None
    pivot: int = 0
    relative: bool = False
    widths: int = 0
    scale: int = 1
    above: int = 1
    not_above: int = 0
    sensitivity: int = 1

    def total(self, values: NDArray[np.int64], reference: int, half_width: int = 0) -> int:
        """Evaluate the statistic directly (for tests and simulation; never released).

        Args:
            values: shape (events,), int64, clipped to the declared range.
            reference: the cell's reference.
            half_width: of the cell's band.
        """
        pivot = self.pivot + (reference if self.relative else 0) + self.widths * half_width
        match self.weight:
            case Weight.SUM:
                return int((values if self.cap is None else np.minimum(values, self.cap)).sum())
            case Weight.RANK:
                return int(np.where(values > pivot, self.above, self.not_above).sum())
            case Weight.OFFSET:
                return int((self.scale * values - pivot).sum())
            case _:
                return int(values.size)
