"""How long after its condition first held an early alarm rang, in steps, over draws."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from stream.simulation.draws.adding import Adding

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Delays"]


@dataclass(slots=True)
class Delays(Adding):
    """Of cells of windows in which the condition held at some look; delays add up.

    Args:
        before: how many rang at a look before the first at which it held: false rings.
        steps: the others that rang, by how many looks after that first one.
    """

    before: int = 0
    steps: Counter[int] = field(default_factory=Counter)

    def count(self, rang: NDArray[np.int64], held: NDArray[np.int64], looks: int) -> None:
        """Count some windows.

        Args:
            rang: shape (windows, cells): the look that rang first, ``looks`` where none did.
            held: the same shape: the first look at which the condition held, likewise.
            looks: of every window.
        """
        true = (held < looks) & (rang < looks)
        late = (rang - held)[true]
        self.before += int(np.count_nonzero(late < 0))
        steps, times = np.unique(late[late >= 0], return_counts=True)
        self.steps.update(dict(zip(steps.tolist(), times.tolist(), strict=True)))

    @property
    def rang(self) -> int:
        """How many rang when the condition held, or later."""
        return self.steps.total()

    @property
    def mean(self) -> float | None:
        """Mean of the delays, in steps; ``None`` where nothing rang in time or late."""
        if not self.rang:
            return None
        return sum(step * times for step, times in self.steps.items()) / self.rang

    def quantile(self, share: float) -> int | None:
        """Return the least delay that at least such a share does not pass, in steps.

        ``None`` where nothing rang in time or late.
        """
        reached = 0
        for step in sorted(self.steps):
            reached += self.steps[step]
            if reached >= share * self.rang - 1e-9:
                return step
        return None
