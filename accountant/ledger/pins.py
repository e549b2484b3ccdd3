"""What a ledger is pinned to: budgets, logs and queries.

The first registration stores, later ones compare: a configuration or a log that changed under a
ledger is refused, unless the change was accepted at a window boundary.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import nullcontext
from operator import attrgetter
from typing import TYPE_CHECKING

from accountant.charging import admission, refusals, vouching
from accountant.errors import LedgerError
from accountant.ledger.access import registered_query, registered_scope
from accountant.store import chain
from accountant.store.declaration import made_from
from accountant.store.tables.pinned import FileRow, QueryRow, ScopeRow, ShapeRow

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from accountant.ledger.access import Access
    from accountant.records import BudgetTerms, LogIdentity, QueryRegistration
    from accountant.store.transaction import Transaction

__all__ = ["Pins"]


class Pins:
    """Registers, compares, and says what is registered."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._store = access.store

    def register_budget(self, terms: BudgetTerms) -> None:
        """Store a scope's budget the first time; later compare.

        Raises:
            ConfigChangedError: unit, epsilon_max or period is another than the stored one.
            LedgerCorruptError: the stored one is not what its chain vouches for.
        """
        if not 0 <= terms.epsilon_max_units < admission.LARGEST_LOSS_UNITS:
            raise LedgerError(f"epsilon_max of {terms.scope!r} does not fit into the ledger")
        with self._store.write() as tx:
            added = tx.scopes.add_new(_new_budget(terms))
            scope = registered_scope(tx, terms.scope, lock=True)
            refusals.same_budget(scope.terms, terms)
            if added:
                vouching.vouch(tx, terms.scope)
            else:
                vouching.check_state(tx, scope)
            self._access.tick(tx)

    def register_log(self, identity: LogIdentity) -> None:
        """Store the identity of a feed's log the first time; later compare.

        Raises:
            LogChangedError: it is another log, or has partitions that were not announced.
        """
        with self._store.write() as tx:
            if tx.logs.get(feed=identity.feed) is None:
                with vouching.changing(tx):
                    tx.logs.add_new(identity)
            (stored,) = tx.logs.each(feed=identity.feed)
            refusals.same_log(stored, identity, tx.layouts_of(stored))
            self._access.tick(tx)

    def register_files(self, files: Mapping[str, Collection[str]]) -> None:
        """Store which files are replayed as which feed; idempotent.

        Before their queries are registered: whoever replays one of them as another feed at the same
        time is seen then.

        Args:
            files: digests by feed.
        """
        with self._store.write() as tx:
            known = set(_replayed(tx))
            given = ((feed, digest) for feed, digests in files.items() for digest in digests)
            fresh = sorted({*given} - known)
            with vouching.changing(tx) if fresh else nullcontext():
                now_ms = self._access.tick(tx)
                for feed, digest in fresh:
                    tx.files.add_new(FileRow(feed, digest, now_ms))

    def register_query(self, registration: QueryRegistration) -> int:
        """Store a query the first time, later compare; return its cursor.

        Raises:
            ConfigChangedError, LedgerCorruptError: as :meth:`register_queries`.
        """
        return self.register_queries([registration])[registration.query]

    def register_queries(self, given: Sequence[QueryRegistration]) -> dict[str, int]:
        """Store queries the first time, later compare; return their cursors by name.

        All of them or, where one is refused, none. What takes time grows with their number, not
        with its square.

        Args:
            given: of any budgets, no query twice; the links of new ones follow in this order.

        Raises:
            ConfigChangedError: one differs from the stored one, or was retired; its feed's events
                were dated by another field, or drew on another budget under another feed's name.
            LedgerCorruptError: the ledger holds other rows to be covered by one, or another share.
        """
        names = {one.query for one in given}
        by_scope: defaultdict[str, list[QueryRegistration]] = defaultdict(list)
        for one in given:
            by_scope[one.scope].append(one)
        with self._store.write() as tx:
            known = tx.queries.named(names)
            # Rows are inserted, and budgets locked, in one order by whoever registers many.
            fresh = set()
            for one in sorted(given, key=attrgetter("query")):
                if one.query not in known and tx.queries.add_new(_new_query(one)):
                    fresh.add(one.query)
                    tx.kept_shares.set(one.scope, one.query, one.share_units)
            rows = tx.queries.named(names)
            for one in given:
                refusals.same_query(rows[one.query], one)
                refusals.same_share(tx.kept_shares.of(one.scope).get(one.query, 0), one)
            for scope, mine in sorted(by_scope.items()):
                locked = registered_scope(tx, scope, lock=True)
                _pin_shapes(tx, locked, mine, fresh)
                # A new share may leave no doubt any more about windows that wait.
                admission.answer_pending(tx, locked)
            self._access.tick(tx)
            # The clock's row is locked now: who registers another query at the same time is seen.
            sources = refusals.Sources(tx.logs.all(), _replayed(tx))
            others = (row for row in tx.queries.all() if row.query not in names)
            neighbours = refusals.Neighbours(others)
            for one in given:
                neighbours.same_time(one)
                neighbours.one_budget(sources, one)
                neighbours.add(one)
            return {name: row.cursor_ms for name, row in rows.items()}

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
            row = registered_query(tx, registration.query, lock=True)
            if row.fingerprint == registration.fingerprint:
                return
            refusals.same_home(row, registration)
            refusals.Neighbours(tx.queries.all()).same_time(registration)
            if effective_from_ms < row.cursor_ms:
                raise LedgerError(
                    f"query {row.query!r} is decided up to {row.cursor_ms} ms; "
                    f"a change cannot take effect at {effective_from_ms} ms",
                    hint="choose a later window boundary",
                )
            scope = registered_scope(tx, row.scope, lock=True)
            vouching.check_state(tx, scope)
            tx.kept_shares.set(row.scope, row.query, registration.share_units)
            admission.withdraw(tx, scope, row)
            tx.queries.change(
                {"query": row.query},
                fingerprint=registration.fingerprint,
                definition=registration.definition,
                effective_from_ms=effective_from_ms,
            )
            known = tx.shape(row.query, registration.fingerprint)
            if known is None:
                tx.shapes.add(_new_shape(registration))
            vouching.vouch(tx, row.scope)
            refusals.same_shape(known or registration.shape, registration)
            tx.partials.drop(query=row.query)
            tx.used.drop(query=row.query)
            self._access.tick(tx)

    def retire_query(self, query: str) -> None:
        """End a query: its reservations are released, its charges stay; idempotent."""
        with self._store.write() as tx:
            row = registered_query(tx, query, lock=True)
            scope = registered_scope(tx, row.scope, lock=True)
            if not row.retired:
                vouching.check_state(tx, scope)
            tx.kept_shares.set(row.scope, query, 0)
            admission.withdraw(tx, scope, row)
            tx.partials.drop(query=query)
            tx.used.drop(query=query)
            if not row.retired:
                tx.queries.change({"query": query}, retired=True)
                vouching.vouch(tx, row.scope)
            self._access.tick(tx)

    def budgets(self) -> list[ScopeRow]:
        """Return every budget as it stands, by name."""
        with self._store.read() as tx:
            return tx.scopes.all()

    def queries(self) -> list[QueryRow]:
        """Return every query as it stands, by name."""
        with self._store.read() as tx:
            return tx.queries.all()

    def refuse_changes(
        self,
        budgets: Iterable[BudgetTerms],
        logs: Iterable[LogIdentity],
        queries: Collection[QueryRegistration],
        public: Collection[str] = (),
        files: Mapping[str, Collection[str]] | None = None,
    ) -> None:
        """Refuse what registration would refuse, before any of it is registered.

        Args:
            budgets: as they are to be registered.
            logs: likewise, those of ``public`` feeds among them.
            queries: likewise; all that draw on the same budgets.
            public: feeds that hold nobody's data.
            files: by feed, digests of the files that are to be replayed as it.

        Raises:
            ConfigChangedError: a budget or an alarm is another than the ledger's, or its feed holds
                events that draw on another budget.
            LogChangedError: a log is another than the ledger's.
            LedgerError: alarms that are not given draw on one of the budgets, too.
        """
        with self._store.read() as tx:
            walls = {row.terms.scope: row.terms for row in tx.scopes.all()}
            identities = {log.feed: log for log in tx.logs.all()}
            known = {row.query: row for row in tx.queries.all()}
            layouts = tx.layouts()
            replayed = _replayed(tx)
        for terms in budgets:
            if terms.scope in walls:
                refusals.same_budget(walls[terms.scope], terms)
        given = {identity.feed: identity for identity in logs}
        for identity in given.values():
            if identity.feed in identities:
                refusals.same_log(identities[identity.feed], identity, layouts[identity.feed])
        names = {query.query for query in queries}
        for scope in {query.scope for query in queries}:
            drawing = (row.query for row in known.values() if row.scope == scope)
            refusals.all_known((one for one in drawing if not known[one].retired), scope, names)
        neighbours = refusals.Neighbours(known.values())
        replayed += [(feed, digest) for feed, mine in (files or {}).items() for digest in mine]
        sources = refusals.Sources([*identities.values(), *given.values()], replayed)
        for query in queries:
            if query.query in known:
                refusals.same_query(known[query.query], query)
            neighbours.same_time(query)
            neighbours.one_budget(sources, query)
            neighbours.add(query)
        for name in public:
            refusals.never_watched(name, sources, known.values())

    def refuse_moved(self, queries: Iterable[QueryRegistration]) -> None:
        """Refuse alarms that moved to another budget or feed; other changes are none of it.

        Raises:
            ConfigChangedError: an alarm moved.
        """
        known = {row.query: row for row in self.queries()}
        for query in queries:
            if query.query in known:
                refusals.same_home(known[query.query], query)


def _new_budget(terms: BudgetTerms) -> ScopeRow:
    start = chain.genesis(terms.scope)
    return made_from(
        ScopeRow,
        terms,
        frontier_end_ms=None,
        frontier_query=None,
        frontier_start_ms=None,
        settled_worst_units=0,
        chain_link=0,
        chain_hash=start,
        base_link=0,
        base_hash=start,
        compacted_before_ms=None,
        compacted_worst_units=0,
    )


def _new_query(given: QueryRegistration) -> QueryRow:
    cursor_ms = given.first_start_ms
    return made_from(
        QueryRow,
        given,
        cursor_ms=cursor_ms,
        effective_from_ms=None,
        retired=False,
        placed_ms=cursor_ms,
    )


def _replayed(tx: Transaction) -> list[tuple[str, str]]:
    return [(row.feed, row.digest) for row in tx.files.all()]


def _pin_shapes(
    tx: Transaction, scope: ScopeRow, given: Sequence[QueryRegistration], fresh: Collection[str]
) -> None:
    """Store which rows queries cover the first time, later compare; their budget is locked.

    Args:
        tx: holds the budget's lock.
        scope: the budget.
        given: queries of it.
        fresh: the names of those that this transaction registered.
    """
    known = tx.all_shapes(scope.terms.scope)
    added = [one for one in given if (one.query, one.fingerprint) not in known]
    if added:
        vouching.add_queries(tx, scope, fresh, [_new_shape(one) for one in added])
    for one in given:
        refusals.same_shape(known.get((one.query, one.fingerprint), one.shape), one)


def _new_shape(given: QueryRegistration) -> ShapeRow:
    return made_from(ShapeRow, given.shape, query=given.query, fingerprint=given.fingerprint)
