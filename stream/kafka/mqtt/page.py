"""What an MQTT source shows whoever runs it: what it took and dropped, and what it waits for.

Series of whatever is known beforehand are there from the start: a counter that begins with its
first event shows no increase.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

from prometheus_client import Counter, Gauge

from stream.logs.lines import Line
from stream.metrics.series import Registry

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from stream.model.mqtt import Route

__all__ = ["MqttMetrics"]

_KINDS = {Line.TOO_LARGE: "too_large", Line.UNFIT: "unfit"}


class MqttMetrics:
    """A registry, and what is told to it.

    Args:
        routes: whose messages are taken.
    """

    def __init__(self, routes: Sequence[Route]) -> None:
        self.registry = Registry()
        counter = partial(Counter, registry=self.registry)
        gauge = partial(Gauge, registry=self.registry)
        self._taken = counter(
            "tocsin_mqtt_messages_total",
            "Messages taken from MQTT.",
            ["filter"],
        )
        self._dropped = counter(
            "tocsin_mqtt_dropped_total",
            "Messages taken that made no event.",
            ["filter", "kind"],
        )
        self._lost = gauge(
            "tocsin_mqtt_session_lost_timestamp_seconds",
            "When a session with the MQTT broker was last lost, seconds since the Unix epoch.",
        )
        self._full = gauge(
            "tocsin_mqtt_full",
            "1 while nothing is taken, since the buffer or its disk is full, else 0.",
        )
        self._away = gauge(
            "tocsin_mqtt_unreachable_seconds",
            "For how long a dependency has not answered; 0 while it does.",
            ["dependency"],
        )
        for route in routes:
            self._taken.labels(route.written)
            for kind in _KINDS.values():
                self._dropped.labels(route.written, kind)

    def watch(self, full: Callable[[], bool], **unreachable_s: Callable[[], float]) -> None:
        """Show what is asked for whenever somebody looks.

        Args:
            full: whether nothing is taken.
            **unreachable_s: by dependency, for how long it has not answered.
        """
        self._full.set_function(full)
        for dependency, seconds in unreachable_s.items():
            self._away.labels(dependency).set_function(seconds)

    def taken(self, written: str) -> None:
        """Count a message of a filter."""
        self._taken.labels(written).inc()

    def dropped(self, written: str, why: Line) -> None:
        """Count one that made no event."""
        self._dropped.labels(written, _KINDS[why]).inc()

    def session_lost(self) -> None:
        """Take note of the time."""
        self._lost.set(time.time())
