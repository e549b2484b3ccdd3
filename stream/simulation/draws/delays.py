"""How long after its condition first held an early alarm fired, in steps, over draws."""

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
    """Of cells of windows in which the condition held at some step; delays add up.

    Args:
        before: how many fired at a step before the first at which it held: false alarms.
        steps: the others that fired, by how many steps after that first one.
    """

    before: int = 0
    steps: Counter[int] = field(default_factory=Counter)

    def count(self, fired: NDArray[np.int64], held: NDArray[np.int64], looks: int) -> None:
        """Count some windows.

        Args:
            fired: shape (windows, cells): the step that fired first, ``looks`` where none did.
            held: the same shape: the first step at which the condition held, likewise.
            looks: steps of every window.
        """
        true = (held < looks) & (fired < looks)
        late = (fired - held)[true]
        self.before += int(np.count_nonzero(late < 0))
        steps, times = np.unique(late[late >= 0], return_counts=True)
        self.steps.update(dict(zip(steps.tolist(), times.tolist(), strict=True)))

    @property
    def fired(self) -> int:
        """How many fired when the condition held, or later."""
        return self.steps.total()

    @property
    def mean(self) -> float | None:
        """Mean of the delays, in steps; ``None`` where nothing fired in time or late."""
        if not self.fired:
            return None
        return sum(step * times for step, times in self.steps.items()) / self.fired

    def quantile(self, share: float) -> int | None:
        """Return the least delay that at least such a share does not pass, in steps.

        ``None`` where nothing fired in time or late.
        """
        reached = 0
        for step in sorted(self.steps):
            reached += self.steps[step]
            if reached >= share * self.fired - 1e-9:
                return step
        return None
