"""Configurations that the golden records are made of: good ones, and bad ones as edits of them.

Every case is data: a name, a text, the files beside it. Nothing here imports the product.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support.keys import nested

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["BAD", "FOREIGN_KEYS", "GOOD", "MECHANISMS", "MISTAKES", "Case", "alarm", "file"]

FILES: Mapping[str, str] = {
    "rooms.txt": "lobby\nlab\nattic\n",
    "capacity.csv": "room,seats\nlobby,120\nlab,80\nattic,30\n",
    "usual.csv": "room,amount\nlobby,200\nlab,150\nattic,90\n",
    "wide.csv": "city,room,seats,chairs\nx,lobby,120,60\nx,lab,80,40\nx,attic,30,15\n",
}
"""Files beside every configuration."""

FIELDS = """\
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
"""
FEED = f"""\
  badges:
    topic: building.badges
    time: ts
    unit: person
    fields:
{FIELDS}"""
FORECAST = """\
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
"""
USER = '{privacy_unit: user, epsilon_max: "4", period: 1d}'
WIDE = (
    '{privacy_unit: user, epsilon_max: "40", period: 1d, '
    "contribution: {max_groups_per_window: 2, max_events_per_group: 3}}"
)
LIFETIME = '{privacy_unit: user, epsilon_max: "9", period: lifetime}'
EVENT = '{privacy_unit: event, epsilon_max: "4"}'
TABLES = "tables: {capacity: capacity.csv, usual: usual.csv}\n"
HOUR = "TUMBLE(ts, INTERVAL '1' HOUR)"
DAY = "TUMBLE(ts, INTERVAL '1' DAY)"


@dataclass(frozen=True)
class Case:
    """A configuration and the files beside it.

    Args:
        name: of the record.
        text: of the configuration.
        files: beside it, besides those that stand beside every one.
        environ: variables it may read.
    """

    name: str
    text: str
    files: Mapping[str, str] = field(default_factory=dict)
    environ: Mapping[str, str] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Write it as ``alarms.yaml``, with all files."""
        for name, text in {**FILES, **self.files, "alarms.yaml": self.text}.items():
            (folder / name).write_text(text, encoding="utf-8")


def alarm(
    name: str,
    having: str,
    *lines: str,
    group: str = "room",
    window: str = HOUR,
    where: str = "",
    feed: str = "badges",
    fnr: str = "0.05",
) -> str:
    """Return one alarm as YAML."""
    sql = [f"SELECT {group or 1} FROM {feed}"]  # noqa: S608  # the language under test
    sql += [f"WHERE {where}"] if where else []
    sql += [f"GROUP BY {group + ', ' if group else ''}{window}", f"HAVING {having}"]
    text = [f"  {name}:", "    sql: |", *(f"      {line}" for line in sql)]
    text += [f"    max_fnr: {fnr}", *(f"    {line}" for line in nested(lines))]
    return "\n".join(text) + "\n"


def file(*alarms: str, budget: str = USER, head: str = "", feeds: str = FEED) -> str:
    """Return a whole file."""
    return f"{head}{TABLES}feeds:\n{feeds}budget: {budget}\nalarms:\n{''.join(alarms)}"


def _band(name: str, aggregate: str, tau: str, *lines: str, **settings: str) -> str:
    reference = (
        []
        if any("reference:" in line for line in lines)
        else ["mechanism: {decider: {reference: 200}}"]
    )
    keys = ['mechanism: {decider: {epsilon: "0.5"}}', *reference, *lines]
    return alarm(name, f"ABS({aggregate} - REFERENCE) >= {tau}", *keys, **settings)


_FORMULA = "(COUNT(*) > 50 AND AVG(age) > 65) OR COUNT(DISTINCT person) FILTER (WHERE open) > 80"
_AMOUNTS = (
    "tolerance:",
    "  COUNT(*) > 50: 5",
    "  AVG(age) > 65: 40",
    "  COUNT(DISTINCT person) FILTER (WHERE open) > 80: 8",
)
_PAIR = "COUNT(*) > 300 AND COUNT(DISTINCT person) > 120"
_PAST = "    history: {from: 2011-01-01, until: 2011-03-01}\n"
_PUNCTUATED = "    clock: watermarks\n    watermarks: {interval: 1m, key: 0123456789abcdef}\n"

GOOD: tuple[Case, ...] = (
    Case("tslm-user", file(alarm("crowd", "COUNT(DISTINCT person) > 120", "tolerance: 9"))),
    Case("tslm-event", file(alarm("crowd", "COUNT(*) > 120", "tolerance: 9"), budget=EVENT)),
    Case("tslm-tolerance-0", file(alarm("crowd", "COUNT(*) > 120"), budget=WIDE)),
    Case(
        "tslm-table-active-berlin",
        file(
            alarm(
                "fire-code",
                "COUNT(DISTINCT person) > capacity[room]",
                'active: "Mon-Fri 07:00-22:00, Sat 09:00-13:00"',
                "tolerance: 6",
                "mechanism: {tslm: {max_fpr: 1/50}}",
                "timing: {grace: 2m, publish_delay: 20s, decide_timeout: 5m, max_age: 2d}",
            ),
            head=(
                "timezone: Europe/Berlin\npublish_interval: 2s\n"
                'kafka: {bootstrap: "a:9092,b:9093"}\n'
            ),
        ),
    ),
    Case(
        "tslm-table-columns",
        file(alarm("full", "COUNT(*) >= capacity[room]", "tolerance: 3")).replace(
            "capacity: capacity.csv", "capacity: {file: wide.csv, key: room, value: chairs}"
        ),
    ),
    Case(
        "tslm-formula-amounts",
        file(alarm("mixed", _FORMULA, *_AMOUNTS), budget=WIDE),
    ),
    Case(
        "hop-minutes-event",
        file(
            alarm(
                "sliding",
                "COUNT(*) >= 50",
                "tolerance: 4",
                where="NOT open AND room IN ('lobby', 'lab')",
                window="HOP(ts, INTERVAL '5' MINUTE, INTERVAL '1' HOUR)",
            ),
            budget=EVENT,
        ),
    ),
    Case(
        "hop-days-local",
        file(
            alarm(
                "weekly",
                "SUM(paid) >= 900",
                "tolerance: 50.5",
                group="",
                window="HOP(ts, INTERVAL '1' DAY, INTERVAL '7' DAY)",
                where="open AND ts >= '2011-06-01' AND age BETWEEN 18 AND 65",
            ),
            budget='{privacy_unit: user, epsilon_max: "6", period: 4w}',
            head="timezone: America/New_York\n",
        ),
    ),
    Case(
        "week-local-history",
        file(
            alarm("weekly", "10 > COUNT(DISTINCT person)", "tolerance: 2", group="", window=DAY),
            alarm(
                "weeks",
                "COUNT(*) > 400",
                "tolerance: 30",
                group="floor",
                window="TUMBLE(ts, INTERVAL '1' WEEK)",
            ),
            budget='{privacy_unit: user, epsilon_max: "30", period: 1w}',
            head="timezone: Europe/London\n",
            feeds=FEED + _PAST,
        ),
    ),
    Case(
        "where-everything",
        file(
            alarm(
                "picky",
                "COUNT(age) > 40",
                "tolerance: 4",
                group="room, floor",
                where=(
                    "(floor <> 2 OR open IS NOT NULL) AND NOT (age NOT BETWEEN 3 AND 5)"
                    " AND person NOT IN ('x', 'y') AND free > 0.5 AND ts < TIMESTAMP"
                    " '2030-01-01T00:00:00Z' AND event IS NULL AND owed <= -2"
                ),
            ),
            budget=EVENT,
        ),
    ),
    Case(
        "contradictory-alarms-one-budget",
        file(
            alarm("one", "COUNT(*) > 40", "tolerance: 4", where="floor = 1"),
            alarm("two", "COUNT(*) > 60", "tolerance: 4", where="floor = 2"),
            alarm("three", "COUNT(*) < 5", "tolerance: 2"),
            budget=EVENT,
        ),
    ),
    Case("sum-user", file(alarm("spent", "SUM(paid) > 400", "tolerance: 60"), budget=WIDE)),
    Case("sum-negative", file(alarm("debt", "SUM(owed) < -40", "tolerance: 7"), budget=EVENT)),
    Case("avg", file(alarm("old", "AVG(age) > 65", "tolerance: 200"), budget=EVENT)),
    Case(
        "quantiles",
        file(
            alarm(
                "tails",
                "QUANTILE(age, 0.9) > 80 OR MEDIAN(age) < 20 OR QUANTILE(paid, 0.25) >= 10",
                "tolerance:",
                "  QUANTILE(age, 0.9) > 80: 30",
                "  MEDIAN(age) < 20: 6",
                "  QUANTILE(paid, 0.25) >= 10: 9",
            ),
            budget='{privacy_unit: event, epsilon_max: "20"}',
        ),
    ),
    Case(
        "min-max-between",
        file(
            alarm(
                "odd",
                "MAX(age) <= 90 AND COUNT(*) NOT BETWEEN 10 AND 500 AND MIN(paid) <> 3",
                "tolerance: {COUNT(*) NOT BETWEEN 10 AND 500: 2}",
            ),
            budget='{privacy_unit: event, epsilon_max: "50"}',
        ),
    ),
    Case(
        "ppwlm-event",
        file(alarm("crowd", "COUNT(*) > 300", "mechanism: ppwlm", "tolerance: 9"), budget=EVENT),
    ),
    Case(
        "ppwlm-table-user",
        file(
            alarm("crowd", "COUNT(*) > capacity[room]", "mechanism: ppwlm", "tolerance: 9"),
            budget=WIDE,
        ),
    ),
    Case(
        "dppwlm-user",
        file(alarm("crowd", "COUNT(*) > 300", "mechanism: dppwlm", "tolerance: 9"), budget=WIDE),
    ),
    Case(
        "dppwlm-event-lifetime",
        file(
            alarm("crowd", "COUNT(*) > 300", "mechanism: dppwlm", "tolerance: 9"),
            budget="{privacy_unit: event, epsilon_max: 7/2, period: lifetime}",
        ),
    ),
    Case(
        "probe-event",
        file(alarm("pair", _PAIR, "mechanism: probe", "tolerance: 6"), budget=EVENT),
    ),
    Case(
        "probe-ent-user",
        file(
            alarm("mixed", _FORMULA, "mechanism: probe-ent", *_AMOUNTS),
            budget='{privacy_unit: user, epsilon_max: "40", period: 12h}',
        ),
    ),
    Case(
        "svt-user",
        file(
            alarm(
                "crowd",
                "COUNT(DISTINCT person) > 100",
                "mechanism: {svt: {max_fpr: 0.00001, max_alarms: 10}}",
                "tolerance: 20",
                window="TUMBLE(ts, INTERVAL '1' MINUTE)",
            )
        ),
    ),
    Case(
        "svt-event-append",
        file(
            alarm(
                "crowd",
                "COUNT(*) > 100",
                "mechanism: {svt: {repeat: 3, max_alarms: 3}}",
                "tolerance: 20",
            ),
            budget='{privacy_unit: event, epsilon_max: "30"}',
        ),
    ),
    Case(
        "svt-run-lifetime-two-ways",
        file(
            alarm(
                "low",
                "SUM(owed) < 30",
                "mechanism: {svt: {repeat: 3, repeat_in: run, max_alarms: 2}}",
                "tolerance: 20",
            ),
            budget=LIFETIME,
        ),
    ),
    *(
        Case(
            f"decider-{name}-{unit}",
            file(
                _band("drift", "COUNT(*)", "50", f"mechanism: {{decider: {{decider: {name}}}}}"),
                budget=budget,
            ),
        )
        for name in ("auto", "tight", "lm", "em")
        for unit, budget in (("user", WIDE), ("event", EVENT))
    ),
    *(
        Case(
            f"decider-{name}-sum",
            file(
                _band(
                    "drift", "SUM(paid)", "400.5", f"mechanism: {{decider: {{decider: {name}}}}}"
                ),
                budget=WIDE,
            ),
        )
        for name in ("auto", "tight", "lm", "em", "r2t", "svt")
    ),
    *(
        Case(
            f"decider-{name}-median",
            file(
                _band(
                    "drift",
                    "MEDIAN(age)",
                    "20",
                    f"mechanism: {{decider: {{decider: {name}, reference: 50}}}}",
                ),
                budget=EVENT,
            ),
        )
        for name in ("auto", "tight", "hist", "em")
    ),
    Case(
        "decider-quantile-table",
        file(
            _band(
                "drift",
                "QUANTILE(paid, 0.9)",
                "12.5",
                "mechanism: {decider: {decider: tight, reference: 'usual[room]'}}",
            ),
            budget=WIDE,
        ).replace("usual.csv", "seats.csv"),
        files={"seats.csv": "room,amount\nlobby,20\nlab,22.5\nattic,9\n"},
    ),
    Case(
        "decider-distinct-table-value",
        file(
            _band(
                "drift",
                "COUNT(DISTINCT person)",
                "60",
                "mechanism: {decider: {reference: 'usual[room]'}}",
            ),
            _band(
                "fixed",
                "COUNT(*)",
                "30",
                "mechanism: {decider: {decider: lm, reference: {value: 80}}}",
            ),
            budget=WIDE,
        ),
    ),
    Case(
        "decider-feed",
        file(
            _band(
                "drift",
                "SUM(paid) FILTER (WHERE open)",
                "400",
                "mechanism: {decider: {decider: tight, reference: {feed: forecast}}}",
                "timing: {reference_timeout: 1h}",
            ),
            budget=EVENT,
            feeds=FEED + FORECAST,
        ),
    ),
    Case(
        "decider-feed-marks-history",
        file(
            _band("drift", "COUNT(*)", "40", "mechanism: {decider: {reference: {feed: forecast}}}"),
            budget=EVENT,
            feeds=FEED + _PUNCTUATED + _PAST + FORECAST + _PUNCTUATED + _PAST,
        ),
    ),
    Case(
        "decider-narrow",
        file(_band("drift", "COUNT(*)", "3", "mechanism: {decider: {reference: 0}}"), budget=EVENT),
    ),
    Case(
        "everything-declared",
        file(
            alarm("crowd", "COUNT(*) > 120", "tolerance: 9"),
            budget=WIDE,
            head=(
                "timezone: Asia/Kathmandu\nledger: sqlite:///${PLACE:-other}.db\n"
                "publish_interval: 500ms\n"
                'metrics: {public: "0.0.0.0:9000", custodian: "0.0.0.0:9001", '
                "custodian_token: '${TOKEN}'}\n"
                "kafka:\n  bootstrap: kafka:9092\n  group: mine\n  alarms_topic: a\n"
                "  decisions_topic: d\n  wakeup_topic: b\n  session_timeout: 45s\n"
                "  security: {security_protocol: SASL_SSL, sasl_mechanism: PLAIN, "
                "sasl_username: u, sasl_password: '${TOKEN}'}\n"
            ),
            feeds=FEED.replace(
                "unit: person\n",
                "unit: person\n    id: event\n    codec: arrow\n    partitioner: crc32\n"
                "    allowed_skew: 5s\n    max_append_time_regression: 2s\n"
                "    idle_partition_timeout: 5s\n",
            ),
        ),
        environ={"TOKEN": "hunter2"},
    ),
    Case(
        "budget-too-small",
        file(
            alarm("crowd", "COUNT(DISTINCT person) > 120", "tolerance: 1"),
            alarm("pair", _PAIR, "mechanism: probe", "tolerance: 2"),
            budget='{privacy_unit: user, epsilon_max: "0.5", period: 1d}',
        ),
    ),
    Case(
        "many-mechanisms-one-budget",
        file(
            alarm("a", "COUNT(*) > 120", "tolerance: 9"),
            alarm("b", "COUNT(*) > 120", "tolerance: 9", "mechanism: ppwlm"),
            alarm("c", "COUNT(*) > 120", "tolerance: 9", "mechanism: svt"),
            alarm("d", _PAIR, "tolerance: 9", "mechanism: probe"),
            _band("e", "COUNT(*)", "60"),
            budget='{privacy_unit: user, epsilon_max: "200", period: 1d}',
        ),
    ),
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
_S = "SELECT room FROM badges"
_M = "timing: {grace: 30s}"
MISTAKES: Mapping[str, list[Any]] = json.loads(
    Path(__file__).with_name("mistakes.json").read_text("utf-8")
)
"""What is replaced in the base and what by, in turn (``edits``), conditions and keys of ``bands``,
what stands in ``files`` beside the base and its condition, and ``calls`` of the command, and of
``ledger``."""


def _with_band(having: str, written: tuple[str, ...]) -> str:
    keys = {"mechanism": "decider", "epsilon": '"0.5"', "reference": "200", "grace": "30s"}
    keys |= {name: value.strip() for name, _, value in (line.partition(":") for line in written)}
    text = BASE.replace(_H, having).replace("    tolerance: 9\n", "")
    lines = nested(f"{name}: {value}" for name, value in keys.items())
    return text.replace(f"    {_M}\n", "") + "".join(f"    {line}\n" for line in lines)


def _edited(*pairs: str) -> str:
    text = BASE
    for old, new in zip(pairs[::2], pairs[1::2], strict=True):
        if text.count(old) != 1:
            raise ValueError(f"{old!r} is not once in the base")
        text = text.replace(old, new)
    return text


MECHANISMS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "tslm": ("COUNT(*) > 120", ()),
    "ppwlm": ("COUNT(*) > 120", ()),
    "dppwlm": ("COUNT(*) > 120", ()),
    "probe": ("COUNT(*) > 120 AND SUM(paid) > 90", ()),
    "probe-ent": ("COUNT(*) > 120 AND SUM(paid) > 90", ()),
    "svt": ("COUNT(*) > 120", ()),
    "decider": (
        "ABS(COUNT(*) - REFERENCE) >= 50",
        (
            'epsilon: "0.5"',
            "reference: 200",
        ),
    ),
}
"""A condition that each mechanism decides, and the keys it needs."""

_ALL_KEYS = (
    "tolerance: 9", "tolerance: {COUNT(*) > 120: 9}", "max_fpr: 0.02",
    "max_alarms: 5", "repeat: 2", "repeat_in: run", "decider: tight", 'epsilon: "0.25"',
    "reference: 5", "reference: {feed: badges}", "reference_timeout: 1h",
)  # fmt: skip

FOREIGN_KEYS: tuple[Case, ...] = tuple(
    Case(
        f"{mechanism} with {line}",
        file(
            alarm(
                "one",
                having,
                f"mechanism: {mechanism}",
                *(one for one in needed if one.split(":")[0] != line.split(":")[0]),
                line,
            ),
            budget='{privacy_unit: user, epsilon_max: "4000", period: 1d}',
        ),
    )
    for mechanism, (having, needed) in MECHANISMS.items()
    for line in _ALL_KEYS
) + tuple(
    Case(
        f"{mechanism} of {other}'s condition",
        file(
            alarm("one", having, f"mechanism: {mechanism}", *MECHANISMS[mechanism][1]),
            budget='{privacy_unit: user, epsilon_max: "4000", period: 1d}',
        ),
    )
    for mechanism in MECHANISMS
    for other, (having, _) in MECHANISMS.items()
    if other in {"tslm", "probe", "decider"} and other != mechanism
)
"""Every key of every mechanism, written for every mechanism."""

BAD: tuple[Case, ...] = (
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
    Case("an empty file", ""),
    Case("not text", "\x00\x01"),
    Case("a list", "- a\n- b\n"),
    Case("several errors", BASE.replace("max_fnr: 0.05", "max_fnr: 2").replace("json", "xml")),
    Case("two topics alike", BASE.replace("budget:", "  others:\n    topic: building.badges\n"
         "    time: t\n    unit: u\n    fields: {u: string, t: timestamp}\nbudget:")),
    Case("a secret is not repeated", BASE.replace('"127.0.0.1:9465"', '"${ADDRESS}"'),
         environ={"ADDRESS": "hunter2"}),
    Case("sql from the environment", BASE.replace(_S, "SELECT rom FROM ${FEED}"),
         environ={"FEED": "badges"}),
)  # fmt: skip
"""Configurations with an error, or on the edge of one."""
