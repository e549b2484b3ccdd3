"""``tocsin mqtt`` with a real Mosquitto and a real broker: nothing acknowledged is lost."""

from __future__ import annotations

import json
import signal
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from kafka import KafkaConsumer, TopicPartition
from paho.mqtt import client as mqtt

from deploy.kafka.runtime import HOST
from stream.logs.lines import Line
from tests.support.buffers import buffered
from tests.support.kafka import Broker, broker_topic
from tests.support.processes import Command
from tests.support.targets import Mosquitto
from tests.support.waiting import PATIENCE_S, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.integration

CONFIG = """\
kafka: {{bootstrap: "{bootstrap}"}}
log: {{format: json}}
mqtt:
  broker: "{host}:{mosquitto}"
  topic: {topic}
  unit: sensor
  topics:
    zigbee2mqtt/+room/motion:
      {{sensor: "{{topic.room}}", event: "{{id}}", number: "{{payload.number}}", ts: "{{now}}"}}
"""


class Sensors:
    """Sensors that publish at QoS 1, and know what was acknowledged to them."""

    def __init__(self, port: int) -> None:
        self._port = port

    def publish(self, numbers: Iterable[int]) -> None:
        """Publish a message for each number, and wait until Mosquitto has all of them."""
        client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
        client.connect(HOST, self._port)
        client.loop_start()
        sent = [
            client.publish(
                f"zigbee2mqtt/room-{number % 3}/motion", json.dumps({"number": number}), qos=1
            )
            for number in numbers
        ]
        for each in sent:
            each.wait_for_publish(PATIENCE_S)
            assert each.is_published()
        client.disconnect()
        client.loop_stop()


class Feed:
    """The feed's topic, read as far as it goes."""

    def __init__(self, broker: Broker, topic: str, partitions: int) -> None:
        self._consumer = KafkaConsumer(bootstrap_servers=broker.bootstrap)
        self._consumer.assign([TopicPartition(topic, number) for number in range(partitions)])
        self._consumer.seek_to_beginning()
        self.ids: dict[int, set[str]] = {}
        self.copies = 0
        self._places: dict[bytes, set[int]] = {}

    def numbers(self) -> set[int]:
        """Return the numbers that are in the log now."""
        for place, records in self._consumer.poll(200).items():
            for record in records:
                event = json.loads(record.value)
                assert record.key == event["sensor"].encode()
                assert event["sensor"] == f"room-{event['number'] % 3}"
                self.copies += event["number"] in self.ids
                self.ids.setdefault(event["number"], set()).add(event["event"])
                self._places.setdefault(record.key, set()).add(place.partition)
        return set(self.ids)

    def close(self) -> None:
        """Part from the broker."""
        assert all(len(places) == 1 for places in self._places.values())
        self._consumer.close()


class Sources:
    """One process after the other, on one file."""

    def __init__(self, folder: Path, config: str) -> None:
        self._folder = folder
        self._config = folder / "sensors.yaml"
        self._config.write_text(config)
        self.running: list[Command] = []

    def start(self) -> Command:
        """Start one."""
        errors = self._folder / f"mqtt-{len(self.running)}"
        self.running.append(Command.start(errors, "mqtt", self._config))
        return self.running[-1]

    def kill(self) -> None:
        """End the last one as a crash does."""
        self.running[-1].tell(signal.SIGKILL)
        assert self.running[-1].ended() == -signal.SIGKILL

    def waiting(self) -> int:
        """Return how many records wait in the buffer."""
        return buffered(self._folder / "sensors.buffer")

    def close(self) -> None:
        """End all, whatever they do."""
        for process in self.running:
            process.stop()


@pytest.fixture
def own_broker() -> Iterator[Broker]:
    """A broker that may be paused, for longer than others let it be away."""
    with Broker() as running:
        yield running


def test_every_event_is_in_the_log_though_all_are_killed(
    own_broker: Broker, tmp_path: Path
) -> None:
    """Kill -9 of the MQTT source, Kafka paused, Mosquitto restarted, all while sensors publish."""
    topic = broker_topic(own_broker, name="motion", partitions=2)
    mosquitto = Mosquitto(tmp_path / "mosquitto", keeps=True)
    config = CONFIG.format(
        bootstrap=own_broker.bootstrap, host=HOST, mosquitto=mosquitto.port, topic=topic
    )
    sources, sensors = Sources(tmp_path, config), Sensors(mosquitto.port)
    mosquitto.start()
    try:
        with closing(sources), closing(Feed(own_broker, topic, 2)) as feed:
            started = sources.start()
            wait_until("it is ready", lambda: started.says(Line.READING_MQTT))
            sensors.publish(range(300))  # without a session they would be lost
            sources.kill()  # somewhere among them
            sensors.publish(range(300, 400))  # while nobody is there
            sources.start()
            wait_until("all are in the log", lambda: feed.numbers() >= set(range(400)))

            own_broker.pause()
            sensors.publish(range(400, 500))
            wait_until("they wait on the disk", lambda: sources.waiting() > 0)
            sources.kill()
            mosquitto.stop()
            mosquitto.start()
            sensors.publish(range(500, 600))
            before = sources.waiting()
            assert before > 0
            sources.start()
            wait_until("more wait on the disk", lambda: sources.waiting() > before)
            assert not sources.running[-1].says(Line.READING_MQTT)  # Kafka has not answered
            own_broker.resume()
            wait_until("all are in the log", lambda: feed.numbers() >= set(range(600)))
            wait_until("nothing waits any more", lambda: sources.waiting() == 0)

            assert all(len(feed.ids[number]) == 1 for number in range(600))
            last = sources.running[-1]
            assert last.says(Line.READING_MQTT)
            last.tell(signal.SIGTERM)
            assert last.ended() == 0, last.text()
            assert last.beside_its_log() == []
    finally:
        own_broker.resume()
        mosquitto.kill()
