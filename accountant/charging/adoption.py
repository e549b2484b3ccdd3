"""Decisions that another timeline released: a ledger restored from a backup, or a second copy.

What the topic shows and the ledger lacks was drawn and released all the same. It is found by
comparing, and once the custodian says so, charged beside everything else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accountant.charging import admission, concluding, keeping
from accountant.errors import LedgerError
from accountant.loss.overlap import Held
from accountant.store import chain
from accountant.store.archives import seen_mark
from accountant.store.tables.charged import ENDED, PeriodTotal
from accountant.store.tables.windows import window_columns
from accountant.units import PrivacyUnit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from accountant.records import SeenDecision, StoredDecision
    from accountant.store.tables.pinned import QueryRow, ScopeRow
    from accountant.store.transaction import Transaction

__all__ = ["adopt", "unknown"]


def unknown(tx: Transaction, seen: Sequence[SeenDecision], *, ledger_id: str) -> list[SeenDecision]:
    """Return what this ledger lacks or holds differently, by ledger and window."""
    found: dict[str, SeenDecision] = {}
    adopted = tx.adopted.digests(one.ledger_id for one in seen)
    for query in sorted({one.query for one in seen}):
        mine = [one for one in seen if one.query == query]
        first = min(one.start_ms for one in mine)
        last = max(one.start_ms for one in mine)
        known = tx.decisions.between(query, first, last, ledger_id=ledger_id)
        released = set(map(_released, known))
        for one in mine:
            if _released(one) in released or one.digest in adopted:
                continue
            if one.ledger_id != ledger_id or not _archived(tx, one):
                found[one.digest] = one
    return sorted(found.values(), key=lambda one: (one.ledger_id, one.key, one.sequence))


def adopt(
    tx: Transaction,
    fresh: Sequence[SeenDecision],
    *,
    scopes: Mapping[str, ScopeRow],
    queries: Mapping[str, QueryRow],
    ledger_id: str,
    now_ms: int,
) -> None:
    """Charge unknown decisions, move cursors and numbers behind them.

    Callers have :func:`accountant.charging.vouching.changing` about it: numbers are all budgets'.

    Args:
        tx: holds the locks of all queries given and of all budgets.
        fresh: from :func:`unknown`, not empty.
        scopes: the budgets they drew on, by name.
        queries: those of their queries that are registered, by name.
        ledger_id: of this ledger; only its own numbers go on behind what was seen.
        now_ms: the clock.
    """
    since_ms = min(one.start_ms for one in fresh)
    for one in fresh:
        scope = scopes[one.scope]
        if (scope.terms.unit is PrivacyUnit.USER) != bool(one.periods):
            raise ValueError("a decision names its periods under unit user, and only there")
        if one.gaussian is (scope.terms.promise is None):
            raise LedgerError(
                f"a decision of {one.query!r} was charged under another kind of promise than"
                f" budget {one.scope!r} has: what it cost cannot be charged here",
                hint="run this with the configuration that it was published under",
            )
        totals = tx.totals.of(one.scope, one.periods).values()
        before = max((total.held for total in totals), default=0)
        if not 0 <= one.loss_units < admission.LARGEST_LOSS_UNITS - before:
            raise LedgerError(f"the loss of {one.query!r} does not fit into the ledger")
        tx.adopted.store(one, adopted_at_ms=now_ms)
        spent = PeriodTotal(one.loss_units, one.loss_units)
        tx.totals.add(one.scope, dict.fromkeys(one.periods, spent))
        keeping.draw(tx, one.scope, one.query, dict.fromkeys(one.periods, spent))
        tx.links.append(one.scope, [chain.of_adopted(one)])
        twin = tx.charges.at(one.key)
        if twin is not None and twin.state not in ENDED:
            admission.supersede(tx, twin)
        # Analysts have the other timeline's answer: what this one drew stays charged, and here.
        tx.decisions.change(window_columns(one.key), published=True)
    for query in queries.values():
        since_ms = min(since_ms, query.cursor_ms)
        _pass_over(tx, query, [one.next_start_ms for one in fresh if one.query == query.query])
        # What else was drawn on that timeline and had not left is known to nobody: no run goes on.
        admission.end_run(tx, query)
    for name in sorted({one.query for one in fresh}):
        own = (one for one in fresh if one.query == name and one.ledger_id == ledger_id)
        last = max((one.sequence for one in own), default=0)
        if last > tx.sequences.last_of(name):
            tx.sequences.skip(name, last, declared_at_ms=now_ms)
    for name, scope in scopes.items():
        seen = (one for one in fresh if one.scope == name)
        held = [Held(one.start_ms, one.end_ms, one.loss_units) for one in seen]
        admission.adopted(tx, scope, held, since_ms)


def _pass_over(tx: Transaction, query: QueryRow, next_starts_ms: Sequence[int]) -> None:
    """Move a cursor behind adopted windows; what it skips is taken as spent."""
    cursor_ms = max(next_starts_ms, default=query.cursor_ms)
    if cursor_ms <= query.cursor_ms:
        return
    concluding.place(tx, query, cursor_ms)
    admission.spend(tx, query, cursor_ms)


def _archived(tx: Transaction, seen: SeenDecision) -> bool:
    """Whether a decision of this ledger is known from an archive that it was moved to."""
    return tx.archives.holds(seen.query, seen.sequence, seen_mark(seen))


def _released(decision: StoredDecision | SeenDecision) -> tuple[object, ...]:
    return (
        *(decision.ledger_id, decision.sequence, decision.key),
        *(decision.outcome, decision.epsilon_units, decision.alarm_count, decision.draw),
    )
