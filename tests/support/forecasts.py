"""A scenario of people in rooms beside a public forecast of them, marked by its one writer."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from accountant.records import REFERENCE_PARTITIONS
from stream.events.marks import Mark, encode_mark
from tests.support.forms import EXPECTED_N, PEOPLE, USUAL, N
from tests.support.scenario import ROOMS, Scenario

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WINDOW_MS = 3_000

_KEY = b"sixteen characters and more"
_FEED = """\
  forecast:
    topic: {name}.forecast
    time: ts
    unit: room
    fields: {{room: {{domain: [{rooms}]}}, n: {{type: integer, clip: [0, 9]}}, ts: timestamp}}
    clock: watermarks
    watermarks: {{interval: 1s, key: "{key}"}}
    allowed_skew: 1m
"""


class ForecastScenario(Scenario):
    """A scenario whose alarm watches a band around a forecast of two partitions."""

    def config_text(self, *, public: int = 0, custodian: int = 0) -> str:
        """Return the configuration."""
        text = super().config_text(public=public, custodian=custodian)
        keys = '    mechanism: {decider: {epsilon: "20", reference: {feed: forecast}}}\n'
        text = text.replace(f"    tolerance: {self.tolerance}\n", keys)
        text = text.replace("timing: {", "timing: {reference_timeout: 25s, ")
        feed = _FEED.format(name=self.name, rooms=", ".join(ROOMS), key=_KEY.decode())
        return text.replace("budget:\n", f"{feed}budget:\n")

    def expect(self, start_ms: int) -> None:
        """Send the forecast of a window, not marked yet."""
        expected = [
            {
                "key": room.encode(),
                "value": json.dumps({"room": room, "n": EXPECTED_N, "ts": start_ms + at}).encode(),
            }
            for room, number in USUAL.items()
            for at in range(number)
        ]
        self.send(expected, f"{self.name}.forecast")

    def mark(self, time_ms: int) -> None:
        """Say in both partitions that the forecast is whole up to an instant."""
        marks = [encode_mark(Mark("forecast", time_ms, at, time_ms), _KEY) for at in range(2)]
        self.send(
            [
                {"value": value, "headers": headers, "partition": at}
                for at, (value, headers) in enumerate(marks)
            ],
            f"{self.name}.forecast",
        )

    def people(self, after_ms: int) -> int:
        """Send everybody into a window that starts after an instant; return its start.

        A window that somebody came too late for is left out.
        """
        start_ms = after_ms
        while True:
            start_ms += WINDOW_MS
            while time.time() * 1000 < start_ms + 300:
                time.sleep(0.05)
            now_ms = int(time.time() * 1000)
            if now_ms < start_ms + 1_500 and self.produce(people_at(now_ms)) < cut(start_ms):
                return start_ms

    def own(self, start_ms: int) -> set[int]:
        """Return the alarm's own partitions of a window that are counted."""
        return {
            line["partition"]
            for line in self.done("partial")
            if line["start_ms"] == start_ms and line["partition"] < REFERENCE_PARTITIONS
        }


def cut(start_ms: int) -> int:
    """Return until when events of a window may be appended."""
    return start_ms + WINDOW_MS + 1_000


def people_at(now_ms: int) -> list[tuple[str | None, bytes]]:
    """Return one event of everybody in every room."""
    events = [
        {"person": f"{room}{at}", "event": f"{room}{at}-{now_ms}", "room": room, "n": N[room]}
        for room, number in PEOPLE.items()
        for at in range(number)
    ]
    return [(str(each["person"]), json.dumps({**each, "ts": now_ms}).encode()) for each in events]


def fired_at(published: Sequence[Mapping[str, Any]], start_ms: int) -> set[str]:
    """Return the rooms that fired in the window that starts then."""
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(start_ms // 1000))
    return {alarm["group"]["room"] for alarm in published if alarm["window_start"][:19] == stamp}
