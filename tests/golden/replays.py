"""Replays that the golden records are made of: small files, every mechanism, both units.

Every case is data: a name, alarms, a budget. Nothing here imports the product.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import TYPE_CHECKING

from tests.golden.cases import alarm

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

__all__ = ["DRAWS", "MANY", "REPLAYS", "Replay", "events_csv", "events_jsonl", "forecast_jsonl"]

HOUR_MS = 3_600_000
HOURS = 6
ROOMS = ("attic", "hall", "lab")

FEED = """\
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
    history: {from: 1970-01-01, until: "UNTIL"}
"""
FORECAST = """\
  forecast:
    topic: building.forecast
    time: ts
    unit: room
    fields:
      room: {domain: [attic, hall, lab]}
      paid: {type: float, clip: [0, 9000], resolution: "0.5"}
      ts: timestamp
    history: {from: 1970-01-01, until: "UNTIL"}
"""
USER = (
    '{privacy_unit: user, epsilon_max: "MAX", period: lifetime, '
    "contribution: {max_groups_per_window: 2, max_events_per_group: 2}}"
)
DAILY = '{privacy_unit: user, epsilon_max: "MAX", period: 12h}'
EVENT = '{privacy_unit: event, epsilon_max: "MAX"}'
UNITS: Mapping[str, str] = {"user": USER, "event": EVENT}


@dataclass(frozen=True)
class Replay:
    """A configuration and the files it is replayed over.

    Args:
        name: of the record.
        alarms: as YAML.
        budget: as YAML.
        feeds: as YAML.
        head: lines before the feeds.
        until: end of the history.
        files: what is replayed: the argument of ``--replay``, and what makes the file's text.
        more: further commands to run on the ledger afterwards.
        brief: whether a part of the ledger's export will do.
    """

    name: str
    alarms: str
    budget: str
    feeds: str = FEED
    head: str = ""
    until: str = "1970-01-01T06:00:00"
    files: tuple[tuple[str, Callable[[], str]], ...] = ()
    more: tuple[tuple[str, ...], ...] = ()
    brief: bool = False

    @property
    def given(self) -> list[str]:
        """What stands behind ``--replay``."""
        return [given for given, _ in self.files] or ["badges.jsonl"]

    def write(self, folder: Path) -> None:
        """Write the configuration and what is replayed."""
        text = f"{self.head}tables: {{usual: usual.csv}}\nfeeds:\n{self.feeds}"
        budget = self.budget.rstrip().removesuffix("}") + ", on_shortfall: deny}"
        text += f"budget: {budget}\nalarms:\n{self.alarms}"
        (folder / "alarms.yaml").write_text(text.replace("UNTIL", self.until), encoding="utf-8")
        (folder / "usual.csv").write_text("room,n\nattic,30\nhall,60\nlab,90\n", encoding="utf-8")
        for given, made in self.files or (("badges.jsonl", events_jsonl),):
            (folder / given.rpartition("=")[2]).write_text(made(), encoding="utf-8")


@cache
def events() -> tuple[dict[str, object], ...]:
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
def events_jsonl() -> str:
    """Return the events as JSON lines, one of which is no JSON."""
    return "".join(json.dumps(event) + "\n" for event in events()) + "{nonsense\n"


@cache
def events_csv() -> str:
    """Return the events as CSV."""
    names = list(events()[0])
    lines = [",".join(str(event.get(name, "")) for name in names) for event in events()]
    return "\n".join([",".join(names), *lines]) + "\n"


@cache
def forecast_jsonl() -> str:
    """Return a forecast of the amounts."""
    lines = [
        json.dumps({"room": room, "paid": 300.5 * (n + 1), "ts": hour * HOUR_MS + 60_000 * n})
        for hour in range(HOURS)
        for n, room in enumerate(ROOMS)
    ]
    return "\n".join(lines) + "\n"


def _band(number: int, aggregate: str, tau: str, *lines: str) -> str:
    keys = ['mechanism: {decider: {epsilon: "0.75"}}', *lines]
    if not any("reference:" in line for line in lines):
        keys.append("mechanism: {decider: {reference: 'usual[room]'}}")
    return alarm(f"drift{number}", f"ABS({aggregate} - REFERENCE) >= {tau}", *keys)


_NIGHT = 'active: "Mon-Sun 02:00-05:00"'
_CROWD = "COUNT(*) > 45"
_PAIR = "COUNT(*) > 45 AND SUM(paid) > 700"
_BOTH = "tolerance: {COUNT(*) > 45: 5, SUM(paid) > 700: 90}"
_FORMULA = "(COUNT(*) > 40 AND AVG(age) > 40) OR COUNT(DISTINCT person) FILTER (WHERE open) > 30"
_AMOUNTS = (
    "tolerance:",
    "  COUNT(*) > 40: 5",
    "  AVG(age) > 40: 90",
    "  COUNT(DISTINCT person) FILTER (WHERE open) > 30: 6",
)

_ONE: Mapping[str, tuple[str, tuple[str, ...], str]] = {
    "tslm": (_CROWD, ("tolerance: 5",), "5"),
    "tslm-formula": (_FORMULA, _AMOUNTS, "15"),
    "tslm-quantile": (
        "QUANTILE(age, 0.9) > 60 OR AVG(paid) < 20",
        ('tolerance: {"QUANTILE(age, 0.9) > 60": 40, AVG(paid) < 20: 90}',),
        "9",
    ),
    "ppwlm": (_CROWD, ("tolerance: 5", "mechanism: ppwlm"), "6"),
    "dppwlm": (_CROWD, ("tolerance: 5", "mechanism: dppwlm"), "6"),
    "probe": (_PAIR, (_BOTH, "mechanism: probe"), "15"),
    "probe-ent": (_FORMULA, ("mechanism: probe-ent", *_AMOUNTS), "20"),
    "svt": (_CROWD, ("tolerance: 9", "mechanism: {svt: {max_alarms: 4}}"), "5"),
    "svt-append-window": (
        _CROWD,
        ("tolerance: 9", "mechanism: {svt: {max_alarms: 2, repeat: 3}}"),
        "5",
    ),
    "svt-append-run": (
        "SUM(owed) < -40",
        (
            "tolerance: 30",
            "mechanism: {svt: {max_alarms: 3, repeat: 2, repeat_in: run}}",
        ),
        "30",
    ),
}
_LEDGER = (("ledger", "alarms.yaml", "losses", "crowd", "--json"),)
_BANDS: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    *(("COUNT(*)", "20", name, ()) for name in ("auto", "tight", "lm", "em")),
    *(
        ("SUM(paid)", "400", name, ("mechanism: {decider: {reference: 900}}",))
        for name in ("tight", "lm", "em", "r2t", "svt")
    ),
    *(
        ("MEDIAN(age)", "15", name, ("mechanism: {decider: {reference: 40}}",))
        for name in ("tight", "em", "hist")
    ),
    ("COUNT(DISTINCT person)", "25", "tight", ()),
    ("QUANTILE(paid, 0.9)", "8", "hist", ("mechanism: {decider: {reference: 40}}",)),
)

REPLAYS: tuple[Replay, ...] = (
    *(
        Replay(
            f"{name} {unit}",
            alarm("crowd", having, *lines),
            budget.replace("MAX", epsilon_max),
            until="1970-01-01T04:00:00",
            more=_LEDGER,
            brief=True,
        )
        for name, (having, lines, epsilon_max) in _ONE.items()
        for unit, budget in UNITS.items()
    ),
    *(
        Replay(
            f"deciders of {which} {unit}",
            "".join(
                _band(number, aggregate, tau, f"decider: {name}", *lines)
                for number, (aggregate, tau, name, lines) in enumerate(_BANDS)
                if (aggregate[:3] in {"COU", "SUM"}) == (which == "sums")
            ),
            budget.replace("MAX", epsilon_max),
            until="1970-01-01T02:00:00",
            brief=True,
        )
        for which, unit, budget, epsilon_max in (
            ("sums", "user", USER, "22"),
            ("sums", "event", EVENT, "6"),
            ("quantiles", "user", USER, "9"),
            ("quantiles", "event", EVENT, "2.5"),
        )
    ),
    Replay(
        "decider reference feed",
        _band(0, "SUM(paid)", "250.5", "decider: tight", "reference: {feed: forecast}"),
        EVENT.replace("MAX", "4"),
        feeds=FEED + FORECAST,
        files=(("badges=badges.jsonl", events_jsonl), ("forecast=f.jsonl", forecast_jsonl)),
    ),
    Replay(
        "hopping windows, two alarms, where, refused",
        alarm(
            "crowd", _CROWD, "tolerance: 5", where="open",
            window="HOP(ts, INTERVAL '30' MINUTE, INTERVAL '90' MINUTE)",
        )
        + alarm("quiet", "COUNT(*) < 20", "tolerance: 5", where="NOT open"),
        EVENT.replace("MAX", "1.3"),
        until="1970-01-01T04:00:00",
        more=(*_LEDGER, ("ledger", "alarms.yaml", "losses", "quiet")),
    ),
    Replay(
        "periods, active hours, local days",
        alarm("crowd", "COUNT(DISTINCT person) > 30", "tolerance: 5", _NIGHT)
        + alarm("daily", "COUNT(*) > 90", "tolerance: 40", group="",
                window="TUMBLE(ts, INTERVAL '1' DAY)"),
        DAILY.replace("MAX", "1.5"),
        head="timezone: Europe/Berlin\n",
        feeds=FEED.replace("from: 1970-01-01", "from: 1970-01-01T01:00:00"),
        until="1970-01-03",
        more=(("ledger", "alarms.yaml", "losses", "crowd", "--at", "1970-01-01T03:00"),),
    ),
    Replay(
        "duplicates by id",
        alarm("crowd", _CROWD, "tolerance: 5"),
        USER.replace("MAX", "15"),
        feeds=FEED.replace("unit: person\n", "unit: person\n    id: event\n"),
    ),
    Replay(
        "csv",
        alarm("crowd", _PAIR, _BOTH),
        EVENT.replace("MAX", "15"),
        files=(("badges.csv", events_csv),),
    ),
    Replay(
        "refunds let later windows in",
        alarm("crowd", _CROWD, "tolerance: 5", "mechanism: ppwlm")
        + alarm("rare", "COUNT(*) > 300", "tolerance: 9", "mechanism: dppwlm")
        + alarm("pair", _PAIR, _BOTH.replace("5,", "9,"), "mechanism: probe"),
        USER.replace("MAX", "12"),
        more=(*_LEDGER, ("ledger", "alarms.yaml", "losses", "pair")),
    ),
    Replay(
        "runs beside windows, refused",
        alarm("crowd", _CROWD, "tolerance: 9", "mechanism: {svt: {max_alarms: 2}}")
        + alarm("other", "COUNT(*) > 60", "tolerance: 9"),
        USER.replace("MAX", "11"),
        more=_LEDGER,
    ),
    Replay(
        "panes, shared, with counts of some",
        alarm("crowd", "COUNT(*) > 60", "tolerance: 9", "mechanism: {panes: {release: counts}}",
              window="HOP(ts, INTERVAL '30' MINUTE, INTERVAL '90' MINUTE)")
        + alarm("crush", "COUNT(*) > 90", "tolerance: 20", "mechanism: panes")
        + alarm("sales", "SUM(paid) > 700", "tolerance: 350",
                "mechanism: panes", "release: counts"),
        EVENT.replace("MAX", "2"),
        until="1970-01-01T03:00:00",
        more=(("plan", "alarms.yaml"), ("ledger", "alarms.yaml", "status")),
        brief=True,
    ),
)  # fmt: skip
"""Replays whose every output is recorded."""

MANY = 1500
"""Cells of every window whose draws are recorded."""


@cache
def spread_jsonl() -> str:
    """Return one event for every cell, whose values are spread over all of the clip."""
    lines = (
        f'{{"person": "p{n}", "cell": {n}, "age": {n * 7 % 101}, "ts": {1000 + n}}}\n'
        for n in range(MANY)
    )
    return "".join(lines)


_SPREAD = f"""\
  badges:
    topic: building.badges
    time: ts
    unit: person
    fields:
      person: string
      cell: {{type: integer, domain: [{", ".join(map(str, range(MANY)))}]}}
      age: {{type: integer, clip: [0, 100]}}
      ts: timestamp
    history: {{from: 1970-01-01, until: "UNTIL"}}
"""
_TEST = "SUM(age) > 50"
_TESTS = "SUM(age) > 50 AND SUM(age) < 90"
_NEAR = "ABS(SUM(age) - REFERENCE) >= 30"
_LEVEL = "ABS(MEDIAN(age) - REFERENCE) >= 30"


def _draws(name: str, having: str, *lines: str) -> Replay:
    return Replay(
        name,
        alarm("crowd", having, *lines, group="cell"),
        EVENT.replace("MAX", "4000"),
        feeds=_SPREAD,
        until="1970-01-01T01:00:00",
        files=(("badges.jsonl", spread_jsonl),),
    )


def _drawn_band(name: str, having: str) -> Replay:
    keys = (f'mechanism: {{decider: {{decider: {name}, reference: 50, epsilon: "1.5"}}}}',)
    return _draws(f"{name} {having}", having, *keys)


DRAWS: tuple[Replay, ...] = (
    _draws("tslm", _TEST, "tolerance: 20"),
    _draws("tslm odd", "SUM(age) < 51", "tolerance: 21", "mechanism: {tslm: {max_fpr: 0.2}}"),
    _draws("tslm formula", _TESTS, "tolerance: 20"),
    _draws("ppwlm", _TEST, "tolerance: 20", "mechanism: ppwlm"),
    _draws("dppwlm", _TEST, "tolerance: 20", "mechanism: dppwlm"),
    _draws("probe", _TESTS, "tolerance: 10", "mechanism: probe"),
    _draws("dppwlm formula", _TESTS, "tolerance: 20", "mechanism: dppwlm"),
    _draws("probe-ent", _TESTS, "tolerance: 10", "mechanism: probe-ent"),
    _draws("svt", _TEST, "tolerance: 25", "mechanism: {svt: {max_alarms: 400}}"),
    *(_drawn_band(name, _NEAR) for name in ("tight", "lm", "em", "r2t", "svt")),
    *(_drawn_band(name, _LEVEL) for name in ("tight", "em", "hist")),
)
"""Replays of many cells near their thresholds: a slightly different law of the noise shows."""
