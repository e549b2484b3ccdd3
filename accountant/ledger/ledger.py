"""The ledger: what was reserved, drawn, released; the one place that says yes or no.

Guarantee: along every history of calls, crashes and concurrent callers, the charges of windows that
were ever decided stay within each scope's epsilon_max (``docs/research/proofs/filter.md``), every
window is decided at most once, and the decisions of a query are numbered in the order of its
windows without a gap: the numbers are published, so they tell nothing of when anything was stored.

Every method is one short transaction, may be called again after any error, and is safe from many
threads and processes. Nothing here reads a clock or draws a random number of its own.
"""

from __future__ import annotations

from hashlib import blake2b
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING, Self

from accountant.errors import LedgerCorruptError, LedgerError
from accountant.ledger.archives import Archives
from accountant.ledger.counts import Counts
from accountant.ledger.door import VERSION, Door, Writing, registered
from accountant.ledger.growths import Growths
from accountant.ledger.heads import Heads
from accountant.ledger.journal import Journal
from accountant.ledger.pins import Pins, scope_of
from accountant.ledger.progress import Progress, decision_of, leave, waiting
from accountant.ledger.reports import Reports
from accountant.ledger.upkeep import Upkeep
from accountant.log.entries import Begun, Ended, Passed
from accountant.log.state import ChargeState
from accountant.records import Answer, Outcome, StoredDecision
from accountant.rules import admission, refusals, runs
from accountant.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from contextlib import AbstractContextManager

    from accountant.costs.charges import CellCosts, WindowKey
    from accountant.costs.noisy import Noisy
    from accountant.costs.runs import RunAfter, StoredRun
    from accountant.log.state import Query, State
    from accountant.records import Request
    from accountant.store.private import NoisyCounts

__all__ = ["Ledger"]


class Ledger:
    """The accountant's memory. Open one per process with :meth:`open`; share it among threads.

    Args:
        door: its database and its state.
        hash_key: for caps and duplicates; secret.

    What is not said to a window stands in parts of its own: ``pins`` for what is registered,
    ``counts`` for partials and marks, ``growths`` for partitions that are added, ``progress`` for
    how far many queries are, ``reports`` for status, realised losses and verification, ``upkeep``
    for what a custodian changes, ``archives`` for entries that move elsewhere, ``journal`` for
    starts and what ended them, ``heads`` for what is noted of the log elsewhere.
    """

    def __init__(self, door: Door, hash_key: bytes) -> None:
        self._door = door
        self._store = door.store
        self.hash_key = hash_key
        with door.state() as state:
            self.ledger_id = state.ledger_id
        self.pins = Pins(door)
        self.counts = Counts(door)
        self.noisy = Panes(door)
        self.growths = Growths(door)
        self.progress = Progress(door)
        self.reports = Reports(door)
        self.upkeep = Upkeep(door)
        self.journal = Journal(door)
        self.heads = Heads(door, hash_key)
        self.archives = Archives(door)

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
            LedgerCorruptError: it is not what was stored.
        """
        store = Store.open(url, connect_timeout_s=connect_timeout_s)
        try:
            with store.write() as tx:
                store.secret = tx.secret() or tx.begin(entropy(32), clock_ms())
            door, secret = Door(store, clock_ms, allowed_step_back_ms), _digest(store.secret)
            with door.write() as writing:
                if not writing.state.head.number:
                    writing.append(Begun(entropy(16).hex(), secret, clock_ms(), VERSION))
                _same_secret(writing.state, secret)
            return cls(door, store.secret)
        except BaseException:
            store.close()
            raise

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
        with self._door.state() as state:
            return scope_of(state, scope).frontier

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
        with self._door.write() as writing:
            budget = scope_of(writing.state, scope)
            if alarms is not None:
                drawing = (one.query for one in budget.queries.values() if not one.retired)
                refusals.all_known(drawing, scope, alarms)
            writing.append(admission.admitted(writing.state, scope, requests))
            writing.tick()

    def answer(self, key: WindowKey) -> Answer:
        """Return what the filter said to a window; ``PENDING`` until earlier ones decide it.

        Raises:
            LedgerError: nobody asked for it, or the ledger has forgotten that somebody did.
        """
        with self._door.read() as (tx, state):
            query = registered(state, key.query)
            answer = _answer(state, key)
            if answer is not None:
                return answer
            if key.start_ms < query.cursor_ms:
                known = tx.log.ended(key.query, key.start_ms, key.start_ms)
                return next((one.answer for one in known if one.window == key), Answer.MISSED)
            frontier = state.budgets[query.scope].frontier
            if frontier is None or key > frontier:
                raise LedgerError(
                    f"the ledger lost its newest entries, such as a request of alarm {key.query!r} "
                    "(a fail-over to an older copy?)",
                    hint="restart the worker: it lists the published decisions that are missing",
                )
            return Answer.MISSED

    def awaited(self, key: WindowKey) -> WindowKey | None:
        """Return the oldest open window of the budget if a window waits for the end of others."""
        with self._door.state() as state:
            budget = state.budgets[registered(state, key.query).scope]
            charge = budget.charges.get(key)
            if charge is None or charge.state is not ChargeState.PENDING:
                return None
            return budget.open()[0].window

    # --- decisions

    def cursor(self, query: str) -> int:
        """Return the start (ms) of the oldest undecided window."""
        with self._door.state() as state:
            return registered(state, query).cursor_ms

    def effective_from(self, query: str) -> int:
        """Return the start (ms) of the first window its applied change decides; 0 without one.

        Undecided windows that start before it can only be denied.
        """
        with self._door.state() as state:
            return registered(state, query).effective_from_ms or 0

    def run(self, query: str, periods: tuple[int, ...], fingerprint: str) -> StoredRun | None:
        """Return the run that a query's next window goes on with; ``None`` where it opens one.

        Its state is private: for the mechanism that decides the window, and nobody else.

        Args:
            query: its name.
            periods: the budget periods that the window touches; empty under unit ``event``.
            fingerprint: of the configuration the window is decided under.

        Raises:
            LedgerError: the query is not registered.
            LedgerCorruptError: the run is not as its last window left it.
        """
        with self._door.read() as (tx, state):
            known = registered(state, query)
            return runs.usable(tx.private.run(known.run, known.left), fingerprint, periods)

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
            alarms: which cells fired, in the caller's encoding: UTF-8.
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
        with self._door.write() as writing:
            tx, state = writing.tx, writing.state
            known = self._in_turn(writing, key, fingerprint, next_start_ms, deny=False)
            if isinstance(known, StoredDecision):
                return known
            charge = admission.reserved(state.budgets[known.scope], key, fingerprint, cost)
            if tx.partials.conflicted(key):
                raise LedgerError(
                    f"one partition of a window of alarm {key.query!r} has two different counts",
                    hint="nothing to do: the window is denied as `conflict`",
                )
            after, left = None, None
            if run is not None or charge.asked.in_run:
                stored = tx.private.run(known.run, known.left)
                after = runs.continued(stored, charge, cost, run, alarm_count)
                left = tx.private.keep_run(key, after)
            if noisy is not None:
                left = tx.private.keep_noisy(key, fingerprint, noisy)
            ended = admission.settled(
                known.sequence + 1,
                charge,
                cost,
                alarms=alarms,
                alarm_count=alarm_count,
                next_start_ms=next_start_ms,
                release_ms=release_ms,
                now_ms=writing.tick(),
                run=after,
                left=left,
                kept_from_ms=None if noisy is None else noisy.kept_from_ms,
            )
            return self._end(writing, ended)

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
        ``docs/research/proofs/filter.md`` for what is assumed about them.

        Args:
            key: the oldest undecided window of its query.
            fingerprint: of the registered configuration.
            reason: why, in one word.
            next_start_ms: start of the query's next window.
            release_ms: it leaves no earlier than this.

        Raises:
            ConfigChangedError, LedgerError, ClockError: as :meth:`settle`.
        """
        with self._door.write() as writing:
            known = self._in_turn(writing, key, fingerprint, next_start_ms, deny=True)
            if isinstance(known, StoredDecision):
                return known
            ended = Ended(
                query=key.query,
                start_ms=key.start_ms,
                end_ms=key.end_ms,
                sequence=known.sequence + 1,
                outcome=Outcome.DENIED,
                fingerprint=fingerprint,
                next_start_ms=next_start_ms,
                release_ms=release_ms,
                decided_at_ms=writing.tick(),
                reason=reason,
                answer=_last_answer(writing.state, key),
            )
            return self._end(writing, ended)

    def decision(self, key: WindowKey) -> StoredDecision | None:
        """Return a window's decision, if there is one."""
        with self._door.read() as (tx, state):
            return decision_of(tx, state, key)

    def unpublished(
        self, query: str, released_by_ms: int, limit: int = 100
    ) -> list[StoredDecision]:
        """Return the decisions that may leave by an instant, in order; their heads are noted."""
        with self._door.read() as (tx, state):
            ready = takewhile(
                lambda one: one.release_ms <= released_by_ms,
                waiting(tx, registered(state, query), limit),
            )
            found = [one.decision(state.ledger_id, published=False) for one in ready]
        if found:
            self.heads.keep()
        return found

    def mark_published(self, *keys: WindowKey) -> None:
        """Remember that decisions have left, in the order of their windows; idempotent.

        Raises:
            LedgerError: one before it has not left.
        """
        with self._door.write() as writing:
            for key in keys:
                leave(writing.tx, registered(writing.state, key.query), key)
            writing.tick()

    def exclusive(self, name: str) -> AbstractContextManager[bool]:
        """Be the only one doing ``name`` on this ledger while the block runs.

        Yields whether it may: ``False`` when another thread or process is at it. The lock goes with
        the process that holds it. It saves work; correctness never rests on it.
        """
        return self._store.exclusive(f"{self.ledger_id}/{name}")

    # --- one transaction's steps

    def _in_turn(
        self,
        writing: Writing,
        key: WindowKey,
        fingerprint: str,
        next_start_ms: int,
        *,
        deny: bool,
    ) -> StoredDecision | Query:
        """Return the window's decision if there is one, else its query."""
        query = registered(writing.state, key.query)
        existing = decision_of(writing.tx, writing.state, key)
        if existing is not None:
            if query.cursor_ms == key.start_ms < next_start_ms:
                # Recovered before the query was registered: it still has to be passed over.
                writing.append(Passed(key.query, next_start_ms))
                writing.tx.drop_behind(key.query, next_start_ms)
            return existing
        refusals.same_fingerprint(query, fingerprint)
        refusals.in_turn(query, key, next_start_ms, deny=deny)
        return query

    def _end(self, writing: Writing, ended: Ended) -> StoredDecision:
        """Append how a window ended, and what follows from it."""
        state, window = writing.state, ended.window
        writing.append(ended)
        writing.tx.partials.drop(query=window.query, start_ms=window.start_ms, end_ms=window.end_ms)
        if ended.asked is None or ended.asked.windows_per_period is not None:
            writing.tx.used.drop_passed(window.query, ended.next_start_ms)
        budget = state.budgets[state.queries[window.query].scope]
        if ended.settled_units:
            writing.append(admission.worst(budget, window, ended.fingerprint, window.start_ms))
        writing.append(admission.answers(budget))
        return ended.decision(state.ledger_id, published=False)


class Panes:
    """Noisy counts of panes, as windows over them read them: free, and as often as one likes."""

    def __init__(self, door: Door) -> None:
        self._door = door

    def between(self, query: str, start_ms: int, end_ms: int) -> list[NoisyCounts]:
        """Return the stored panes of a query that lie in a span, in their order.

        A pane that was denied, or that no window to come reads, has none.

        Args:
            query: the panes' own.
            start_ms: inclusive.
            end_ms: exclusive.
        """
        with self._door.read() as (tx, _):
            return tx.private.noisy(query, start_ms, end_ms)


def _same_secret(state: State, secret: bytes) -> None:
    if state.secret != secret:
        raise LedgerCorruptError(
            "the ledger's secret is not the one that it was made with",
            hint="restore the newest backup",
        )


def _answer(state: State, key: WindowKey) -> Answer | None:
    """Return what a window that has not ended was answered; ``None`` where it was not served."""
    budget = state.budgets[state.queries[key.query].scope]
    charge = budget.charges.get(key)
    return budget.refused.get(key) if charge is None else charge.asked.answer


def _last_answer(state: State, key: WindowKey) -> Answer:
    """Return what a window that ends now was answered for good."""
    answer = _answer(state, key)
    return Answer.MISSED if answer is None or answer is Answer.PENDING else answer


def _digest(secret: bytes) -> bytes:
    return blake2b(secret, digest_size=16, person=b"tocsin.secret").digest()
