"""Everybody whom an alarm or a reading passes: how each is killed, and how it comes back.

::

    windows -> Kafka -> tocsin notify -> desk (a web server)
                                -> gate -> Alertmanager -> desk
                                -> Mosquitto "home" -> ear
    readings -> Mosquitto "field" -> tocsin mqtt -> Kafka
"""

from __future__ import annotations

import json
import signal
import time
from contextlib import ExitStack, closing
from functools import partial
from http.client import HTTPConnection, HTTPException

from paho.mqtt import client as mqtt

from deploy.kafka.runtime import HOST
from stream.logs.lines import Line
from tests.support.boarded import Topics
from tests.support.kafka import read_all
from tests.support.processes import Command
from tests.support.targets import AlertmanagerServer, Inbox, Mosquitto
from tests.support.waiting import PATIENCE_S, wait_until

__all__ = ["Desk", "Ear", "Parties"]

_PARTITIONS = 2


class Desk(Inbox):
    """A web server that knows what it took and when, and may answer that it is busy.

    Args:
        port: of a server behind it, which is asked what to answer; 0 for none.
    """

    def __init__(self, port=0):
        super().__init__()
        self.taken = []
        self._port = port

    def answer(self, path: str, content: bytes) -> int:
        """Take a letter, or pass it on."""
        status = self._passed_on(path, content) if self._port else super().answer(path, content)
        if status == 200:
            self.taken.append((path, time.time(), json.loads(content)))
        return status

    def _passed_on(self, path, content):
        with closing(HTTPConnection(HOST, self._port, timeout=PATIENCE_S)) as there:
            try:
                there.request("POST", path, content, {"Content-Type": "application/json"})
                return there.getresponse().status
            except (OSError, HTTPException):
                return 502


class Ear:
    """Somebody who listens on MQTT for what fires, and comes back when the broker does.

    Args:
        port: of the broker, which may not be there yet.
    """

    def __init__(self, port):
        self.heard = []
        self.states = {}
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

    def _hear(self, _client, _data, message):
        room = message.topic.rpartition("/")[2]
        self.states[room] = json.loads(message.payload)["state"]
        self.heard.append((room, time.time()))


class Parties:
    """All of them; a context manager.

    Args:
        broker: that runs.
        folder: for their files.
    """

    def __init__(self, broker, folder):
        name = f"drill-{time.time_ns()}"
        self.topics = Topics(broker, name)
        self.readings = f"{name}.readings"
        broker.create_topic(self.readings, _PARTITIONS)
        self.desk = Desk()
        self.home = Mosquitto(folder / "home")
        self.field = Mosquitto(folder / "field", keeps=True)
        self.alertmanager = AlertmanagerServer(
            folder / "alertmanager", inbox=f"{self.desk.url}/duty"
        )
        self.gate = Desk(self.alertmanager.port)
        self.ear = Ear(self.home.port)
        self.commands = {}
        self._bootstrap, self._folder = broker.bootstrap, folder
        notify, mqtt_source = (folder / f"{command}.yaml" for command in ("notify", "mqtt"))
        notify.write_text(
            f"""\
kafka: {self.topics.kafka}
log: {{format: json}}
notify:
  group: {name}.notify
  alertmanagers: {{main: {{url: "{self.gate.url}", resend_interval: 1s}}}}
  webhooks: {{desk: {{url: "{self.desk.url}/desk", secret: "a secret of many bytes"}}}}
  mqtt: {{home: {{broker: "{HOST}:{self.home.port}"}}}}
alarms:
  crowd: {{lifecycle: {{annotations: {{status: "{{status}}"}}}}}}
"""
        )
        mqtt_source.write_text(
            f"""\
kafka: {{bootstrap: "{broker.bootstrap}"}}
log: {{format: json}}
mqtt:
  broker: "{HOST}:{self.field.port}"
  topic: {self.readings}
  unit: sensor
  topics:
    readings/+sensor/motion:
      {{sensor: "{{topic.sensor}}", event: "{{id}}", number: "{{payload.number}}", ts: "{{now}}"}}
"""
        )

    def __enter__(self):
        """Start them, the servers first."""
        with ExitStack() as stack:
            stack.callback(self.topics.close)
            stack.enter_context(self.desk)
            stack.enter_context(self.gate)
            for server in (self.home, self.field, self.alertmanager):
                stack.callback(server.kill)
                server.start()
            stack.callback(self.ear.close)
            for name in ("notify", "mqtt"):
                self.start(name)
                stack.callback(lambda name=name: self.commands[name].stop())
            # Messages from before the MQTT source's first session are nobody's.
            subscribed = partial(self.commands["mqtt"].says, Line.NO_SESSION)
            wait_until("the MQTT source has a session", subscribed)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_):
        """End all there is."""
        self._stack.close()

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

    def gave_up(self) -> bool:
        """Tell whether a notice was given up, by any process that was notify."""
        logs = self._folder.glob("notify-*.log")
        return any(Line.UNDELIVERED in log.read_text() for log in logs)

    def all_readings(self) -> list[tuple[str, float]]:
        """Return number and time of every reading in the log, copies as well, which have its id."""
        found, ids = [], {}
        for record in read_all(self._bootstrap, self.readings):
            event = json.loads(record.value)
            number, event_id = event["number"], event["event"]
            other = ids.setdefault(number, event_id) != event_id
            name = f"{number} under another id" if other else str(number)
            found.append((name, record.timestamp / 1000))
        return found
