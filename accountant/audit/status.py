"""Reports on a ledger: its status, and everything in it for the custodian."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING, Any

from accountant.charging import capped
from accountant.charging.standing import Standings
from accountant.loss.overlap import worst_loss
from accountant.records import LedgerStatus, Outcome, QueryStatus, ScopeStatus
from accountant.store.chain import anchor_text
from accountant.store.tables.charged import FINAL, OPEN, ChargeState
from accountant.units import PrivacyUnit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accountant.charging.past import Past
    from accountant.store.queries import Placed
    from accountant.store.tables.charged import ChargeRow
    from accountant.store.tables.decided import TallyRow
    from accountant.store.tables.pinned import ScopeRow
    from accountant.store.transaction import Transaction

__all__ = ["export", "status"]

PERIODS_SHOWN = 64


def status(tx: Transaction, past: Past, ledger_id: str) -> LedgerStatus:
    """Return how much of every wall is left, and how far every query is.

    Asked every few seconds by every worker: what it reads grows with queries and with what is open,
    and by one number with every budget period; not with what was ever decided.

    Args:
        tx: sees one snapshot.
        past: remembers what the queries cover.
        ledger_id: the ledger's identity.
    """
    ended: defaultdict[str, list[TallyRow]] = defaultdict(list)
    for tally in tx.tallies.each():
        ended[tally.query].append(tally)
    unpublished = tx.decisions.unpublished_by_query()
    return LedgerStatus(
        ledger_id=ledger_id,
        scopes={scope.terms.scope: _scope_status(tx, scope, past) for scope in tx.scopes.all()},
        queries={
            query.query: _query_status(
                query, ended[query.query], unpublished=unpublished.get(query.query, 0)
            )
            for query in tx.queries.placed()
        },
    )


def export(tx: Transaction) -> Iterator[dict[str, Any]]:
    """Yield every row but partials, marks, runs and the hash key, with its kind under ``record``.

    Alarms are text (JSON); hashes and costs are base64. A run's state would give its threshold
    away.
    """
    for table, row in tx.exported():
        yield {"record": table, **row}


def _scope_status(tx: Transaction, scope: ScopeRow, past: Past) -> ScopeStatus:
    name = scope.terms.scope
    still_open = tx.charges.in_state(name, *OPEN)
    reserved = [one for one in still_open if one.state is ChargeState.RESERVED]
    periods: dict[int, int] = {}
    if scope.terms.unit is PrivacyUnit.USER:
        periods = tx.totals.latest_held(name, PERIODS_SHOWN)
        spent = tx.totals.most_held(name)
        reserved_units = max(capped.reserved_units(reserved).values(), default=0)
    else:
        spent, reserved_units = _worst_rows(tx, scope, reserved, past)
    return ScopeStatus(
        scope=name,
        unit=scope.terms.unit,
        epsilon_max_units=scope.terms.epsilon_max_units,
        spent_units=spent,
        periods=periods,
        reserved_units=reserved_units,
        reservations=len(reserved),
        pending=len(still_open) - len(reserved),
        anchor=anchor_text(scope.chain_link, scope.chain_hash),
        promise=scope.promise,
    )


def _worst_rows(
    tx: Transaction, scope: ScopeRow, reserved: list[ChargeRow], past: Past
) -> tuple[int, int]:
    """Return what the worst row has lost, and would have if open reservations alone counted.

    Args:
        tx: sees one snapshot.
        scope: a budget of unit ``event``.
        reserved: its open reservations, which count at their worst.
        past: remembers what its queries cover.
    """
    spent = scope.settled_worst_units
    if not reserved:
        return spent, 0
    standings = Standings(tx, scope, partial(past.shapes, tx, scope))
    since_ms = min(one.start_ms for one in reserved)
    ended = standings.all_of(tx.charges.after(scope.scope, since_ms, *FINAL))
    ended += standings.adopted(since_ms)
    held = [one.held for one in standings.all_of(reserved)]
    worst = worst_loss(held)
    near = worst_loss([*(one.held for one in ended), *held]) if ended else worst
    return max(spent, near), worst


def _query_status(query: Placed, ended: list[TallyRow], *, unpublished: int) -> QueryStatus:
    decided = [one for one in ended if one.outcome is Outcome.DECIDED]
    denied = [one for one in ended if one.outcome is Outcome.DENIED]
    return QueryStatus(
        query=query.query,
        scope=query.scope,
        cursor_ms=query.cursor_ms,
        decided=sum(one.windows for one in decided),
        denied={one.reason: one.windows for one in denied},
        decided_at_ms=max((one.last_ms for one in decided), default=0),
        denied_at_ms={one.reason: one.last_ms for one in denied},
        unpublished=unpublished,
        sequence=query.sequence,
        retired=query.retired,
        alarms_left=query.alarms_left,
        alarms_rung=query.alarms_rung,
    )
