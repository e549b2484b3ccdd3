"""Over how many partitions a feed's events are routed, and when that changed.

A row counts only in the partition that its unit hashes to, and that depends on how many partitions
there are. So a window is counted under one number of partitions, the same in every partition, or
not at all: then nobody counts twice in it, whatever sensors send where (promise 1). What a record
is routed by depends on its own append time; what a window is counted under on the span of append
times that it takes records from (its *slice*). The one follows from the other:

    partitions     2 2 2 2 2 2 2 2 2 2 2 | 5 5 5 5 5 5 5
    a growth                 [ from    until )
    slices         [  2  )   [none )   [none )
                      [ 2 )       [none      )  [  5  )

Every instant of a slice that has a number is routed by that number. ``tests/unit/accountant/
test_layouts.py`` holds it for all small histories, and ``docs/explanation/
guarantees-and-limits.md`` says why it is enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Growth", "Layouts"]

_NEVER_MS: Final = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Growth:
    """A feed gets more partitions; windows with records of the time between are never decided.

    Args:
        feed: its name.
        partitions: of its topic afterwards.
        before: of its topic before.
        from_ms: no record appended before this was routed over the new ones.
        until_ms: every record appended from then on is; ``None`` while the partitions may not be
            there yet, so that nobody knows.
        announced_ms: when the custodian said so.
    """

    feed: str
    partitions: int
    before: int
    from_ms: int
    until_ms: int | None
    announced_ms: int


@dataclass(frozen=True, slots=True)
class Layouts:
    """How many partitions a feed has had.

    Args:
        first: when its log was registered.
        growths: in order; each begins where the one before is over, at the earliest.
    """

    first: int
    growths: tuple[Growth, ...] = ()

    @property
    def counts(self) -> tuple[int, ...]:
        """How many there were at first, and after each growth."""
        return self.first, *(growth.partitions for growth in self.growths)

    @property
    def newest(self) -> int:
        """How many there are, or are about to be."""
        return self.counts[-1]

    @property
    def unfinished(self) -> Growth | None:
        """The growth that was announced and is not known to be done."""
        last = self.growths[-1] if self.growths else None
        return last if last is not None and last.until_ms is None else None

    @property
    def revision(self) -> int:
        """A number that rises with everything that is learnt; equal for equal histories."""
        return 2 * len(self.growths) - (self.unfinished is not None)

    @property
    def possible(self) -> frozenset[int]:
        """How many partitions a broker may say that the topic has.

        Partitions never become fewer: one that says the number before has not heard yet.
        """
        return frozenset({self.newest, *(growth.before for growth in self.growths[-1:])})

    def problems(self) -> list[str]:
        """Say what of it cannot have been announced so; empty when all is well."""
        found = []
        before, over_ms = self.first, None
        for growth in self.growths:
            last = growth is self.growths[-1]
            well = (
                growth.before == before < growth.partitions
                and (over_ms is None or growth.from_ms >= over_ms)
                and (last if growth.until_ms is None else growth.until_ms > growth.from_ms)
            )
            if not well:
                found.append(
                    f"feed {growth.feed!r} cannot have grown to {growth.partitions} partitions as "
                    "the ledger has it"
                )
            before, over_ms = growth.partitions, growth.until_ms
        return found

    def at(self, append_ms: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return over how many partitions records are routed, from when each was appended.

        Args:
            append_ms: shape (n,), by the broker's clock.

        Returns:
            Shape (n,).
        """
        ends = [_NEVER_MS if each.until_ms is None else each.until_ms for each in self.growths]
        counts = np.array(self.counts, np.int64)
        found: NDArray[np.int64] = counts[np.searchsorted(ends, append_ms, side="right")]
        return found

    def of_slice(self, first_ms: int, cut_ms: int) -> int | None:
        """Return over how many partitions all records of a slice are routed.

        Args:
            first_ms: append time of the first record that a window can take.
            cut_ms: it takes none appended at or after this.

        Returns:
            ``None`` where some of them may be routed otherwise than others.
        """
        for growth in self.growths:
            if cut_ms <= growth.from_ms:
                return growth.before
            if growth.until_ms is None or first_ms < growth.until_ms:
                return None
        return self.newest
