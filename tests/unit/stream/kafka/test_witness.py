"""What a process says before anything leaves its ledger, and what it reads there of others."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from accountant.errors import LedgerRolledBackError
from accountant.units import PrivacyUnit
from stream.kafka.claims import Asked, Release, encode
from stream.kafka.clock import HeldClock
from stream.kafka.witness import Witness
from stream.model.alarms import KafkaSettings
from tests.support.ledgers import A, open_ledger, requests, set_up, settle
from tests.support.measured import two_alarms

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from accountant.ledger.ledger import Ledger
    from stream.kafka.claims import Claim

KAFKA = KafkaSettings("localhost:9092", "group", "a", "b", "c", "d", {})


class Said(Witness):
    """A witness of a ledger, with the topic's records in a list."""

    def __init__(self, ledger: Ledger, writer: str, topic: list[Claim | Release | Asked]) -> None:
        super().__init__(KAFKA, ledger, {}, writer, HeldClock(two_alarms()))
        self._topic = topic
        self._read = 0

    async def _say(self, records: Sequence[Claim | Release | Asked]) -> None:
        self._topic.extend(records)
        for one in self._topic[self._read :]:
            self._claims.take(encode(one))
        self._read = len(self._topic)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """A ledger with a decision that may leave."""
    with open_ledger(f"sqlite:///{tmp_path}/ledger.db") as opened:
        set_up(opened, PrivacyUnit.EVENT, 5, [A])
        opened.admit("s", requests([A], 30))
        settle(opened, A, 0)
        yield opened


def test_every_release_has_the_heads_of_the_ledger(ledger: Ledger) -> None:
    """As they are once what leaves is stored; the number of the last decision is told."""
    topic: list[Claim | Release | Asked] = []
    witness = Said(ledger, "w1", topic)
    for index in (1, 2):
        assert asyncio.run(witness.release()) == {"a": index}
        (*_, last) = topic
        assert isinstance(last, Release)
        assert (last.releases, last.heads) == (index, ledger.heads.now())
        settle(ledger, A, index)


def test_a_head_that_is_not_there_is_noticed_where_counts_agree(ledger: Ledger) -> None:
    """The ledger knows of the release, and not of what left with it."""
    topic: list[Claim | Release | Asked] = []
    asyncio.run(Said(ledger, "w1", topic).release())
    (release,) = topic
    assert isinstance(release, Release)
    assert asyncio.run(Said(ledger, "w2", [release]).claim()) == []
    number, _, digest = release.heads["log"].partition(":")
    for head in (f"{int(number) + 1}:{digest}", f"{number}:{'0' * 32}"):
        other = Release(ledger=release.ledger, writer="w1", releases=1, heads={"log": head})
        with pytest.raises(LedgerRolledBackError, match="not what was released from"):
            asyncio.run(Said(ledger, "w2", [other]).claim())
