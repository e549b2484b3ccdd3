"""Replays that the golden records are made of: small files, every mechanism, both units.

Every case is data: a name, a configuration in ``replays.txt``, and the files it is replayed over.
Nothing here imports the product.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

from tests.golden.cases import whole
from tests.golden.texts import parse

HOUR_MS = 3_600_000
HOURS = 6
ROOMS = ("attic", "hall", "lab")
MANY = 1500
"""Cells of every window whose draws are recorded."""

PARTS = {
    "TABLES": "tables: {usual: usual.csv}\n",
    "FEED": """\
  badges:
    topic: building.badges
    time: ts
    unit: person
    fields:
      person: string
      event: string
      room: {domain: [attic, hall, lab]}
      open: boolean
      age: {type: integer, clip: [0, 90]}
      owed: {type: integer, clip: [-9, 6]}
      paid: {type: float, clip: [0, 50], resolution: "0.5"}
      ts: timestamp
""",
    "FORECAST": """\
  forecast:
    topic: building.forecast
    time: ts
    unit: room
    fields:
      room: {domain: [attic, hall, lab]}
      paid: {type: float, clip: [0, 9000], resolution: "0.5"}
      ts: timestamp
""",
    "SPREAD": f"""\
  badges:
    topic: building.badges
    time: ts
    unit: person
    fields:
      person: string
      cell: {{type: integer, domain: [{", ".join(map(str, range(MANY)))}]}}
      age: {{type: integer, clip: [0, 100]}}
      ts: timestamp
""",
}
"""Lines of ``replays.txt`` that stand for what most of them say alike."""


@dataclass(frozen=True)
class Replay:
    """A configuration and the files it is replayed over.

    Args:
        name: of the record.
        text: of the configuration, with names of parts in it; its first line may say what is
            replayed.
    """

    name: str
    text: str

    @property
    def given(self):
        """What stands behind ``--replay``."""
        said = re.match(r"# --replay (.*)", self.text)
        return said[1].split() if said else ["badges.jsonl"]

    @property
    def alarms(self):
        """The names of its alarms."""
        return re.findall(r"^  ([\w-]+):\n    sql:", self.text, re.MULTILINE)

    def write(self, folder):
        """Write the configuration and what is replayed."""
        (folder / "alarms.yaml").write_text(whole(self.text, PARTS))
        (folder / "usual.csv").write_text("room,n\nattic,30\nhall,60\nlab,90\n")
        for given in self.given:
            name = given.rpartition("=")[2]
            (folder / name).write_text(_MADE[name]())


@cache
def events():
    """Return six hours of three rooms, fuller in some hours than others, and a few bad events."""
    rng = Random("golden")
    made: list[dict[str, object]] = []
    for hour in range(HOURS):
        for number, room in enumerate(ROOMS):
            for _ in range(12 + (hour * (number + 1) * 11) % 95):
                made.append(  # noqa: PERF401  # one event a statement is easier to read
                    {
                        "person": f"p{rng.randrange(90):02}",
                        "event": f"e{rng.randrange(500)}",
                        "room": room,
                        "open": rng.randrange(3) > 0,
                        "age": rng.randrange(100) if number else 30 + rng.randrange(9),
                        "owed": rng.randrange(-9, 7),
                        "paid": rng.randrange(0, 90) / 2,
                        "ts": hour * HOUR_MS + rng.randrange(HOUR_MS),
                    }
                )
    made.append({**made[0], "room": "cellar"})
    made.append({**made[1], "age": "old"})
    made.append({name: value for name, value in made[2].items() if name != "person"})
    made.append({**made[3], "ts": 40 * HOUR_MS})
    return tuple(made)


@cache
def events_jsonl():
    """Return the events as JSON lines, one of which is no JSON."""
    return "".join(json.dumps(event) + "\n" for event in events()) + "{nonsense\n"


@cache
def events_csv():
    """Return the events as CSV."""
    names = list(events()[0])
    lines = [",".join(str(event.get(name, "")) for name in names) for event in events()]
    return "\n".join([",".join(names), *lines]) + "\n"


@cache
def forecast_jsonl():
    """Return a forecast of the amounts."""
    lines = [
        json.dumps({"room": room, "paid": 300.5 * (n + 1), "ts": hour * HOUR_MS + 60_000 * n})
        for hour in range(HOURS)
        for n, room in enumerate(ROOMS)
    ]
    return "\n".join(lines) + "\n"


@cache
def spread_jsonl():
    """Return one event for every cell, whose values are spread over all of the clip."""
    lines = (
        f'{{"person": "p{n}", "cell": {n}, "age": {n * 7 % 101}, "ts": {1000 + n}}}\n'
        for n in range(MANY)
    )
    return "".join(lines)


_MADE = {
    "badges.jsonl": events_jsonl,
    "badges.csv": events_csv,
    "f.jsonl": forecast_jsonl,
    "spread.jsonl": spread_jsonl,
}
REPLAYS = defaultdict(list)
"""Replays by the record of their outputs; ``draws`` are of many cells near their thresholds."""
for _title, _text in parse(Path(__file__).with_name("replays.txt").read_text()).items():
    _group, _, _name = _title.partition(": ")
    REPLAYS[_group].append(Replay(_name, _text))
LIFE = next(one for one in REPLAYS["others"] if one.name == "refunds let later windows in")
"""What the other commands are called on, too."""
