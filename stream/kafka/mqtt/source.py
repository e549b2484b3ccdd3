"""``tocsin mqtt``: sensors' messages to a feed, and nothing lost that was acknowledged.

::

    MQTT broker ── QoS 1 ──▶ tocsin mqtt ──▶ Kafka, acks=all
                 ◀── acknowledged once Kafka has the event ──┘
"""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from typing import TYPE_CHECKING

from stream.kafka.connectivity import Connectivity
from stream.kafka.mqtt.forwarder import Forwarder
from stream.kafka.mqtt.page import MqttMetrics
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
    """
    mqtt, kafka, page = Connectivity("mqtt", log), Connectivity("kafka", log), setup.page
    metrics = MqttMetrics(setup.routes, mqtt, kafka)
    forwarder = Forwarder(setup, mqtt, kafka, metrics, log)
    with (
        nullcontext()
        if page is None
        else serve_with_token(metrics.registry, page.address, page.token, "mqtt.metrics")
    ):
        asyncio.run(first(forwarder.run(), told()))
    log.info(Line.STOPPING)
