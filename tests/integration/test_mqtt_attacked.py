"""``tocsin mqtt`` under attack: huge messages, a session taken over, a disk that is full."""

from __future__ import annotations

import re
import signal
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.request import urlopen

import pytest
from paho.mqtt import client as mqtt

from deploy.kafka.runtime import HOST, free_port
from stream.logs.lines import Line
from tests.integration.test_mqtt import CONFIG, Feed, Sensors, Sources
from tests.support.buffers import buffered, has_session
from tests.support.kafka import broker_topic
from tests.support.procs import ran
from tests.support.targets import Mosquitto
from tests.support.waiting import PATIENCE_S, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.kafka import Broker

pytestmark = pytest.mark.integration

CLIENT = "tocsin-mqtt"
TOPIC = "zigbee2mqtt/room-0/motion"


@contextmanager
def mosquitto_of(folder: Path) -> Iterator[Mosquitto]:
    """Run a broker without any limit."""
    server = Mosquitto(folder / "mosquitto", keeps=True)
    server.start()
    try:
        yield server
    finally:
        server.kill()


def config(broker: Broker, topic: str, port: int, client: str = "") -> str:
    """Return a file, with a client's name where one is given."""
    text = CONFIG.format(bootstrap=broker.bootstrap, host=HOST, mosquitto=port, topic=topic)
    return text.replace("mqtt:\n", f"mqtt:\n  client: {client}\n") if client else text


def with_a_page(text: str) -> tuple[str, int]:
    """Return a file that has a page of metrics, and its port."""
    page = free_port()
    return text.replace("mqtt:\n", f"mqtt:\n  metrics: {HOST}:{page}\n"), page


def shows(page: int, series: str) -> float:
    """Return the value of a series on an MQTT source's page."""
    with urlopen(f"http://{HOST}:{page}/metrics", timeout=PATIENCE_S) as answer:
        lines = answer.read().decode().splitlines()
    (value,) = [line.rpartition(" ")[2] for line in lines if line.rpartition(" ")[0] == series]
    return float(value)


def publish(port: int, payload: bytes, qos: int = 1) -> None:
    """Publish one message, and wait until Mosquitto has it."""
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
    client.connect(HOST, port)
    client.loop_start()
    client.publish(TOPIC, payload, qos=qos).wait_for_publish(PATIENCE_S)
    client.disconnect()
    client.loop_stop()


def most_mib(pid: int) -> float:
    """Return how much memory a process has had at most."""
    status = Path(f"/proc/{pid}/status").read_text("ascii")
    (found,) = re.findall(r"^VmHWM:\s*(\d+) kB$", status, flags=re.MULTILINE)
    return int(found) / 1024


def arrives(feed: Feed, port: int, number: int) -> None:
    """Publish a number until it is in the log."""

    def seen() -> bool:
        Sensors(port).publish([number])
        return number in feed.numbers()

    wait_until(f"{number} is in the log", seen)


def test_a_message_of_200_mb_costs_nothing(broker: Broker, tmp_path: Path) -> None:
    """It is dropped, also after a restart; one that is smaller, yet too large, is named."""
    topic = broker_topic(broker, name="motion", partitions=2)
    with mosquitto_of(tmp_path) as mosquitto:
        text, page = with_a_page(config(broker, topic, mosquitto.port))
        sources = Sources(tmp_path, text)
        with closing(sources), closing(Feed(broker, topic, 2)) as feed:
            running = sources.start()
            arrives(feed, mosquitto.port, 0)
            large = 'tocsin_mqtt_dropped_total{filter="zigbee2mqtt/+room/motion",kind="too_large"}'
            assert shows(page, large) == 0
            before = most_mib(running.pid)
            publish(mosquitto.port, bytes(200_000_000))
            arrives(feed, mosquitto.port, 1)
            more = most_mib(running.pid) - before
            print(f"200 MB cost {more:.0f} MiB")
            assert more < 60
            publish(mosquitto.port, bytes(550_000))
            wait_until("it is named", lambda: running.says(Line.TOO_LARGE))
            assert shows(page, large) == 1
            sources.kill()
            publish(mosquitto.port, bytes(80_000_000))
            again = sources.start()
            arrives(feed, mosquitto.port, 2)
            assert most_mib(again.pid) < before + 60
            assert not again.says(Line.TOO_LARGE)  # it was acknowledged


def test_a_session_that_was_taken_over_is_reported(broker: Broker, tmp_path: Path) -> None:
    """While it runs and while it does not, where a client's name is known and not bound."""
    topic = broker_topic(broker, name="motion", partitions=2)

    def thief(port: int) -> None:
        client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, CLIENT, protocol=mqtt.MQTTv5)
        client.connect(HOST, port, clean_start=True)
        client.loop_start()
        wait_until("the thief is in", client.is_connected)
        client.disconnect()
        client.loop_stop()

    with mosquitto_of(tmp_path) as mosquitto:
        text, page = with_a_page(config(broker, topic, mosquitto.port, CLIENT))
        sources = Sources(tmp_path, text)
        with closing(sources), closing(Feed(broker, topic, 2)) as feed:
            running = sources.start()
            arrives(feed, mosquitto.port, 0)
            assert not running.says(Line.SESSION_LOST)
            thief(mosquitto.port)
            wait_until("it is lost", lambda: running.says(Line.SESSION_LOST))
            assert shows(page, "tocsin_mqtt_session_lost_timestamp_seconds") > 0
            assert shows(page, 'tocsin_mqtt_unreachable_seconds{dependency="kafka"}') == 0
            sources.kill()
            again = sources.start()
            arrives(feed, mosquitto.port, 1)
            assert not again.says(Line.SESSION_LOST)
            sources.kill()
            thief(mosquitto.port)
            last = sources.start()
            wait_until("it is lost", lambda: last.says(Line.SESSION_LOST))


def test_a_full_disk_pauses_and_every_reading_arrives_once(
    own_broker: Broker, tmp_path: Path
) -> None:
    """Kafka is away, the disk fills, it starts three times; 2,000 of 2,000, no copies."""
    topic = broker_topic(own_broker, name="motion", partitions=2)
    disk = tmp_path / "disk"
    disk.mkdir()
    ran("mount", "-t", "tmpfs", "-o", "size=64k", "none", disk)
    try:
        with mosquitto_of(tmp_path) as mosquitto, closing(Feed(own_broker, topic, 2)) as feed:
            text = config(own_broker, topic, mosquitto.port)
            sources = Sources(
                tmp_path, text.replace("  unit:", f"  buffer: {disk / 'buffer'}\n  unit:")
            )
            with closing(sources):
                own_broker.pause()  # before a record is on its way
                running = sources.start()
                wait_until("it has a session", lambda: has_session(disk / "buffer"))
                Sensors(mosquitto.port).publish(range(2_000))
                wait_until("the disk is full", lambda: running.says(Line.FULL))
                for _ in range(2):
                    assert running.alive
                    running.tell(signal.SIGTERM)
                    assert running.ended() == 0
                    running = sources.start()
                    wait_until("the disk is full", lambda: sources.running[-1].says(Line.FULL))
                own_broker.resume()
                wait_until("all are in the log", lambda: feed.numbers() >= set(range(2_000)))
                wait_until("nothing waits any more", lambda: buffered(disk / "buffer") == 0)
                feed.numbers()
                print(f"{len(feed.ids)} of 2000, surplus {feed.copies}")
                assert (len(feed.ids), feed.copies) == (2_000, 0)
                assert running.alive
    finally:
        own_broker.resume()
        ran("umount", "-l", disk)
