"""Whether a budget's chain vouches for what the ledger holds: followed link by link, in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from accountant.audit.chargechecks import named
from accountant.audit.nearby import Found
from accountant.charging import vouching
from accountant.store import chain
from accountant.store.tables.charged import ENDED, LinkKind
from accountant.store.tables.windows import window_columns

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from accountant.audit.nearby import Nearby
    from accountant.store.decisions import Stated
    from accountant.store.tables.charged import ChargeRow, LinkRow
    from accountant.store.tables.decided import AdoptedRow, DecisionRow, SequenceRow
    from accountant.store.tables.pinned import ScopeRow
    from accountant.store.transaction import Transaction

__all__ = [
    "Place",
    "decision_problems",
    "problems",
    "told_problems",
    "trusted_problems",
]

_NOTHING: Final = Found(None, None)
_OF_DECISIONS: Final = (LinkKind.ENDED, LinkKind.DECIDED)
_OF_WINDOWS: Final = (LinkKind.SERVED, *_OF_DECISIONS)


class Place(NamedTuple):
    """A link of a chain: its number and its hash."""

    number: int
    hash: bytes


def trusted_problems(tx: Transaction, scope: ScopeRow, trusted: Place) -> list[str]:
    """Return why a chain cannot be followed from a link that was noted; empty where it can."""
    budget = f"budget {scope.scope!r}"
    if trusted.number > scope.chain_link:
        return [f"{budget}: link {trusted.number} was noted, the chain is shorter"]
    if trusted.number < scope.base_link:
        compacted = f"the chain is compacted up to link {scope.base_link}"
        why = f"{compacted}: it cannot be compared, note a later one"
        return [f"{budget}: link {trusted.number} was noted, and {why}"]
    at_base = trusted.number == scope.base_link
    found = scope.base_hash if at_base else tx.links.hash_of(scope.scope, trusted.number)
    if found != trusted.hash:
        return [f"{budget}: link {trusted.number} is not the one that was noted"]
    return []


def problems(
    tx: Transaction,
    scope: ScopeRow,
    anchors: Mapping[int, bytes],
    trusted: Place | None,
    nearby: Nearby,
) -> Iterator[tuple[int, list[str]]]:
    """Yield what the chain does not vouch for, one sentence each, a page of links at a time.

    With it goes how many charges the page ended.

    Args:
        tx: sees one snapshot.
        scope: the budget.
        anchors: links noted elsewhere: number and hash.
        trusted: the link from which to follow it; from where it begins without one.
        nearby: reads what links tell of.
    """
    name = scope.scope
    adopted = {one.digest: one for one in tx.adopted.after(name)}
    begin = Place(scope.base_link, scope.base_hash) if trusted is None else trusted
    follower = _Follower(scope, adopted, nearby, begin, anchors)
    for links in tx.links.since(name, begin.number):
        found = list(follower.take(links))
        yield sum(link.kind is LinkKind.ENDED for link in links), found
    yield 0, list(follower.end())
    yield 0, list(_beside(tx, scope, anchors, begin))
    if trusted is None and not scope.base_link:
        # Compaction drops the links of adopted decisions, and keeps these.
        untold = (adopted[digest].key for digest in sorted(adopted.keys() - follower.adopted))
        yield 0, [f"{named(key)}: the chain does not tell of its adoption" for key in untold]


def told_problems(charge: ChargeRow, told: Sequence[tuple[int, str]]) -> Iterator[str]:
    """Yield what is wrong with how the chain tells of a charge: once that it was served and ended.

    Args:
        charge: any.
        told: numbers and kinds of the links of its window that are still there, in order.
    """
    before = ""
    for number, kind in told:
        if before in {kind, LinkKind.ENDED}:
            yield f"{named(charge.key)}: link {number} tells of it once more"
        else:
            before = kind
    if before != (LinkKind.ENDED if charge.state in ENDED else LinkKind.SERVED):
        yield f"{named(charge.key)}: the chain does not tell how it is {charge.state.value}"


def decision_problems(
    tx: Transaction, scope: str, kept: SequenceRow, last: DecisionRow
) -> Iterator[str]:
    """Yield whether nothing vouches for a query's last decision, so for those before it.

    A link of its window does, with its hash; or the budget's state, once that link is gone.

    Args:
        tx: sees one snapshot.
        scope: the budget that the query draws on.
        kept: what is kept of the query's numbers.
        last: the decision.
    """
    if kept.base_sequence >= last.sequence:
        return
    charge, budget = tx.charges.at(last.key), tx.scopes.get(scope=scope)
    links = tx.links.all(**window_columns(last.key)) if budget is not None else ()
    for link in links:
        before = tx.links.hash_of(scope, link.link - 1)
        if budget is not None and link.link == budget.base_link + 1:
            before = budget.base_hash
        told = next(_told_of(link, charge, last), None) if link.kind in _OF_DECISIONS else None
        if before is not None and told is not None and _fits(link, before, told):
            return
    yield f"{named(last.key)}: no link of the chain tells of its decision"


def _beside(
    tx: Transaction, scope: ScopeRow, anchors: Mapping[int, bytes], begin: Place
) -> Iterator[str]:
    """Look at the links that are not followed but were noted, and at the budget as a whole."""
    name = scope.scope
    for number, noted in anchors.items():
        if number == begin.number:
            there = begin.hash == noted
        else:
            followed = not scope.base_link < number < begin.number
            there = followed or tx.links.hash_of(name, number) == noted
        if not there:
            yield f"budget {name!r}: link {number} is not the one that was noted"
    if tx.links.last_state(name) != vouching.state_text(tx, scope):
        yield (
            f"budget {name!r}: its terms, its queries and their rows, its logs or what compaction "
            "left are not what its chain vouches for"
        )


class _Follower:
    """Compares the hashes of a chain; a link that does not fit is named and taken as it stands.

    Args:
        scope: the budget.
        adopted: its adopted decisions, by digest.
        nearby: reads what links tell of.
        begin: the link behind which the first one comes.
        anchors: links noted elsewhere: number and hash.
    """

    def __init__(
        self,
        scope: ScopeRow,
        adopted: Mapping[str, AdoptedRow],
        nearby: Nearby,
        begin: Place,
        anchors: Mapping[int, bytes],
    ) -> None:
        self._scope = scope
        self._rows = adopted
        self._nearby = nearby
        self._number, self._last = begin
        self._anchors = anchors
        self._budget = f"budget {scope.scope!r}"
        self.adopted: set[str] = set()
        """Digests of those that links told of."""

    def take(self, links: Sequence[LinkRow]) -> Iterator[str]:
        """Take the next links, and yield what does not fit."""
        found = self._nearby.of({one.window for one in links if one.kind in _OF_WINDOWS})
        for link in links:
            self._number += 1
            number = link.link
            if number != self._number:
                yield f"{self._budget}: link {self._number} of the chain is missing"
                self._number = number
            there = False
            for happened in self._happened(link, found):
                there = True
                if _fits(link, self._last, happened):
                    break
            else:
                what = self._what(link)
                if there:
                    yield f"{what}: it is not what link {number} of the chain vouches for"
                else:
                    yield f"{what}: link {number} tells of it, and it is not there"
            if self._anchors and self._anchors.get(number, link.hash) != link.hash:
                yield f"{self._budget}: link {number} is not the one that was noted"
            self._last = link.hash

    def end(self) -> Iterator[str]:
        """Say whether it ended where it should."""
        scope, anchors = self._scope, self._anchors
        if (self._number, self._last) != (scope.chain_link, scope.chain_hash):
            yield f"{self._budget}: its chain ends at link {scope.chain_link}, not there"
        if anchors and max(anchors) > self._number:
            yield f"{self._budget}: link {max(anchors)} was noted, the chain is shorter"

    def _what(self, link: LinkRow) -> str:
        if link.kind is LinkKind.STATE:
            return f"budget {self._scope.scope!r}, its state"
        return named(link.key)

    def _happened(
        self, link: LinkRow, found: Mapping[chain.Window, Found]
    ) -> Iterator[chain.Happening]:
        """Return what a link may tell of; nothing where it is not there."""
        if link.kind in _OF_WINDOWS:
            charge, decision = found.get(link.window, _NOTHING)
            if charge is not None and charge.scope != self._scope.scope:
                charge = None
            return _told_of(link, charge, decision)
        if link.kind is LinkKind.STATE:
            return iter(() if link.told is None else (chain.of_state(link.told),))
        digest = link.told or ""
        self.adopted.add(digest)
        row = self._rows.get(digest)
        return iter(() if row is None else (chain.of_adopted(row),))


def _told_of(
    link: LinkRow, charge: ChargeRow | None, decision: Stated | DecisionRow | None
) -> Iterator[chain.Happening]:
    """Yield what a link of a window may tell of; nothing where what it tells of is not there.

    That a charge ended is told with the decision that ended it, or before there was any.
    """
    if link.kind in _OF_DECISIONS and decision is not None:
        if link.kind is LinkKind.DECIDED:
            yield chain.of_decision(link.window, decision.hash)
        elif charge is not None:
            yield chain.of_charge(charge, link.kind, decision.hash)
    if link.kind is not LinkKind.DECIDED and charge is not None:
        yield chain.of_charge(charge, link.kind)


def _fits(link: LinkRow, last: bytes, happened: chain.Happening) -> bool:
    """Say whether a link tells of something, after one with a hash."""
    same = link.window == happened.window and link.told == happened.told
    return same and chain.hash_after(last, link.link, happened) == link.hash
