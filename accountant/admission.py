"""Admission and settlement: what one transaction does to reservations.

The rules of ``docs/proofs/filter.md``, applied to rows. Callers hold the scope's lock.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from accountant import registry
from accountant.entries import FINAL, ChargeRow, ChargeState
from accountant.errors import ConfigChangedError, LedgerError
from accountant.filter import filter_for
from accountant.overlap import worst_instant
from accountant.records import Admission

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accountant.charges import UniformCost, WindowKey
    from accountant.entries import QueryRow, ScopeRow
    from accountant.records import Request
    from accountant.rows import Transaction

__all__ = [
    "LARGEST_LOSS_UNITS",
    "check_reservation",
    "raise_settled_worst",
    "release",
    "serve",
    "unserved",
    "withdraw",
]

LARGEST_LOSS_UNITS = 2**62
"""Above any sum the ledger may hold, with room to add two of them."""


def serve(tx: Transaction, scope: ScopeRow, fresh: Sequence[Request]) -> None:
    """Reserve or refuse requests beyond the frontier, in order, and move it."""
    terms = scope.terms
    queries = {row.query: row for row in tx.queries()}
    since_ms = min(request.charge.key.start_ms for request in fresh)
    near = tx.charges_after(terms.scope, since_ms)
    adopted = tx.adopted_after(terms.scope, since_ms)
    over = {charge.key for charge in near} | {key for key, _ in adopted}
    periods = {period for request in fresh for period in request.charge.periods}
    judge = filter_for(
        terms.unit,
        terms.epsilon_max_units,
        held=[*(charge.held for charge in near), *(held for _, held in adopted)],
        held_units=tx.totals(terms.scope, periods),
    )
    rows: list[ChargeRow] = []
    grown: Counter[int] = Counter()
    for request in fresh:
        charge = request.charge
        registry.requested(queries.get(charge.key.query), request, terms)
        if charge.loss_units >= LARGEST_LOSS_UNITS:
            raise LedgerError(f"the loss of {charge.key.query!r} does not fit into the ledger")
        if charge.key in over:
            continue
        if charge.key.start_ms < queries[charge.key.query].cursor_ms:
            rows.append(unserved(charge.key, terms.scope, request.fingerprint))
            continue
        admission = Admission.TOO_OLD
        if not request.too_old:
            admission = Admission.RESERVED if judge.reserve(charge) else Admission.REFUSED
        reserved = admission is Admission.RESERVED
        if reserved:
            grown.update(dict.fromkeys(charge.periods, charge.loss_units))
        rows.append(
            ChargeRow(
                key=charge.key,
                scope=terms.scope,
                admission=admission,
                state=ChargeState.RESERVED if reserved else ChargeState.RELEASED,
                fingerprint=request.fingerprint,
                units=charge.cost.units,
                cells=charge.cost.cells,
                cells_per_unit=charge.cells_per_unit,
                loss_units=charge.loss_units,
                settled_units=None,
                periods=charge.periods,
            )
        )
    tx.add_charges(rows)
    tx.add_to_totals(terms.scope, grown)
    tx.move_frontier(terms.scope, fresh[-1].charge.key)


def unserved(key: WindowKey, scope: str, fingerprint: str) -> ChargeRow:
    """Return the row of a window that was not asked for in its turn."""
    return ChargeRow(
        key=key,
        scope=scope,
        admission=Admission.MISSED,
        state=ChargeState.RELEASED,
        fingerprint=fingerprint,
        units=0,
        cells=1,
        cells_per_unit=1,
        loss_units=0,
        settled_units=None,
        periods=(),
    )


def release(tx: Transaction, charge: ChargeRow) -> None:
    """Give a reservation back."""
    tx.update_charge(charge.key, state=ChargeState.RELEASED.value)
    tx.add_to_totals(charge.scope, dict.fromkeys(charge.periods, -charge.loss_units))


def withdraw(tx: Transaction, query: QueryRow) -> None:
    """Give back every open reservation of a query whose configuration is no longer in force."""
    for charge in tx.open_charges(query.scope):
        if charge.key.query == query.query:
            release(tx, charge)
            tx.update_charge(charge.key, admission=Admission.MISSED.value)


def check_reservation(
    charge: ChargeRow | None, key: WindowKey, fingerprint: str, cost: UniformCost
) -> None:
    """Refuse a cost that nothing was reserved for."""
    if charge is None or charge.state is not ChargeState.RESERVED:
        raise LedgerError(
            f"nothing is reserved for this window of {key.query!r}",
            hint="admit it in its turn, or deny it",
        )
    if charge.fingerprint != fingerprint:
        raise ConfigChangedError(
            f"this window of {key.query!r} was reserved under another configuration",
            hint="deny it",
        )
    if cost.units > charge.units or cost.cells != charge.cells:
        raise LedgerError(f"a window of {key.query!r} cost more than was reserved for it")


def raise_settled_worst(
    tx: Transaction, scope: ScopeRow, start_ms: int, end_ms: int | None
) -> None:
    """Settled charges are never taken back: only the instants of the new one can have grown."""
    charges = tx.charges_after(scope.terms.scope, start_ms, starting_before_ms=end_ms)
    settled = [one.held for one in charges if one.state in FINAL]
    settled += [held for _, held in tx.adopted_after(scope.terms.scope, start_ms)]
    worst = worst_instant(settled, within=None if end_ms is None else (start_ms, end_ms))
    if worst > scope.settled_worst_units:
        tx.update_scope(scope.terms.scope, settled_worst_units=worst)
