"""Whether what a budget granted fits under its wall, added up again in the order of windows.

No more is held than what windows of the longest length can still overlap: charges are read in the
order of their ends, and whatever ended by then before the start of any window to come is let go.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain as chained
from typing import TYPE_CHECKING, Protocol

from accountant.budget.filter import EventFilter
from accountant.charging.capped import Dearest
from accountant.loss.grid import grid_of
from accountant.loss.overlap import coarse_loss, worst_loss
from accountant.records import Answer
from accountant.store.tables.charged import FINAL, GRANTED, PeriodTotal
from accountant.units import PrivacyUnit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from accountant.budget.standings import Standing
    from accountant.charging.standing import Standings
    from accountant.loss.overlap import Held
    from accountant.store.tables.charged import ChargeRow
    from accountant.store.tables.pinned import ScopeRow
    from accountant.store.transaction import Transaction

__all__ = ["BLOCK", "Wall", "wall_of"]

BLOCK = 4_096
"""Charges that are swept together, beside those that they may overlap."""

_BEGINNING_MS = -(2**63)


class Wall(Protocol):
    """Takes the charges of one budget in order, and says what is wrong in the end."""

    def take(self, charge: ChargeRow) -> Iterator[str]:
        """Take the next charge, and say what is wrong with it, without its window."""
        ...

    def end(self) -> Iterator[str]:
        """Compare what was added up with what the ledger keeps."""
        ...


def wall_of(tx: Transaction, scope: ScopeRow, standings: Standings, from_ms: int) -> Wall:
    """Return what takes the charges of a budget whose windows end after an instant."""
    if scope.terms.unit is PrivacyUnit.EVENT:
        longest_ms = tx.charges.longest_ms(scope.scope, from_ms)
        return _EventWall(scope, standings, longest_ms, whole=from_ms == _BEGINNING_MS)
    return _UserWall(tx, scope, standings, from_ms)


class _EventWall:
    """Unit ``event``: every grant fitted above all that came before it, so above what that became.

    Args:
        scope: the budget.
        standings: reads what its charges hold.
        longest_ms: no window of it is longer.
        whole: whether all its charges will be taken.
    """

    def __init__(
        self, scope: ScopeRow, standings: Standings, longest_ms: int, *, whole: bool
    ) -> None:
        self._scope = scope
        self._standings = standings
        self._adopted = sorted((one.held for one in standings.adopted()), key=_end)
        lengths = (held.end_ms - held.start_ms for held in self._adopted)
        self._longest_ms = max([longest_ms, *lengths])
        self._whole = whole
        self._near: list[Standing] = []
        self._judge = EventFilter(scope.terms.epsilon_max_units, [], standings.shapes)
        self._taken = 0
        self._block: list[Held] = []
        self._fresh = 0
        self._least = self._most = scope.compacted_worst_units

    def take(self, charge: ChargeRow) -> Iterator[str]:
        """Answer it anew, above what came before it."""
        standing = self._standings.of(charge)
        if standing is None:
            return
        if charge.state in GRANTED:
            shape = self._standings.shape(charge.query, charge.fingerprint)
            if self._judge.answer(charge.asked, shape) is not Answer.RESERVED:
                yield "with the windows before it, it passes the wall"
        self._hold(standing)
        if charge.state in FINAL:
            self._block.append(standing.held)
            self._fresh += 1
            if self._fresh >= BLOCK:
                self._sweep(charge.end_ms)

    def end(self) -> Iterator[str]:
        """Compare the worst row."""
        self._sweep(2**63 - 1)
        stands = self._scope.settled_worst_units
        if self._least <= stands and (stands <= self._most or not self._whole):
            return
        yield (
            f"budget {self._scope.scope!r}: {stands} units stand as settled, "
            f"the charges say {self._most}"
        )

    def _hold(self, standing: Standing) -> None:
        self._near.append(standing)
        self._judge.hold(standing)
        if len(self._near) < 2 * self._taken + BLOCK:
            return
        # No window that follows starts before this: none of these can share a row with it.
        since_ms = standing.held.end_ms - self._longest_ms
        self._near = [one for one in self._near if one.held.end_ms > since_ms]
        self._judge = EventFilter(
            self._scope.terms.epsilon_max_units, self._near, self._standings.shapes
        )
        self._taken = len(self._near)

    def _sweep(self, end_ms: int) -> None:
        """Look for the worst row among charges up to an end, and let go what is over.

        What an instant has lost lies within one length of it, and so does all that a settlement
        looked at: with two lengths carried over, each lies within one block as a whole.
        """
        until = next(
            (at for at, held in enumerate(self._adopted) if held.end_ms > end_ms),
            len(self._adopted),
        )
        held = [*self._block, *self._adopted[:until]]
        # Ledgers from before cells were written down took those of other groupings to meet.
        least, most = worst_loss(held), coarse_loss(held)
        shapes = {one.shape for one in held}
        if grid_of(frozenset(shapes)) is None:
            # A bound depends on how many regions are looked at together; settling looks at fewer.
            least = max(worst_loss([one for one in held if one.shape == each]) for each in shapes)
        self._least, self._most = max(self._least, least), max(self._most, most)
        since_ms = end_ms - 2 * self._longest_ms
        self._block = [one for one in self._block if one.end_ms > since_ms]
        self._adopted = [one for one in self._adopted if one.end_ms > since_ms]
        self._fresh = 0


class _UserWall:
    """Unit ``user``: what every period holds.

    Args:
        tx: sees one snapshot.
        scope: the budget.
        standings: reads what was adopted.
        from_ms: the charges of periods that start before it are not all taken.
    """

    def __init__(
        self, tx: Transaction, scope: ScopeRow, standings: Standings, from_ms: int
    ) -> None:
        self._tx = tx
        self._scope = scope
        self._adopted: Sequence[Standing] = standings.adopted()
        self._from_ms = from_ms
        self._left = tx.totals.compacted(scope.scope)
        self._held, self._final = Counter(self._left), Counter(self._left)
        self._dearest = Dearest()
        self._drawn = {query: Counter[int]() for query in tx.kept_shares.of(scope.scope)}

    def take(self, charge: ChargeRow) -> Iterator[str]:
        """Add it up."""
        total = charge.total
        self._dearest.take(charge)
        for period_ms in charge.periods if charge.cap is None else ():
            self._held[period_ms] += total.held
            self._final[period_ms] += total.final
        if charge.query in self._drawn:
            self._drawn[charge.query].update(dict.fromkeys(charge.periods, total.held))
        return iter(())

    def end(self) -> Iterator[str]:
        """Compare every period."""
        name, wall = self._scope.scope, self._scope.terms.epsilon_max_units
        for period_ms, total in self._dearest.of_periods().items():
            self._held[period_ms] += total.held
            self._final[period_ms] += total.final
        if self._scope.settled_worst_units:
            yield f"budget {name!r}: a row stands as settled, which unit `user` never adds up"
        for period_ms, units in sorted(self._held.items()):
            if units > wall and not self._adopted and period_ms >= self._from_ms:
                yield f"budget {name!r}: {units} units are held in period {period_ms}, above {wall}"
        for seen in self._adopted:
            for period_ms in seen.periods:
                self._held[period_ms] += seen.held.loss_units
                self._final[period_ms] += seen.held.loss_units
                if seen.query in self._drawn:
                    self._drawn[seen.query][period_ms] += seen.held.loss_units
        yield from self._share_problems()
        stored = self._tx.totals.of(name)
        for period_ms in sorted({*chained(stored, self._held)}):
            kept = stored.get(period_ms, PeriodTotal())
            held, final = self._held[period_ms], self._final[period_ms]
            if kept != (held, final) and period_ms >= self._from_ms:
                yield (
                    f"budget {name!r}: period {period_ms} stands at {kept.held} units held and "
                    f"{kept.final} final, the charges say {held} and {final}"
                )

    def _share_problems(self) -> Iterator[str]:
        """Yield where more stands as drawn of a share than its query holds.

        It may be less: what was drawn before the query had a share is not counted.
        """
        for query, held in sorted(self._drawn.items()):
            for period_ms, drawn in sorted(self._tx.kept_shares.drawn(query).items()):
                whole = period_ms >= self._from_ms and period_ms not in self._left
                if whole and (drawn.held > held[period_ms] or drawn.final > drawn.held):
                    yield (
                        f"query {query!r}: {drawn.held} units stand as drawn of its share in "
                        f"period {period_ms}, {drawn.final} of them final, its charges say "
                        f"{held[period_ms]}"
                    )


def _end(held: Held) -> int:
    return held.end_ms
