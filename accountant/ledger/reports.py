"""What a ledger reports to its custodian: nothing here changes a row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accountant.audit import status
from accountant.audit.realised import RealisedLosses
from accountant.costs.charges import UniformCost
from accountant.costs.levels import LevelCosts
from accountant.ledger import verify
from accountant.ledger.door import registered
from accountant.ledger.pins import scope_of
from accountant.ledger.progress import unpublished_of
from accountant.log.entries import Head
from accountant.records import FinalCharge
from accountant.store.transaction import LEFT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from accountant.audit.realised import Realised
    from accountant.costs.charges import CellCosts
    from accountant.ledger.door import Door
    from accountant.log.entries import Ended
    from accountant.records import LedgerStatus
    from accountant.store.entry_rows import EntryRow

__all__ = ["Reports"]


class Reports:
    """Status, realised losses, verification and export."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._realised_losses = RealisedLosses()

    def status(self) -> LedgerStatus:
        """Return how much of every limit is left, and how far every query is."""
        with self._door.read() as (tx, state):
            left = tx.counters.named(LEFT)
            behind = {one.query: unpublished_of(one, left) for one in state.queries.values()}
            return status.status(state, behind)

    def realised(self, query: str, period: int | None = None, *, cells: int) -> Realised:
        """Return what each cell of a query has really lost: for the custodian's eyes alone.

        Args:
            query: its name.
            period: start (ms) of a budget period, under unit ``user``; the latest when left out.
            cells: how many cells the query has.

        Raises:
            LedgerError: the query is not registered, or stored costs are damaged.
            ValueError: an impossible number of cells, or a period under unit ``event``.
        """
        with self._door.read() as (tx, state):
            known = registered(state, query)
            last_ms = known.settled_ms
            settled = () if last_ms is None else tx.log.ended(query, last_ms, last_ms)

            def ended_from(start_ms: int, limit: int) -> list[Ended]:
                return tx.log.ended(query, start_ms, known.cursor_ms, limit)

            return self._realised_losses.read(
                scope_of(state, known.scope),
                known,
                next(iter(settled), None),
                ended_from,
                cells=cells,
                period=period,
            )

    def verify(
        self,
        checkpoints: Mapping[int, bytes] | None = None,
        *,
        since: tuple[int, bytes] | None = None,
        archived: Iterable[EntryRow] | None = None,
    ) -> list[str]:
        """Fold the whole log again; return what contradicts it.

        Args:
            checkpoints: entries that were noted elsewhere: number and hash.
            since: an entry that was noted: only what came after it is read.
            archived: entries that lie in archives, in order; ``None`` where they are not read.
        """
        trusted = None if since is None else Head(*since)
        with self._door.store.read(slow=True) as tx:
            return verify.problems(tx, checkpoints or {}, trusted, archived)

    def final_charges(self, scope: str, from_ms: int, until_ms: int) -> list[FinalCharge]:
        """Return what windows that overlap ``[from_ms, until_ms)`` lost for good.

        For the custodian's eyes alone. What lies in an archive is not among them; what was
        recovered is, at its worst, as of a configuration that nobody knows.
        """
        with self._door.read() as (tx, state):
            budget = scope_of(state, scope)
            ended = [
                one
                for name, query in budget.queries.items()
                for one in tx.log.ended(name, from_ms - query.longest_ms, until_ms - 1)
            ]
        found = [_final(one) for one in ended if one.end_ms > from_ms and one.asked is not None]
        for charge in budget.spent:
            cost = UniformCost(charge.worst_cell_units, charge.asked.cells)
            found.append(FinalCharge(charge.window, charge.asked.fingerprint, cost))
        found += [
            FinalCharge(seen.key, "", UniformCost(seen.loss_units, 1)) for seen in budget.recovered
        ]
        return [one for one in found if one.key.start_ms < until_ms and one.key.end_ms > from_ms]

    def entries(self) -> Iterator[EntryRow]:
        """Yield every entry of the log that is not in an archive, in order, of one snapshot."""
        with self._door.store.read(slow=True) as tx:
            yield from tx.log.since(0)


def _final(ended: Ended) -> FinalCharge:
    cells = 1 if ended.asked is None else ended.asked.cells
    cost: CellCosts = UniformCost(ended.settled_units or 0, cells)
    if ended.costs is not None:
        cost = LevelCosts.decode(ended.costs)
    return FinalCharge(ended.window, ended.fingerprint, cost)
