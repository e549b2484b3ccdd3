"""What an MQTT source shows whoever runs it: what it took and dropped, and what it waits for.

Series of whatever is known beforehand are there from the start: a counter that begins with its
first event shows no increase.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from prometheus_client import Counter, Gauge

from stream.logs.lines import Line
from stream.metrics.series import Registry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream.kafka.connectivity import Connectivity
    from stream.model.mqtt import Route

__all__ = ["KINDS", "MqttMetrics"]

KINDS: Final = {
    Line.TOO_LARGE: "too_large",
    Line.UNFIT: "unfit",
    Line.OLD_SUBSCRIPTION: "old_subscription",
}
"""How messages that are dropped are counted, by how that is said."""


class MqttMetrics:
    """A registry, and the series that are told to it.

    Args:
        routes: whose messages are taken.
        dependencies: asked for how long each has not answered, whenever somebody looks.
    """

    def __init__(self, routes: Sequence[Route], *dependencies: Connectivity) -> None:
        self.registry = Registry()
        counter = partial(Counter, registry=self.registry)
        gauge = partial(Gauge, registry=self.registry)
        self.taken = counter(
            "tocsin_mqtt_messages_total",
            "Messages taken from MQTT.",
            ["filter"],
        )
        self.dropped = counter(
            "tocsin_mqtt_dropped_total",
            "Messages taken that made no event.",
            ["filter", "kind"],
        )
        self.session_lost = gauge(
            "tocsin_mqtt_session_lost_timestamp_seconds",
            "When the MQTT broker last had no session, as at the first start, or another client "
            "took it over, seconds since the Unix epoch.",
        )
        away = gauge(
            "tocsin_mqtt_unreachable_seconds",
            "For how long a dependency has not answered; 0 while it does.",
            ["dependency"],
        )
        for each in dependencies:
            away.labels(each.dependency).set_function(partial(getattr, each, "unreachable_s"))
        for route in routes:
            self.taken.labels(route.written)
            for kind in KINDS.values():
                self.dropped.labels(route.written, kind)
