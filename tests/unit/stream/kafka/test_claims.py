"""Who holds a log follows from the records of the topic of ledgers, in their order."""

from __future__ import annotations

import pytest

from stream.kafka.claims import Claim, Claims, Release, encode, key_of


def claim(ledger, epoch=0, log="t1"):
    """A claim on a log."""
    return Claim(
        topic_id=log, topic="badges", ledger=ledger, epoch=epoch, since="2026-01-01T00:00:00.000Z"
    )


def release(ledger, writer, number):
    """A release of a process."""
    return Release(ledger=ledger, writer=writer, head=f"{number}:{32 * '0'}")


def read(*records):
    """Read records."""
    claims = Claims()
    for record in records:
        claims.take(encode(record) if isinstance(record, (Claim, Release)) else record)
    return claims


A, B = claim("a"), claim("b")


@pytest.mark.parametrize(
    ("records", "holder"),
    [
        ((A, B), A),  # two ledgers that claim at once agree on who was first
        ((B, A), B),
        ((A, claim("b", 1), A, claim("c")), claim("b", 1)),  # that epoch is over, whoever claims
        ((A, claim("b", 1), claim("a", 2)), claim("a", 2)),
        ((claim("b", log="t2"), A), A),  # a topic that was made anew is another log
        ((claim("b", log="t2"),), None),
        ((None, b"", b"{}", b"\xff", b'{"record":"claim"}', A), A),  # no records
    ],
)
def test_the_first_claim_of_the_newest_epoch_holds(records, holder):
    """Of each log, whatever else stands on the topic; a transfer outbids and stays."""
    claims = read(*records)
    assert claims.holders.get("t1") == holder
    first = {one.ledger: one for one in reversed(records) if isinstance(one, Claim)}
    assert claims.claimants["t1"] | claims.claimants["t2"] == first


def test_compaction_loses_no_claim_and_no_newest_release():
    """What it may delete has a successor under the same key."""
    newest = release("a", "w", 2)
    records = [
        *(A, release("a", "w", 1), B, newest, release("a", "v", 1)),
        *(claim("b", 1), release("b", "w", 9)),
    ]
    last = {key_of(record): record for record in records}
    kept = [record for record in records if last[key_of(record)] is record]
    assert len(kept) == len(records) - 1
    whole, compacted = read(*records), read(*kept)
    assert whole.holders == compacted.holders == {"t1": claim("b", 1)}
    assert whole.claimants == compacted.claimants
    assert whole.releases == compacted.releases
    assert whole.releases["a"] == {"w": newest, "v": release("a", "v", 1)}
