"""Whether a budget's chain vouches for what the ledger holds: followed link by link, in order."""

from __future__ import annotations

from itertools import chain as chained
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from accountant.audit.chargechecks import named
from accountant.charging import vouching
from accountant.store import chain
from accountant.store.among import listed
from accountant.store.tables.charged import ENDED, LinkKind
from accountant.store.tables.windows import window_columns

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

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

Window: TypeAlias = tuple[str, int, int]

_OF_DECISIONS: Final = {LinkKind.ENDED, LinkKind.DECIDED}
_OF_WINDOWS: Final = {LinkKind.SERVED, *_OF_DECISIONS}


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
    tx: Transaction, scope: ScopeRow, anchors: Mapping[int, bytes], trusted: Place | None
) -> Iterator[str]:
    """Yield what the chain does not vouch for, one sentence each.

    Args:
        tx: sees one snapshot.
        scope: the budget.
        anchors: links noted elsewhere: number and hash.
        trusted: the link from which to follow it; from where it begins without one.
    """
    name = scope.scope
    adopted = {one.digest: one for one in tx.adopted.after(name)}
    begin = Place(scope.base_link, scope.base_hash) if trusted is None else trusted
    for number, noted in anchors.items():
        if scope.base_link < number < begin.number and tx.links.hash_of(name, number) != noted:
            yield f"budget {name!r}: link {number} is not the one that was noted"
    follower = _Follower(tx, scope, adopted)
    yield from follower.follow(begin, anchors)
    if tx.links.last_state(name) != vouching.state_text(tx, scope):
        yield (
            f"budget {name!r}: its terms, its queries and their rows, its logs or what compaction "
            "left are not what its chain vouches for"
        )
    if trusted is None and not scope.base_link:
        # Compaction drops the links of adopted decisions, and keeps these.
        for digest in sorted(adopted.keys() - follower.adopted):
            yield f"{named(adopted[digest].key)}: the chain does not tell of its adoption"


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


class _Follower:
    """Compares the hashes of a chain; a link that does not fit is named and taken as it stands.

    Args:
        tx: sees one snapshot.
        scope: the budget.
        adopted: its adopted decisions, by digest.
    """

    def __init__(self, tx: Transaction, scope: ScopeRow, adopted: Mapping[str, AdoptedRow]) -> None:
        self._tx = tx
        self._scope = scope
        self._rows = adopted
        self.adopted: set[str] = set()
        """Digests of those that links told of."""

    def follow(self, begin: Place, anchors: Mapping[int, bytes]) -> Iterator[str]:
        """Yield what does not fit, from a link on."""
        scope, budget = self._scope, f"budget {self._scope.scope!r}"
        number, last = begin
        if anchors.get(number, last) != last:
            yield f"{budget}: link {number} is not the one that was noted"
        for links in self._tx.links.since(scope.scope, number):
            charges, decided = self._told_of(links)
            for link in links:
                number += 1
                if link.link != number:
                    yield f"{budget}: link {number} of the chain is missing"
                    number = link.link
                happened = self._happened(link, charges, decided)
                first = next(happened, None)
                if first is None:
                    yield f"{self._what(link)}: link {number} tells of it, and it is not there"
                elif not any(_fits(link, last, one) for one in chained([first], happened)):
                    what = self._what(link)
                    yield f"{what}: it is not what link {number} of the chain vouches for"
                if anchors.get(number, link.hash) != link.hash:
                    yield f"{budget}: link {number} is not the one that was noted"
                last = link.hash
        if (number, last) != (scope.chain_link, scope.chain_hash):
            yield f"{budget}: its chain ends at link {scope.chain_link}, not there"
        if anchors and max(anchors) > number:
            yield f"{budget}: link {max(anchors)} was noted, the chain is shorter"

    def _what(self, link: LinkRow) -> str:
        if link.kind is LinkKind.STATE:
            return f"budget {self._scope.scope!r}, its state"
        return named(link.key)

    def _told_of(
        self, links: Sequence[LinkRow]
    ) -> tuple[Mapping[Window, ChargeRow], Mapping[Window, Stated]]:
        """Return the charges and the decisions of the windows that some links tell of."""
        windows = {one.window for one in links if one.kind in _OF_WINDOWS}
        if not windows:
            return {}, {}
        found = self._tx.charges.among(listed(windows))
        mine = {one.window: one for one in found if one.scope == self._scope.scope}
        return mine, self._tx.decisions.stated_among(listed(windows))

    def _happened(
        self,
        link: LinkRow,
        charges: Mapping[Window, ChargeRow],
        decided: Mapping[Window, Stated],
    ) -> Iterator[chain.Happening]:
        """Yield what a link may tell of; nothing where it is not there."""
        match link.kind:
            case LinkKind.STATE:
                if link.told is not None:
                    yield chain.of_state(link.told)
            case LinkKind.ADOPTED:
                digest = link.told or ""
                self.adopted.add(digest)
                row = self._rows.get(digest)
                if row is not None:
                    yield chain.of_adopted(row)
            case _:
                yield from _told_of(link, charges.get(link.window), decided.get(link.window))


def _told_of(
    link: LinkRow, charge: ChargeRow | None, decision: Stated | DecisionRow | None
) -> Iterator[chain.Happening]:
    """Yield what a link of a window may tell of; nothing where what it tells of is not there.

    That a charge ended is told with the decision that ended it, or before there was any.
    """
    if link.kind in _OF_DECISIONS and decision is not None:
        if link.kind is LinkKind.DECIDED:
            yield chain.of_decision(link.key, decision.hash)
        elif charge is not None:
            yield chain.of_charge(charge, link.kind, decision.hash)
    if link.kind is not LinkKind.DECIDED and charge is not None:
        yield chain.of_charge(charge, link.kind)


def _fits(link: LinkRow, last: bytes, happened: chain.Happening) -> bool:
    """Say whether a link tells of something, after one with a hash."""
    key = happened.key  # that of the link would be made and checked for each
    same = link.window == (key.query, key.start_ms, key.end_ms) and link.told == happened.told
    return same and chain.hash_after(last, link.link, happened) == link.hash
