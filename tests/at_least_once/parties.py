"""Everybody whom an alarm or a reading passes: how each is killed, and how it comes back.

::

    windows -> Kafka -> tocsin notify -> desk (a web server)
                                -> gate -> Alertmanager -> desk
                                -> Mosquitto "home" -> ear
    readings -> Mosquitto "field" -> tocsin mqtt -> Kafka
"""

from __future__ import annotations

import http.client
import json
import signal
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final, Self

from kafka import KafkaConsumer, TopicPartition
from paho.mqtt import client as mqtt

from deploy.kafka.runtime import HOST
from tests.support.buffers import has_session
from tests.support.kafka import start_again
from tests.support.processes import Command
from tests.support.targets import AlertmanagerServer, Inbox, Mosquitto
from tests.support.waiting import PATIENCE_S, wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.kafka import Broker

__all__ = ["Ear", "Gate", "Parties", "Topics"]

_PARTITIONS: Final = 2
_CONFIG: Final = """\
kafka:
  bootstrap: "{bootstrap}"
  alarms_topic: {alarms}
  decisions_topic: {decisions}
log: {{format: json}}
notify:
  group: {group}
  alertmanagers: {{main: {{url: "{gate}", resend_interval: 1s}}}}
  webhooks: {{desk: {{url: "{desk}/desk", secret: "a secret of many bytes"}}}}
  mqtt: {{home: {{broker: "{home}"}}}}
alarms:
  crowd: {{lifecycle: {{annotations: {{status: "{{status}}"}}}}}}
"""
_MQTT: Final = """\
kafka: {{bootstrap: "{bootstrap}"}}
log: {{format: json}}
mqtt:
  broker: "{field}"
  topic: {readings}
  unit: sensor
  topics:
    readings/+sensor/motion:
      {{sensor: "{{topic.sensor}}", event: "{{id}}", number: "{{payload.number}}", ts: "{{now}}"}}
"""


class Desk(Inbox):
    """A web server that knows when each letter came, and may answer that it is busy."""

    def __init__(self) -> None:
        super().__init__()
        self.taken: list[tuple[str, float, Any]] = []

    def answer(self, path: str, content: bytes) -> int:
        """Take a letter."""
        status = super().answer(path, content)
        if status == 200:
            self.taken.append((path, time.time(), json.loads(content)))
        return status


class Gate(Inbox):
    """Stands before Alertmanager and writes down which alerts it took.

    Args:
        port: of Alertmanager.
    """

    def __init__(self, port: int) -> None:
        super().__init__()
        self.taken: list[tuple[float, Any]] = []
        self._port = port

    def answer(self, path: str, content: bytes) -> int:
        """Pass a request on; 502 where nobody answers."""
        there = http.client.HTTPConnection(HOST, self._port, timeout=PATIENCE_S)
        try:
            there.request("POST", path, content, {"Content-Type": "application/json"})
            status = there.getresponse().status
        except (OSError, http.client.HTTPException):
            return 502
        finally:
            there.close()
        if status == 200:
            self.taken += [(time.time(), alert) for alert in json.loads(content)]
        return status


class Ear:
    """Somebody who listens on MQTT for what rings, and comes back when the broker does.

    Args:
        port: of the broker, which may not be there yet.
    """

    def __init__(self, port: int) -> None:
        self.heard: list[tuple[str, float]] = []
        self.states: dict[str, str] = {}
        self._client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
        self._client.on_connect = lambda client, *_: client.subscribe("tocsin/alarms/#", qos=1)
        self._client.on_message = self._hear
        self._client.reconnect_delay_set(1, 1)
        self._client.connect_async(HOST, port)
        self._client.loop_start()

    def close(self) -> None:
        """Listen no more."""
        self._client.disconnect()
        self._client.loop_stop()

    def _hear(self, _client: object, _data: object, message: mqtt.MQTTMessage) -> None:
        room = message.topic.rpartition("/")[2]
        self.states[room] = json.loads(message.payload)["state"]
        self.heard.append((room, time.time()))


class Topics:
    """The names of the topics of one drill."""

    def __init__(self, broker: Broker) -> None:
        name = f"drill-{time.time_ns()}"
        self.group = f"{name}.notify"
        self.alarms, self.decisions = f"{name}.alarms", f"{name}.decisions"
        self.readings = f"{name}.readings"
        for topic in (self.alarms, self.decisions):
            broker.create_topic(topic, 1, {"message.timestamp.type": "CreateTime"})
        broker.create_topic(self.readings, _PARTITIONS)
        self._bootstrap = broker.bootstrap

    def all_readings(self) -> list[tuple[int, str, float]]:
        """Return number, id and time of every reading in the log, copies as well."""
        places = [TopicPartition(self.readings, number) for number in range(_PARTITIONS)]
        with closing(KafkaConsumer(bootstrap_servers=self._bootstrap)) as consumer:
            consumer.assign(places)
            consumer.seek_to_beginning()
            ends = consumer.end_offsets(places)
            found = []
            while any(consumer.position(place) < ends[place] for place in places):
                for records in consumer.poll(500).values():
                    for record in records:
                        event = json.loads(record.value)
                        found.append((event["number"], event["event"], record.timestamp / 1000))
            return found


class Parties:
    """All of them; a context manager.

    Args:
        broker: that runs.
        folder: for their files.
    """

    def __init__(self, broker: Broker, folder: Path) -> None:
        self.topics = Topics(broker)
        self.desk = Desk()
        self.home = Mosquitto(folder / "home")
        self.field = Mosquitto(folder / "field", keeps=True)
        self.alertmanager = AlertmanagerServer(
            folder / "alertmanager", inbox=f"{self.desk.url}/duty"
        )
        self.gate = Gate(self.alertmanager.port)
        self.ear = Ear(self.home.port)
        self.commands: dict[str, Command] = {}
        self.dead_letters = folder / "notify.dead-letters.jsonl"
        self._broker, self._folder = broker, folder
        addresses = {
            "bootstrap": broker.bootstrap,
            "gate": self.gate.url,
            "desk": self.desk.url,
            "home": f"{HOST}:{self.home.port}",
            "field": f"{HOST}:{self.field.port}",
            **vars(self.topics),
        }
        for name, config in (("notify", _CONFIG), ("mqtt", _MQTT)):
            (folder / f"{name}.yaml").write_text(config.format(**addresses), encoding="utf-8")

    def __enter__(self) -> Self:
        """Start them, the servers first."""
        self.desk.__enter__()
        self.gate.__enter__()
        for server in (self.home, self.field, self.alertmanager):
            server.start()
        self.start("notify")
        self.start("mqtt")
        # Messages from before the MQTT source's first session are nobody's.
        wait_until("the MQTT source has a session", self._session)
        return self

    def __exit__(self, *_: object) -> None:
        """End all there is."""
        for command in self.commands.values():
            command.stop()
        self.ear.close()
        for server in (self.home, self.field, self.alertmanager):
            server.kill()
        self.gate.__exit__()
        self.desk.__exit__()

    def _session(self) -> bool:
        return has_session(self._folder / "mqtt.buffer")

    def start(self, name: str) -> None:
        """Start a command, as whoever looks after it does."""
        errors = self._folder / f"{name}-{time.time_ns()}.log"
        config = self._folder / f"{name}.yaml"
        beginning = ("--from-beginning",) if name == "notify" else ()
        self.commands[name] = Command.start(errors, name, config, *beginning)

    def kill(self, name: str) -> None:
        """End a command as a crash does."""
        command = self.commands[name]
        assert command.alive, f"{name} ended by itself:\n{command.text()}"
        command.stop()

    def end(self) -> dict[str, int]:
        """Tell the commands to end, and return their exit codes."""
        for command in self.commands.values():
            command.tell(signal.SIGTERM)
        return {name: command.ended() for name, command in self.commands.items()}

    def start_broker(self) -> None:
        """Start Kafka again."""
        start_again(self._broker)

    def kill_broker(self) -> None:
        """End Kafka as a crash does."""
        self._broker.kill()

    def pause_broker(self) -> None:
        """Let Kafka hang."""
        self._broker.pause()

    def resume_broker(self) -> None:
        """Let Kafka go on."""
        self._broker.resume()
