"""Who holds a log follows from the records of the topic of ledgers, in their order."""

from __future__ import annotations

from itertools import permutations

from stream.kafka.claims import Claim, Claims, Release, encode, key_of


def claim(ledger: str, epoch: int = 0, log: str = "t1") -> Claim:
    """A claim on a log."""
    return Claim(
        topic_id=log, topic="badges", ledger=ledger, epoch=epoch, since="2026-01-01T00:00:00.000Z"
    )


def release(ledger: str, writer: str, number: int) -> Release:
    """A release of a process."""
    return Release(ledger=ledger, writer=writer, head=f"{number}:{32 * '0'}")


def read(*records: Claim | Release | bytes | None) -> Claims:
    """Read records."""
    claims = Claims()
    for record in records:
        claims.take(encode(record) if isinstance(record, (Claim, Release)) else record)
    return claims


def test_the_first_claim_of_an_epoch_holds() -> None:
    """Two ledgers that claim at once agree on who was first."""
    for one, two in permutations("ab"):
        claims = read(claim(one), claim(two))
        assert claims.holders.get("t1") == claim(one)
        assert claims.claimants["t1"] == {one: claim(one), two: claim(two)}


def test_a_transfer_outbids_and_stays() -> None:
    """A claim of an epoch that is over changes nothing, whenever it is made."""
    records = (claim("a"), claim("b", 1), claim("a"), claim("c"))
    assert read(*records).holders.get("t1") == claim("b", 1)
    assert read(*records, claim("a", 2)).holders.get("t1") == claim("a", 2)


def test_each_log_has_its_own_holder() -> None:
    """A topic that was made anew is another log."""
    claims = read(claim("a"), claim("b", log="t2"))
    assert claims.holders.get("t2") == claim("b", log="t2")
    assert claims.holders.get("t3") is None
    assert claims.claimants["t3"] == {}


def test_compaction_loses_no_claim_and_no_newest_release() -> None:
    """What it may delete has a successor under the same key."""
    records = [
        claim("a"),
        release("a", "w", 1),
        claim("b"),
        release("a", "w", 2),
        release("a", "v", 1),
        claim("b", 1),
        release("b", "w", 9),
    ]
    last = {key_of(record): record for record in records}
    kept = [record for record in records if last[key_of(record)] is record]
    assert len(kept) == len(records) - 1
    whole, compacted = read(*records), read(*kept)
    assert whole.holders.get("t1") == compacted.holders.get("t1") == claim("b", 1)
    assert whole.claimants["t1"] == compacted.claimants["t1"]
    for ledger in "ab":
        assert whole.releases[ledger] == compacted.releases[ledger]
    assert whole.releases["a"] == {"w": release("a", "w", 2), "v": release("a", "v", 1)}


def test_what_is_no_record_says_nothing() -> None:
    """Nobody but Tocsin may write there."""
    claims = read(None, b"", b"{}", b"\xff", b'{"record":"claim"}', claim("a"))
    assert claims.holders.get("t1") == claim("a")
