"""The drill: all are killed in turn under load, and what was sent is sought where it belongs."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from tests.at_least_once.load import Readings, Windows, owed
from tests.at_least_once.parties import Parties
from tests.at_least_once.verdict import Way, wrong
from tests.support.kafka import start_again
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.kafka import Broker

    Fault = tuple[str, Callable[[], object], Callable[[], object]]

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


SHORT = Pace(1, 0.5, 1.0, 0.25, 0.02, own_broker=False)
FULL = Pace(6, 3.0, 4.0, 0.5, 0.02, own_broker=True)


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
    faults: Counter[str]
    wrong: list[str]
    load_s: float


def run_drill(pace: Pace, broker: Broker, folder: Path) -> Outcome:
    """Run it, and judge.

    Args:
        pace: how hard it is.
        broker: that runs; it is killed where the pace says that it is the drill's own.
        folder: for files of the parties.
    """
    done = Counter()
    with Parties(broker, folder) as parties:
        began_s = time.time()
        with (
            Windows(parties.topics, every_s=pace.window_s) as windows,
            Readings(parties.field.port, every_s=pace.reading_s) as readings,
        ):
            for name, end, start in _faults(pace, broker, parties) * pace.rounds:
                end()
                time.sleep(pace.away_s)
                start()
                done[name] += 1
                time.sleep(pace.settle_s)
        load_s = time.time() - began_s

        def ways() -> tuple[list[Way], Way]:
            return _ways(parties, windows, readings)

        found = _judged(parties, lambda: ways()[0])
        return Outcome(*ways(), done, found, load_s)


def _faults(pace, broker, parties):
    """Return every fault: its name, how it begins and how it ends."""
    crashes = [
        *(
            (f"{name} killed", partial(parties.kill, name), partial(parties.start, name))
            for name in parties.commands
        ),
        ("Mosquitto of the alarms killed", parties.home.kill, parties.home.start),
        ("Alertmanager killed", parties.alertmanager.kill, parties.alertmanager.start),
        ("Mosquitto of the sensors restarted", parties.field.stop, parties.field.start),
    ]
    busy = partial(parties.desk.answers.update, {"/desk": 503})
    found = [
        *crashes,
        ("the web server is busy", busy, parties.desk.answers.clear),
        ("Kafka hangs", broker.pause, broker.resume),
    ]
    if pace.own_broker:
        crashes.append(("Kafka killed", broker.kill, partial(start_again, broker)))
        found += [
            crashes[-1],
            (
                "all of them killed at once",
                lambda: [end() for _, end, _ in crashes],
                lambda: [start() for _, _, start in reversed(crashes)],
            ),
        ]
    return found


def _ways(parties, windows, readings):
    """Return every way of alarms and readings, and what Alertmanager told of."""
    notices, letters = owed(windows.published), list(parties.desk.taken)
    fired = {
        what.removeprefix("firing "): at_s
        for what, at_s in notices.items()
        if what.startswith("firing ")
    }
    told = [(_notice(one), at_s) for path, at_s, one in letters if path == "/desk"]
    taken = [(_alert(one), at_s) for _, at_s, alerts in list(parties.gate.taken) for one in alerts]
    people = [
        (alert["labels"]["room"], at_s)
        for path, at_s, one in letters
        if path == "/duty"
        for alert in one["alerts"]
        if _alert(alert).startswith("firing ")
    ]
    sent = {str(number): at_s for number, at_s in enumerate(readings.sent_s)}
    return [
        Way("notices to a web server", notices, told),
        Way("notices to Alertmanager", notices, taken),
        Way("alarms to MQTT", fired, list(parties.ear.heard)),
        Way("readings to Kafka", sent, parties.all_readings()),
    ], Way("alarms of which Alertmanager told people", fired, people)


def _judged(parties, ways):
    """Wait until all has arrived, end the commands, and return what is wrong."""
    found = []
    states = parties.ear.states
    try:
        wait_until("all arrives", lambda: not any(way.lost for way in ways()), every_s=1.0)
        wait_until("nothing fires on MQTT", lambda: set(states.values()) == {"OFF"})
    except AssertionError as error:
        found.append(str(error))
    found += [sentence for way in ways() for sentence in wrong(way)]
    found += [f"{who} ended with {code}" for who, code in parties.end().items() if code]
    if parties.gave_up():
        found.append("a notice was given up")
    return found


def _notice(told):
    """Return which notice a letter is."""
    return f"{told['status']} {told['group'].get('room', told['window_start'])}"


def _alert(alert):
    """Return the notice that an alert is: further windows are copies of the first."""
    notes, labels = alert["annotations"], alert["labels"]
    if labels["alertname"] != "crowd":
        return f"denied {notes['window_start']}"
    status = "resolved" if notes["status"] == "resolved" else "firing"
    return f"{status} {labels['room']}"
