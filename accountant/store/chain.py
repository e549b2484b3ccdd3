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

from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from accountant.store.canonical import hexed, quoted, whole, wholes
from accountant.store.tables.charged import ENDED, LinkKind, LinkRow

if TYPE_CHECKING:
    from collections.abc import Iterable

    from accountant.records import SeenDecision
    from accountant.store.tables.charged import ChargeRow
    from accountant.store.tables.decided import AdoptedRow

__all__ = [
    "HASH_BYTES",
    "Happening",
    "Window",
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
_NO_WINDOW = ("", 0, 1)

Window: TypeAlias = tuple[str, int, int]
"""A window by its columns: cheaper than its key where there are many."""


class Happening(NamedTuple):
    """One thing that happened to a window's charge.

    Args:
        kind: what.
        window: of the charge.
        text: everything the link vouches for, as canonical JSON.
        told: what cannot be read elsewhere: the digest of an adopted decision; the whole text of a
            state.
    """

    kind: LinkKind
    window: Window
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
    in_run = ',"in a run"' if charge.in_run else ""
    few = charge.windows_per_period
    capped = "" if few is None else f',["windows a period",{few!r}]'
    asked = (
        f"[{quoted(charge.scope)},{quoted(charge.fingerprint)},{charge.units!r},{charge.cells!r},"
        f"{charge.cells_per_unit!r},{charge.loss_units!r},{wholes(charge.periods)}{in_run}{capped}]"
    )
    became = "[]"
    if kind is LinkKind.ENDED:
        costs = None if charge.costs is None else blake2b(charge.costs).digest()
        held = f",{whole(charge.held_units)}" if charge.in_run else ""
        became = (
            f'["{charge.admission}","{charge.state}",{whole(charge.settled_units)},'
            f"{whole(charge.settled_loss_units)},{hexed(costs)}{held}]"
        )
    last = "" if decided is None else f",[{hexed(decided)}]"
    window = charge.window
    return Happening(kind, window, _text(kind, window, f"{asked},{became}{last}"))


def of_decision(window: Window, decided: bytes) -> Happening:
    """Return what a link says about a decision, by its hash, of a charge that had ended before."""
    text = _text(LinkKind.DECIDED, window, f"[{hexed(decided)}]")
    return Happening(LinkKind.DECIDED, window, text)


def of_adopted(seen: SeenDecision | AdoptedRow) -> Happening:
    """Return what a link says about a decision of another timeline."""
    window = (seen.query, seen.start_ms, seen.end_ms)
    vouched = f"{quoted(seen.scope)},{quoted(seen.digest)},{seen.loss_units!r}"
    text = _text(LinkKind.ADOPTED, window, f"[{vouched},{wholes(seen.periods)}]")
    return Happening(LinkKind.ADOPTED, window, text, seen.digest)


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
        links.append(LinkRow(scope, number, one.kind, *one.window, one.told, last))
    return links


def _text(kind: LinkKind, window: Window, told: str) -> str:
    query, start_ms, end_ms = window
    return f'["{kind}",{quoted(query)},{start_ms!r},{end_ms!r},{told}]'


def _hash(last: bytes, text: str) -> bytes:
    return blake2b(last + text.encode(), digest_size=HASH_BYTES).digest()
