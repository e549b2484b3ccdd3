"""Anchors at the command line: entries of a ledger that the custodian noted elsewhere.

An anchor is ``NUMBER:HASH``; who noted one is shown every later change of what came up to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accountant.errors import ConfigError
from accountant.log.entries import Head
from accountant.log.entries import read_anchor as read

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["anchor_line", "read_anchor", "read_anchors"]


def anchor_line(anchor: str) -> str:
    """Return an anchor as it is shown."""
    return f"anchor {anchor}"


def read_anchor(text: str) -> Head:
    """Return the number and the hash of an anchor.

    Raises:
        ConfigError: it is malformed.
    """
    try:
        return read(text)
    except ValueError:
        raise ConfigError(
            f"{text!r} is not an anchor",
            hint="write NUMBER:HASH, as `tocsin ledger FILE status` shows it",
        ) from None


def read_anchors(texts: Sequence[str]) -> dict[int, bytes]:
    """Return anchors by number.

    Raises:
        ConfigError: one is malformed, or two name one entry with different hashes.
    """
    noted: dict[int, bytes] = {}
    for number, digest in map(read_anchor, texts):
        if noted.setdefault(number, digest) != digest:
            raise ConfigError(
                f"two anchors give entry {number} different hashes",
                hint="one of them is of another ledger, or was tampered with",
            )
    return noted
