"""The part of :class:`accountant.Ledger` that reports: nothing here admits or decides."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from accountant.audit import status, verify
from accountant.audit.realised import RealisedLosses
from accountant.charging import compaction
from accountant.charging.standing import adopted_charge, final_charge
from accountant.ledger.pinning import PinnedLedger
from accountant.store.entries import FINAL

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from accountant.audit.realised import Realised
    from accountant.records import FinalCharge, LedgerStatus

__all__ = ["ReportedLedger"]


class ReportedLedger(PinnedLedger):
    """Status, realised losses, verification, compaction and export."""

    def status(self) -> LedgerStatus:
        """Return how much of every wall is left, and how far every query is."""
        with self._store.read() as tx:
            return status.status(tx)

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
        with self._store.read() as tx:
            row = self._query(tx, query)
            scope = self._scope(tx, row.scope)
            return self._realised_losses.read(tx, scope, row, cells=cells, period=period)

    def verify(self, anchors: Mapping[str, Mapping[int, bytes]] | None = None) -> list[str]:
        """Recompute everything from the charges alone; return what contradicts them.

        Args:
            anchors: links of the chain that were noted elsewhere, by budget: number and hash.
        """
        with self._store.read() as tx:
            return verify.problems(tx, anchors or {})

    def compact(self, scope: str, before_ms: int) -> int:
        """Delete charges of the past, keeping what they left behind; return how many.

        No answer, total or status changes; see :mod:`accountant.charging.compaction` for what
        stays.
        """
        with self._store.write() as tx:
            # Sorted here: a database may order names differently, and locks have one order.
            for name in sorted(one.query for one in tx.queries() if one.scope == scope):
                self._query(tx, name, lock=True)
            gone = compaction.compact(tx, self._scope(tx, scope, lock=True), before_ms)
            self._tick(tx)
            return gone

    def final_charges(self, scope: str, from_ms: int, until_ms: int) -> list[FinalCharge]:
        """Return what windows that overlap ``[from_ms, until_ms)`` lost for good.

        For the custodian's eyes alone. What was compacted is not among them; what was adopted is,
        at its worst, as of a configuration that nobody knows.
        """
        with self._store.read() as tx:
            near = tx.charges_after(scope, from_ms, starting_before_ms=until_ms)
            adopted = [one for one in tx.adopted_rows(scope, from_ms) if one["start_ms"] < until_ms]
        found = [final_charge(one) for one in near if one.state in FINAL]
        return [*found, *(adopted_charge(one) for one in adopted)]

    def export(self) -> Iterator[dict[str, Any]]:
        """Yield every row but partials, marks and the hash key, as JSON-ready objects."""
        with self._store.read() as tx:
            yield from status.export(tx)

    @cached_property
    def _realised_losses(self) -> RealisedLosses:
        return RealisedLosses()
