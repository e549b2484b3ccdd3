"""What a ledger is pinned to, read from its export without a change: nothing is registered here."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Any

from accountant.charging import refusals
from accountant.records import BudgetTerms, LogIdentity
from accountant.store.entries import QueryRow
from accountant.units import PrivacyUnit

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from accountant.ledger.ledger import Ledger
    from accountant.records import QueryRegistration

__all__ = ["pinned_rows", "refuse_changes", "refuse_moved"]

_EARLY = ("ledger", "scopes", "logs", "queries")


def pinned_rows(ledger: Ledger, kind: str) -> list[dict[str, Any]]:
    """Return the rows of one kind of record, as ``export`` writes them; no charge is read.

    Args:
        ledger: open.
        kind: ``ledger``, ``scopes``, ``logs`` or ``queries``.
    """
    early = takewhile(lambda row: row["record"] in _EARLY, ledger.export())
    rows = [row for row in early if row["record"] == kind]
    return [{name: row[name] for name in row if name != "record"} for row in rows]


def refuse_changes(
    ledger: Ledger,
    budgets: Iterable[BudgetTerms],
    logs: Iterable[LogIdentity],
    queries: Collection[QueryRegistration],
    public: Collection[str] = (),
) -> None:
    """Refuse what registration would refuse, before any of it is registered.

    Raises:
        ConfigChangedError: a budget or an alarm is another than the ledger's.
        LogChangedError: a log is another than the ledger's.
        LedgerError: alarms that are not given draw on one of the budgets, too.
    """
    walls = {row["scope"]: row for row in pinned_rows(ledger, "scopes")}
    for terms in budgets:
        if (row := walls.get(terms.scope)) is not None:
            kept = BudgetTerms(
                scope=row["scope"],
                unit=PrivacyUnit(row["unit"]),
                epsilon_max_units=row["epsilon_max_units"],
                period=row["period"],
            )
            refusals.same_budget(kept, terms)
    identities = {row["feed"]: LogIdentity(**row) for row in pinned_rows(ledger, "logs")}
    given = {identity.feed: identity for identity in logs}
    for identity in given.values():
        if identity.feed in identities:
            refusals.same_log(identities[identity.feed], identity)
    known = _queries(ledger)
    names = {query.query for query in queries}
    for scope in {query.scope for query in queries}:
        refusals.all_known(known.values(), scope, names)
    for query in queries:
        if query.query in known:
            refusals.same_query(known[query.query], query)
        refusals.same_time(known.values(), query)
        log = given.get(query.feed)
        refusals.one_budget(log, identities.values(), known.values(), query)
    for name in public:
        refusals.never_watched(given[name], identities.values(), known.values())


def refuse_moved(ledger: Ledger, queries: Iterable[QueryRegistration]) -> None:
    """Refuse alarms that moved to another budget or feed; other changes are none of it.

    Raises:
        ConfigChangedError: an alarm moved.
    """
    known = _queries(ledger)
    for query in queries:
        if query.query in known:
            refusals.same_home(known[query.query], query)


def _queries(ledger: Ledger) -> dict[str, QueryRow]:
    return {row["query"]: QueryRow(**row) for row in pinned_rows(ledger, "queries")}
