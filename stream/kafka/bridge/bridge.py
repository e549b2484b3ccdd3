"""``tocsin bridge``: sensors' messages to a feed, and nothing lost that was acknowledged.

::

    MQTT broker ── QoS 1 ──▶ intake ──▶ buffer, fsync ──▶ outlet ──▶ Kafka, acks=all
                 ◀── acknowledged once it is on the disk ──┘    └── cut once all is in the log
"""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from typing import TYPE_CHECKING

from stream.kafka.bridge.buffer import Buffer
from stream.kafka.bridge.intake import Intake
from stream.kafka.bridge.outlet import Outlet
from stream.kafka.bridge.page import BridgeMetrics
from stream.kafka.bridge.session import Session
from stream.kafka.bridge.store import Store
from stream.kafka.presence import Presence
from stream.kafka.tasks import first, told
from stream.logs.lines import Line
from stream.metrics.server import serve_with_token

if TYPE_CHECKING:
    from stream.logs.lines import Log
    from stream.model.bridges import BridgeSetup

__all__ = ["carry"]


def carry(setup: BridgeSetup, log: Log) -> None:
    """Bring messages to the feed until the process is told to end, by SIGTERM, SIGINT or SIGHUP.

    Neither Kafka nor the MQTT broker has to be there: each is tried again until it is.

    Args:
        setup: where from and where to.
        log: where their coming and going is said.

    Raises:
        ConfigError: the address of the metrics cannot be listened on.
        DataError: the file of the buffer is something else.
        DependencyError: the buffer cannot be used.
    """
    with Buffer(setup.bridge.buffer, setup.bridge.buffer_bytes) as buffer:
        if buffer.torn:
            log.warning(Line.TORN)
        metrics, page = BridgeMetrics(setup.bridge.routes), setup.page
        serving = (
            nullcontext()
            if page is None
            else serve_with_token(metrics.registry, page.address, page.token, "bridge.metrics")
        )
        with serving:
            asyncio.run(_carry(setup, buffer, metrics, log))


async def _carry(setup: BridgeSetup, buffer: Buffer, metrics: BridgeMetrics, log: Log) -> None:
    bridge = setup.bridge
    store = Store(buffer, log)
    session = Session(bridge.session, bridge.sensors.client)
    mqtt, kafka = Presence("mqtt", log), Presence("kafka", log)
    metrics.watch(lambda: store.full, mqtt=lambda: mqtt.away_s, kafka=lambda: kafka.away_s)
    intake = Intake(bridge, store, session, mqtt, metrics=metrics, log=log)
    outlet = Outlet(setup.kafka, bridge.topic, store, kafka)
    ready = _say_ready(log, intake.connected, outlet.connected)
    await first(intake.run(), outlet.run(), ready, told())
    log.info(Line.STOPPING)


async def _say_ready(log: Log, *connected: asyncio.Event) -> None:
    """Say once that messages are brought: a session is there with MQTT, and so is Kafka."""
    for each in connected:
        await each.wait()
    log.info(Line.BRIDGING)
    await asyncio.Event().wait()  # it goes on until it is cancelled
