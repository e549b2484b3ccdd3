"""What a ledger is pinned to: budgets, logs and queries; and the steps its transactions share.

The first registration stores, later ones compare: a configuration or a log that changed under a
ledger is refused, unless the change was accepted at a window boundary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accountant.charging import admission, refusals, vouching
from accountant.errors import ClockError, LedgerError

if TYPE_CHECKING:
    from collections.abc import Callable

    from accountant.records import BudgetTerms, LogIdentity, QueryRegistration
    from accountant.store.entries import LedgerRow, QueryRow, ScopeRow
    from accountant.store.rows import Transaction
    from accountant.store.store import Store

__all__ = ["PinnedLedger"]


class PinnedLedger:
    """The part of :class:`accountant.Ledger` that registers and compares.

    Args:
        store: the database, open.
        row: the ledger's identity.
        clock_ms: wall clock, milliseconds since the Unix epoch.
        allowed_step_back_ms: how far it may stand before the last time the ledger saw.
    """

    def __init__(
        self, store: Store, row: LedgerRow, clock_ms: Callable[[], int], allowed_step_back_ms: int
    ) -> None:
        self._store = store
        self._clock_ms = clock_ms
        self._allowed_step_back_ms = allowed_step_back_ms
        self.ledger_id = row.ledger_id
        self.hash_key = row.hash_key

    def register_budget(self, terms: BudgetTerms) -> None:
        """Store a scope's budget the first time; later compare.

        Raises:
            ConfigChangedError: unit, epsilon_max or period is another than the stored one.
            LedgerCorruptError: the stored one is not what its chain vouches for.
        """
        if not 0 <= terms.epsilon_max_units < admission.LARGEST_LOSS_UNITS:
            raise LedgerError(f"epsilon_max of {terms.scope!r} does not fit into the ledger")
        with self._store.write() as tx:
            added = tx.add_scope(terms)
            scope = self._scope(tx, terms.scope, lock=True)
            refusals.same_budget(scope.terms, terms)
            if added:
                vouching.vouch(tx, terms.scope)
            else:
                vouching.check_state(tx, scope)
            self._tick(tx)

    def register_log(self, identity: LogIdentity) -> None:
        """Store the identity of a feed's log the first time; later compare.

        Raises:
            LogChangedError: it is another log.
        """
        with self._store.write() as tx:
            tx.add_log(identity)
            refusals.same_log(tx.log(identity.feed), identity)
            self._tick(tx)

    def register_query(self, registration: QueryRegistration) -> int:
        """Store a query the first time, later compare; return its cursor.

        Raises:
            ConfigChangedError: it differs from the stored one, or was retired; its feed's events
                were dated by another field, or drew on another budget under another feed's name.
            LedgerCorruptError: the ledger holds other rows to be covered by it.
        """
        with self._store.write() as tx:
            tx.add_query(refusals.new_query(registration))
            row = self._query(tx, registration.query)
            refusals.same_query(row, registration)
            _pin_shape(tx, self._scope(tx, registration.scope, lock=True), registration)
            self._tick(tx)
            # The clock's row is locked now: who registers another query at the same time is seen.
            queries = tx.queries()
            refusals.same_time(queries, registration)
            refusals.one_budget(tx.log(row.feed), tx.logs(), queries, registration)
            return row.cursor_ms

    def accept_change(self, registration: QueryRegistration, effective_from_ms: int) -> None:
        """Take a query's new configuration from a window boundary on; idempotent.

        Undecided windows that start before it can only be denied (the caller does, with the new
        fingerprint), and so can later ones that were admitted under the old fingerprint: their
        reservations are given back, also those of windows that the new calendar doesn't have.

        Args:
            registration: the new configuration; scope and feed stay.
            effective_from_ms: start of the first window it decides.

        Raises:
            ConfigChangedError: scope or feed differ, or the field that dates events.
            LedgerError: windows from there on are decided already.
        """
        with self._store.write() as tx:
            row = self._query(tx, registration.query, lock=True)
            if row.fingerprint == registration.fingerprint:
                return
            refusals.same_home(row, registration)
            refusals.same_time(tx.queries(), registration)
            if effective_from_ms < row.cursor_ms:
                raise LedgerError(
                    f"query {row.query!r} is decided up to {row.cursor_ms} ms; "
                    f"a change cannot take effect at {effective_from_ms} ms",
                    hint="choose a later window boundary",
                )
            scope = self._scope(tx, row.scope, lock=True)
            admission.withdraw(tx, scope, row)
            _pin_shape(tx, self._scope(tx, row.scope), registration)
            tx.update_query(
                row.query,
                fingerprint=registration.fingerprint,
                definition=registration.definition,
                effective_from_ms=effective_from_ms,
            )
            tx.drop_partials(row.query)
            self._tick(tx)

    def retire_query(self, query: str) -> None:
        """End a query: its reservations are released, its charges stay; idempotent."""
        with self._store.write() as tx:
            row = self._query(tx, query, lock=True)
            scope = self._scope(tx, row.scope, lock=True)
            admission.withdraw(tx, scope, row)
            tx.drop_partials(query)
            tx.update_query(query, retired=True)
            self._tick(tx)

    def cursor(self, query: str) -> int:
        """Return the start (ms) of the oldest undecided window."""
        with self._store.read() as tx:
            return self._query(tx, query).cursor_ms

    def effective_from(self, query: str) -> int:
        """Return the start (ms) of the first window its accepted change decides; 0 without one.

        Undecided windows that start before it can only be denied.
        """
        with self._store.read() as tx:
            return self._query(tx, query).effective_from_ms or 0

    def _scope(self, tx: Transaction, name: str, *, lock: bool = False) -> ScopeRow:
        row = tx.scope(name, lock=lock)
        if row is None:
            raise LedgerError(f"budget {name!r} is not registered")
        return row

    def _query(
        self, tx: Transaction, name: str, *, lock: bool = False, share: bool = False
    ) -> QueryRow:
        row = tx.query(name, lock=lock, share=share)
        if row is None:
            raise LedgerError(f"query {name!r} is not registered")
        return row

    def _tick(self, tx: Transaction, *, grain_ms: int = 0) -> int:
        """Return the time; compare it with the last one the ledger saw, and move that mark."""
        row = tx.ledger(lock=grain_ms == 0)
        now_ms = self._clock_ms()
        behind_ms = row.clock_ms - now_ms
        if behind_ms > self._allowed_step_back_ms:
            raise ClockError(
                f"the clock stands {behind_ms} ms before the last time the ledger saw",
                hint="set this machine's clock right; nothing was written",
            )
        if now_ms - row.clock_ms > grain_ms:
            tx.advance(clock_ms=now_ms)
        return now_ms


def _pin_shape(tx: Transaction, scope: ScopeRow, registration: QueryRegistration) -> None:
    """Store which rows a query covers the first time, later compare; its budget is locked."""
    if tx.shape(registration.query, registration.fingerprint) is None:
        vouching.check_state(tx, scope)
        tx.add_shape(registration.query, registration.fingerprint, registration.shape)
        vouching.vouch(tx, scope.terms.scope)
    refusals.same_shape(tx.shape(registration.query, registration.fingerprint), registration)
