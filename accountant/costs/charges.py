"""Charges: what a decision costs, as data.

A mechanism returns a decision and a frozen charge; the accountant never looks inside a mechanism.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol, Self

from accountant.arguments import TEXT, WHOLE, WHOLES, expect, instance_of
from accountant.errors import ArgumentError

__all__ = ["CellCosts", "Charge", "PeriodCap", "UniformCost", "WindowKey"]


class _Place(NamedTuple):
    end_ms: int
    query: str
    start_ms: int


class WindowKey(_Place):
    """One window of one query, ``[start_ms, end_ms)`` in milliseconds since the Unix epoch.

    Orders as requests are served: by window end, then query id (then start). It is the tuple of
    the three, as it is hashed and compared a hundred times for once that it is made.
    """

    __slots__ = ()

    def __new__(cls, end_ms: int, query: str, start_ms: int) -> Self:
        """Refuse an empty window."""
        if not type(end_ms) is type(start_ms) is int:  # made by the thousand
            expect(WHOLE, end_ms=end_ms, start_ms=start_ms)
        if type(query) is not str:
            expect(TEXT, query=query)
        if start_ms >= end_ms:
            raise ArgumentError(
                f"window of {query!r} is empty",
                hint="write start_ms < end_ms; the order is WindowKey(end_ms, query, start_ms)",
            )
        return tuple.__new__(cls, (end_ms, query, start_ms))


class CellCosts(Protocol):
    """Loss of every cell of one window, in loss units."""

    @property
    def cells(self) -> int:
        """How many cells there are."""
        ...

    @property
    def worst_units(self) -> int:
        """The largest loss of any one cell."""
        ...

    def largest_sum_units(self, cells: int) -> int:
        """The loss of someone who reaches the ``cells`` dearest cells."""
        ...


@dataclass(frozen=True, slots=True)
class UniformCost:
    """Every cell of the window costs the same.

    Args:
        units: loss units per cell.
        cells: cells in the window (predicates of the query).
    """

    units: int
    cells: int

    def __post_init__(self) -> None:
        """Refuse negative losses and empty windows: an unknown cost must never look free."""
        if not type(self.units) is type(self.cells) is int:  # made by the thousand
            expect(WHOLE, units=self.units, cells=self.cells)
        if self.units < 0 or self.cells < 1:
            raise ArgumentError(
                "a cost is not negative and covers at least one cell",
                hint="write UniformCost(units=to_loss_units(epsilon), cells=len(thresholds))",
            )

    @property
    def worst_units(self) -> int:
        """The loss of any one cell."""
        return self.units

    def largest_sum_units(self, cells: int) -> int:
        """The loss of someone who reaches ``cells`` cells of this window."""
        return self.units * min(cells, self.cells)


@dataclass(frozen=True, slots=True)
class PeriodCap:
    """Of some windows that touch a budget period, a person counts in a few only.

    Windows of one cap are those of one query under one configuration: after a change a person is
    counted anew, and may come to count in as many again.

    Args:
        windows: in how many, at most.
        query: whose windows.
        fingerprint: of its configuration.
    """

    windows: int
    query: str
    fingerprint: str

    def __post_init__(self) -> None:
        """Refuse a cap that nobody counts under: its windows would be free."""
        expect(WHOLE, windows=self.windows)
        expect(TEXT, query=self.query, fingerprint=self.fingerprint)
        if self.windows < 1:
            raise ArgumentError(
                "`windows` is below 1",
                hint="write Contribution.windows_per_period, or cap=None",
            )


@dataclass(frozen=True, slots=True)
class Charge:
    """What deciding one window costs one privacy unit at worst.

    Args:
        key: the window.
        cost: loss per cell.
        cells_per_unit: cells of this window that one privacy unit can reach
            (1 under unit ``event``; the predicates cap under unit ``user``).
        periods: starts (ms) of the budget periods the window touches; empty under unit ``event``.
        cap: unit ``user``: in how many of such windows a person counts; ``None`` for all.
    """

    key: WindowKey
    cost: UniformCost
    cells_per_unit: int
    periods: tuple[int, ...] = ()
    cap: PeriodCap | None = None

    def __post_init__(self) -> None:
        """Refuse a unit that reaches no cell: its charge would be free, or a refund."""
        if type(self.key) is not WindowKey or type(self.cells_per_unit) is not int:
            expect(instance_of(WindowKey), key=self.key)
            expect(WHOLE, cells_per_unit=self.cells_per_unit)
        if type(self.periods) is not tuple or self.periods:
            expect(WHOLES, periods=self.periods)
        if self.cap is not None:
            expect(instance_of(PeriodCap), cap=self.cap)
            if not self.periods or self.cap.query != self.key.query:
                raise ArgumentError(
                    "a cap over a period is of the charge's own query, under unit `user`",
                    hint="write periods=(...) and PeriodCap(windows, key.query, fingerprint)",
                )
        if self.cells_per_unit < 1:
            raise ArgumentError(
                "`cells_per_unit` is below 1",
                hint="write cells_per_unit=1, or Contribution.predicates_per_window",
            )

    @property
    def loss_units(self) -> int:
        """Loss of one privacy unit (in each period the window touches), in loss units."""
        return self.cost.largest_sum_units(self.cells_per_unit)
