"""Deciders of quantiles whose references are known only once the window has been counted.

``tight`` and ``hist`` count on either side of the band. Where nobody knows yet where it will lie,
events are counted at every point of the public domain, and the rows that are needed read off them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from accountant.errors import ArgumentError
from operators.conditions.widths import half_widths
from operators.deciders.base import Quantile, check_inputs, counted_up_to

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from numpy.typing import NDArray

    from operators.conditions.weights import Statistic
    from operators.conditions.widths import HalfWidth
    from operators.deciders.quantiles import HistogramBand
    from operators.deciders.tight import TightBand
    from operators.noise.source import NoiseSource

__all__ = ["OverDomain"]


@dataclass(frozen=True, slots=True, eq=False)
class OverDomain:
    """``tight`` or ``hist`` of a quantile, counted at every point of its domain.

    Guarantee: that of the decider, which sees the numbers it would have counted itself.

    Args:
        inner: planned for a quantile.
    """

    inner: TightBand | HistogramBand

    def __post_init__(self) -> None:
        """Refuse what is no quantile.

        Raises:
            ValueError: counts, sums and means, which no reference is needed to count.
        """
        if not isinstance(self.inner.kind, Quantile):
            raise ArgumentError("only quantiles are counted over a domain")

    @property
    def name(self) -> str:
        """The decider's."""
        return self.inner.name

    @property
    def epsilon(self) -> Fraction:
        """Loss of one cell, as written."""
        return self.inner.epsilon

    @property
    def tau(self) -> HalfWidth:
        """Half-width of the band, in the domain's units, or its share of the reference."""
        return self.inner.tau

    @property
    def units(self) -> int:
        """Loss of one cell, in loss units, rounded up."""
        return self.inner.units

    @property
    def definition(self) -> Mapping[str, str]:
        """The decider's."""
        return self.inner.definition

    @property
    def statistics(self) -> tuple[Statistic, ...]:
        """The events at or below each point of the domain; the last row is all of them."""
        return tuple(counted_up_to(e, self.inner.kind.events) for e in self._domain)

    def rows(
        self, statistics: NDArray[np.int64], references: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return what the decider counts, shape (3, cells): n, and the events beyond either end.

        Args:
            statistics: shape (points, cells), int64, the rows of :attr:`statistics`.
            references: shape (cells,), int64.
        """
        points, cells = len(self._domain), references.size
        check_inputs(statistics, references, points)
        tau = half_widths(self.tau, references)
        up_to = np.concatenate([np.zeros((1, cells), dtype=np.int64), statistics])
        domain = np.arange(self._domain.start, self._domain.stop, self._domain.step, dtype=np.int64)
        at = np.arange(cells)
        low = up_to[np.searchsorted(domain, references - tau, side="right"), at]
        below = up_to[np.searchsorted(domain, references + tau, side="left"), at]
        return np.stack([statistics[-1], low, statistics[-1] - below])

    def decide(
        self, statistics: NDArray[np.int64], references: NDArray[np.int64], noise: NoiseSource
    ) -> NDArray[np.bool_]:
        """Decide every cell of one window; see :meth:`Decider.decide`."""
        return self.inner.decide(self.rows(statistics, references), references, noise)

    def chances(
        self, statistics: NDArray[np.int64], references: NDArray[np.int64]
    ) -> NDArray[np.float64] | None:
        """Return P["outside"] of every cell; see :meth:`operators.base.Decider.chances`."""
        return self.inner.chances(self.rows(statistics, references), references)

    @property
    def _domain(self) -> range:
        kind = self.inner.kind
        return kind.domain if isinstance(kind, Quantile) else range(0)
