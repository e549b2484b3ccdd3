"""What contradicts the charges of a ledger, found without any total that it keeps.

The charges are added up again, over rows with :mod:`accountant.loss.overlap` and over periods, the
chain is followed link by link, and every decision is held against its charge. Rows are streamed, in
the order of windows, of the chain, and of the numbers of decisions: what is in memory at once grows
with what windows overlap, with queries and with budget periods, not with the ledger's age.

From a *trusted* link on, one that was noted elsewhere, only what came after it is read: what the
chain told up to it is what it was when the link was noted, or the link would be another. Whether
the rows of before still say what it tells is not looked at.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Final

from accountant.arguments import sentence_of
from accountant.audit import chainchecks, decisionchecks, rowchecks, runchecks
from accountant.audit.chargechecks import charge_problems, costs_problem, named
from accountant.audit.nearby import Nearby, in_step
from accountant.audit.wallchecks import wall_of
from accountant.charging import admission
from accountant.charging.standing import Standings
from accountant.records import Answer
from accountant.store.among import listed
from accountant.store.tables.charged import OPEN

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from accountant.audit.chainchecks import Place
    from accountant.audit.wallchecks import Wall
    from accountant.costs.charges import WindowKey
    from accountant.costs.runs import StoredRun
    from accountant.store.decisions import Stated
    from accountant.store.tables.charged import ChargeRow
    from accountant.store.tables.pinned import QueryRow, ScopeRow
    from accountant.store.transaction import Transaction

__all__ = ["problems"]

_BEGINNING_MS: Final = -(2**63)


def problems(
    tx: Transaction,
    anchors: Mapping[str, Mapping[int, bytes]],
    since: Mapping[str, Place] | None = None,
) -> list[str]:
    """Return what contradicts the charges, one sentence each; empty when all is well.

    Args:
        tx: a transaction that sees one snapshot.
        anchors: links noted elsewhere, by budget: number and hash.
        since: by budget, the link that is trusted with all that came before it.
    """
    try:
        return list(_problems(tx, anchors, since or {}))
    except (ValueError, TypeError, LookupError) as error:
        return [f"a row cannot even be read: {sentence_of(error)}"]


def _problems(
    tx: Transaction, anchors: Mapping[str, Mapping[int, bytes]], since: Mapping[str, Place]
) -> Iterator[str]:
    queries = {query.query: query for query in tx.queries.all()}
    runs = {run.query: run for run in tx.runs.each()}
    from_ms: dict[str, int] = {}
    for scope in tx.scopes.all():
        trusted = since.get(scope.scope)
        if trusted is not None:
            untrusted = chainchecks.trusted_problems(tx, scope, trusted)
            yield from untrusted
            trusted = None if untrusted else trusted
        begin_ms = _BEGINNING_MS if trusted is None else _begin_ms(tx, scope, trusted.number)
        from_ms |= {one: begin_ms for one, row in queries.items() if row.scope == scope.scope}
        nearby, noted = Nearby(tx), anchors.get(scope.scope, {})
        yield from in_step(
            _window_problems(tx, scope, queries, runs, begin_ms, nearby=nearby),
            chainchecks.problems(tx, scope, noted, trusted, nearby),
        )
        yield from rowchecks.frontier_problems(tx, scope)
        yield from rowchecks.promise_problems(scope)
        for row in tx.adopted.after(scope.scope):
            yield from rowchecks.adopted_problems(row)
    for query, run in runs.items():  # a run is added up as a whole
        from_ms[query] = min(from_ms.get(query, _BEGINNING_MS), run.opened_start_ms)
    for query in queries:  # and so are the panes that are kept
        if (pane_ms := tx.noisy.first_start_ms(query)) is not None:
            from_ms[query] = min(from_ms.get(query, _BEGINNING_MS), pane_ms)
    yield from decisionchecks.problems(tx, queries, runs, from_ms)
    for layouts in tx.layouts().values():
        yield from layouts.problems()
    yield from rowchecks.problems(tx, whole=not since)
    if not since:
        yield from decisionchecks.tally_problems(tx)


def _begin_ms(tx: Transaction, scope: ScopeRow, number: int) -> int:
    """Return an instant before anything that the links after one tell of began, periods too."""
    recent = chain(tx.charges.in_state(scope.scope, *OPEN), _told_since(tx, scope, number))
    starts = (
        min([one.start_ms, *(() if scope.period == "lifetime" else one.periods)]) for one in recent
    )
    return min(starts, default=scope.frontier_end_ms or 0)


def _told_since(tx: Transaction, scope: ScopeRow, number: int) -> Iterator[ChargeRow]:
    for links in tx.links.since(scope.scope, number):
        yield from tx.charges.among(listed(one.window for one in links))


def _window_problems(
    tx: Transaction,
    scope: ScopeRow,
    queries: Mapping[str, QueryRow],
    runs: Mapping[str, StoredRun],
    from_ms: int,
    *,
    nearby: Nearby,
) -> Iterator[tuple[int, list[str]]]:
    """Look at every charge whose window ends after an instant, in the order of windows.

    Yields a page of them at a time: how many they are, and what is wrong with them.
    """
    wall = wall_of(tx, scope, Standings(tx, scope), from_ms)
    look = _Look(scope, queries, runs, wall)
    for charges in tx.charges.in_order(scope.scope, from_ms):
        beside = nearby.beside(charges)
        told = tx.links.among(scope.scope, listed(beside))
        found: list[str] = []
        for charge in charges:
            found += look.take(charge, beside[charge.window].decision, told.get(charge.window, ()))
        yield len(charges), found
    yield 0, list(wall.end())
    if look.all_readable:
        why = "it is pending, though its answer is determined"
        yield 0, [f"{named(one.key)}: {why}" for one, _ in admission.answers(tx, scope)]


class _Look:
    """Looks at charges of one budget, in the order of windows.

    Args:
        scope: the budget.
        queries: as they are registered, by name.
        runs: as they stand, by query.
        wall: takes what the charges hold.
    """

    def __init__(
        self,
        scope: ScopeRow,
        queries: Mapping[str, QueryRow],
        runs: Mapping[str, StoredRun],
        wall: Wall,
    ) -> None:
        self._frontier = scope.frontier
        self._queries = queries
        self._runs = runs
        self._wall = wall
        self.all_readable = True
        """Whether what the cells cost could be read, of all charges so far."""

    def take(
        self, charge: ChargeRow, decision: Stated | None, told: Sequence[tuple[int, str]]
    ) -> Iterator[str]:
        """Take the next charge, with its decision and its links, and yield what is wrong."""
        run = self._runs.get(charge.query)
        unreadable = costs_problem(charge)
        if unreadable:
            self.all_readable = False
            yield unreadable
        query = self._queries[charge.query]
        yield from charge_problems(charge, decision, query, readable=not unreadable)
        yield from chainchecks.told_problems(charge, told)
        yield from runchecks.window_problems(charge, decision, run)
        held = replace(charge, costs=None) if unreadable else charge
        for line in chain(
            runchecks.charge_problems(charge, run),
            self._wall.take(held),
            _frontier_problems(self._frontier, charge),
        ):
            yield f"{named(charge.key)}: {line}"


def _frontier_problems(frontier: WindowKey | None, charge: ChargeRow) -> Iterator[str]:
    served = frontier is not None and charge.key <= frontier
    if not served and charge.admission is not Answer.MISSED:
        yield "it was served beyond the frontier"
