"""What a drill showed, as a page."""

from __future__ import annotations

import subprocess
from textwrap import wrap
from typing import TYPE_CHECKING

from tests.support.tree import ROOT

if TYPE_CHECKING:
    from tests.at_least_once.drill import Outcome, Pace

__all__ = ["REPORT", "page", "servers"]

REPORT = ROOT / "benchmarks" / "reports" / "at-least-once.md"

_HELD = """\
Every notice reached the web server and Alertmanager, every alarm the listener on MQTT, and every
reading that was acknowledged to a sensor is in the log; nothing arrived that nobody had sent. No
notice was given up, and whoever was told to end did so with code 0."""
_MEANING = """\
Copies are what at least once means. Alertmanager is told again every second of what fires, and MQTT
after every connection; the copies of a notice have one `notice_id`. A delay counts from when
Kafka had the whole window, or from when a sensor had its reading, to the first arrival: the longest
ones are those of who was away."""
_TOLD = """\
Alertmanager keeps alerts in memory: one that it took and that was resolved before it told anybody,
as it was killed or had been away meanwhile, is not told of. The last row counts the alarms, by what
its own receiver was told."""


def page(pace: Pace, outcome: Outcome, about: str) -> str:
    """Return a drill as Markdown.

    Args:
        pace: how hard it was.
        outcome: what it showed.
        about: date, machine and versions.
    """
    said = (
        f"Windows every {pace.window_s:g} s and readings every {pace.reading_s * 1000:.0f} ms for "
        f"{outcome.load_s:.0f} s, while each party goes away for {pace.away_s:g} s in turn and "
        f"{pace.settle_s:g} s pass between two faults."
    )
    wrong = [f"- {one}" for one in outcome.wrong]
    lines = [
        *("# At least once", "", *wrap(f"`make at-least-once`. {about}", 100), ""),
        *(*wrap(said, 100), ""),
        *([f"**{len(wrong)} things are wrong:**", "", *wrong] if wrong else [_HELD]),
        *("", "| fault | times |", "|---|--:|"),
        *(f"| {fault} | {times} |" for fault, times in outcome.faults.items()),
        *("", *_table([*outcome.ways, outcome.told]), "", _MEANING, "", _TOLD, ""),
    ]
    return "\n".join(lines)


def servers() -> str:
    """Say which versions of the servers stand beside Kafka."""
    mosquitto = _says("/usr/sbin/mosquitto", "-h").partition("version ")[2]
    alertmanager = _says("prometheus-alertmanager", "--version").partition("version ")[2]
    return f"Mosquitto {mosquitto.split()[0]}, Alertmanager {alertmanager.split()[0]}."


def _says(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def _table(ways):
    yield "| way | sent | arrived | lost | copies | median delay | 99 % | longest |"
    yield "|---|--:|--:|--:|--:|--:|--:|--:|"
    for way in ways:
        delays = way.delays_s()
        shown = [_delay(delays, share) for share in (0.5, 0.99, 1.0)]
        counts = (len(way.sent), len(delays), len(way.lost), way.copies)
        yield f"| {way.name} | {' | '.join(f'{one:,}' for one in counts)} | {' | '.join(shown)} |"


def _delay(delays, share):
    if not delays:
        return ""
    delay_s = delays[min(int(share * len(delays)), len(delays) - 1)]
    return f"{delay_s * 1000:.0f} ms" if delay_s < 1 else f"{delay_s:.1f} s"
