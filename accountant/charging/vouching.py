"""What a budget's chain vouches for beside charges and decisions: what seldom changes.

That is its terms, its queries with their shares and the rows that they cover, what compaction left,
the decisions that it tells of no more or that lie in archives, and what all budgets rest on: the
ledger's identity, the logs and files that feeds are read from, how they grew, numbers that another
timeline used, and how often its clock was set. A budget without a query vouches for itself alone:
nothing was read for it.

A *state link* says all of it. One is added whenever some of it changes, after checking that what
was there is what the last one says: a change behind the ledger's back is never vouched for.
"""

from __future__ import annotations

import json
from bisect import insort
from contextlib import contextmanager
from dataclasses import fields
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from accountant.errors import LedgerCorruptError
from accountant.store import chain
from accountant.store.tables.journal import CLOCK_SET

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from accountant.store.tables.decided import SequenceRow
    from accountant.store.tables.pinned import QueryRow, ScopeRow, ShapeRow
    from accountant.store.transaction import Transaction

__all__ = ["add_queries", "changing", "check_state", "state_text", "vouch", "vouch_if_changed"]


def state_text(tx: Transaction, scope: ScopeRow) -> str:
    """Return what a state link of a budget would say now."""
    return _State(tx, scope).text


def add_queries(
    tx: Transaction, scope: ScopeRow, queries: Collection[str], added: Sequence[ShapeRow]
) -> None:
    """Store which rows queries of a budget cover, each with a state link of its own.

    What does not change on the way is read once, however many there are.

    Args:
        tx: holds the budget's lock.
        scope: the budget.
        queries: those that this transaction registered.
        added: what they cover, and others whose configuration is new.

    Raises:
        LedgerCorruptError: as :func:`check_state`, of the budget without these queries.
    """
    state = _State(tx, scope, without=queries)
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
            f"the terms, the queries or the logs of budget {scope.terms.scope!r}, or what "
            "compaction left of it, are not what its chain vouches for",
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


@contextmanager
def changing(tx: Transaction) -> Iterator[None]:
    """Change in this block what all budgets rest on: they are checked before, and vouch after.

    It takes the locks of all budgets, by name, so no lock that comes after theirs is held before.

    Raises:
        LedgerCorruptError: as :func:`check_state`, of any budget.
    """
    names = [row.scope for row in tx.scopes.all()]
    for name in names:
        row = tx.scopes.get("update", scope=name)
        if row is not None:
            check_state(tx, row)
    yield
    for name in names:
        vouch_if_changed(tx, name)


class _State:
    """What a state link of a budget says, also while shapes are added.

    Args:
        tx: holds the budget's lock, or sees one snapshot.
        scope: the budget.
        without: queries that are left out.
    """

    def __init__(self, tx: Transaction, scope: ScopeRow, without: Collection[str] = ()) -> None:
        name = scope.terms.scope
        self._scope = scope
        shares = tx.kept_shares.of(name)
        queries = {
            row.query: (*_registered(row), shares.get(row.query, 0))
            for row in tx.queries.each(scope=name)
        }
        self._added = {query: queries.pop(query) for query in without if query in queries}
        self._queries = _Items(queries.values())
        numbers = [row for row in tx.sequences.all() if row.query in queries]
        self._decided = _Items(_bases(numbers)).digest
        self._moved = _Items(_moved(numbers))
        self._pins = _Items(_pins(tx)).digest
        self._shapes = _Items(map(_said, tx.shapes.of(name)))
        self._left = _Items(tx.totals.compacted(name).items()).digest
        self._adopted = _Items(_adopted(tx, name)).digest

    def add(self, shape: ShapeRow) -> None:
        """Take one more query's rows into the text, and the query if it was left out so far."""
        self._shapes.add(_said(shape))
        if shape.query in self._added:
            self._queries.add(self._added.pop(shape.query))

    @property
    def text(self) -> str:
        terms, scope = self._scope.terms, self._scope
        # A budget none of whose decisions was moved says what it said before there were archives.
        promised = [] if terms.promise is None else [terms.promise]
        moved = {"moved": self._moved.digest} if self._moved else {}
        return json.dumps(
            {
                "terms": [terms.unit.value, terms.epsilon_max_units, terms.period, *promised],
                "shapes": self._shapes.digest,
                "base": [scope.base_link, scope.base_hash.hex()],
                "compacted": [scope.compacted_before_ms, scope.compacted_worst_units],
                "left": self._left,
                "adopted": self._adopted,
                "queries": self._queries.digest,
                "decided": self._decided,
                "pins": self._pins if self._queries else "",
                **moved,
            },
            separators=(",", ":"),
        )


class _Items:
    """Some items in the order of their Python texts, and the digest of them as one JSON list."""

    def __init__(self, items: Iterable[object]) -> None:
        self._items = sorted(map(_texts, items))

    def __len__(self) -> int:
        return len(self._items)

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


def _registered(row: QueryRow) -> tuple[object, ...]:
    definition = blake2b(row.definition.encode(), digest_size=chain.HASH_BYTES).hexdigest()
    since = (row.effective_from_ms, row.placed_ms)
    return row.query, row.feed, row.fingerprint, definition, *since, row.retired


def _bases(numbers: Iterable[SequenceRow]) -> Iterator[tuple[object, ...]]:
    for row in numbers:
        if row.base_sequence:
            yield row.query, row.base_sequence, row.base_hash.hex()


def _moved(numbers: Iterable[SequenceRow]) -> Iterator[tuple[object, ...]]:
    for row in numbers:
        if row.moved_sequence or row.moved_hash or row.archives_digest:
            yield row.query, row.moved_sequence, row.moved_hash.hex(), row.archives_digest.hex()


def _pins(tx: Transaction) -> Iterator[tuple[object, ...]]:
    """Yield what all budgets rest on."""
    ledger = tx.ledger()
    secret = blake2b(ledger.hash_key, digest_size=chain.HASH_BYTES, person=b"tocsin.secret")
    yield "ledger", ledger.ledger_id, secret.hexdigest(), ledger.created_ms
    rows: Sequence[tuple[str, Any]] = (
        *(("log", row) for row in tx.logs.each()),
        *(("growth", row) for row in tx.growths.each()),
        *(("file", row) for row in tx.files.each()),
        *(("gap", row) for row in tx.sequences.gaps.each()),
        *(("set", row) for row in tx.journal.each(entry=CLOCK_SET)),
    )
    for kind, row in rows:
        yield kind, *(getattr(row, each.name) for each in fields(row))


def _adopted(tx: Transaction, scope: str) -> Iterator[str]:
    """Yield the adopted decisions whose own links are gone."""
    told = tx.links.adoptions_told(scope)
    for row in tx.adopted.after(scope):
        if row.digest not in told:
            yield chain.of_adopted(row).text
