"""What the topic of ledgers says: which ledger has claimed a feed's log, and what left each ledger.

A log has one holder: of the claims with the highest epoch the first in the topic. A claim is made
for an epoch that nobody has claimed yet, and read back before it counts; whoever finds another
one in front of it has lost. Keys are such that compaction keeps every claim, and of what left a
ledger the newest record of each process.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Asked", "Claim", "Claims", "Release", "encode", "key_of"]


class Claim(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="claim"):
    """A ledger claims a log.

    Args:
        topic_id: the log's, which a topic that is made anew does not share.
        topic: its name, for people.
        ledger: the ledger's id.
        epoch: 0 for a log that nobody had claimed; one more with every transfer.
        since: ISO 8601 UTC, when.
    """

    topic_id: str
    topic: str
    ledger: str
    epoch: int
    since: str


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


class Asked(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="asked"):
    """A process asked what time it is: the broker's answer is when it appended this.

    Args:
        ledger: the ledger's id.
    """

    ledger: str


class Claims:
    """What the records of the topic come to, read in their order."""

    def __init__(self) -> None:
        self._holders: dict[str, Claim] = {}
        self._claimed: defaultdict[str, dict[str, Claim]] = defaultdict(dict)
        self._releases: defaultdict[str, dict[str, Release]] = defaultdict(dict)

    def take(self, value: bytes | None) -> None:
        """Read the next record; what is none of Tocsin's says nothing.

        Only Tocsin may write there (see the ACLs in ``docs/how-to/secure.md``).
        """
        with suppress(msgspec.MsgspecError, UnicodeDecodeError):
            record = _DECODER.decode(value or b"")
            if isinstance(record, Release):
                self._releases[record.ledger][record.writer] = record
                return
            if isinstance(record, Asked):
                return
            self._claimed[record.topic_id].setdefault(record.ledger, record)
            holder = self._holders.get(record.topic_id)
            if holder is None or record.epoch > holder.epoch:
                self._holders[record.topic_id] = record

    def holder(self, topic_id: str) -> Claim | None:
        """Return the claim that holds a log; ``None`` where nobody claimed it."""
        return self._holders.get(topic_id)

    def claimants(self, topic_id: str) -> Mapping[str, Claim]:
        """Return the first claim of every ledger that ever claimed a log, by its id."""
        return self._claimed[topic_id]

    def releases(self, ledger_id: str) -> Mapping[str, Release]:
        """Return the newest release of every process that published from a ledger, by its name."""
        return self._releases[ledger_id]


_DECODER = msgspec.json.Decoder(Claim | Release | Asked)


encode: Final = msgspec.json.encode
"""Returns a record as one JSON object."""


def key_of(record: Claim | Release | Asked) -> bytes:
    """Return the key under which compaction keeps a record."""
    if isinstance(record, Claim):
        return f"claim/{record.topic_id}/{record.epoch}/{record.ledger}".encode()
    if isinstance(record, Asked):
        return f"asked/{record.ledger}".encode()
    return f"release/{record.ledger}/{record.writer}".encode()
