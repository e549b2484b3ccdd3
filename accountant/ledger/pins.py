"""What a ledger is pinned to: budgets, logs and queries.

The first registration is appended, later ones compare: a configuration or a log that changed under
a ledger is refused, unless the change was applied at a window boundary.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

from accountant.errors import LedgerError
from accountant.ledger.door import registered
from accountant.log.entries import (
    Budgeted,
    Changed,
    FilesPinned,
    LogPinned,
    Registered,
    Retired,
)
from accountant.rules import admission, refusals

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from accountant.ledger.door import Door, Writing
    from accountant.log.state import Budget, Query, State
    from accountant.records import BudgetTerms, LogIdentity, QueryRegistration

__all__ = ["Pins", "scope_of"]


class Pins:
    """Registers, compares, and says what is registered."""

    def __init__(self, door: Door) -> None:
        self._door = door

    def register_budget(self, terms: BudgetTerms) -> None:
        """Store a scope's budget the first time; later compare.

        Raises:
            ConfigChangedError: unit, epsilon_max or period is another than the stored one.
        """
        if not 0 <= terms.epsilon_max_units < admission.LARGEST_LOSS_UNITS:
            raise LedgerError(
                f"epsilon_max of budget {terms.scope!r} is too large for the ledger",
                hint="write a number from 1e-12 to 1000000",
            )
        with self._door.write() as writing:
            known = writing.state.budgets.get(terms.scope)
            if known is None:
                writing.append(Budgeted(terms))
            else:
                refusals.same_budget(known.terms, terms)
            writing.tick()

    def register_log(self, identity: LogIdentity) -> None:
        """Store the identity of a feed's log the first time; later compare.

        Raises:
            LogChangedError: it is another log, or has partitions that were not announced.
        """
        with self._door.write() as writing:
            state, feed = writing.state, identity.feed
            if feed not in state.logs:
                writing.append(LogPinned(identity))
            refusals.same_log(state.logs[feed], identity, state.layouts(feed))
            writing.tick()

    def register_files(self, files: Mapping[str, Collection[str]]) -> None:
        """Store which files are replayed as which feed; idempotent.

        Before their queries are registered: whoever replays one of them as another feed at the same
        time is seen then.

        Args:
            files: digests by feed.
        """
        with self._door.write() as writing:
            now_ms = writing.tick()
            for feed, digests in sorted(files.items()):
                fresh = sorted({*digests} - {*writing.state.files.get(feed, ())})
                writing.append(FilesPinned(feed, tuple(fresh), now_ms) if fresh else None)

    def register_query(self, registration: QueryRegistration) -> int:
        """Store a query the first time, later compare; return its cursor.

        Raises:
            ConfigChangedError, LedgerCorruptError: as :meth:`register_queries`.
        """
        return self.register_queries([registration])[registration.query]

    def register_queries(self, given: Sequence[QueryRegistration]) -> dict[str, int]:
        """Store queries the first time, later compare; return their cursors by name.

        All of them or, where one is refused, none.

        Args:
            given: of any budgets, no query twice; new ones are appended in this order.

        Raises:
            ConfigChangedError: one differs from the stored one, or was retired; its feed's events
                were read otherwise, or drew on another budget under another feed's name.
            LedgerCorruptError: the ledger holds other rows to be covered by one, or another share.
            LedgerError: the budget of one is not registered.
        """
        names = {one.query for one in given}
        with self._door.write() as writing:
            state = writing.state
            neighbours = refusals.Neighbours(
                row for name, row in sorted(state.queries.items()) if name not in names
            )
            sources = refusals.Sources(state.logs.values(), state.replayed())
            for one in given:
                budget = scope_of(state, one.scope)
                known = state.queries.get(one.query)
                if known is not None:
                    refusals.same_query(known, one)
                    refusals.same_share(known.share_units, one)
                    refusals.same_shape(known.covers(one.fingerprint), one)
                neighbours.same_reading(sources, one)
                neighbours.one_budget(sources, one)
                neighbours.add(one)
                if known is None:
                    writing.recall(budget, one.first_start_ms)
                    writing.append(_new_query(one))
            for scope in sorted({one.scope for one in given}):
                # A new share may leave no doubt any more about windows that wait.
                writing.append(admission.answers(state.budgets[scope]))
            writing.tick()
            return {name: state.queries[name].cursor_ms for name in sorted(names)}

    def accept_change(self, registration: QueryRegistration, effective_from_ms: int) -> None:
        """Take a query's new configuration from a window boundary on; idempotent.

        Undecided windows that start before it can only be denied (the caller does, with the new
        fingerprint), and so can later ones that were admitted under the old fingerprint: their
        reservations are given back, also those of windows that the new calendar doesn't have.

        Args:
            registration: the new configuration; scope and feed stay.
            effective_from_ms: start of the first window it decides.

        Raises:
            ConfigChangedError: scope or feed differ, or how events are read.
            LedgerError: windows from there on are decided already.
        """
        with self._door.write() as writing:
            state = writing.state
            row = registered(state, registration.query)
            if row.fingerprint == registration.fingerprint:
                return
            refusals.same_home(row, registration)
            sources = refusals.Sources(state.logs.values(), state.replayed())
            refusals.Neighbours(state.queries.values()).same_reading(sources, registration)
            if effective_from_ms < row.cursor_ms:
                raise LedgerError(
                    f"alarm {row.query!r} is decided up to {refusals.utc_text(row.cursor_ms)}; its "
                    f"change cannot take effect at {refusals.utc_text(effective_from_ms)}",
                    hint="run `tocsin ledger FILE apply` again",
                )
            if registration.fingerprint in row.shapes:
                refusals.same_shape(row.shapes[registration.fingerprint], registration)
            changed = Changed(
                query=row.query,
                fingerprint=registration.fingerprint,
                definition=registration.definition,
                shape=registration.shape,
                effective_from_ms=effective_from_ms,
                share_units=registration.share_units,
            )
            self._end(writing, row, changed)

    def remove_alarm(self, query: str) -> None:
        """End a query: its reservations are released, its charges stay; idempotent."""
        with self._door.write() as writing:
            row = registered(writing.state, query)
            if not row.retired:
                self._end(writing, row, Retired(query))

    def budgets(self) -> list[BudgetTerms]:
        """Return the terms of every budget, by name."""
        with self._door.state() as state:
            return [one.terms for _, one in sorted(state.budgets.items())]

    def queries(self) -> list[Query]:
        """Return every query as it stands, by name."""
        with self._door.state() as state:
            return [copy(one) for _, one in sorted(state.queries.items())]

    @staticmethod
    def _end(writing: Writing, query: Query, entry: Changed | Retired) -> None:
        """End a configuration: what was open, counted and kept under it goes."""
        writing.append(entry)
        writing.append(admission.answers(writing.state.budgets[query.scope]))
        writing.tx.forget(query.query)
        writing.tick()

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
        with self._door.state() as state:
            walls = {name: one.terms for name, one in state.budgets.items()}
            identities = dict(state.logs)
            known = {name: copy(one) for name, one in sorted(state.queries.items())}
            layouts = {feed: state.layouts(feed) for feed in identities}
            replayed = list(state.replayed())
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
            neighbours.same_reading(sources, query)
            neighbours.one_budget(sources, query)
            neighbours.add(query)
        for name in public:  # an alarm that is new, too, may read the same file
            refusals.never_watched(name, sources, [*known.values(), *queries])

    def refuse_moved(self, queries: Iterable[QueryRegistration]) -> None:
        """Refuse alarms that moved to another budget or feed; other changes are none of it.

        Raises:
            ConfigChangedError: an alarm moved.
        """
        known = {row.query: row for row in self.queries()}
        for query in queries:
            if query.query in known:
                refusals.same_home(known[query.query], query)


def scope_of(state: State, name: str) -> Budget:
    """Return a budget.

    Raises:
        LedgerError: it is not registered.
    """
    found = state.budgets.get(name)
    if found is None:
        raise LedgerError(
            f"budget {name!r} is not registered in the ledger",
            hint="start a worker or a replay with this configuration first",
        )
    return found


def _new_query(given: QueryRegistration) -> Registered:
    return Registered(
        query=given.query,
        scope=given.scope,
        feed=given.feed,
        fingerprint=given.fingerprint,
        definition=given.definition,
        shape=given.shape,
        cursor_ms=given.first_start_ms,
        share_units=given.share_units,
    )
