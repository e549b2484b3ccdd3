"""Decisions leave on ticks of the clock, in order, whatever the work before them took."""

from __future__ import annotations

import asyncio
import contextlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast
from unittest.mock import AsyncMock

import pytest

from accountant.costs.charges import WindowKey
from accountant.records import Outcome, StoredDecision
from stream.config.loading import load
from stream.decisions.steps import no_step
from stream.kafka import publish
from stream.kafka.publish import Publisher
from tests.support.commands import HOUR_MS, configuration
from tests.support.paned import alarm, configured, opened, replayed, rows

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from stream.build import Runtime

TICK_MS = 1_000
Sent = list[tuple[str, int, int]]
HALL = b'[{"room":"hall"}]'


def stored(hour: int, *, release_ms: int, alarms: bytes = HALL) -> StoredDecision:
    """Return a decision of one hour, released no earlier than an instant."""
    return StoredDecision(
        key=WindowKey(end_ms=hour * HOUR_MS, query="crowd", start_ms=(hour - 1) * HOUR_MS),
        outcome=Outcome.DECIDED,
        reason=None,
        alarms=alarms,
        alarm_count=len(json.loads(alarms)),
        epsilon_units=1,
        sequence=hour,
        ledger_id="l",
        release_ms=release_ms,
        decided_at_ms=0,
        published=False,
        fingerprint="f",
    )


@dataclass
class World:
    """A clock, a ledger's outbox and the brokers, which remember what was sent and when.

    Args:
        outbox: what is stored, oldest first.
        now_ms: the clock; sending takes 700 ms of it.
        sent: topic, its time, and the window's end, in the order of sending.
        marked: windows marked as published, with how many records had been sent by then.
    """

    outbox: list[StoredDecision]
    now_ms: int = 10_123
    sent: Sent = field(default_factory=list)
    marked: list[tuple[WindowKey, int]] = field(default_factory=list)
    vouched: list[int] = field(default_factory=list)

    def unpublished(self, _query: str, released_by_ms: int) -> list[StoredDecision]:
        """Return what may leave by an instant and has not left."""
        left = dict(self.marked)
        return [
            one for one in self.outbox if one.release_ms <= released_by_ms and one.key not in left
        ]

    @property
    def progress(self) -> Any:
        """Say that the one alarm may have something to publish."""
        return SimpleNamespace(
            unpublished=lambda by_ms: {one.key.query for one in self.unpublished("", by_ms)}
        )

    @contextlib.asynccontextmanager
    async def opened(self) -> AsyncIterator[World]:
        """Be the witness, too."""
        yield self

    async def release(self) -> dict[str, int]:
        """Say which decisions the next release may take along."""
        return {"crowd": self.vouched.pop(0) if self.vouched else 1_000}

    @contextlib.contextmanager
    def exclusive(self, _name: str) -> Iterator[bool]:
        """Let the only publisher in."""
        yield True

    def mark_published(self, key: WindowKey) -> None:
        """Remember what has left."""
        self.marked.append((key, len(self.sent)))

    async def send(self, topic: str, value: bytes, *, key: bytes, timestamp_ms: int) -> Any:
        """Take a record; what it returns can be waited for."""
        assert key == b"crowd"
        self.now_ms += 700
        end = json.loads(value)["window_end"]
        self.sent.append((topic, timestamp_ms, int(end[11:13])))
        return asyncio.sleep(0)

    async def send_and_wait(self, topic: str, value: bytes, **options: Any) -> None:
        """Take a record and wait for the brokers."""
        await (await self.send(topic, value, **options))

    start = stop = AsyncMock()


@pytest.fixture
def publish_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Sent]:
    """Run a publisher until everything has left, on the world's clock; return what was sent."""
    path = Path(configuration(tmp_path))
    path.write_text("kafka: {bootstrap: 'h:1'}\n" + path.read_text())
    alarms = load(path, environ={})

    def run(world: World, kind: type[Publisher] = Publisher) -> Sent:
        runtime: Any = SimpleNamespace(
            alarms=alarms,
            ledger=world,
            clock_ms=lambda: world.now_ms,
            step=no_step,
            metrics=SimpleNamespace(published=lambda *_: None),
        )

        async def sleep(seconds: float) -> None:
            world.now_ms += round(seconds * 1000)
            if len(world.marked) == len(world.outbox):
                raise asyncio.CancelledError

        monkeypatch.setattr(publish, "AIOKafkaProducer", lambda **_: world)
        monkeypatch.setattr(publish.asyncio, "sleep", sleep)
        with contextlib.suppress(asyncio.CancelledError):
            asyncio.run(kind(runtime, world.opened, None).run())
        return world.sent

    return run


def test_a_release_takes_no_later_decision_along(
    publish_all: Callable[..., Sent],
) -> None:
    """What was decided after the release was counted may be another copy's to decide."""
    world = World([stored(1, release_ms=9_000), stored(2, release_ms=9_000)], vouched=[1])
    sent = publish_all(world)
    assert [(tick, hour) for topic, tick, hour in sent if topic == "tocsin.decisions"] == [
        (11_000, 1),
        (13_000, 2),
    ]


def outbox() -> list[StoredDecision]:
    """Return three decisions: due at once, due between two ticks, due much later."""
    return [
        stored(1, release_ms=9_000),
        stored(2, release_ms=11_001, alarms=b"[]"),
        stored(3, release_ms=15_500),
    ]


def test_records_leave_on_the_tick_after_their_time(
    publish_all: Callable[..., Sent],
) -> None:
    """A decision is dated by its tick and comes before its alarms; both before it is marked."""
    world = World(outbox())
    assert publish_all(world) == [
        ("tocsin.decisions", 11_000, 1),
        ("tocsin.alarms", 11_000, 1),  # the clock shows 12,400 by now
        ("tocsin.decisions", 13_000, 2),
        ("tocsin.decisions", 16_000, 3),
        ("tocsin.alarms", 16_000, 3),
    ]
    assert [sent for _, sent in world.marked] == [2, 3, 5]


def test_a_publisher_that_goes_by_the_clock_is_caught(
    publish_all: Callable[..., Sent],
) -> None:
    """Without ticks, records would be dated by what the work before them took."""

    class Hasty(Publisher):
        async def _next_tick(self) -> int:
            await publish.asyncio.sleep(0.05)
            return self.runtime.clock_ms()

    sent = publish_all(World(outbox()), Hasty)
    assert any(time_ms % TICK_MS for _, time_ms, _ in sent)


def test_no_window_leaves_before_its_panes(tmp_path: Path) -> None:
    """A copy of the ledger that lost both learns from the topic that the panes were drawn."""
    window = "HOP(ts, INTERVAL '1' MINUTE, INTERVAL '2' MINUTE)"
    alarms = configured(tmp_path, alarm("one", window, "COUNT(*) > 9"), until="00:04")
    (panes,) = alarms.panes
    with opened(alarms) as ledger:
        going = replayed(alarms, ledger, rows(tmp_path, (1, 1, 1, 1)))
        next(going)  # the others are stored by now, and none has left
        runtime = cast("Runtime", SimpleNamespace(alarms=alarms, ledger=ledger))
        publisher = Publisher(runtime, cast("Any", None), None)
        pane = ledger.unpublished(panes, 1 << 62)
        first, second, *_ = ledger.unpublished("one", 1 << 62)
        assert not asyncio.run(publisher._panes_wait(pane[0]))
        assert asyncio.run(publisher._panes_wait(first))
        ledger.mark_published(pane[0].key)
        assert asyncio.run(publisher._panes_wait(first))
        ledger.mark_published(pane[1].key)
        assert not asyncio.run(publisher._panes_wait(first))
        assert asyncio.run(publisher._panes_wait(second))
        going.close()
