"""The drill: all are killed in turn under load, and what was sent is sought where it belongs."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from tests.at_least_once.load import Readings, Windows, owed
from tests.at_least_once.parties import Parties
from tests.at_least_once.verdict import Way, wrong
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.kafka import Broker

__all__ = ["FULL", "SHORT", "Outcome", "Pace", "run_drill"]


@dataclass(frozen=True, slots=True)
class Pace:
    """How hard a drill is.

    Args:
        rounds: how often each fault comes.
        away_s: how long who was ended stays away.
        settle_s: pause between two faults.
        window_s: pause between two windows.
        reading_s: pause between two readings.
        own_broker: whether the broker is the drill's own and may be killed; else it only hangs.
    """

    rounds: int
    away_s: float
    settle_s: float
    window_s: float
    reading_s: float
    own_broker: bool


SHORT: Final = Pace(1, 0.5, 1.0, 0.25, 0.02, own_broker=False)
FULL: Final = Pace(6, 3.0, 4.0, 0.5, 0.02, own_broker=True)


@dataclass(slots=True)
class Outcome:
    """What a drill showed.

    Args:
        ways: that alarms and readings took.
        told: what Alertmanager told people of, of what it took.
        faults: how often each was done.
        wrong: what was promised and does not hold, in sentences.
        load_s: how long windows and readings were sent.
    """

    ways: list[Way]
    told: Way
    faults: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    load_s: float = 0.0


def run_drill(pace: Pace, broker: Broker, folder: Path) -> Outcome:
    """Run it, and judge.

    Args:
        pace: how hard it is.
        broker: that runs; it is killed where the pace says that it is the drill's own.
        folder: for files of the parties.
    """
    with Parties(broker, folder) as parties:
        drill = _Drill(pace, parties)
        began_s = time.time()
        with (
            Windows(
                broker.bootstrap,
                (parties.topics.decisions, parties.topics.alarms),
                every_s=pace.window_s,
            ) as windows,
            Readings(parties.field.port, every_s=pace.reading_s) as readings,
        ):
            for _ in range(pace.rounds):
                drill.round()
        load_s = time.time() - began_s
        outcome = Outcome(*drill.ways(windows, readings), drill.faults, load_s=load_s)
        outcome.wrong = drill.judged(lambda: drill.ways(windows, readings)[0])
        outcome.ways, outcome.told = drill.ways(windows, readings)
        return outcome


class _Drill:
    """The faults, and where to look for what was sent."""

    def __init__(self, pace: Pace, parties: Parties) -> None:
        self.faults: Counter[str] = Counter()
        self._pace, self._parties = pace, parties

    def round(self) -> None:
        """Do every fault once."""
        parties = self._parties
        for name in ("notify", "mqtt"):
            self._fault(
                f"{name} killed",
                lambda name=name: parties.kill(name),
                lambda name=name: parties.start(name),
            )
        self._fault("Mosquitto of the alarms killed", parties.home.kill, parties.home.start)
        self._fault("Alertmanager killed", parties.alertmanager.kill, parties.alertmanager.start)
        self._fault("Mosquitto of the sensors restarted", parties.field.stop, parties.field.start)
        self._fault("the web server is busy", self._busy, self._free)
        self._fault("Kafka hangs", parties.pause_broker, parties.resume_broker)
        if self._pace.own_broker:
            self._fault("Kafka killed", parties.kill_broker, parties.start_broker)
            self._fault("all of them killed at once", self._kill_all, self._start_all)

    def ways(self, windows: Windows, readings: Readings) -> tuple[list[Way], Way]:
        """Return every way of alarms and readings, and what Alertmanager told of."""
        parties, notices = self._parties, owed(windows.published)
        log = parties.topics.all_readings()
        sent = {str(number): at_s for number, at_s in enumerate(readings.sent_s)}
        fired = {
            what.removeprefix("firing "): at_s
            for what, at_s in notices.items()
            if what.startswith("firing ")
        }
        letters = list(parties.desk.taken)
        taken = list(parties.gate.taken)
        ways = [
            Way(
                "notices to a web server",
                notices,
                [(_notice(told), at_s) for path, at_s, told in letters if path == "/desk"],
            ),
            Way(
                "notices to Alertmanager",
                notices,
                [(_alert(alert), at_s) for at_s, alert in taken],
            ),
            Way("alarms to MQTT", fired, list(parties.ear.heard)),
            Way("readings to Kafka", sent, [(str(number), at_s) for number, _, at_s in log]),
        ]
        people = [
            (alert["labels"]["room"], at_s)
            for path, at_s, told in letters
            if path == "/duty"
            for alert in told["alerts"]
            if _alert(alert).startswith("firing ")
        ]
        return ways, Way("alarms of which Alertmanager told people", fired, people)

    def judged(self, ways: Callable[[], list[Way]]) -> list[str]:
        """Wait until all has arrived, end the commands, and return what is wrong."""
        found: list[str] = []
        try:
            wait_until("all arrives", lambda: not any(way.lost for way in ways()), every_s=1.0)
            wait_until("nothing rings on MQTT", self._silent)
        except AssertionError as error:
            found.append(str(error))
        found += [sentence for way in ways() for sentence in wrong(way)]
        found += [f"{who} ended with {code}" for who, code in self._parties.end().items() if code]
        if self._parties.dead_letters.exists():
            found.append("there are dead letters")
        return found

    def _silent(self) -> bool:
        return set(self._parties.ear.states.values()) == {"OFF"}

    def _fault(self, name: str, end: Callable[[], None], start: Callable[[], None]) -> None:
        end()
        time.sleep(self._pace.away_s)
        start()
        self.faults[name] += 1
        time.sleep(self._pace.settle_s)

    def _busy(self) -> None:
        self._parties.desk.answers["/desk"] = 503

    def _free(self) -> None:
        del self._parties.desk.answers["/desk"]

    def _kill_all(self) -> None:
        parties = self._parties
        for name in parties.commands:
            parties.kill(name)
        parties.home.kill()
        parties.alertmanager.kill()
        parties.field.stop()
        parties.kill_broker()

    def _start_all(self) -> None:
        parties = self._parties
        parties.start_broker()
        for server in (parties.home, parties.field, parties.alertmanager):
            server.start()
        for name in parties.commands:
            parties.start(name)


def _notice(told: dict[str, Any]) -> str:
    """Return which notice a letter is."""
    return f"{told['status']} {told['group'].get('room', told['window_start'])}"


def _alert(alert: dict[str, dict[str, str]]) -> str:
    """Return the notice that an alert is: further windows are copies of the first."""
    notes, labels = alert["annotations"], alert["labels"]
    if labels["alertname"] != "crowd":
        return f"denied {notes['window_start']}"
    status = "resolved" if notes["status"] == "resolved" else "firing"
    return f"{status} {labels['room']}"
