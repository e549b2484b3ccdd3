"""Decisions leave on ticks of the clock, in order, whatever the work before them took."""

from __future__ import annotations

import asyncio
import contextlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import AsyncMock, MagicMock

import pytest

from accountant.costs.charges import UniformCost
from accountant.ledger.ledger import Ledger
from stream.config.loading import load
from stream.kafka import publish
from stream.kafka.publish import Publisher
from tests.support.commands import HOUR_MS, configuration
from tests.support.ledgers import CELLS, EVENT, Series, open_ledger, set_up
from tests.support.paned import alarm, configured, opened, replayed, rows

TICK_MS = 1_000
CROWD = Series("crowd", size=HOUR_MS, step=HOUR_MS)
HALL, NOBODY = b'[{"room":"hall"}]', b"[]"


@dataclass
class World:
    """A clock, a witness and the brokers, which remember what was sent and when.

    Args:
        decisions: how many have to leave.
        vouched: up to which decision each release may go, before all may leave.
        now_ms: the clock; sending takes 700 ms of it.
        sent: topic, its time, and the window's end, in the order of sending.
        marked: how many records had been sent when each decision was marked as published.
    """

    decisions: int
    vouched: list[int]
    now_ms: int = 10_123
    sent: list[tuple[str, int, int]] = field(default_factory=list)
    marked: list[int] = field(default_factory=list)

    async def release(self):
        """Say which decisions the next release may take along."""
        return {"crowd": self.vouched.pop(0) if self.vouched else 1_000}

    async def send(self, topic, value, *, key, timestamp_ms):
        """Take a record; what it returns can be waited for."""
        assert key == b"crowd"
        self.now_ms += 700
        end = json.loads(value)["window_end"]
        self.sent.append((topic, timestamp_ms, int(end[11:13])))
        return asyncio.sleep(0)

    async def send_and_wait(self, topic, value, **options):
        """Take a record and wait for the brokers."""
        await (await self.send(topic, value, **options))

    async def sleep(self, seconds):
        """Let time pass until everything has left."""
        self.now_ms += round(seconds * 1000)
        if len(self.marked) == self.decisions:
            raise asyncio.CancelledError

    start = stop = AsyncMock()


@pytest.fixture
def publish_all(tmp_path, monkeypatch):
    """Run a publisher until all decisions have left; each has its time, and its alarms."""
    path = Path(configuration(tmp_path))
    path.write_text("kafka: {bootstrap: 'h:1'}\n" + path.read_text())
    alarms = load(path, environ={})
    mark = Ledger.mark_published

    def run(*decisions, vouched=(), kind=Publisher):
        world = World(len(decisions), list(vouched))

        def marked(ledger, *keys):
            world.marked.append(len(world.sent))
            mark(ledger, *keys)

        monkeypatch.setattr(Ledger, "mark_published", marked)
        monkeypatch.setattr(publish, "AIOKafkaProducer", lambda **_: world)
        monkeypatch.setattr(publish.asyncio, "sleep", world.sleep)
        with open_ledger(f"sqlite:///{tmp_path}/ledger.db") as ledger:
            set_up(ledger, EVENT, 99, [CROWD])
            ledger.admit("s", [CROWD.request(index) for index in range(len(decisions))])
            for index, (release_ms, fired) in enumerate(decisions):
                ledger.settle(
                    CROWD.key(index),
                    fingerprint=CROWD.fingerprint,
                    cost=UniformCost(1, CELLS),
                    alarms=fired,
                    alarm_count=len(json.loads(fired)),
                    next_start_ms=CROWD.key(index + 1).start_ms,
                    release_ms=release_ms,
                )
            runtime = MagicMock(alarms=alarms, ledger=ledger, clock_ms=lambda: world.now_ms)
            with contextlib.suppress(asyncio.CancelledError):
                asyncio.run(kind(runtime, lambda: contextlib.nullcontext(world), None).run())
        return world

    return run


def test_a_release_takes_no_later_decision_along(publish_all):
    """What was decided after the release was counted may be another copy's to decide."""
    world = publish_all((9_000, NOBODY), (9_000, NOBODY), vouched=[1])
    assert [(tick, hour) for _, tick, hour in world.sent] == [(11_000, 1), (12_000, 2)]


DUE = (9_000, HALL), (11_001, NOBODY), (15_500, HALL)
"""Three decisions: due at once, due between two ticks, due much later."""


def test_records_leave_on_the_tick_after_their_time(publish_all):
    """A decision is dated by its tick and comes before its alarms; both before it is marked."""
    world = publish_all(*DUE)
    assert world.sent == [
        ("tocsin.decisions", 11_000, 1),
        ("tocsin.alarms", 11_000, 1),  # the clock shows 12,400 by now
        ("tocsin.decisions", 13_000, 2),
        ("tocsin.decisions", 16_000, 3),
        ("tocsin.alarms", 16_000, 3),
    ]
    assert world.marked == [2, 3, 5]


def test_a_publisher_that_goes_by_the_clock_is_caught(publish_all):
    """Without ticks, records would be dated by what the work before them took."""

    class Hasty(Publisher):
        async def _next_tick(self):
            await publish.asyncio.sleep(0.05)
            return self.runtime.clock_ms()

    assert any(time_ms % TICK_MS for _, time_ms, _ in publish_all(*DUE, kind=Hasty).sent)


def test_no_window_leaves_before_its_panes(tmp_path):
    """A copy of the ledger that lost both learns from the topic that the panes were drawn."""
    window = "HOP(ts, INTERVAL '1' MINUTE, INTERVAL '2' MINUTE)"
    alarms = configured(tmp_path, alarm("one", window, "COUNT(*) > 9"), until="00:04")
    (panes,) = alarms.panes
    with opened(alarms) as ledger:
        going = replayed(alarms, ledger, rows(tmp_path, (1, 1, 1, 1)))
        next(going)  # the others are stored by now, and none has left
        runtime = SimpleNamespace(alarms=alarms, ledger=ledger)
        publisher = Publisher(runtime, None, None)
        pane, *others = ledger.unpublished(panes, 1 << 62)
        windows = ledger.unpublished("one", 1 << 62)

        def waiting():
            """Return which of a pane and the first two windows wait."""
            return [asyncio.run(publisher._panes_wait(one)) for one in (pane, *windows[:2])]

        assert waiting() == [False, True, True]
        ledger.mark_published(pane.key)
        assert waiting() == [False, True, True]
        ledger.mark_published(others[0].key)
        assert waiting() == [False, False, True]
        going.close()
