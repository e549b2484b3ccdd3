"""Work that is counted, so that a search ends at the same step on every machine.

A *step* looks at one class of values for one region. Clocks, and with them the load of a machine,
have no part in it: the same input with the same limit does the same steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["UNLIMITED", "Work"]

UNLIMITED: Final = 4_000_000_000
"""Steps that parts are taken of where the whole has no limit."""


@dataclass(slots=True)
class Work:
    """Steps done, and how many there may be.

    Args:
        limit: steps after which no more are begun; ``None`` for no limit.
        done: steps so far. What is begun is finished, so they may exceed the limit by a little.
    """

    limit: int | None = None
    done: int = 0

    def spend(self, steps: int) -> bool:
        """Count steps that are about to be done; say whether the limit was reached before them."""
        over = self.over
        self.done += 0 if over else steps
        return over

    @property
    def over(self) -> bool:
        """Whether the limit is reached."""
        return self.limit is not None and self.done >= self.limit

    def part(self, parts: int) -> Work:
        """Return work of its own, limited to one of so many parts of the steps that are left.

        Where there is no limit to take a part of, it is ``UNLIMITED``'s: a search that may not end
        is not the only one.
        """
        left = UNLIMITED if self.limit is None else max(0, self.limit - self.done)
        return Work(left // parts)
