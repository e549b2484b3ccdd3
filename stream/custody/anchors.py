"""Anchors at the command line: links of a ledger's chains that the custodian noted elsewhere.

An anchor is ``BUDGET=NUMBER:HASH``. What it proves: see :mod:`accountant.store.chain`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from accountant.errors import ConfigError, LedgerCorruptError
from accountant.store.chain import anchor_text, read_anchor

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from accountant.ledger.ledger import Ledger
    from accountant.store.tables.pinned import ScopeRow

__all__ = ["ChainEnds", "anchor_line", "base_problems", "chain_ends", "read_anchors"]


@dataclass(frozen=True, slots=True)
class ChainEnds:
    """Where the chain of one budget ends, and the link up to which it was compacted (0: none)."""

    head: str
    base_link: int
    base_hash: bytes


def anchor_line(budget: str, anchor: str) -> str:
    """Return an anchor as it is shown, and as ``--anchor`` takes it after the first word."""
    return f"anchor {budget}={anchor}"


def read_anchors(texts: Sequence[str]) -> dict[str, dict[int, bytes]]:
    """Return anchors by budget and number.

    Raises:
        ConfigError: one is malformed, or two name one link with different hashes.
    """
    noted: dict[str, dict[int, bytes]] = {}
    for text in texts:
        budget, separator, anchor = text.rpartition("=")
        try:
            number, digest = read_anchor(anchor)
        except ValueError:
            separator = ""
        if not (budget and separator):
            raise ConfigError(
                f"{text!r} is not an anchor",
                hint="write --anchor BUDGET=NUMBER:HASH, as `tocsin ledger FILE status` shows it",
            )
        if noted.setdefault(budget, {}).setdefault(number, digest) != digest:
            raise ConfigError(
                f"two anchors give link {number} of budget {budget!r} different hashes",
                hint="one of them is of another ledger, or was tampered with",
            )
    return noted


def chain_ends(ledger: Ledger) -> dict[str, ChainEnds]:
    """Return the ends of every budget's chain, by budget, as they are stored.

    Raises:
        LedgerCorruptError: they cannot be read.
    """
    return {row.terms.scope: _ends(row) for row in ledger.pins.budgets()}


def base_problems(
    ends: Mapping[str, ChainEnds], noted: Mapping[str, Mapping[int, bytes]]
) -> Iterator[str]:
    """Yield what contradicts the anchors that lie where a chain was compacted.

    An anchor before the base cannot be compared any more, so it is not taken on trust.
    """
    for budget, anchors in noted.items():
        base = ends[budget]
        for number, digest in anchors.items():
            if number < base.base_link:
                yield (
                    f"budget {budget!r}: link {number} was noted, and the chain is compacted up to "
                    f"link {base.base_link}: it cannot be compared, note a later one"
                )
            elif number == base.base_link and digest != base.base_hash:
                yield f"budget {budget!r}: link {number} is not the one that was noted"


def _ends(row: ScopeRow) -> ChainEnds:
    try:
        head, base = (bytes(memoryview(one)) for one in (row.chain_hash, row.base_hash))
    except TypeError:
        raise LedgerCorruptError(
            f"the chain of budget {row.terms.scope!r} ends in what is no hash",
            hint="restore the newest copy of the ledger",
        ) from None
    return ChainEnds(anchor_text(row.chain_link, head), row.base_link, base)
