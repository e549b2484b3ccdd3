"""What a budget's chain vouches for beside charges: terms, row shapes, what compaction left.

A *state link* says all of it. One is added whenever some of it changes, after checking that what
was there is what the last one says: a change behind the ledger's back is never vouched for.
"""

from __future__ import annotations

import json
from bisect import insort
from hashlib import blake2b
from typing import TYPE_CHECKING

from accountant.errors import LedgerCorruptError
from accountant.store import chain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from accountant.store.tables.pinned import ScopeRow, ShapeRow
    from accountant.store.transaction import Transaction

__all__ = ["add_shapes", "check_state", "state_text", "vouch", "vouch_if_changed"]


def state_text(tx: Transaction, scope: ScopeRow) -> str:
    """Return what a state link of a budget would say now."""
    return _State(tx, scope).text


def add_shapes(tx: Transaction, scope: ScopeRow, added: Sequence[ShapeRow]) -> None:
    """Store which rows queries of a budget cover, each with a state link of its own.

    What does not change on the way is read once, however many there are.

    Raises:
        LedgerCorruptError: as :func:`check_state`.
    """
    state = _State(tx, scope)
    _check(tx, scope, state.text)
    links = []
    for shape in added:
        state.add(shape)
        links.append(chain.of_state(state.text))
    tx.shapes.add(*added)
    tx.links.append(scope.terms.scope, links)


def check_state(tx: Transaction, scope: ScopeRow) -> None:
    """Refuse a budget that is not what the last state link of its chain says.

    Raises:
        LedgerCorruptError: it was changed behind the ledger's back.
    """
    _check(tx, scope, state_text(tx, scope))


def _check(tx: Transaction, scope: ScopeRow, text: str) -> None:
    if tx.links.last_state(scope.terms.scope) != text:
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


class _State:
    """What a state link of a budget says, also while shapes are added.

    Args:
        tx: holds the budget's lock, or sees one snapshot.
        scope: the budget.
    """

    def __init__(self, tx: Transaction, scope: ScopeRow) -> None:
        name = scope.terms.scope
        self._scope = scope
        self._shapes = _Items(map(_said, tx.shapes.of(name)))
        self._left = _Items(tx.totals.compacted(name).items()).digest
        self._adopted = _Items(_adopted(tx, name)).digest

    def add(self, shape: ShapeRow) -> None:
        """Take one more query's rows into the text."""
        self._shapes.add(_said(shape))

    @property
    def text(self) -> str:
        terms, scope = self._scope.terms, self._scope
        return json.dumps(
            {
                "terms": [terms.unit.value, terms.epsilon_max_units, terms.period],
                "shapes": self._shapes.digest,
                "base": [scope.base_link, scope.base_hash.hex()],
                "compacted": [scope.compacted_before_ms, scope.compacted_worst_units],
                "left": self._left,
                "adopted": self._adopted,
            },
            separators=(",", ":"),
        )


class _Items:
    """Some items in the order of their Python texts, and the digest of them as one JSON list."""

    def __init__(self, items: Iterable[object]) -> None:
        self._items = sorted(map(_texts, items))

    def add(self, item: object) -> None:
        insort(self._items, _texts(item))

    @property
    def digest(self) -> str:
        text = f"[{','.join(each for _, each in self._items)}]"
        return blake2b(text.encode(), digest_size=chain.HASH_BYTES).hexdigest()


def _texts(item: object) -> tuple[str, str]:
    return repr(item), json.dumps(item, separators=(",", ":"))


def _said(shape: ShapeRow) -> tuple[str, ...]:
    return shape.query, shape.fingerprint, shape.region, shape.grouping


def _adopted(tx: Transaction, scope: str) -> Iterator[str]:
    """Yield the adopted decisions whose own links are gone."""
    told = tx.links.adoptions_told(scope)
    for row in tx.adopted.after(scope):
        if row.digest not in told:
            yield chain.of_adopted(row).text
