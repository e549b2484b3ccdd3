"""The privacy filter: whether one more worst case fits under the wall. Pure, integers only.

Guarantee: if windows are decided only after :meth:`BudgetFilter.reserve` said yes, at a cost no
larger than they reserved, the whole transcript, refusals included, is epsilon_max-DP for the
scope's privacy unit. Proof: ``docs/proofs/filter.md``.

Both filters count a charge at its reserved worst case from the moment it is reserved, also once it
is settled: a cheaper settlement refunds nothing, so that what is refused never depends on realised
costs or on when they became known.

Source: PWDP composition as in MIDE, Theorem 5 (unit ``event``, with the safe bound of
:mod:`accountant.overlap`); sequential composition over cells (unit ``user``).
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Protocol

from accountant.overlap import Held, worst_instant
from accountant.units import PrivacyUnit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from accountant.charges import Charge

__all__ = ["BudgetFilter", "EventFilter", "UserFilter", "filter_for"]


class BudgetFilter(Protocol):
    """Says yes or no to worst cases, in the order it is asked."""

    def reserve(self, charge: Charge) -> bool:
        """Hold ``charge`` if it fits and say whether it did; a refused one leaves no trace."""
        ...


class EventFilter:
    """Unit ``event``: no instant may be covered by charges that sum above the wall.

    An event's loss is the sum over every window that contains it, and is never reset.

    Args:
        epsilon_max_units: the wall, in loss units.
        held: every charge, reserved or settled, that overlaps a window still to be asked for.
    """

    def __init__(self, epsilon_max_units: int, held: Iterable[Held]) -> None:
        self._wall = epsilon_max_units
        self._held = sorted(held, key=_end)

    def reserve(self, charge: Charge) -> bool:
        """Hold ``charge`` if the worst instant of its window still has room."""
        key = charge.key
        # Windows that ended before this one starts cannot cover an instant of it.
        first = bisect_right(self._held, key.start_ms, key=_end)
        span = (key.start_ms, key.end_ms)
        if worst_instant(self._held[first:], within=span) + charge.loss_units > self._wall:
            return False
        mine = Held(key.start_ms, key.end_ms, charge.loss_units)
        self._held.insert(bisect_right(self._held, mine.end_ms, key=_end), mine)
        return True


class UserFilter:
    """Unit ``user``: within each period, the losses of all windows touching it sum to the wall.

    A window counts in full (its dearest reachable cells) in every period it touches.

    Args:
        epsilon_max_units: the wall, in loss units.
        held_units: loss held so far by period start (ms).
    """

    def __init__(self, epsilon_max_units: int, held_units: Mapping[int, int]) -> None:
        self._wall = epsilon_max_units
        self._held_units = dict(held_units)

    def reserve(self, charge: Charge) -> bool:
        """Hold ``charge`` if every period it touches still has room."""
        if not charge.periods:
            # No period would mean no limit: an unknown budget must never look free.
            return False
        after = {
            period: self._held_units.get(period, 0) + charge.loss_units for period in charge.periods
        }
        if max(after.values()) > self._wall:
            return False
        self._held_units.update(after)
        return True


def filter_for(
    unit: PrivacyUnit,
    epsilon_max_units: int,
    *,
    held: Iterable[Held],
    held_units: Mapping[int, int],
) -> BudgetFilter:
    """Return the filter of a privacy unit.

    Args:
        unit: the scope's privacy unit.
        epsilon_max_units: its wall.
        held: charges by window, for unit ``event``.
        held_units: loss by period, for unit ``user``.
    """
    if unit is PrivacyUnit.EVENT:
        return EventFilter(epsilon_max_units, held)
    return UserFilter(epsilon_max_units, held_units)


def _end(held: Held) -> int:
    return held.end_ms
