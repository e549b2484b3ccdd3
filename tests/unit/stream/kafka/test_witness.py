"""What the topic of ledgers lets a ledger count, on a topic in memory."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from unittest.mock import AsyncMock, MagicMock

import pytest
from aiokafka import TopicPartition

from accountant.errors import FeedClaimedError
from accountant.records import LogIdentity
from stream.build import open_ledger
from stream.config.loading import load
from stream.kafka import witness
from stream.kafka.claims import Claim, encode
from stream.kafka.witness import Witness
from tests.unit.stream.replay.test_exact import FORECAST, forecast


class _Topic:
    """The topic and its producer: what is sent is there at once."""

    def __init__(self):
        self.ends = {TopicPartition("tocsin.ownership", 0): 0}
        self.values = []

    async def records(self):
        """Yield what nobody has read yet."""
        unread, self.values = self.values, []
        yield None, [SimpleNamespace(value=value) for value in unread]

    async def send(self, _topic, value, **_options):
        """Append a record."""
        self.values.append(value)
        return AsyncMock(return_value=SimpleNamespace(offset=0, timestamp=0))()

    start = stop = AsyncMock()


@pytest.fixture
def configured(tmp_path):
    """A band around a public feed, beside a feed that nothing watches."""
    unwatched = FORECAST.replace("forecast", "later")
    path = forecast(tmp_path, "ABS(COUNT(*) - REFERENCE) >= 20", unwatched)
    path.write_text("kafka: {bootstrap: 'h:1'}\n" + path.read_text())
    return load(path, environ={})


@pytest.fixture
def mine(configured, monkeypatch):
    """The witness of a new ledger, on a topic of its own: see ``_topic``."""
    topic = _Topic()
    monkeypatch.setattr(witness, "opened", lambda *_: nullcontext(topic))
    monkeypatch.setattr(witness, "AIOKafkaProducer", lambda **_: topic)
    logs = {feed: LogIdentity(feed, "c", f"id-{feed}", feed, 1) for feed in configured.feeds}
    with open_ledger(configured) as ledger:
        yield Witness(configured, ledger, logs, "w", MagicMock(return_value=0))


def claimed(feed, since="now"):
    """Return the record by which another ledger claims a feed."""
    return encode(Claim(topic_id=f"id-{feed}", topic=feed, ledger="b", epoch=0, since=since))


async def test_what_a_ledger_claimed_is_no_public_reference(mine):
    """From the claim on, also for whom counted it before; what nothing watches is not claimed."""
    said = "feed 'forecast' cannot be a public reference: topic 'forecast' is charged"
    async with mine.opened():
        assert await mine.claim() == ["badges"]
        assert mine.names() == [("badges", "badges")]
        await mine.release()
        mine._topic.values.append(claimed("forecast"))
        for refused in (mine.release, mine.claim):
            with pytest.raises(FeedClaimedError, match=said):
                await refused()


@pytest.mark.parametrize("feeds", [["badges", "later"], ["later", "badges"]])
async def test_a_ledger_has_a_claim_for_each_of_its_feeds(mine, feeds):
    """What it spent on the first is not passed over where the second is newer, or named later."""
    mine._logs = {feed: mine.all_logs[feed] for feed in feeds}
    async with mine.opened():
        mine._topic.values += [claimed("badges", "January"), claimed("later", "June")]
        await mine._read_on()
        assert {one.since for one in mine.others()} == {"January", "June"}
