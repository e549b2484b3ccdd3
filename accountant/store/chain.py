"""The chain of charges: what happened to each, in order, every link hashed over the one before it.

Guarantee: with a link's number and hash noted elsewhere (an *anchor*), nobody can change, drop,
insert or reorder what happened up to it without ``verify`` or the anchor showing it.
Without an anchor, who may write the database can also write a new chain: note anchors.

A window's charge has a link when it is served (what was asked for) and one when it ends (what
became of it); one that ends as it is served has the second only. A decision's hash
(:mod:`accountant.store.decisionchain`) is in the link that tells of its window's end, or in one of
its own where that end came first.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

from accountant.costs.charges import WindowKey
from accountant.store.tables.charged import ENDED, LinkKind, LinkRow
from accountant.store.tables.windows import window_columns

if TYPE_CHECKING:
    from collections.abc import Iterable

    from accountant.records import SeenDecision
    from accountant.store.tables.charged import ChargeRow
    from accountant.store.tables.decided import AdoptedRow

__all__ = [
    "HASH_BYTES",
    "Happening",
    "anchor_text",
    "as_served",
    "extend",
    "genesis",
    "hash_after",
    "of_adopted",
    "of_charge",
    "of_decision",
    "of_state",
    "read_anchor",
]

HASH_BYTES = 16
_ENCODE = json.JSONEncoder(separators=(",", ":")).encode  # made once: that takes half the time
_NO_WINDOW = WindowKey(end_ms=1, query="", start_ms=0)


@dataclass(frozen=True, slots=True)
class Happening:
    """One thing that happened to a window's charge.

    Args:
        kind: what.
        key: the window.
        text: everything the link vouches for, as canonical JSON.
        told: what cannot be read elsewhere: the digest of an adopted decision; the whole text of a
            state.
    """

    kind: LinkKind
    key: WindowKey
    text: str
    told: str | None = None


def genesis(scope: str) -> bytes:
    """Return the hash that a budget's first link covers."""
    return _hash(b"", f"tocsin chain of {scope}")


def of_charge(charge: ChargeRow, kind: LinkKind, decided: bytes | None = None) -> Happening:
    """Return what a link of one kind says about a charge.

    Args:
        charge: any.
        kind: what happened to it.
        decided: the hash of the decision that ended it, if one did.
    """
    key = charge.key
    asked: tuple[object, ...] = (
        *(charge.scope, charge.fingerprint, charge.units, charge.cells, charge.cells_per_unit),
        *(charge.loss_units, charge.periods),
    )
    if charge.in_run:
        asked = (*asked, "in a run")
    became: tuple[object, ...] = ()
    if kind is LinkKind.ENDED:
        costs = None if charge.costs is None else blake2b(charge.costs).hexdigest()
        became = (
            *(charge.admission.value, charge.state.value, charge.settled_units),
            *(charge.settled_loss_units, costs),
        )
        if charge.in_run:
            became = (*became, charge.held_units)
    last = () if decided is None else ((decided.hex(),),)
    return Happening(kind, key, _text(kind, key, asked, became, *last))


def of_decision(key: WindowKey, decided: bytes) -> Happening:
    """Return what a link says about a decision, by its hash, of a charge that had ended before."""
    return Happening(LinkKind.DECIDED, key, _text(LinkKind.DECIDED, key, (decided.hex(),)))


def of_adopted(seen: SeenDecision | AdoptedRow) -> Happening:
    """Return what a link says about a decision of another timeline."""
    vouched = (seen.scope, seen.digest, seen.loss_units, seen.periods)
    return Happening(
        LinkKind.ADOPTED, seen.key, _text(LinkKind.ADOPTED, seen.key, vouched), seen.digest
    )


def of_state(text: str) -> Happening:
    """Return what a link says about a budget as a whole; it names no window."""
    return Happening(LinkKind.STATE, _NO_WINDOW, f"{LinkKind.STATE.value} {text}", text)


def anchor_text(number: int, digest: bytes) -> str:
    """Return a link as ``NUMBER:HASH``, to note elsewhere."""
    return f"{number}:{digest.hex()}"


def read_anchor(text: str) -> tuple[int, bytes]:
    """Return the number and the hash of :func:`anchor_text`.

    Raises:
        ValueError: it is no such text.
    """
    number, _, digest = text.partition(":")
    if not number.isdecimal() or len(digest) != 2 * HASH_BYTES:
        raise ValueError("an anchor is NUMBER:HASH, as `status` shows it")
    return int(number), bytes.fromhex(digest)


def as_served(charge: ChargeRow, decided: bytes | None = None) -> Happening:
    """Return the link of a charge that was just served: its only one if it ended with it."""
    kind = LinkKind.ENDED if charge.state in ENDED else LinkKind.SERVED
    return of_charge(charge, kind, decided)


def hash_after(last: bytes, number: int, one: Happening) -> bytes:
    """Return the hash of link ``number`` that tells of something, after one with hash ``last``."""
    return _hash(last, f"{number} {one.text}")


def extend(scope: str, number: int, last: bytes, happened: Iterable[Happening]) -> list[LinkRow]:
    """Return the links that follow link ``number`` with hash ``last`` in a budget's chain."""
    links = []
    for one in happened:
        number, last = number + 1, hash_after(last, number + 1, one)
        window = window_columns(one.key)
        links.append(LinkRow(scope, number, one.kind, **window, told=one.told, hash=last))
    return links


def _text(kind: LinkKind, key: WindowKey, *parts: tuple[object, ...]) -> str:
    return _ENCODE((kind.value, key.query, key.start_ms, key.end_ms, *parts))


def _hash(last: bytes, text: str) -> bytes:
    return blake2b(last + text.encode(), digest_size=HASH_BYTES).digest()
