"""Reports on a ledger: its status, and everything in it for the custodian."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from accountant.charging.standing import Standings, held_now
from accountant.loss.overlap import worst_loss
from accountant.records import LedgerStatus, Outcome, QueryStatus, ScopeStatus
from accountant.store.chain import anchor_text
from accountant.store.tables.charged import ChargeState
from accountant.units import PrivacyUnit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accountant.costs.runs import StoredRun
    from accountant.store.tables.charged import ChargeRow
    from accountant.store.tables.pinned import QueryRow, ScopeRow
    from accountant.store.transaction import Transaction

__all__ = ["export", "status"]

PERIODS_SHOWN = 64


def status(tx: Transaction) -> LedgerStatus:
    """Return how much of every wall is left, and how far every query is."""
    counts, numbers, runs = (
        tx.decisions.counts(),
        tx.sequences.last(),
        {run.query: run for run in tx.runs.each()},
    )
    return LedgerStatus(
        ledger_id=tx.ledger().ledger_id,
        scopes={scope.terms.scope: _scope_status(tx, scope) for scope in tx.scopes.all()},
        queries={
            query.query: _query_status(
                query, counts, numbers.get(query.query, 0), runs.get(query.query)
            )
            for query in tx.queries.all()
        },
    )


def export(tx: Transaction) -> Iterator[dict[str, Any]]:
    """Yield every row but partials, marks, runs and the hash key, with its kind under ``record``.

    Alarms are text (JSON); hashes and costs are base64. A run's state would give its threshold
    away.
    """
    for table, row in tx.exported():
        yield {"record": table, **row}


def _scope_status(tx: Transaction, scope: ScopeRow) -> ScopeStatus:
    name = scope.terms.scope
    reserved = tx.charges.in_state(name, ChargeState.RESERVED)
    periods: dict[int, int] = {}
    if scope.terms.unit is PrivacyUnit.USER:
        periods = {at: total.held for at, total in tx.totals.of(name).items() if total.held}
        spent = max(periods.values(), default=0)
        periods = dict(sorted(periods.items())[-PERIODS_SHOWN:])
    else:
        spent = scope.settled_worst_units
        if reserved:
            since_ms = min(one.key.start_ms for one in reserved)
            spent = max(spent, worst_loss(held_now(tx, scope, since_ms)))
    return ScopeStatus(
        scope=name,
        unit=scope.terms.unit,
        epsilon_max_units=scope.terms.epsilon_max_units,
        spent_units=spent,
        periods=periods,
        reserved_units=_reserved_units(tx, scope, reserved),
        reservations=len(reserved),
        pending=len(tx.charges.in_state(name, ChargeState.PENDING)),
        anchor=anchor_text(scope.chain_link, scope.chain_hash),
    )


def _reserved_units(tx: Transaction, scope: ScopeRow, reserved: list[ChargeRow]) -> int:
    """Return what the worst-off unit would have lost if nothing but open reservations counted."""
    if scope.terms.unit is PrivacyUnit.USER:
        held: Counter[int] = Counter()
        for charge in reserved:
            held.update(dict.fromkeys(charge.periods, charge.worst_units))
        return max(held.values(), default=0)
    standings = Standings(tx, scope)
    found = [standings.of(charge) for charge in reserved]
    return worst_loss([one.held for one in found if one is not None])


def _query_status(
    query: QueryRow,
    counts: list[tuple[str, str, str | None, int, int]],
    sequence: int,
    run: StoredRun | None,
) -> QueryStatus:
    mine = [one for one in counts if one[0] == query.query]
    return QueryStatus(
        query=query.query,
        scope=query.scope,
        cursor_ms=query.cursor_ms,
        decided=sum(n for _, outcome, _, n, _ in mine if outcome == Outcome.DECIDED),
        denied={str(why): n for _, outcome, why, n, _ in mine if outcome == Outcome.DENIED},
        unpublished=sum(waiting for *_, waiting in mine),
        sequence=sequence,
        retired=query.retired,
        alarms_left=None if run is None else run.left,
        alarms_rung=None if run is None else run.alarms_rung,
    )
