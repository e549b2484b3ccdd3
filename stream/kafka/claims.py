"""What the topic of ledgers says: which ledger has claimed a feed's log, and what left each ledger.

A log has one holder: of the claims with the highest epoch the first in the topic. A claim is made
for an epoch that nobody has claimed yet, and read back before it counts; whoever finds another
one in front of it has lost. Keys are such that compaction keeps every claim, and of what left a
ledger the newest record of each process.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from typing import Final

import msgspec

__all__ = ["Claim", "Claims", "Release", "encode", "key_of"]


class Claim(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="claim"):
    """A ledger claims a log.

    Args:
        topic_id: the log's, which a topic that is made anew does not share.
        topic: its name, for people.
        ledger: the ledger's id.
        epoch: 0 for a log that nobody had claimed; one more with every transfer.
        since: ISO 8601 UTC, when.
        feed: what the ledger's configuration calls it; empty in claims of 0.1.0.
    """

    topic_id: str
    topic: str
    ledger: str
    epoch: int
    since: str
    feed: str = ""


class Release(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="release"):
    """Something is about to leave a ledger.

    Args:
        ledger: the ledger's id.
        writer: the process that publishes it.
        head: keyed, of the ledger's log (:mod:`accountant.ledger.heads`), with all that may leave.
    """

    ledger: str
    writer: str
    head: str


class Claims:
    """What the records of the topic come to, read in their order."""

    def __init__(self) -> None:
        self.holders: dict[str, Claim] = {}
        """The claim that holds a log, by the log's id."""
        self.claimants: defaultdict[str, dict[str, Claim]] = defaultdict(dict)
        """The first claim of every ledger that ever claimed a log, by both ids."""
        self.releases: defaultdict[str, dict[str, Release]] = defaultdict(dict)
        """The newest release of every process, by its ledger's id and its name."""

    def take(self, value: bytes | None) -> None:
        """Read the next record; what is none of Tocsin's says nothing.

        Only Tocsin may write there (see the ACLs in ``docs/how-to/secure.md``).
        """
        with suppress(msgspec.MsgspecError, UnicodeDecodeError):
            record = _DECODER.decode(value or b"")
            if isinstance(record, Release):
                self.releases[record.ledger][record.writer] = record
                return
            self.claimants[record.topic_id].setdefault(record.ledger, record)
            holder = self.holders.get(record.topic_id)
            if holder is None or record.epoch > holder.epoch:
                self.holders[record.topic_id] = record


_DECODER = msgspec.json.Decoder(Claim | Release)


encode: Final = msgspec.json.encode
"""Returns a record as one JSON object."""


def key_of(record: Claim | Release) -> bytes:
    """Return the key under which compaction keeps a record."""
    if isinstance(record, Claim):
        return f"claim/{record.topic_id}/{record.epoch}/{record.ledger}".encode()
    return f"release/{record.ledger}/{record.writer}".encode()
