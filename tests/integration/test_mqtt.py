"""``tocsin mqtt`` with a real Mosquitto and a real broker, both of which go away, and attacked.

Nothing that was acknowledged is lost: not by kills, a full disk, huge messages or a taken session.
"""

from __future__ import annotations

import json
import re
import signal
from contextlib import ExitStack
from itertools import chain
from pathlib import Path

import pytest
from kafka import KafkaConsumer, TopicPartition
from paho.mqtt import client as mqtt

from deploy.kafka.runtime import HOST, free_port
from stream.logs.lines import Line
from tests.support.buffers import buffered, has_session
from tests.support.kafka import Broker, broker_topic
from tests.support.processes import Command
from tests.support.procs import ran
from tests.support.scraped import scraped
from tests.support.targets import Mosquitto
from tests.support.waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.integration

PARTITIONS = 2
CLIENT = "tocsin-mqtt"
CONFIG = """\
kafka: {{bootstrap: "{bootstrap}"}}
log: {{format: json}}
mqtt:
  broker: "{mosquitto}"
  topic: {topic}
  unit: sensor
  buffer: {buffer}
  client: {client}
  metrics: {metrics}
  topics:
    zigbee2mqtt/+room/motion:
      {{sensor: "{{topic.room}}", event: "{{id}}", number: "{{payload.number}}", ts: "{{now}}"}}
"""


class Source:
    """The command on one file, between a Mosquitto and a topic; a context manager.

    Args:
        broker: of the topic.
        folder: for files of the command and of Mosquitto.
        buffer: where the command keeps what waits; in the folder where ``None``.
    """

    def __init__(self, broker, folder, buffer=None):
        self.mosquitto = Mosquitto(folder / "mosquitto", keeps=True)
        self.buffer = buffer or folder / "buffer"
        self.numbers = set()
        """Every number that is in the log."""
        self.copies = 0
        self._folder = folder
        self._page = free_port()
        self._running = []
        topic = broker_topic(broker, name="motion", partitions=PARTITIONS)
        self._consumer = KafkaConsumer(bootstrap_servers=broker.bootstrap)
        self._consumer.assign([TopicPartition(topic, number) for number in range(PARTITIONS)])
        self._consumer.seek_to_beginning()
        (folder / "sensors.yaml").write_text(
            CONFIG.format(
                bootstrap=broker.bootstrap,
                mosquitto=f"{HOST}:{self.mosquitto.port}",
                topic=topic,
                buffer=self.buffer,
                client=CLIENT,
                metrics=f"{HOST}:{self._page}",
            )
        )

    def __enter__(self):
        """Start Mosquitto."""
        self.mosquitto.start()
        return self

    def __exit__(self, *_):
        """End all, whatever they do."""
        for process in self._running:
            process.stop()
        self.mosquitto.kill()
        self._consumer.close()

    def start(self):
        """Start the command, once more where it has ended."""
        errors = self._folder / f"mqtt-{len(self._running)}"
        self._running.append(Command.start(errors, "mqtt", self._folder / "sensors.yaml"))
        return self._running[-1]

    def end(self, number):
        """End the last one, as a crash does or as it is told to."""
        self._running[-1].tell(number)
        assert self._running[-1].ended() == (0 if number == signal.SIGTERM else -number)

    def says(self, line):
        """Tell whether the last one says something."""
        return self._running[-1].says(line)

    def metrics(self):
        """Return the series of its page."""
        return scraped(self._page)

    def waiting(self):
        """Return how many records wait in the buffer."""
        return buffered(self.buffer)

    def publish(self, numbers):
        """Publish a message for each number at QoS 1, until Mosquitto has all of them."""
        self.send(*((f"room-{number % 3}", json.dumps({"number": number})) for number in numbers))

    def send(self, *messages):
        """Publish messages of rooms at QoS 1, until Mosquitto has all of them."""
        client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
        client.connect(HOST, self.mosquitto.port)
        client.loop_start()
        sent = [client.publish(f"zigbee2mqtt/{room}/motion", one, qos=1) for room, one in messages]
        for each in sent:
            each.wait_for_publish(PATIENCE_S)
            assert each.is_published()
        client.disconnect()
        client.loop_stop()

    def logged(self):
        """Return the numbers that are in the log now, each keyed by its room."""
        for record in chain.from_iterable(self._consumer.poll(200).values()):
            event = json.loads(record.value)
            assert record.key == event["sensor"].encode()
            assert event["sensor"] == f"room-{event['number'] % 3}"
            self.copies += event["number"] in self.numbers
            self.numbers.add(event["number"])
        return self.numbers

    def arrives(self, number):
        """Publish a number until it is in the log."""

        def seen():
            self.publish([number])
            return number in self.logged()

        wait_until(f"{number} is in the log", seen)


@pytest.fixture
def own_broker():
    """A broker that may be paused, for longer than others let it be away."""
    with Broker() as running:
        yield running


def test_every_reading_arrives_though_the_disk_is_full(own_broker, tmp_path):
    """Kafka is away, the disk fills, it starts three times: no reading is lost or there twice.

    What is killed while sensors publish, ``tests/at_least_once`` has.
    """
    disk = tmp_path / "disk"
    disk.mkdir()
    ran("mount", "-t", "tmpfs", "-o", "size=64k", "none", disk)
    with ExitStack() as stack:
        stack.callback(ran, "umount", "-l", disk)
        stack.callback(own_broker.resume)
        source = stack.enter_context(Source(own_broker, tmp_path, disk / "buffer"))
        own_broker.pause()  # before a record is on its way
        source.start()
        wait_until("it has a session", lambda: has_session(source.buffer))
        source.publish(range(2_000))
        wait_until("the disk is full", lambda: source.says(Line.FULL))
        for _ in range(2):
            source.end(signal.SIGTERM)
            last = source.start()
            wait_until("the disk is full", lambda: source.says(Line.FULL))
            assert not source.says(Line.READING_MQTT)  # Kafka has not answered
        own_broker.resume()
        wait_until("all are in the log", lambda: source.logged() >= set(range(2_000)))
        wait_until("nothing waits any more", lambda: source.waiting() == 0)
        assert source.says(Line.READING_MQTT)
        assert source.copies == 0
        source.end(signal.SIGTERM)
        assert last.beside_its_log() == []


def most_mib(process):
    """Return how much memory a process has had at most."""
    status = Path(f"/proc/{process.pid}/status").read_text("ascii")
    (found,) = re.findall(r"^VmHWM:\s*(\d+) kB$", status, flags=re.MULTILINE)
    return int(found) / 1024


def test_a_message_of_100_mb_costs_nothing(broker, tmp_path):
    """It is dropped, also after a restart; one that is smaller, yet too large, is named."""
    large = 'tocsin_mqtt_dropped_total{filter="zigbee2mqtt/+room/motion",kind="too_large"}'
    with Source(broker, tmp_path) as source:
        running = source.start()
        source.arrives(0)
        assert source.metrics()[large] == 0
        before = most_mib(running)
        source.send(("room-0", bytes(100_000_000)))
        source.arrives(1)
        assert most_mib(running) < before + 60
        source.send(("room-0", bytes(550_000)))
        wait_until("it is named", lambda: source.says(Line.TOO_LARGE))
        assert source.metrics()[large] == 1
        source.end(signal.SIGKILL)
        source.send(("room-0", bytes(80_000_000)))
        again = source.start()
        source.arrives(2)
        assert most_mib(again) < before + 60
        assert not source.says(Line.TOO_LARGE)  # it was acknowledged


def test_a_session_that_was_taken_over_is_reported(broker, tmp_path):
    """While it runs and while it does not, where a client's name is known and not bound."""

    def steal(port):
        client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, CLIENT, protocol=mqtt.MQTTv5)
        client.connect(HOST, port, clean_start=True)
        client.loop_start()
        wait_until("the thief is in", client.is_connected)
        client.disconnect()
        client.loop_stop()

    with Source(broker, tmp_path) as source:
        source.start()
        source.arrives(0)
        assert not source.says(Line.SESSION_LOST)
        steal(source.mosquitto.port)
        wait_until("it is lost", lambda: source.says(Line.SESSION_LOST))
        shown = source.metrics()
        assert shown["tocsin_mqtt_session_lost_timestamp_seconds"] > 0
        assert shown['tocsin_mqtt_unreachable_seconds{dependency="kafka"}'] == 0
        source.end(signal.SIGKILL)
        source.start()
        source.arrives(1)
        assert not source.says(Line.SESSION_LOST)
        source.end(signal.SIGKILL)
        steal(source.mosquitto.port)
        source.start()
        wait_until("it is lost", lambda: source.says(Line.SESSION_LOST))
