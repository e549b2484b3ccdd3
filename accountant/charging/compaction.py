"""Making room: charges of the past give way to what they left behind, and no live loss changes.

Guarantee: totals, the worst settled row and the head of the chain stand as they stood; no window
that may still be served overlaps one whose charge is gone (it is refused instead); the decisions
stay, so that a rolled-back copy is still recognised by them.

It goes from the oldest link on in *steps*, each a short transaction that leaves a ledger like any
other: what a step took is in what compaction left, the chain's base stands behind it, and a state
link vouches for both. So whoever reads or reserves between two steps sees every loss, and one that
is killed has done less, not half. A step looks at its own links alone: all of them take time that
grows with what goes.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING, Final, NamedTuple

from accountant.charging import capped, keeping, vouching
from accountant.store.among import listed
from accountant.store.tables.charged import OPEN, LinkKind
from accountant.units import PrivacyUnit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from accountant.store.decisions import Left
    from accountant.store.links import Told
    from accountant.store.tables.pinned import ScopeRow
    from accountant.store.transaction import Transaction

__all__ = ["STEP_LINKS", "Step", "anything_goes", "step"]

_ENDED: Final = LinkKind.ENDED.value
_OF_DECISIONS: Final = {_ENDED, LinkKind.DECIDED.value}

STEP_LINKS: Final = 20_000
"""Links that one step takes away: about a third of a second on a small machine."""


class Step(NamedTuple):
    """What one step did.

    Args:
        charges: that it deleted.
        last: whether nothing is left for another.
    """

    charges: int
    last: bool


class _Bounds(NamedTuple):
    """What keeps links from going, as it stands in one transaction.

    Args:
        horizon_ms: windows that end after it stay.
        open: windows that are reserved or pending, or that an answer may look at, by their columns.
    """

    horizon_ms: int
    open: frozenset[tuple[str, int, int]]


def anything_goes(tx: Transaction, scope: ScopeRow, before_ms: int) -> bool:
    """Say whether any charge would go; links alone are not worth a new state link.

    Args:
        tx: sees one snapshot.
        scope: the budget.
        before_ms: as for :func:`step`.
    """
    bounds, number = _bounds(tx, scope, before_ms), scope.base_link
    while links := tx.links.following(scope.scope, number, STEP_LINKS):
        going, _ = _going(tx, links, bounds)
        if any(link.ended for link in going):
            return True
        if len(going) < len(links):
            return False
        number = links[-1].number
    return False


def step(tx: Transaction, scope: ScopeRow, before_ms: int) -> Step:
    """Delete the oldest charges of a budget that ended, up to an instant.

    No query is locked: cursors only rise, so one that moves meanwhile keeps more than it had to,
    and one that is registered meanwhile is refused the windows that start before what goes.

    Args:
        tx: holds the scope's lock.
        scope: the budget.
        before_ms: windows that end after it are kept. So are windows that end after the start of
            any window that is open or still to be served, and all that came onto the chain after
            the first link that has to stay.

    Raises:
        LedgerCorruptError: what the chain vouches for was changed behind the ledger's back.
    """
    name, before_link = scope.scope, scope.base_link
    bounds = _bounds(tx, scope, before_ms)
    going, decisions = _going(tx, tx.links.following(name, before_link, STEP_LINKS), bounds)
    last = len(going) < STEP_LINKS
    if not going:
        return Step(0, last)
    base_link = going[-1].number
    base_hash = tx.links.hash_of(name, base_link)
    vouching.check_state(tx, scope)
    windows = {link.window for link in going if link.ended}
    ended = listed(windows)
    many, few, left = tx.charges.left_among(ended)
    if few:
        left.update(capped.left_among(tx, name, ended))
    tx.totals.add_compacted(name, +left)
    _keep_decided(tx, decisions)
    tx.decisions.strip(one for one in decisions if one.window in windows)
    tx.charges.drop_among(ended)
    tx.links.drop_between(name, before_link, base_link)
    tx.scopes.change(
        {"scope": name},
        base_link=base_link,
        base_hash=base_hash,
        compacted_before_ms=max(bounds.horizon_ms, scope.compacted_before_ms or bounds.horizon_ms),
        compacted_worst_units=scope.settled_worst_units,
    )
    vouching.vouch(tx, name)
    return Step(many, last)


def _keep_decided(tx: Transaction, going: Iterable[Left]) -> None:
    """Keep the hash of the last decision of each query that the links which go tell of."""
    last: dict[str, Left] = {}
    for one in going:
        before = last.get(one.query)
        if before is None or one.sequence > before.sequence:
            last[one.query] = one
    tx.sequences.put(
        *(
            replace(row, base_sequence=last[row.query].sequence, base_hash=last[row.query].hash)
            for row in tx.sequences.all()
            if row.query in last and last[row.query].sequence > row.base_sequence
        )
    )


def _bounds(tx: Transaction, scope: ScopeRow, before_ms: int) -> _Bounds:
    name = scope.scope
    held = tx.charges.in_state(name, *OPEN)
    starts = [query.cursor_ms for query in tx.queries.cursors(tx.queries.drawing_on(name))]
    starts += [charge.start_ms for charge in held]
    horizon_ms = min([before_ms, *starts])
    windows = frozenset(charge.window for charge in held)
    if scope.unit is PrivacyUnit.USER:
        windows |= keeping.kept_windows(tx, name, horizon_ms)
    return _Bounds(horizon_ms, windows)


def _going(tx: Transaction, links: list[Told], bounds: _Bounds) -> tuple[list[Told], list[Left]]:
    """Return the links before the first that must stay, and the decisions that they tell of.

    A link may go when its charge has ended, its window ends by the horizon and its decision, if
    any, has left. Links of adopted decisions go with those around them.
    """
    found = links[: _in_time(links, bounds)]
    decisions = tx.decisions.left_among(listed(_decided(found)))
    waiting = {one.window for one in decisions if not one.published}
    if not waiting:
        return found, decisions
    found = list(takewhile(lambda link: not (link.ended and link.window in waiting), found))
    windows = _decided(found)
    return found, [one for one in decisions if one.window in windows]


def _in_time(links: list[Told], bounds: _Bounds) -> int:
    """Return how many links come before the first that is kept whether its decision left or not."""
    horizon_ms, still_open = bounds
    for at, (_, kind, window) in enumerate(links):
        if (kind == _ENDED and window[2] > horizon_ms) or window in still_open:
            return at
    return len(links)


def _decided(links: list[Told]) -> set[tuple[str, int, int]]:
    """Return the windows whose decisions links may tell of."""
    return {window for _, kind, window in links if kind in _OF_DECISIONS}
