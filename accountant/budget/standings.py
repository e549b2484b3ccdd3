"""What an earlier window holds against the wall, as the filter is told of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accountant.costs.charges import PeriodCap
    from accountant.loss.overlap import Held

__all__ = ["Standing"]


@dataclass(frozen=True, slots=True)
class Standing:
    """What an earlier window may have cost one privacy unit once it has ended.

    Args:
        held: its window and its loss: realised, or at worst while it is open.
        open: whether it may still end cheaper, down to nothing (a denial).
        periods: starts (ms) of the budget periods it touches.
        query: its alarm.
        left_units: of a window that was decided in a run, or taken as spent: what the alarms that
            it left may cost.
        cap: in how many of such windows a person counts in a period; ``None`` for all.
    """

    held: Held
    open: bool
    periods: tuple[int, ...] = ()
    query: str = ""
    left_units: int | None = None
    cap: PeriodCap | None = None
