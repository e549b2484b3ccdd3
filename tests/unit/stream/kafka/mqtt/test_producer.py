"""What the buffer may forget, and when."""

from __future__ import annotations

import asyncio
import io
from typing import TYPE_CHECKING, Any

from aiokafka.errors import KafkaConnectionError, KafkaTimeoutError

from stream.kafka.connectivity import Connectivity
from stream.kafka.mqtt import producer as outlets
from stream.kafka.mqtt.buffer import Buffer
from stream.kafka.mqtt.producer import Producer
from stream.logs.lines import Line, Log
from stream.model.alarms import KafkaSettings

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

RECORDS = [(b"unit", b"%d" % number) for number in range(3)]


class Producers:
    """Makes producers: the first finds no broker, the second loses the middle of three records."""

    def __init__(self, buffer: Buffer) -> None:
        self.made = self.stopped = 0
        self.sent: list[list[bytes]] = []
        self.waiting: list[bool] = []
        self._buffer = buffer

    def __call__(self, **settings: Any) -> Producers:
        """Return the next one."""
        assert settings["acks"] == "all"
        assert settings["enable_idempotence"]
        self.made += 1
        self.sent.append([])
        return self

    async def start(self) -> None:
        """Look for a broker."""
        if self.made == 1:
            raise KafkaConnectionError

    async def stop(self) -> None:
        """Note it."""
        self.stopped += 1

    async def send(self, topic: str, value: bytes, *, key: bytes) -> asyncio.Future[None]:
        """Take a record, and say later what became of it."""
        assert (topic, key) == ("motion", b"unit")
        self.sent[-1].append(value)
        self.waiting.append(self._buffer.waiting)
        outcome: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self.made == 2 and value == b"1":
            outcome.set_exception(KafkaTimeoutError())
        else:
            outcome.set_result(None)
        return outcome


async def test_the_buffer_forgets_what_is_in_the_log_and_nothing_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker that is away, or loses one record, is given all of them again."""
    monkeypatch.setattr(outlets, "_PAUSE_S", 0.0)
    said = io.StringIO()
    log, kafka = Log(said), KafkaSettings("localhost:9092", "g", "a", "d", "b", "l", {})
    with Buffer(tmp_path / "buffer", 1 << 20, "", log) as buffer:
        await buffer.append(RECORDS)
        producers = Producers(buffer)
        monkeypatch.setattr(outlets, "AIOKafkaProducer", producers)
        producer = Producer(kafka, "motion", buffer, Connectivity("kafka", log))
        running = asyncio.create_task(producer.run())
        while buffer.waiting:
            assert not running.done()
            await asyncio.sleep(0.001)
        running.cancel()
        await asyncio.wait([running])
    assert producers.sent == [[], [b"0", b"1", b"2"], [b"0", b"1", b"2"]]
    assert all(producers.waiting)
    assert producers.made == producers.stopped == 3
    assert said.getvalue().count(Line.UNREACHABLE) == said.getvalue().count(Line.BACK) == 1
