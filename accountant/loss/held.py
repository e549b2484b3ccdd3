"""What a charge holds of the rows that it covers, as the filter adds it up."""

from __future__ import annotations

from dataclasses import dataclass

from accountant.regions.shapes import ANYWHERE, Shape

__all__ = ["Held"]


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """A charge that counts against the wall.

    Args:
        start_ms: start of its window.
        end_ms: end of its window, exclusive.
        loss_units: its largest loss for a row inside the window, in loss units, >= 0.
        shape: which rows its cells cover.
        cells: what its cells are; the same for charges whose cells have the same numbers.
        costs: loss of every cell when they differ, as ``LevelCosts`` encodes it; decoded only where
            the dearest cells would not fit, so that many large windows may be held.
    """

    start_ms: int
    end_ms: int
    loss_units: int
    shape: Shape = ANYWHERE
    cells: str = ""
    costs: bytes | None = None
