"""The ledger: what was reserved, drawn, released; the one place that says yes or no.

Guarantee: along every history of calls, crashes and concurrent callers, the charges of windows that
were ever decided stay within each scope's epsilon_max (``docs/proofs/filter.md``), every window is
decided at most once, and the decisions of a query are numbered in the order of its windows without
a gap: the numbers are published, so they tell nothing of when anything was stored.

Every method is one short transaction, may be called again after any error, and is safe from many
threads and processes. Nothing here reads a clock or draws a random number of its own.
"""

from __future__ import annotations

from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

from accountant.charging import admission, concluding, refusals, runs
from accountant.charging.past import Past
from accountant.errors import LedgerError
from accountant.ledger.access import CLOCK_GRAIN_MS, Access, registered_query, registered_scope
from accountant.ledger.archives import Archives
from accountant.ledger.counts import Counts
from accountant.ledger.growths import Growths
from accountant.ledger.heads import Heads
from accountant.ledger.journal import Journal
from accountant.ledger.noisy import NoisyCounts
from accountant.ledger.pins import Pins
from accountant.ledger.progress import Progress
from accountant.ledger.reports import Reports
from accountant.ledger.upkeep import Upkeep
from accountant.ledger.writers import Writers
from accountant.records import Answer, Outcome, StoredDecision
from accountant.store import decisionchain
from accountant.store.declaration import made_from
from accountant.store.schema import VERSION
from accountant.store.store import Store
from accountant.store.tables.charged import OPEN, ChargeState
from accountant.store.tables.decided import NoisyRow
from accountant.store.tables.pinned import LedgerRow
from accountant.store.tables.windows import window_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from accountant.costs.charges import CellCosts, WindowKey
    from accountant.costs.noisy import Noisy
    from accountant.costs.runs import RunAfter, StoredRun
    from accountant.records import Request
    from accountant.store.tables.pinned import ScopeRow
    from accountant.store.transaction import Transaction

__all__ = ["Ledger"]


class Ledger:
    """The accountant's memory. Open one per process with :meth:`open`; share it among threads.

    Args:
        access: its database, identity and clock.
        hash_key: for caps and duplicates; secret.

    What is not said to a window stands in parts of its own: ``pins`` for what is registered,
    ``counts`` for partials and marks, ``noisy`` for what panes released, ``growths`` for partitions
    that are added, ``progress`` for how far many queries are, ``reports`` for status, realised
    losses and verification, ``upkeep`` for what a custodian changes, ``archives`` for decisions
    that move elsewhere, ``journal`` for starts and what ended them, ``heads`` and ``writers`` for
    what is noted elsewhere of the chains and of those who release.
    """

    def __init__(self, access: Access, hash_key: bytes) -> None:
        self._access = access
        self._store = access.store
        self.ledger_id = access.ledger_id
        self._past = Past()
        self.hash_key = hash_key
        self.pins = Pins(access)
        self.counts = Counts(access)
        self.noisy = NoisyCounts(access)
        self.growths = Growths(access)
        self.progress = Progress(access)
        self.reports = Reports(access)
        self.upkeep = Upkeep(access)
        self.journal = Journal(access)
        self.heads = Heads(access, hash_key)
        self.writers = Writers(access)
        self.archives = Archives(access)

    @classmethod
    def open(
        cls,
        url: str,
        *,
        clock_ms: Callable[[], int],
        entropy: Callable[[int], bytes],
        allowed_step_back_ms: int = 5_000,
        connect_timeout_s: float = 30.0,
    ) -> Ledger:
        """Open a ledger, creating it first.

        Args:
            url: ``sqlite:///FILE`` or ``postgresql://...``.
            clock_ms: wall clock, milliseconds since the Unix epoch.
            entropy: cryptographic bytes for a new ledger's id and hash key.
            allowed_step_back_ms: how far the clock may stand before the last time the ledger saw.
            connect_timeout_s: keep trying to reach the database for so long.

        Raises:
            DependencyError: the database cannot be reached.
            LedgerError: another version of Tocsin made it.
        """
        store = Store.open(url, connect_timeout_s=connect_timeout_s)
        try:
            with store.write() as tx:
                now_ms = clock_ms()
                new = LedgerRow(1, entropy(16).hex(), entropy(32), now_ms, now_ms, VERSION)
                tx.identity.add_new(new)
                row = tx.ledger()
        except BaseException:
            store.close()
            raise
        access = Access(store, row.ledger_id, clock_ms, allowed_step_back_ms)
        return cls(access, row.hash_key)

    def close(self) -> None:
        """Let go of the database; idempotent."""
        self._store.close()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()

    # --- admission

    def frontier(self, scope: str) -> WindowKey | None:
        """Return the last window that was served; ``None`` before the first."""
        with self._store.glance() as tx:
            return registered_scope(tx, scope).frontier

    def admit(
        self, scope: str, requests: Sequence[Request], *, alarms: Collection[str] | None = None
    ) -> None:
        """Reserve worst cases in the fixed order of windows, ahead of any data.

        Requests at or before the frontier were served and are ignored. The others must be *every*
        window of every query of the scope up to the last one asked for: what is left out is missed
        for good. Calling again, or from many places at once, changes nothing.

        Args:
            scope: the budget.
            requests: in ascending order of their windows.
            alarms: every query that the caller knows to draw on the budget. A caller who lacks one
                would make its windows missed, at a time that depends on how fast it works.

        Raises:
            LedgerError: another query draws on the budget, too.
            ConfigChangedError: a request carries another fingerprint than the registered one.
            ValueError: they are out of order.
        """
        keys = [request.charge.key for request in requests]
        if any(second <= first for first, second in pairwise(keys)):
            raise ValueError("requests are sorted by window and unique")
        frontier = self.frontier(scope)
        if not keys or (frontier is not None and keys[-1] <= frontier):
            return
        with self._store.write() as tx:
            row = registered_scope(tx, scope, lock=True)
            if alarms is not None:
                refusals.all_known(tx.queries.drawing_on(scope), scope, alarms)
            frontier = row.frontier
            fresh = [one for one in requests if frontier is None or one.charge.key > frontier]
            if fresh:
                admission.serve(tx, row, fresh, self._past)
                self._access.tick(tx)

    def answer(self, key: WindowKey) -> Answer:
        """Return what the filter said to a window; ``PENDING`` until earlier ones decide it.

        Raises:
            LedgerError: nobody asked for it, or the ledger has forgotten that somebody did.
        """
        with self._store.read() as tx:
            query = registered_query(tx, key.query)
            charge = tx.charges.at(key)
            if charge is not None:
                return charge.admission
            frontier = registered_scope(tx, query.scope).frontier
            if frontier is None or key > frontier:
                raise LedgerError(
                    f"the ledger has no request for a window of {key.query!r}: it went back, as"
                    " after a fail-over to a copy that lacks its last commits",
                    hint="start the worker again: it says which published decisions are missing",
                )
            return Answer.MISSED

    def awaited(self, key: WindowKey) -> WindowKey | None:
        """Return the oldest open window of the budget if a window waits for the end of others."""
        with self._store.read() as tx:
            charge = tx.charges.at(key)
            if charge is None or charge.state is not ChargeState.PENDING:
                return None
            return min(one.key for one in tx.charges.in_state(charge.scope, *OPEN))

    # --- decisions

    def cursor(self, query: str) -> int:
        """Return the start (ms) of the oldest undecided window."""
        with self._store.read() as tx:
            return registered_query(tx, query).cursor_ms

    def effective_from(self, query: str) -> int:
        """Return the start (ms) of the first window its accepted change decides; 0 without one.

        Undecided windows that start before it can only be denied.
        """
        with self._store.read() as tx:
            return registered_query(tx, query).effective_from_ms or 0

    def run(self, query: str, periods: tuple[int, ...], fingerprint: str) -> StoredRun | None:
        """Return the run that a query's next window goes on with; ``None`` where it opens one.

        Its state is private: for the mechanism that decides the window, and nobody else.

        Args:
            query: its name.
            periods: the budget periods that the window touches; empty under unit ``event``.
            fingerprint: of the configuration the window is decided under.

        Raises:
            LedgerError: the query is not registered.
        """
        with self._store.read() as tx:
            registered_query(tx, query)
            return runs.usable(tx.runs.get(query=query), fingerprint, periods)

    def settle(
        self,
        key: WindowKey,
        *,
        fingerprint: str,
        cost: CellCosts,
        alarms: bytes,
        alarm_count: int,
        next_start_ms: int,
        release_ms: int,
        run: RunAfter | None = None,
        noisy: Noisy | None = None,
    ) -> StoredDecision:
        """Store a window's decision and its cost, once: an existing decision is returned as it is.

        Args:
            key: the oldest undecided window of its query.
            fingerprint: of the configuration it was decided under.
            cost: realised loss, cell by cell; within the reservation. What is left of it can be
                had by later windows at once.
            alarms: which cells fired, in the caller's encoding.
            alarm_count: how many fired.
            next_start_ms: start of the query's next window.
            release_ms: it leaves no earlier than this.
            run: what became of the run that it was decided in; stored with the decision.
            noisy: what a pane leaves to the windows over it; stored with the decision, and what no
                window reads any more is dropped.

        Raises:
            ConfigChangedError: another configuration is in force for this window.
            LedgerError: it is not this window's turn, nothing is reserved, its partials conflict,
                the cost is more than was reserved, or the run is not as it was read or does not
                add up. Nothing is written then.
            ClockError: the clock went back.
        """
        with self._store.write() as tx:
            scope = self._in_turn(tx, key, fingerprint, next_start_ms, deny=False)
            if isinstance(scope, StoredDecision):
                return scope
            charge = admission.check_reservation(tx.charges.at(key), key, fingerprint, cost)
            if tx.partials.conflicted(key):
                raise LedgerError(
                    f"partials of {key.query!r} contradict each other",
                    hint="deny the window: one log slice gave two counts",
                )
            run_digest = draw = None
            if run is not None or charge.in_run:
                stored = tx.runs.get(query=key.query)
                after = runs.continued(stored, charge, cost, run, alarm_count)
                tx.runs.drop(query=key.query)
                tx.runs.add(after)
                run_digest = decisionchain.run_digest(after, self.hash_key)
            if noisy is not None:
                left = made_from(NoisyRow, noisy, **window_columns(key), fingerprint=fingerprint)
                tx.noisy.drop_before(key.query, noisy.kept_from_ms)
                tx.noisy.add(left)
                run_digest = decisionchain.noisy_digest(left, self.hash_key)
                draw = run_digest.hex()
            decision, kept = self._conclude(
                tx,
                key,
                fingerprint=fingerprint,
                run_digest=run_digest,
                next_start_ms=next_start_ms,
                release_ms=release_ms,
                outcome=Outcome.DECIDED,
                reason=None,
                alarms=alarms,
                alarm_count=alarm_count,
                epsilon_units=cost.worst_units if charge.in_run else charge.units,
                capped=charge.cap is not None,
                draw=draw,
            )
            admission.settle(tx, scope, charge, cost, self._past, decided=kept)
            return decision

    def deny(
        self,
        key: WindowKey,
        *,
        fingerprint: str,
        reason: str,
        next_start_ms: int,
        release_ms: int,
    ) -> StoredDecision:
        """End a window without a draw, uncharged; an existing decision is returned as it is.

        A reservation is released. Reasons must not depend on event contents: see
        ``docs/proofs/filter.md`` for what is assumed about them.

        Args:
            key: the oldest undecided window of its query.
            fingerprint: of the registered configuration.
            reason: why, in one word.
            next_start_ms: start of the query's next window.
            release_ms: it leaves no earlier than this.

        Raises:
            ConfigChangedError, LedgerError, ClockError: as :meth:`settle`.
        """
        with self._store.write() as tx:
            scope = self._in_turn(tx, key, fingerprint, next_start_ms, deny=True)
            if isinstance(scope, StoredDecision):
                return scope
            decision, kept = self._conclude(
                tx,
                key,
                fingerprint=fingerprint,
                next_start_ms=next_start_ms,
                release_ms=release_ms,
                outcome=Outcome.DENIED,
                reason=reason,
                alarms=b"",
                alarm_count=0,
                epsilon_units=0,
                capped=True,  # who is denied before being asked for has no charge that would tell
            )
            admission.deny(tx, scope, key, fingerprint, decided=kept)
            return decision

    def decision(self, key: WindowKey) -> StoredDecision | None:
        """Return a window's decision, if there is one."""
        with self._store.read() as tx:
            return self._decision(tx, key)

    def unpublished(
        self, query: str, released_by_ms: int, limit: int = 100
    ) -> list[StoredDecision]:
        """Return the decisions that may leave by an instant, in order; their heads are noted."""
        with self._store.read() as tx:
            found = tx.decisions.unpublished(query, released_by_ms, limit, ledger_id=self.ledger_id)
        if found:
            self.heads.keep()
        return found

    def mark_published(self, *keys: WindowKey) -> None:
        """Remember that decisions have left; idempotent."""
        with self._store.write() as tx:
            for key in keys:
                tx.decisions.change(window_columns(key), published=True)
            self._access.tick(tx, grain_ms=CLOCK_GRAIN_MS)

    @contextmanager
    def exclusive(self, name: str) -> Iterator[bool]:
        """Be the only one doing ``name`` on this ledger while the block runs.

        Yields whether it may: ``False`` when another thread or process is at it. The lock goes with
        the process that holds it. It saves work; correctness never rests on it.
        """
        with self._store.exclusive(f"{self.ledger_id}/{name}") as held:
            yield held

    # --- one transaction's steps

    def _decision(self, tx: Transaction, key: WindowKey) -> StoredDecision | None:
        return tx.decisions.of(key, ledger_id=self.ledger_id) or tx.adopted.of(key)

    def _in_turn(
        self, tx: Transaction, key: WindowKey, fingerprint: str, next_start_ms: int, *, deny: bool
    ) -> StoredDecision | ScopeRow:
        """Return the window's decision if there is one, else its budget; both are locked."""
        query = registered_query(tx, key.query, lock=True)
        existing = self._decision(tx, key)
        if existing is not None:
            if query.cursor_ms == key.start_ms < next_start_ms:
                # Adopted before the query was registered: it still has to be passed over.
                scope = registered_scope(tx, query.scope, lock=True)
                concluding.pass_over(tx, scope, query, next_start_ms)
            return existing
        refusals.same_fingerprint(query, fingerprint)
        refusals.in_turn(query, key, next_start_ms, deny=deny)
        return registered_scope(tx, query.scope, lock=True)

    def _conclude(
        self,
        tx: Transaction,
        key: WindowKey,
        *,
        next_start_ms: int,
        capped: bool,
        run_digest: bytes | None = None,
        **fields: Any,
    ) -> tuple[StoredDecision, bytes]:
        tx.partials.drop(**window_columns(key))
        # Nothing here is shared among scopes but the clock's mark, and that moves in steps.
        decision = StoredDecision(
            key=key,
            sequence=0,
            ledger_id=self.ledger_id,
            decided_at_ms=self._access.tick(tx, grain_ms=CLOCK_GRAIN_MS),
            published=False,
            **fields,
        )
        return concluding.conclude(
            tx, decision, next_start_ms=next_start_ms, run_digest=run_digest, capped=capped
        )
