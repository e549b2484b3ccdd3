"""``tocsin notify`` with a real broker, Mosquitto and Alertmanager, all of which are killed."""

from __future__ import annotations

import json
import signal
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any, Self

import pytest
from kafka import KafkaConsumer, TopicPartition
from paho.mqtt import client as mqtt

from deploy.kafka.runtime import HOST
from stream.kafka.notify.webhooks import signature
from stream.logs.lines import Line
from tests.support.boarded import Topics
from tests.support.processes import Command
from tests.support.targets import AlertmanagerServer, Inbox, Mosquitto
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.kafka import Broker

pytestmark = pytest.mark.integration

HALL, LEVEL = "a/b+#", "a%2Fb%2B%23"
SECRET = "a secret of many bytes"  # noqa: S105  # of a server that lives for one test
CONFIG = """\
kafka: {kafka}
log: {{format: json}}
notify:
  alertmanagers: {{main: {{url: "{alertmanager}", resend_interval: 1s}}}}
  webhooks: {{pager: {{url: "{inbox}/pager", secret: "{secret}"}}}}
  mqtt: {{home: {{broker: "{host}:{mosquitto}", discovery_prefix: homeassistant}}}}
alarms:
  crowd: {{lifecycle: {{labels: {{severity: page}}, annotations: {{summary: "{{room}} is full"}}}}}}
"""


class Retained:
    """What is retained on a broker now, by topic."""

    def __init__(self, port: int) -> None:
        self._port = port

    def all(self) -> dict[str, Any]:
        """Return every retained message; nothing while nobody answers."""
        found: dict[str, bytes] = {}
        client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
        client.on_message = lambda _client, _data, message: found.update(
            {message.topic: message.payload}
        )
        try:
            client.connect(HOST, self._port)
        except OSError:
            return {}
        client.subscribe("#")
        until_s = time.monotonic() + 0.5
        while time.monotonic() < until_s:
            client.loop(0.05)
        client.disconnect()
        return {
            topic: json.loads(payload) if payload.startswith(b"{") else payload.decode()
            for topic, payload in found.items()
        }

    def states(self) -> dict[str, str]:
        """Return the state of every group."""
        return {
            topic.removeprefix("tocsin/alarms/crowd/"): told["state"]
            for topic, told in self.all().items()
            if topic.startswith("tocsin/alarms/")
        }


class Duty:
    """Everything between the topics and the people on duty; a context manager."""

    def __init__(self, broker: Broker, folder: Path) -> None:
        self.topics, self.inbox, self._folder = Topics(broker, "notify"), Inbox(), folder
        self.mosquitto = Mosquitto(folder / "mosquitto")
        inbox = f"{self.inbox.url}/manager"
        self.manager = AlertmanagerServer(folder / "alertmanager", inbox=inbox)
        self.retained = Retained(self.mosquitto.port)
        self._started: list[Command] = []
        self._config = folder / "notify.yaml"
        self._config.write_text(
            CONFIG.format(
                kafka=self.topics.kafka,
                alertmanager=self.manager.url,
                inbox=self.inbox.url,
                secret=SECRET,
                host=HOST,
                mosquitto=self.mosquitto.port,
            )
        )

    def __enter__(self) -> Self:
        """Start the targets."""
        self.inbox.__enter__()
        self.mosquitto.start()
        self.manager.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End all there is."""
        for process in self._started:
            process.stop()
        self.mosquitto.kill()
        self.manager.kill()
        self.topics.close()
        self.inbox.__exit__()

    def start(self) -> Command:
        """Start the command."""
        errors = self._folder / f"notify-{len(self._started)}"
        process = Command.start(errors, "notify", self._config, "--from-beginning")
        self._started.append(process)
        return process

    def told(self, room: str, status: str) -> bool:
        """Tell whether the web server was told of a group."""
        letters = self.inbox.at("/pager")
        return any(
            (letter["group"].get("room", ""), letter["status"]) == (room, status)
            for letter in letters
        )


def test_alarms_arrive_and_are_resolved_though_all_are_killed(
    broker: Broker, tmp_path: Path
) -> None:
    """Kill -9 of `tocsin notify`, Mosquitto and Alertmanager between windows: nothing is missed."""
    with Duty(broker, tmp_path) as duty:
        topics, manager, retained = duty.topics, duty.manager, duty.retained
        process = duty.start()
        topics.publish(0, [HALL])
        wait_until("it fires in Alertmanager", lambda: manager.firing() == {HALL})
        wait_until("it is on", lambda: retained.states() == {LEVEL: "ON"})
        wait_until("the web server is told", lambda: duty.told(HALL, "firing"))

        process.tell(signal.SIGKILL)
        assert process.ended() == -signal.SIGKILL
        duty.mosquitto.kill()
        manager.kill()
        topics.publish(1, [HALL, "lab"], copies=2)
        topics.publish(2, [], denied=True)
        process = duty.start()
        wait_until("the web server is told of the lab", lambda: duty.told("lab", "firing"))
        wait_until("it is told of the denial", lambda: duty.told("", "denied"))
        duty.mosquitto.start()
        manager.start()
        wait_until("both fire in Alertmanager", lambda: {HALL, "lab"} <= manager.firing())
        wait_until("both are on", lambda: retained.states() == {LEVEL: "ON", "lab": "ON"})
        wait_until("the denial is there", lambda: "tocsin/denied/crowd" in retained.all())
        found = retained.all()
        assert found["tocsin/status"] == "online"
        assert found["tocsin/denied/crowd"]["reason"] == "budget"
        assert {told["state_topic"] for topic, told in found.items() if "/config" in topic} == {
            f"tocsin/alarms/crowd/{LEVEL}",
            "tocsin/alarms/crowd/lab",
        }

        for server in (duty.mosquitto, manager):  # which forgets, while no window says anything
            server.kill()
            server.start()
        wait_until("both fire again", lambda: {HALL, "lab"} <= manager.firing())
        wait_until("both are on again", lambda: retained.states() == {LEVEL: "ON", "lab": "ON"})

        topics.publish(3, ["lab"])
        wait_until("one is resolved", lambda: duty.told(HALL, "resolved"))
        wait_until("one is off", lambda: retained.states() == {LEVEL: "OFF", "lab": "ON"})
        topics.publish(4, [])
        wait_until("the other is, too", lambda: duty.told("lab", "resolved"))
        wait_until("all are off", lambda: retained.states() == {LEVEL: "OFF", "lab": "OFF"})
        wait_until("nothing fires", lambda: not manager.firing() - {""})
        wait_until("Alertmanager tells of it", lambda: _resolved(duty.inbox) >= {HALL, "lab"})
        wait_until("all is committed", lambda: _committed(broker) == _ends(broker))
        process.tell(signal.SIGTERM)
        assert process.ended() == 0, process.text()
        assert process.says(Line.NOTIFYING)
        wait_until("it said goodbye", lambda: retained.all()["tocsin/status"] == "offline")
        _assert_signed(duty.inbox)
    assert not (tmp_path / "notify.dead-letters.jsonl").exists()


def _assert_signed(inbox: Inbox) -> None:
    """Every letter has a signature, and copies of one notice have one id."""
    for path, headers, content in inbox.letters:
        if path == "/pager":
            mark, stamp = headers["webhook-id"], headers["webhook-timestamp"]
            assert mark == json.loads(content)["notice_id"]
            assert headers["webhook-signature"] == signature(SECRET.encode(), mark, stamp, content)


def _resolved(inbox: Inbox) -> set[str]:
    """Return the rooms of which Alertmanager told its receiver that they are resolved."""
    return {
        alert["labels"].get("room", "")
        for letter in inbox.at("/manager")
        for alert in letter["alerts"]
        if alert["status"] == "resolved"
    }


PLACES = [TopicPartition(f"notify.{what}", 0) for what in ("alarms", "decisions")]


def _committed(broker: Broker) -> list[int | None]:
    """Return how far the group of the process has come."""
    with closing(
        KafkaConsumer(bootstrap_servers=broker.bootstrap, group_id="analyst-notify")
    ) as consumer:
        return [consumer.committed(place) for place in PLACES]


def _ends(broker: Broker) -> list[int]:
    with closing(KafkaConsumer(bootstrap_servers=broker.bootstrap)) as consumer:
        ends = consumer.end_offsets(PLACES)
        return [ends[place] for place in PLACES]
