"""What is sent while everything else comes and goes: windows with alarms, and sensors' readings."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kafka.errors import KafkaError
from paho.mqtt import client as mqtt

from deploy.kafka.runtime import HOST
from stream.windows.instants import iso_utc
from tests.soak.loops import Loop
from tests.support.published import HOUR_MS
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Sequence


__all__ = ["Readings", "Window", "Windows", "owed"]

_LONGEST = 4  # windows that a room fires in a row
_DENIED = 7  # one window in so many


@dataclass(frozen=True, slots=True)
class Window:
    """One window as it was published.

    Args:
        rooms: that fired.
        denied: whether it was denied instead.
        left_s: when Kafka had all of it, in seconds since the epoch.
    """

    rooms: tuple[str, ...]
    denied: bool
    left_s: float


def _firing(number):
    """Return the rooms that fire in a window: a new one in each, which fires up to four times."""
    newest_first = range(number, max(number - _LONGEST, -1), -1)
    return tuple(f"room-{room}" for room in newest_first if number - room <= room % _LONGEST)


def owed(windows: Sequence[Window]) -> dict[str, float]:
    """Return the notices that people have to hear of, and when the windows left that say so.

    A room begins to fire where it rings, and is resolved where it does not; a window that is denied
    says that and nothing else. This is computed beside the lifecycle of the product, not by it.
    """
    found = {}
    before = set()
    for number, window in enumerate(windows):
        if window.denied:
            found[f"denied {iso_utc(number * HOUR_MS)}"] = window.left_s
            continue
        now = set(window.rooms)
        said = {f"firing {room}" for room in now - before}
        said |= {f"resolved {room}" for room in before - now}
        found |= dict.fromkeys(said, window.left_s)
        before = now
    return found


class Windows(Loop):
    """Publishes a window again and again, as a worker does, until the context is left.

    Leaving publishes one more in which nothing fires.

    Args:
        topics: of a broker, which may be away.
        every_s: pause between two windows.
    """

    def __init__(self, topics, *, every_s):
        super().__init__("windows", self._next, every_s=every_s)
        self.published = []
        self._topics = topics

    def __exit__(self, *_):
        """End without an alarm."""
        super().__exit__()
        self.check()
        self._publish((), denied=False)

    def _next(self):
        number = len(self.published)
        denied = number % _DENIED == _DENIED - 2
        self._publish(() if denied else _firing(number), denied=denied)

    def _publish(self, rooms, *, denied):
        """Send a window until Kafka has it: some are sent twice, as a worker may do."""
        while True:
            try:
                self._topics.publish(len(self.published), rooms, denied=denied)
            except KafkaError:
                time.sleep(0.2)
            else:
                self.published.append(Window(rooms, denied, time.time()))
                return


class Readings(Loop):
    """Publishes numbered readings at QoS 1, as sensors do, until the context is left.

    Args:
        port: of Mosquitto, which may be away.
        every_s: pause between two readings.
    """

    def __init__(self, port, *, every_s):
        super().__init__("readings", self._publish, every_s=every_s)
        self.sent_s = []
        self._acknowledged = 0
        self._client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, client_id="sensors")
        self._client.on_publish = self._acknowledge
        self._client.reconnect_delay_set(1, 1)
        self._client.connect(HOST, port)
        self._client.loop_start()

    def __exit__(self, *_):
        """Wait until every reading was acknowledged."""
        super().__exit__()
        self.check()
        wait_until("every reading is acknowledged", lambda: self._acknowledged == len(self.sent_s))
        self._client.disconnect()
        self._client.loop_stop()

    def _acknowledge(self, *_):
        self._acknowledged += 1

    def _publish(self):
        number = len(self.sent_s)
        self.sent_s.append(time.time())
        reading = json.dumps({"number": number})
        # While nobody answers, the client keeps it, and publishes it when somebody does.
        self._client.publish(f"readings/{number % 3}/motion", reading, qos=1)
