"""A board as a process of its own, the topics that it reads, and what its page says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka import KafkaProducer

from deploy.kafka.runtime import HOST, free_port
from stream.decisions.records import encode
from tests.support.answers import asked
from tests.support.boards import Page
from tests.support.processes import Command
from tests.support.published import alarm_of, decision_of
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.support.kafka import Broker


class Topics:
    """The public topics, written as a worker writes them.

    Args:
        broker: where.
        name: how they begin.
    """

    def __init__(self, broker: Broker, name: str) -> None:
        self.alarms, self.decisions = f"{name}.alarms", f"{name}.decisions"
        self.kafka = (
            f'{{bootstrap: "{broker.bootstrap}", alarms_topic: {self.alarms}, '
            f"decisions_topic: {self.decisions}}}"
        )
        """How a configuration names them."""
        for topic in (self.alarms, self.decisions):
            broker.create_topic(topic, 1, {"message.timestamp.type": "CreateTime"})
        self._producer = KafkaProducer(bootstrap_servers=broker.bootstrap, acks="all")

    def publish(
        self,
        number: int,
        rooms: Sequence[str],
        *,
        denied: bool = False,
        alarm: str = "crowd",
        copies: int = 1,
    ) -> None:
        """Publish the window of an hour, once or again: its decision, then its alarms."""
        alarms = [alarm_of(number, {"room": room}, alarm=alarm) for room in rooms]
        decision = decision_of(number, denied=denied, alarms=alarms, alarm=alarm)
        records = [(self.decisions, encode(decision))]
        records += [(self.alarms, encode(one)) for one in alarms]
        for topic, value in records * copies:
            self._producer.send(topic, key=alarm.encode(), value=value).get()

    def close(self) -> None:
        """Part from the broker."""
        self._producer.close()


class Boarded:
    """The command ``tocsin board`` on a port of its own; it may be killed and started again.

    Args:
        folder: for its file and what it writes.
        kafka: what it reads, as YAML on one line.
        more: further lines of its file.
    """

    def __init__(self, folder: Path, kafka: str, more: str = "") -> None:
        self.port = free_port()
        self._folder = folder
        self._started: list[Command] = []
        self._config = folder / "board.yaml"
        self._config.write_text(
            f"kafka: {kafka}\n"
            f'board: {{listen: "{HOST}:{self.port}"}}\nlog: {{format: json}}\n{more}',
        )

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"http://{HOST}:{self.port}/"

    def start(self) -> Command:
        """Start it, and wait until its page can be relied on."""
        errors = self._folder / f"board-{len(self._started)}"
        process = Command.start(errors, "board", self._config)
        self._started.append(process)
        wait_until("the board is ready", lambda: self.ready() or not process.alive)
        assert process.alive, process.text()
        return process

    def stop(self) -> None:
        """End it, whatever it does."""
        for process in self._started:
            process.stop()

    def ready(self) -> bool:
        """Tell whether it says that it is."""
        try:
            return self.get("/readyz") == "ready\n"
        except OSError:
            return False

    def get(self, path: str) -> str:
        """Return an answer."""
        return asked((HOST, self.port), path).body.decode()

    def text(self) -> str:
        """Return what the page says."""
        return Page(self.get("/")).text

    def until(self, words: str) -> None:
        """Ask for what changes, as a browser does, until it has these words."""
        wait_until(f"it says: {words}", lambda: words in Page(self.get("/view")).text)
