"""Configurations that the golden records are made of: good ones, and bad ones as edits of them.

Every case is data: a name, a text, the files beside it. Nothing here imports the product.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tests.golden.texts import parse
from tests.support.keys import nested

if TYPE_CHECKING:
    from collections.abc import Mapping

FILES = {
    "rooms.txt": "lobby\nlab\nattic\n",
    "capacity.csv": "room,seats\nlobby,120\nlab,80\nattic,30\n",
    "usual.csv": "room,amount\nlobby,200\nlab,150\nattic,90\n",
    "seats.csv": "room,amount\nlobby,20\nlab,22.5\nattic,9\n",
    "shops.csv": "shop,n\nnorth,200\nsouth,300\n",
    "wide.csv": "city,room,seats,chairs\nx,lobby,120,60\nx,lab,80,40\nx,attic,30,15\n",
}
"""Files beside every configuration."""
ENVIRON = {"TOKEN": "hunter2", "ADDRESS": "hunter2", "FEED": "badges"}
"""Variables that each may read; ``hunter2`` is a secret, which no message repeats."""

PARTS = {
    "TABLES": "tables: {capacity: capacity.csv, usual: usual.csv}\n",
    "FEED": """\
  badges:
    topic: building.badges
    time: ts
    unit: person
    fields:
      person: string
      event: string
      room: {domain: rooms.txt}
      floor: {type: integer, domain: [1, 2]}
      open: boolean
      age: {type: integer, clip: [0, 110]}
      owed: {type: integer, clip: [-9, 6]}
      paid: {type: float, clip: [0, 50], resolution: "0.5"}
      free: float
      ts: timestamp
""",
    "FORECAST": """\
  forecast:
    topic: building.forecast
    time: ts
    unit: room
    allowed_skew: 2d
    fields:
      room: {domain: rooms.txt}
      floor: {type: integer, domain: [1, 2]}
      open: boolean
      paid: {type: float, clip: [0, 9000], resolution: "0.5"}
      ts: timestamp
""",
}
"""Lines of ``configurations.txt`` that stand for what most of them say alike."""


@dataclass(frozen=True)
class Case:
    """A configuration and the files beside it.

    Args:
        name: of the record.
        text: of the configuration.
        files: beside it, besides those that stand beside every one.
    """

    name: str
    text: str
    files: Mapping[str, str] = field(default_factory=dict)

    def write(self, folder):
        """Write it as ``alarms.yaml``, with all files."""
        for name, text in {**FILES, **self.files, "alarms.yaml": self.text}.items():
            (folder / name).write_text(text)


def alarm(
    name,
    having,
    *lines,
    group="room",
    window="TUMBLE(ts, INTERVAL '1' HOUR)",
    where="",
):
    """Return one alarm as YAML."""
    sql = [f"SELECT {group or 1} FROM badges"]  # noqa: S608  # the language under test
    sql += [f"WHERE {where}"] if where else []
    sql += [f"GROUP BY {group + ', ' if group else ''}{window}", f"HAVING {having}"]
    text = [f"  {name}:", "    sql: |", *(f"      {line}" for line in sql)]
    text += ["    max_fnr: 0.05", *(f"    {line}" for line in nested(lines))]
    return "\n".join(text) + "\n"


def whole(text, parts=PARTS):
    """Return a text with parts in the place of the lines that are their names."""
    for name, part in parts.items():
        text = text.replace(f"{name}\n", part)
    return text


_BESIDE = Path(__file__)
GOOD = tuple(
    Case(name, whole(text))
    for name, text in parse(_BESIDE.with_name("configurations.txt").read_text()).items()
)
"""Configurations that can be used, if with warnings."""

# --- bad ones: edits of one good file

BASE = """\
timezone: Europe/Berlin
kafka: {bootstrap: "localhost:9092"}
metrics: {custodian: "127.0.0.1:9465"}
tables: {capacity: capacity.csv, usual: usual.csv}
feeds:
  badges:
    topic: building.badges
    codec: json
    time: ts
    unit: person
    fields:
      person: string
      room: {domain: rooms.txt}
      floor: {type: integer, domain: [1, 2]}
      size: integer
      open: boolean
      age: {type: integer, clip: [0, 110]}
      load: {type: float, clip: [-1.5, 10], resolution: "0.5"}
      free: float
      ts: timestamp
budget:
  privacy_unit: user
  epsilon_max: "4"
  period: 1d
  contribution: {max_groups_per_window: 1, max_events_per_group: 3}
alarms:
  fire-code:
    sql: |
      SELECT room FROM badges
      WHERE floor = 1
      GROUP BY room, TUMBLE(ts, INTERVAL '1' HOUR)
      HAVING COUNT(DISTINCT person) > 120
    active: "Mon-Fri 07:00-22:00"
    max_fnr: 0.05
    tolerance: 9
    timing: {grace: 30s}
"""
_H = "COUNT(DISTINCT person) > 120"
_M = "timing: {grace: 30s}"
MISTAKES = json.loads(_BESIDE.with_name("mistakes.json").read_text())
"""What is replaced in the base and what by, in turn (``edits``), conditions and keys of ``bands``,
what stands in ``files`` beside the base and its condition; and the ``life`` of a ledger: edits of
its configuration, and the commands that follow."""


def _with_band(having, written):
    keys = {"mechanism": "decider", "epsilon": '"0.5"', "reference": "200", "grace": "30s"}
    keys |= {name: value.strip() for name, _, value in (line.partition(":") for line in written)}
    text = BASE.replace(_H, having).replace("    tolerance: 9\n", "")
    lines = nested(f"{name}: {value}" for name, value in keys.items())
    return text.replace(f"    {_M}\n", "") + "".join(f"    {line}\n" for line in lines)


def _edited(*pairs):
    text = BASE
    for old, new in zip(pairs[::2], pairs[1::2], strict=True):
        if text.count(old) != 1:
            raise ValueError(f"{old!r} is not once in the base")
        text = text.replace(old, new)
    return text


_COUNT, _PAIR = "COUNT(*) > 120", "COUNT(*) > 120 AND SUM(paid) > 90"
_BAND = "ABS(COUNT(*) - REFERENCE) >= 50"
_MECHANISMS = {
    **dict.fromkeys(("tslm", "ppwlm", "dppwlm"), _COUNT),
    **dict.fromkeys(("probe", "probe-ent"), _PAIR),
    "svt": _COUNT,
    "decider": _BAND,
}
"""A condition that each mechanism decides."""
_NEEDED = {"decider": ('epsilon: "0.5"', "reference: 200")}
_ALL_KEYS = (
    "tolerance: 9", "tolerance: {COUNT(*) > 120: 9}", "max_fpr: 0.02",
    "max_alarms: 5", "repeat: 2", "repeat_in: run", "decider: tight", 'epsilon: "0.25"',
    "reference: 5", "reference: {feed: badges}", "reference_timeout: 1h",
)  # fmt: skip


def _foreign(name, mechanism, having, *keys):
    budget = 'budget: {privacy_unit: user, epsilon_max: "4000", period: 1d}\nalarms:\n'
    one = alarm("one", having, f"mechanism: {mechanism}", *keys)
    return Case(f"{mechanism} {name}", whole(f"TABLES\nfeeds:\nFEED\n{budget}{one}"))


FOREIGN_KEYS = (
    *(
        _foreign(
            f"with {line}",
            mechanism,
            having,
            *(one for one in _NEEDED.get(mechanism, ()) if one.split(":")[0] != line.split(":")[0]),
            line,
        )
        for mechanism, having in _MECHANISMS.items()
        for line in _ALL_KEYS
    ),
    *(
        _foreign(f"of {other}'s condition", mechanism, having, *_NEEDED.get(mechanism, ()))
        for mechanism, own in _MECHANISMS.items()
        for other, having in {"tslm": _COUNT, "probe": _PAIR, "decider": _BAND}.items()
        if other != mechanism
    ),
)
"""Every key of every mechanism, written for every mechanism."""

BAD = (
    *(
        Case(f"{n:03} {' -> '.join(map(repr, pairs))}", _edited(*pairs))
        for n, pairs in enumerate(MISTAKES["edits"])
    ),
    *(
        Case(f"band {n:02} {having} {' '.join(keys)}".rstrip(), _with_band(having, keys))
        for n, (having, keys) in enumerate(MISTAKES["bands"])
    ),
    *(
        Case(
            f"file {n:02} {name} {text!r}",
            _edited(_H, having or "COUNT(*) > capacity[room]"),
            {name: text},
        )
        for n, (name, text, having) in enumerate(MISTAKES["files"])
    ),
)
"""Configurations with an error, or on the edge of one."""
