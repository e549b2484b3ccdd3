"""Whether what was released is what was decided: a query's decisions, followed hash by hash."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accountant.audit import chainchecks, noisychecks
from accountant.audit.chargechecks import named
from accountant.store import decisionchain
from accountant.store.archives import hash_before

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accountant.costs.runs import StoredRun
    from accountant.store.tables.decided import DecisionRow, SequenceRow
    from accountant.store.tables.pinned import QueryRow
    from accountant.store.transaction import Transaction

__all__ = ["Hashes"]


class Hashes:
    """Follows the chain of a query's decisions; one that does not fit is taken as it stands.

    Args:
        tx: sees one snapshot.
        kept: what is kept of the query's numbers.
        anew: whether all its decisions will be taken.
    """

    def __init__(self, tx: Transaction, kept: SequenceRow, *, anew: bool) -> None:
        self._tx = tx
        self._kept = kept
        self._anew = anew
        self._last: DecisionRow | None = None
        self._in_run: DecisionRow | None = None
        self._panes = noisychecks.Panes(tx, kept.query)

    def take(self, one: DecisionRow) -> Iterator[str]:
        """Take the next decision."""
        before = self._last
        if before is None and not self._anew:
            before = self._tx.decisions.before(one.query, one.sequence)
        last = hash_before(self._kept) if before is None else before.hash
        if decisionchain.hash_after(last, one) != one.hash:
            yield f"{named(one.key)}: its decision is not what was stored"
        if one.archived and one.alarms:
            yield f"{named(one.key)}: its charge is said to be gone, yet its alarms are there"
        # A version that did not keep where a decision left the cursor kept no digest either.
        stripped = one.alarms_digest is not None
        if one.archived is not stripped and (stripped or one.next_start_ms is not None):
            yield f"{named(one.key)}: of charge and alarms, one is said to be gone, the other not"
        base, base_hash = self._kept.base_sequence, self._kept.base_hash
        if one.sequence == base and one.hash != base_hash:
            yield f"{named(one.key)}: its decision is not what the budget's state vouches for"
        self._last = one
        if one.run_digest is not None and one.draw is None:
            self._in_run = one
        yield from self._panes.take(one)

    def end(self, query: QueryRow | None, run: StoredRun | None) -> Iterator[str]:
        """Say whether anything vouches for the last of them, and what it left is as it left it.

        Args:
            query: as it is registered.
            run: its run as it stands.
        """
        kept, last = self._kept, self._last
        if kept.base_hash and not kept.base_sequence:
            yield f"the numbers of {kept.query!r} begin behind no decision, yet with one's hash"
        if last is None and not self._anew:
            last = self._tx.decisions.before(kept.query, 2**63 - 1)
        if kept.hash != (hash_before(kept) if last is None else last.hash):
            yield f"the decisions of {kept.query!r} do not end where its numbers say"
        if query is None:
            return
        if last is not None:
            yield from chainchecks.decision_problems(self._tx, query.scope, kept, last)
        if _misplaced(query, last):
            yield f"the cursor of {query.query!r} stands where nothing has put it"
        yield from self._run_problems(query, run)

    def _run_problems(self, query: QueryRow, run: StoredRun | None) -> Iterator[str]:
        yield from self._panes.end(query)
        left = self._in_run
        if left is None:
            return
        if run is not None:
            found = decisionchain.run_digest(run, self._tx.ledger().hash_key)
            if found != left.run_digest:
                yield f"the run of {query.query!r} is not as its last window left it"
            return
        changed_ms = query.effective_from_ms
        goes_on = not query.retired and (changed_ms is None or changed_ms <= left.start_ms)
        if goes_on and not self._tx.adopted.after(query.scope):
            yield f"the run of {query.query!r} is gone, and nothing has ended it"


def _misplaced(query: QueryRow, last: DecisionRow | None) -> bool:
    """Whether a cursor stands neither behind the last decision nor where it was put beside."""
    behind_ms = query.placed_ms if last is None else last.next_start_ms
    if behind_ms is None:
        return False  # decided by a version that did not keep where it left the cursor
    return query.cursor_ms != max(query.placed_ms, behind_ms)
