"""What the buffer may forget, and when."""

from __future__ import annotations

import asyncio

from aiokafka.errors import KafkaConnectionError, KafkaTimeoutError

from stream.kafka.connectivity import Connectivity
from stream.kafka.mqtt import producer as outlets
from stream.kafka.mqtt.buffer import Buffer
from stream.kafka.mqtt.producer import Producer
from stream.logs.lines import Line
from stream.model.alarms import KafkaSettings
from tests.support.said import Said

VALUES = [b"0", b"1", b"2"]


class Producers:
    """Makes producers: the first finds no broker, the second loses the middle of three records."""

    def __init__(self, buffer):
        self.stopped = 0
        self.sent = []
        self._buffer = buffer

    def __call__(self, **settings):
        """Return the next one."""
        assert settings["acks"] == "all"
        assert settings["enable_idempotence"]
        self.sent.append([])
        return self

    async def start(self):
        """Look for a broker."""
        if len(self.sent) == 1:
            raise KafkaConnectionError

    async def stop(self):
        """Note it."""
        self.stopped += 1

    async def send(self, topic, value, *, key):
        """Take a record, and say later what became of it."""
        assert (topic, key, self._buffer.waiting) == ("motion", b"unit", True)
        self.sent[-1].append(value)
        outcome = asyncio.get_running_loop().create_future()
        if len(self.sent) == 2 and value == b"1":
            outcome.set_exception(KafkaTimeoutError())
        else:
            outcome.set_result(None)
        return outcome


async def test_the_buffer_forgets_what_is_in_the_log_and_nothing_before(tmp_path, monkeypatch):
    """A broker that is away, or loses one record, is given all of them again."""
    monkeypatch.setattr(outlets, "_PAUSE_S", 0.0)
    said, kafka = Said(), KafkaSettings("localhost:9092", "g", "a", "d", "b", "l", {})
    with Buffer(tmp_path / "buffer", 1 << 20, "", said.log) as buffer:
        await buffer.append([(b"unit", value) for value in VALUES])
        producers = Producers(buffer)
        monkeypatch.setattr(outlets, "AIOKafkaProducer", producers)
        producer = Producer(kafka, "motion", buffer, Connectivity("kafka", said.log))
        running = asyncio.create_task(producer.run())
        while buffer.waiting:
            assert not running.done()
            await asyncio.sleep(0.001)
        running.cancel()
        await asyncio.wait([running])
    assert producers.sent == [[], VALUES, VALUES]
    assert producers.stopped == 3
    assert said.events == [Line.UNREACHABLE, Line.BACK]
