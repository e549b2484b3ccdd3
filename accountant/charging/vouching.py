"""What a budget's chain vouches for beside charges: terms, row shapes, what compaction left.

A *state link* says all of it. One is added whenever some of it changes, after checking that what
was there is what the last one says: a change behind the ledger's back is never vouched for.
"""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import TYPE_CHECKING

from accountant.errors import LedgerCorruptError
from accountant.store import chain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from accountant.store.tables.pinned import ScopeRow
    from accountant.store.transaction import Transaction

__all__ = ["check_state", "state_text", "vouch", "vouch_if_changed"]


def state_text(tx: Transaction, scope: ScopeRow) -> str:
    """Return what a state link of a budget would say now."""
    terms = scope.terms
    return json.dumps(
        {
            "terms": [terms.unit.value, terms.epsilon_max_units, terms.period],
            "shapes": _digest(_shapes(tx, terms.scope)),
            "base": [scope.base_link, scope.base_hash.hex()],
            "compacted": [scope.compacted_before_ms, scope.compacted_worst_units],
            "left": _digest(tx.totals.compacted(terms.scope).items()),
            "adopted": _digest(_adopted(tx, terms.scope)),
        },
        separators=(",", ":"),
    )


def check_state(tx: Transaction, scope: ScopeRow) -> None:
    """Refuse a budget that is not what the last state link of its chain says.

    Raises:
        LedgerCorruptError: it was changed behind the ledger's back.
    """
    if tx.links.last_state(scope.terms.scope) != state_text(tx, scope):
        raise LedgerCorruptError(
            f"the terms or the queries of budget {scope.terms.scope!r}, or what compaction left of "
            "it, are not what its chain vouches for",
            hint="run `tocsin ledger FILE verify`, and restore the newest sound copy",
        )


def vouch(tx: Transaction, scope: str) -> None:
    """Add a state link; the budget is locked, and was checked before it was changed."""
    row = tx.scopes.get(scope=scope)
    if row is None:
        raise LookupError(scope)
    tx.links.append(scope, [chain.of_state(state_text(tx, row))])


def vouch_if_changed(tx: Transaction, scope: str) -> None:
    """Add a state link unless the last one still holds; as :func:`vouch`."""
    row = tx.scopes.get(scope=scope)
    if row is not None and tx.links.last_state(scope) != state_text(tx, row):
        vouch(tx, scope)


def _shapes(tx: Transaction, scope: str) -> Iterator[tuple[str, ...]]:
    mine = {query.query for query in tx.queries.all() if query.scope == scope}
    for (query, fingerprint), shape in tx.all_shapes().items():
        if query in mine:
            yield query, fingerprint, shape.region, shape.grouping


def _adopted(tx: Transaction, scope: str) -> Iterator[str]:
    """Yield the adopted decisions whose own links are gone."""
    told = tx.links.adoptions_told(scope)
    for row in tx.adopted.after(scope):
        if row.digest not in told:
            yield chain.of_adopted(row).text


def _digest(items: Iterable[object]) -> str:
    text = json.dumps(sorted(items, key=repr), separators=(",", ":"))
    return blake2b(text.encode(), digest_size=chain.HASH_BYTES).hexdigest()
