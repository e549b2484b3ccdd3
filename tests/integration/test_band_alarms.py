"""Band alarms, end to end: from SQL, reference and events to ledger and alarms."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from accountant.units import to_loss_units
from stream.build import open_ledger
from stream.config.loading import load
from stream.decisions.records import schema
from tests.support.commands import HOUR_MS, configuration, json_lines, tocsin
from tests.support.oracle import add_up
from tests.support.scenario import ROOMS, Scenario
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from tests.support.kafka import Broker
    from tests.support.postgres import Postgres

WINDOW_MS = 3_000
PEOPLE = {"atrium": 30, "library": 10, "lab": 0, "roof": 0}
USUAL = {"atrium": 30, "library": 31, "lab": 0, "roof": 9}


def banded(folder: Path, aggregate: str, keys: str, *, unit: str = "event") -> str:
    """Write a configuration with one band alarm and its references."""
    path = Path(configuration(folder, unit=unit, epsilon_max="100000", aggregate=aggregate))
    text = path.read_text().replace("    tolerance: 1\n", f"    mechanism: decider\n{keys}")
    path.write_text(f"tables: {{usual: usual.csv}}\n{text}")
    (folder / "usual.csv").write_text("room,n\nhall,400\nlab,100\n")
    return str(path)


def sales(folder: Path, hours: list[dict[str, list[int]]]) -> str:
    """Write, per hour and room, one event with each ``n``, everyone being somebody else."""
    lines = [
        json.dumps({"person": f"{room}{i}", "room": room, "n": n, "ts": hour * HOUR_MS + i})
        for hour, rooms in enumerate(hours)
        for room, values in rooms.items()
        for i, n in enumerate(values)
    ]
    path = folder / "sales.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


HOURS = [
    {"hall": [4] * 100, "lab": [1] * 100},  # sums 400 and 100: both as usual
    {"hall": [4] * 100, "lab": [9] * 100},  # the lab's values are too high
    {"hall": [1] * 40, "lab": [1] * 100},  # the hall's are too low, and few
]
ALL = [(hour, room) for hour in range(3) for room in ("hall", "lab")]


SUM = "ABS(SUM(n) - REFERENCE) >= 300"
COUNT = "NOT (ABS(REFERENCE - COUNT(n)) < 50)"
MEDIAN = "ABS(MEDIAN(n) - REFERENCE) >= 3"
AVERAGE = "ABS(AVG(n) - REFERENCE) >= 2.5"
SHARE = "ABS(SUM(n) - REFERENCE) >= 0.75 * REFERENCE"  # of 400 and of 100
MIDDLE = "ABS(MEDIAN(n) - REFERENCE) >= 0.9 * ABS(REFERENCE)"
REFERENCES = {
    SUM: "usual[room]",
    COUNT: "100",
    MEDIAN: "3",
    AVERAGE: "3.25",
    SHARE: "usual[room]",
    MIDDLE: "4",
}
RINGS = {
    SUM: {(1, "lab"), (2, "hall")},
    COUNT: {(2, "hall")},
    MEDIAN: {(1, "lab")},
    AVERAGE: {(1, "lab")},
    SHARE: {(1, "lab"), (2, "hall")},
    MIDDLE: {(1, "lab")},
}


@pytest.mark.parametrize(
    ("aggregate", "decider", "unit", "bound"),
    [
        (SUM, "svt", "event", '{theta: 0.9, epsilon: "20"}'),
        (SUM, "auto", "event", ""),
        (SUM, "lm", "user", ""),
        (SUM, "r2t", "event", ""),
        (SUM, "svt", "user", ""),
        (COUNT, "auto", "user", ""),
        (COUNT, "em", "event", ""),
        (MEDIAN, "auto", "event", ""),
        (MEDIAN, "hist", "user", ""),
        (MEDIAN, "em", "event", ""),
        (AVERAGE, "auto", "event", ""),
        (AVERAGE, "lm", "user", ""),
        (SHARE, "auto", "user", ""),
        (SHARE, "r2t", "event", ""),
        (MIDDLE, "auto", "event", ""),
    ],
)
def test_a_band_rings_where_it_is_left(
    tmp_path: Path, aggregate: str, decider: str, unit: str, bound: str
) -> None:
    """With a large epsilon no hour with events is wrong, and each costs what is written."""
    keys = f'    decider: {decider}\n    epsilon: "50"\n    reference: {REFERENCES[aggregate]}\n'
    if bound:
        keys += f"    bound: {bound}\n"
    path = banded(tmp_path, aggregate, keys, unit=unit)
    lines = json_lines(tocsin("run", path, "--replay", sales(tmp_path, HOURS), "--json"))
    alarms = [line for line in lines if "predicate" in line]
    rang = {(int(line["window_start"][11:13]), line["predicate"]["room"]) for line in alarms}
    assert {cell for cell in rang if cell in ALL} == RINGS[aggregate]
    for line in alarms:
        jsonschema.validate(line, schema("alarm"))
        assert (line["mechanism"], line["tolerance"], line["epsilon"]) == ("decider", "0", "50")
    decisions = [line for line in lines if "outcome" in line]
    for line in decisions:
        jsonschema.validate(line, schema("decision"))
    assert {line["epsilon_units"] for line in decisions} == {to_loss_units(50)}
    alarm = load(Path(path), environ={})
    with open_ledger(alarm) as ledger:
        assert ledger.reports.verify() == []
        (scope,) = ledger.reports.status().scopes.values()
        windows = ledger.reports.status().queries["crowd"].decided
        assert scope.spent_units == to_loss_units(50) * (windows if unit == "user" else 1)


def test_check_says_what_auto_took(tmp_path: Path) -> None:
    """The note goes to standard error; the configuration is good."""
    path = banded(
        tmp_path, "ABS(COUNT(*) - REFERENCE) >= 50", '    epsilon: "1"\n    reference: 9\n'
    )
    result = tocsin("check", path)
    assert result.exit_code == 0
    assert result.stdout == "ok\n"
    assert "note: " in result.stderr
    assert "auto takes tight" in result.stderr


def test_simulate_leaves_bands_out_and_says_so(tmp_path: Path) -> None:
    """Beside another alarm a sentence is enough; alone there is nothing to try."""
    path = banded(
        tmp_path, "ABS(COUNT(*) - REFERENCE) >= 50", '    epsilon: "1"\n    reference: 9\n'
    )
    events = sales(tmp_path, HOURS)
    alone = tocsin("simulate", path, "--replay", events, "--runs", "1", "--workers", "1")
    assert alone.exit_code
    assert "crowd: the band of a decider has no mechanism" in alone.stderr
    text = Path(path).read_text()
    start = text.index("  crowd:\n")
    other = (
        text[start:].replace("crowd", "many").replace("ABS(COUNT(*) - REFERENCE) >=", "COUNT(*) >")
    )
    keep = other[: other.index("    mechanism")] + "    tolerance: 9\n"
    Path(path).write_text(text + keep)
    both = tocsin("simulate", path, "--replay", events, "--runs", "1", "--workers", "1")
    assert both.exit_code == 0, both.stderr
    assert "left out: crowd" in both.stderr


class BandScenario(Scenario):
    """A scenario whose alarm watches a band."""

    def config_text(self, *, public: int = 0, custodian: int = 0) -> str:
        """Return the configuration, the table of references beside it."""
        rows = "".join(f"{room},{number}\n" for room, number in USUAL.items())
        (self.directory / "usual.csv").write_text(f"room,people\n{rows}")
        keys = '    mechanism: decider\n    epsilon: "20"\n    reference: usual[room]\n'
        text = super().config_text(public=public, custodian=custodian)
        text = text.replace(f"    tolerance: {self.tolerance}\n", keys)
        return text + "tables: {usual: usual.csv}\n"


@pytest.mark.integration
def test_bands_of_every_kind_ring_alike_on_postgresql(postgres: Postgres, tmp_path: Path) -> None:
    """Several alarms in one ledger there: each rings, and is charged, as on SQLite."""
    path = Path(banded(tmp_path, AVERAGE, '    epsilon: "50"\n    reference: 3.25\n'))
    text = path.read_text()
    start = text.index("  crowd:\n")
    for name, aggregate in (("share", SHARE), ("middle", MIDDLE)):
        more = text[start:].replace("crowd", name).replace(AVERAGE, aggregate)
        path.write_text(path.read_text() + more.replace("3.25", REFERENCES[aggregate]))
    ledger = f"ledger: {postgres.new_database()}\n"
    path.write_text(ledger + path.read_text())
    lines = json_lines(tocsin("run", str(path), "--replay", sales(tmp_path, HOURS), "--json"))
    for name, aggregate in (("crowd", AVERAGE), ("share", SHARE), ("middle", MIDDLE)):
        rang = {
            (int(line["window_start"][11:13]), line["predicate"]["room"])
            for line in lines
            if "predicate" in line and line["query"] == name
        }
        assert {cell for cell in rang if cell in ALL} == RINGS[aggregate]
    with open_ledger(load(path, environ={})) as opened:
        assert opened.reports.verify() == []


@pytest.mark.integration
def test_bands_on_a_live_log_of_two_partitions(
    broker: Broker, postgres: Postgres, tmp_path: Path
) -> None:
    """Two partitions, two workers: a window counts the people of both, and rings as it should."""
    scenario = BandScenario(
        broker,
        tmp_path,
        f"bands-{time.monotonic_ns()}",
        postgres.new_database(),
        having="ABS(COUNT(*) - REFERENCE) >= 5",
        epsilon_max="100000",
    )
    scenario.create_topics()
    try:
        scenario.start_worker()
        scenario.start_worker()
        wait_until("a worker runs", lambda: bool(scenario.cursor_ms()))
        starts_ms: list[int] = []
        for start_ms in (scenario.cursor_ms() + WINDOW_MS * index for index in range(1, 40)):
            while time.time() * 1000 < start_ms + 300:
                time.sleep(0.05)
            now_ms = int(time.time() * 1000)
            if now_ms < start_ms + 1_500 and scenario.produce(people_at(now_ms)) < cut(start_ms):
                starts_ms.append(start_ms)
            if len(starts_ms) == 2:
                break
        wait_until(
            "the windows are decided",
            lambda: set(starts_ms) <= scenario.windows("decision"),
        )
        wait_until("and published", lambda: set(starts_ms) <= set(scenario.decided()))
    finally:
        scenario.stop()
    assert len(starts_ms) == 2
    counted = add_up(scenario.done("partial"), cells=len(ROOMS))
    published = scenario.published()
    for alarm in published:
        jsonschema.validate(alarm, schema("alarm"))
    for start_ms in starts_ms:
        assert counted[start_ms] == tuple(PEOPLE[room] for room in ROOMS)
        assert rang_at(published, start_ms) == {"library", "roof"}
    with open_ledger(scenario.alarms()) as ledger:
        assert ledger.reports.verify() == []


def cut(start_ms: int) -> int:
    """Return until when events of a window may be appended."""
    return start_ms + WINDOW_MS + 1_000


def people_at(now_ms: int) -> list[tuple[str | None, bytes]]:
    """Return one event of everybody in every room."""
    return [
        (
            person,
            json.dumps(
                {"person": person, "event": f"{person}-{now_ms}", "room": room, "ts": now_ms}
            ).encode(),
        )
        for room, number in PEOPLE.items()
        for person in (f"{room}{i}" for i in range(number))
    ]


def rang_at(published: list[Any], start_ms: int) -> set[str]:
    """Return the rooms that rang in the window that starts then."""
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(start_ms // 1000))
    return {
        alarm["predicate"]["room"] for alarm in published if alarm["window_start"][:19] == stamp
    }
