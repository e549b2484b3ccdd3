"""``tocsin mqtt``: sensors' messages to a feed, and nothing lost that was acknowledged.

::

    MQTT broker ── QoS 1 ──▶ intake ──▶ buffer, fsync ──▶ producer ──▶ Kafka, acks=all
                 ◀── acknowledged once it is on the disk ──┘    └── cut once all is in the log
"""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from typing import TYPE_CHECKING

from stream.kafka.connectivity import Connectivity
from stream.kafka.mqtt.buffer import Buffer
from stream.kafka.mqtt.intake import Intake
from stream.kafka.mqtt.page import MqttMetrics
from stream.kafka.mqtt.producer import Producer
from stream.kafka.tasks import first, told
from stream.logs.lines import Line
from stream.metrics.server import serve_with_token

if TYPE_CHECKING:
    from stream.logs.lines import Log
    from stream.model.mqtt import MqttSetup

__all__ = ["forward"]


def forward(setup: MqttSetup, log: Log) -> None:
    """Forward messages to the feed until the process is told to end, by SIGTERM, SIGINT or SIGHUP.

    Neither Kafka nor the MQTT broker has to be there: each is tried again until it is.

    Args:
        setup: where from and where to.
        log: where their coming and going is said.

    Raises:
        ConfigError: the address of the metrics cannot be listened on.
        DataError: the file of the buffer is something else.
        DependencyError: the buffer cannot be used.
    """
    source = setup.source
    with Buffer(source.buffer, source.buffer_bytes, source.sensors.client, log) as buffer:
        mqtt, kafka = Connectivity("mqtt", log), Connectivity("kafka", log)
        metrics, page = MqttMetrics(source.routes, buffer, mqtt, kafka), setup.page
        intake = Intake(source, buffer, mqtt, metrics=metrics, log=log)
        producer = Producer(setup.kafka, source.topic, buffer, kafka)
        with (
            nullcontext()
            if page is None
            else serve_with_token(metrics.registry, page.address, page.token, "mqtt.metrics")
        ):
            asyncio.run(_forward(intake, producer, log))


async def _forward(intake: Intake, producer: Producer, log: Log) -> None:
    ready = _say_ready(log, intake.connected, producer.connected)
    await first(intake.run(), producer.run(), ready, told())
    log.info(Line.STOPPING)


async def _say_ready(log: Log, *connected: asyncio.Event) -> None:
    """Say once that messages are brought: a session is there with MQTT, and so is Kafka."""
    for each in connected:
        await each.wait()
    log.info(Line.READING_MQTT)
    await asyncio.Event().wait()  # it goes on until it is cancelled
