"""``tocsin notify`` with a real broker, and a real Mosquitto and Alertmanager, which forget."""

from __future__ import annotations

import json
import signal
import time
from contextlib import closing

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


class Duty:
    """Everything between the topics and the people on duty; a context manager."""

    def __init__(self, broker, folder):
        self.topics, self.inbox = Topics(broker, "notify"), Inbox()
        self.mosquitto = Mosquitto(folder / "mosquitto")
        inbox = f"{self.inbox.url}/manager"
        self.manager = AlertmanagerServer(folder / "alertmanager", inbox=inbox)
        self._config, self._errors = folder / "notify.yaml", folder / "notify.err"
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

    def __enter__(self):
        """Start the targets, then the command."""
        self.inbox.__enter__()
        self.mosquitto.start()
        self.manager.start()
        self.command = Command.start(self._errors, "notify", self._config, "--from-beginning")
        return self

    def __exit__(self, *_):
        """End all there is."""
        self.command.stop()
        self.mosquitto.kill()
        self.manager.kill()
        self.topics.close()
        self.inbox.__exit__()

    def told(self, room, status):
        """Tell whether the web server was told of a group."""
        return any(
            (letter["group"].get("room", ""), letter["status"]) == (room, status)
            for letter in self.inbox.at("/pager")
        )

    def retained(self):
        """Return every message that is retained on MQTT; nothing while nobody answers."""
        found = {}
        client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
        client.on_message = lambda _client, _data, message: found.update(
            {message.topic: message.payload}
        )
        try:
            client.connect(HOST, self.mosquitto.port)
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

    def states(self):
        """Return the state of every group on MQTT."""
        return {
            topic.removeprefix("tocsin/alarms/crowd/"): told["state"]
            for topic, told in self.retained().items()
            if topic.startswith("tocsin/alarms/")
        }


def test_alarms_arrive_and_are_resolved_wherever_people_look(broker, tmp_path):
    """On a web server, in Alertmanager and on MQTT, also where these forget what they were told.

    ``tests/at_least_once`` kills the command and its targets in turn.
    """
    with Duty(broker, tmp_path) as duty:
        topics, manager = duty.topics, duty.manager
        topics.publish(0, [HALL])
        wait_until("it fires in Alertmanager", lambda: manager.firing() == {HALL})
        wait_until("it is on", lambda: duty.states() == {LEVEL: "ON"})
        wait_until("the web server is told", lambda: duty.told(HALL, "firing"))
        topics.publish(1, [HALL, "lab"], copies=2)
        topics.publish(2, [], denied=True)
        wait_until("the web server is told of the lab", lambda: duty.told("lab", "firing"))
        wait_until("it is told of the denial", lambda: duty.told("", "denied"))
        wait_until("both are on", lambda: duty.states() == {LEVEL: "ON", "lab": "ON"})
        wait_until("the denial is there", lambda: "tocsin/denied/crowd" in duty.retained())
        found = duty.retained()
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
        wait_until("both are on again", lambda: duty.states() == {LEVEL: "ON", "lab": "ON"})

        topics.publish(3, ["lab"])
        wait_until("one is resolved", lambda: duty.told(HALL, "resolved"))
        wait_until("one is off", lambda: duty.states() == {LEVEL: "OFF", "lab": "ON"})
        topics.publish(4, [])
        wait_until("the other is, too", lambda: duty.told("lab", "resolved"))
        wait_until("all are off", lambda: duty.states() == {LEVEL: "OFF", "lab": "OFF"})
        wait_until("nothing fires", lambda: not manager.firing() - {""})
        wait_until("Alertmanager tells of it", lambda: _resolved(duty.inbox) >= {HALL, "lab"})
        wait_until("all is committed", lambda: _all_is_committed(broker))
        duty.command.tell(signal.SIGTERM)
        assert duty.command.ended() == 0, duty.command.text()
        assert duty.command.says(Line.NOTIFYING)
        wait_until("it said goodbye", lambda: duty.retained()["tocsin/status"] == "offline")
        # Every letter has a signature, and copies of one notice have one id.
        for path, headers, content in duty.inbox.letters:
            if path == "/pager":
                mark, stamp = headers["webhook-id"], headers["webhook-timestamp"]
                assert mark == json.loads(content)["notice_id"]
                signed = signature(SECRET.encode(), mark, stamp, content)
                assert headers["webhook-signature"] == signed
    assert not duty.command.says(Line.UNDELIVERED)


def _resolved(inbox):
    """Return the rooms of which Alertmanager told its receiver that they are resolved."""
    return {
        alert["labels"].get("room", "")
        for letter in inbox.at("/manager")
        for alert in letter["alerts"]
        if alert["status"] == "resolved"
    }


def _all_is_committed(broker):
    """Tell whether the group of the process has come to the ends of both topics."""
    places = [TopicPartition(f"notify.{what}", 0) for what in ("alarms", "decisions")]
    group = {"bootstrap_servers": broker.bootstrap, "group_id": "analyst-notify"}
    with closing(KafkaConsumer(**group)) as consumer:
        ends = consumer.end_offsets(places)
        return all(consumer.committed(place) == ends[place] for place in places)
