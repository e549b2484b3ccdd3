"""The privacy filter: whether one more worst case fits under the wall. Pure, integers only.

Guarantee: if windows are decided only after :meth:`BudgetFilter.answer` granted them, at a cost no
larger than they reserved, the whole transcript, refusals included, is epsilon_max-DP for the
scope's privacy unit. Proof: ``docs/research/proofs/filter.md``.

The answer to a window is a function of how the windows *before* it in the fixed order ended: it is
granted if their realised losses leave room for its worst case. Where some of them have not ended
yet, the answer is given as soon as nothing that may still happen can change it, and is pending
until then. So refunds are usable at once, and neither timing nor interleaving changes an answer.

Source: PWDP composition as in MIDE, Theorem 5 (unit ``event``, as :mod:`accountant.loss.overlap`
bounds it); sequential composition over cells (unit ``user``).
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, Protocol

from accountant.budget.dearest import PeriodLosses
from accountant.budget.keeping import Keepers
from accountant.loss.overlap import worst_instant, worst_loss
from accountant.records import Answer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from accountant.budget.standings import Standing
    from accountant.costs.charges import Charge
    from accountant.loss.overlap import Held
    from accountant.regions.shapes import Shape

__all__ = ["BudgetFilter", "EventFilter", "UserFilter", "WithRoom"]


class BudgetFilter(Protocol):
    """Answers worst cases in the fixed order of windows."""

    def answer(self, charge: Charge, shape: Shape) -> Answer:
        """Return ``RESERVED``, ``REFUSED``, or ``PENDING`` while earlier windows can decide it."""
        ...

    def hold(self, standing: Standing) -> None:
        """Count a window that comes before all that will be asked about."""
        ...


class EventFilter:
    """Unit ``event``: no row may lose more than the wall.

    An event's loss is the sum over every window that contains it, and is never reset.

    Args:
        epsilon_max_units: the wall, in loss units.
        standing: every earlier window that overlaps a window still to be asked about.
        among: tells the shapes that windows may have, where sums alone do not answer; it saves
            time and changes no answer.
    """

    def __init__(
        self,
        epsilon_max_units: int,
        standing: Iterable[Standing],
        among: Callable[[], frozenset[Shape]] = frozenset,
    ) -> None:
        self._wall = epsilon_max_units
        self._among = among
        self._standing = sorted(standing, key=_end)
        self._ends_ms = [_end(one) for one in self._standing]
        self._sums = list(accumulate((one.held.loss_units for one in self._standing), initial=0))

    def answer(self, charge: Charge, shape: Shape) -> Answer:
        """Look at the worst row of the charge's window that its query may cover."""
        span = (charge.key.start_ms, charge.key.end_ms)
        room = self._wall - charge.loss_units
        if room < 0:
            return Answer.REFUSED
        # Windows that ended before this one starts cannot cover a row of it.
        first = bisect_right(self._ends_ms, span[0])
        # The plain sums are never smaller: where one fits, no cell need be looked at.
        if self._sums[-1] - self._sums[first] <= room:
            return Answer.RESERVED
        near = self._standing[first:]
        held = [one.held for one in near]
        if worst_instant(held, within=span) <= room:
            return Answer.RESERVED
        if not self._passes(held, span, shape, room):
            return Answer.RESERVED
        if any(one.open for one in near):
            ended = [one.held for one in near if not one.open]
            if not self._passes(ended, span, shape, room):
                return Answer.PENDING
        return Answer.REFUSED

    def hold(self, standing: Standing) -> None:
        """Count a window."""
        at = bisect_right(self._ends_ms, _end(standing))
        self._standing.insert(at, standing)
        self._ends_ms.insert(at, _end(standing))
        later = (one.held.loss_units for one in self._standing[at:])
        self._sums[at:] = accumulate(later, initial=self._sums[at])

    def _passes(self, held: Sequence[Held], span: tuple[int, int], shape: Shape, room: int) -> bool:
        """Say whether some row that a query may cover lost more than there is room for."""
        found = worst_loss(held, within=span, meeting=shape, above=room, among=self._among())
        return found > room


class WithRoom:
    """Unit ``event``, where a row may carry everything that stands and there is room all the same.

    It answers as :class:`EventFilter` does, which grants what fits beside that sum: what stands is
    looked at one by one only for a window that does not.

    Args:
        room_units: what the wall leaves beside the sum of all that stands, open windows at their
            worst; negative where that is above it.
        judge: makes the filter that knows what stands.
    """

    def __init__(self, room_units: int, judge: Callable[[], BudgetFilter]) -> None:
        self._room_units = room_units
        self._make = judge
        self._judge: BudgetFilter | None = None
        self._held: list[Standing] = []

    def answer(self, charge: Charge, shape: Shape) -> Answer:
        """Grant what fits beside the sum; ask the filter about anything else."""
        if charge.loss_units <= self._room_units:
            return Answer.RESERVED
        if self._judge is None:
            self._judge = self._make()
            for standing in self._held:
                self._judge.hold(standing)
        return self._judge.answer(charge, shape)

    def hold(self, standing: Standing) -> None:
        """Count a window."""
        self._room_units -= standing.held.loss_units
        self._held.append(standing)
        if self._judge is not None:
            self._judge.hold(standing)


class UserFilter:
    """Unit ``user``: within each period, the losses of all windows touching it sum to the wall.

    Beside what other alarms hold counts what they keep (:mod:`accountant.budget.keeping`).

    A window counts in full (its dearest reachable cells) in every period it touches: together
    these are the dearest cells that one person can reach. Of windows with a cap over the period,
    the dearest count that one person can be in (:mod:`accountant.budget.dearest`).

    Args:
        epsilon_max_units: the wall, in loss units.
        least_units: loss of windows that have ended and have no cap, by period start (ms).
        most_units: the same with open windows at their worst.
        keepers: what alarms keep from one another; it goes on with the windows held here.
        capped: windows with a cap that come before all that will be asked about.
    """

    def __init__(
        self,
        epsilon_max_units: int,
        least_units: Mapping[int, int],
        most_units: Mapping[int, int],
        keepers: Keepers | None = None,
        capped: Iterable[Standing] = (),
    ) -> None:
        self._wall = epsilon_max_units
        self._least = PeriodLosses(least_units)
        self._most = PeriodLosses(most_units)
        self._keepers = Keepers() if keepers is None else keepers
        for standing in capped:
            self._count(standing)

    def answer(self, charge: Charge, shape: Shape) -> Answer:
        """Look at every period that the charge's window touches."""
        del shape  # whatever rows a query covers, a person may have some of them
        if not charge.periods:
            # No period would mean no limit: an unknown budget must never look free.
            return Answer.REFUSED
        units, cap = charge.loss_units, charge.cap
        self._keepers.passed(charge.key.end_ms)
        least_units = most_units = 0
        for period in charge.periods:
            least, most = self._keepers.beside(charge.key.query, period)
            least += self._least.of(period) + self._least.added(period, units, cap)
            most += self._most.of(period) + self._most.added(period, units, cap)
            least_units, most_units = max(least_units, least), max(most_units, most)
        if most_units <= self._wall:
            return Answer.RESERVED
        return Answer.REFUSED if least_units > self._wall else Answer.PENDING

    def hold(self, standing: Standing) -> None:
        """Count a window in every period it touches."""
        self._count(standing)
        self._keepers.hold(standing)

    def _count(self, standing: Standing) -> None:
        for period in standing.periods:
            self._most.add(period, standing.held.loss_units, standing.cap)
            if not standing.open:
                self._least.add(period, standing.held.loss_units, standing.cap)


def _end(standing: Standing) -> int:
    return standing.held.end_ms
