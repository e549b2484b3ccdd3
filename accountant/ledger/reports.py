"""What a ledger tells its custodian, from one snapshot each: nothing here changes a row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from accountant.audit import archivechecks, chainchecks, status, verify
from accountant.audit.realised import RealisedLosses
from accountant.charging.past import Past
from accountant.charging.standing import adopted_charge, final_charge
from accountant.ledger.access import registered_query, registered_scope
from accountant.ledger.sweeping import seldom_swept
from accountant.store.tables.charged import FINAL

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from accountant.audit.realised import Realised
    from accountant.ledger.access import Access
    from accountant.records import FinalCharge, LedgerStatus
    from accountant.store.tables.decided import DecisionRow

__all__ = ["Reports"]


class Reports:
    """Status, realised losses, verification and export."""

    def __init__(self, access: Access) -> None:
        self._store, self._ledger_id = access.store, access.ledger_id
        self._realised_losses = RealisedLosses()
        self._past = Past()

    def status(self) -> LedgerStatus:
        """Return how much of every wall is left, and how far every query is."""
        with self._store.read() as tx:
            return status.status(tx, self._past, self._ledger_id)

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
        with self._store.read(slow=True) as tx:
            row = registered_query(tx, query)
            scope = registered_scope(tx, row.scope)
            return self._realised_losses.read(tx, scope, row, cells=cells, period=period)

    def verify(
        self,
        anchors: Mapping[str, Mapping[int, bytes]] | None = None,
        *,
        since: Mapping[str, tuple[int, bytes]] | None = None,
    ) -> list[str]:
        """Recompute everything from the charges alone; return what contradicts them.

        Args:
            anchors: links of the chain that were noted elsewhere, by budget: number and hash.
            since: by budget, a link that was noted: only what came after it is read. What the chain
                told up to it is trusted, and no row of before is compared with it.
        """
        trusted = {budget: chainchecks.Place(*link) for budget, link in (since or {}).items()}
        with seldom_swept(), self._store.read(slow=True) as tx:
            return verify.problems(tx, anchors or {}, trusted)

    def archive_problems(self, file: str, decisions: Iterable[DecisionRow]) -> list[str]:
        """Return why a file is not what decisions were moved to, one sentence each.

        Args:
            file: its name.
            decisions: what it holds, in its order.
        """
        with self._store.read() as tx:
            rows, ledger_id = tx.archives.all(), tx.ledger().ledger_id
        return list(archivechecks.file_problems(file, decisions, rows, ledger_id))

    def final_charges(self, scope: str, from_ms: int, until_ms: int) -> list[FinalCharge]:
        """Return what windows that overlap ``[from_ms, until_ms)`` lost for good.

        For the custodian's eyes alone. What was compacted is not among them; what was adopted is,
        at its worst, as of a configuration that nobody knows.
        """
        with self._store.read() as tx:
            near = tx.charges.after(scope, from_ms, starting_before_ms=until_ms)
            adopted = [one for one in tx.adopted.after(scope, from_ms) if one.start_ms < until_ms]
        found = [final_charge(one) for one in near if one.state in FINAL]
        return [*found, *(adopted_charge(one) for one in adopted)]

    def export(self) -> Iterator[dict[str, Any]]:
        """Yield every row but partials, marks and the hash key, as JSON-ready objects."""
        with self._store.read(slow=True) as tx:
            yield from status.export(tx)
