"""What one person can lose to windows of which they count in a few only: the dearest of them.

Guarantee: a person counts in at most ``windows`` windows of a capped alarm in a period. Which ones
follows from the log alone, never from noise, so whatever was drawn they lose at most the sum of the
dearest so many. Proof: ``docs/research/proofs/filter.md``, "Caps over a period".

Every sum here grows with each loss it is given, so that bounds of early answers hold as they do
without caps.
"""

from __future__ import annotations

from collections import defaultdict
from heapq import heappush, heappushpop, nlargest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from accountant.costs.charges import PeriodCap

__all__ = ["PeriodLosses", "dearest_sum"]


def dearest_sum(units: Iterable[int], windows: int) -> int:
    """Return the sum of the largest so many losses, in loss units."""
    return sum(nlargest(windows, units))


class PeriodLosses:
    """What one person may have lost in each period, in loss units.

    Args:
        units: of windows without a cap, by period start (ms).
    """

    def __init__(self, units: Mapping[int, int]) -> None:
        """Begin without windows that have one."""
        self._units = dict(units)
        self._dearest: defaultdict[tuple[int, PeriodCap], list[int]] = defaultdict(list)

    def of(self, period: int) -> int:
        """Return what a period holds."""
        return self._units.get(period, 0)

    def added(self, period: int, units: int, cap: PeriodCap | None) -> int:
        """Return what one more window would add to a period."""
        if cap is None:
            return units
        dearest = self._dearest[period, cap]
        if len(dearest) < cap.windows:
            return units
        return max(units - dearest[0], 0)

    def add(self, period: int, units: int, cap: PeriodCap | None) -> None:
        """Count one more window."""
        self._units[period] = self.of(period) + self.added(period, units, cap)
        if cap is None:
            return
        dearest = self._dearest[period, cap]
        if len(dearest) < cap.windows:
            heappush(dearest, units)
        else:
            heappushpop(dearest, units)
