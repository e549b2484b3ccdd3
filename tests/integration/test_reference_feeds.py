"""Bands around references that are counted on a public feed: from files, and on real Kafka."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from accountant.records import REFERENCE_PARTITIONS
from stream.config.loading import load
from tests.support.commands import (
    HOUR_MS,
    configuration,
    json_lines,
    ledger_must_verify,
    tocsin,
    visits,
)
from tests.support.forecasts import WINDOW_MS, ForecastScenario, rang_at
from tests.support.forms import PEOPLE, USUAL
from tests.support.oracle import add_up
from tests.support.recording import stored_partials
from tests.support.scenario import ROOMS
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from tests.support.kafka import Broker
    from tests.support.postgres import Postgres

FORECAST = """\
  forecast:
    topic: building.forecast
    time: ts
    unit: room
    id: line
    fields:
      line: integer
      room: {domain: [lab, hall]}
      n: {type: integer, clip: [0, 1000]}
      ts: timestamp
"""
SUM = "ABS(SUM(n) - REFERENCE) >= 300"
COUNT = "NOT (ABS(REFERENCE - COUNT(n)) < 50)"
HOURS = [
    {"hall": [4] * 100, "lab": [1] * 100},  # sums 400 and 100: both as usual
    {"hall": [4] * 100, "lab": [9] * 100},  # the lab's values are too high
    {"hall": [1] * 40, "lab": [1] * 100},  # the hall's are too low, and few
]
EXPECTED = [{"hall": 400, "lab": 100}, {"hall": 90, "lab": 900}, {"hall": 40}]


def forecast(folder: Path, *, single: bool) -> str:
    """Write what each hour expects: as one event with the sum, or as events of 1, each twice."""
    lines = [
        {"room": room, "n": n if single else 1, "ts": hour * HOUR_MS + 1}
        for hour, rooms in enumerate(EXPECTED)
        for room, n in rooms.items()
        for _ in range(1 if single else n)
    ]
    text = [json.dumps({"line": at, **line}) for at, line in enumerate(lines)]
    path = folder / "forecast.jsonl"
    path.write_text("\n".join([*text, *text]) + "\n")
    return str(path)


def banded(folder: Path, aggregate: str, reference: str, unit: str) -> Path:
    """Write a configuration with one band alarm."""
    path = Path(configuration(folder, unit=unit, epsilon_max="100000", aggregate=aggregate))
    band = f'mechanism: {{decider: {{epsilon: "50", reference: {reference}}}}}'
    path.write_text(path.read_text().replace("tolerance: 1", band))
    return path


def watching_a_feed(folder: Path, aggregate: str, *, unit: str = "user") -> str:
    """Write a configuration whose references are counted on the forecast."""
    path = banded(folder, aggregate, "{feed: forecast}", unit)
    text = path.read_text().replace("budget:", f"{FORECAST}budget:")
    path.write_text(f"{text}    timing: {{reference_timeout: 1h}}\n")
    return str(path)


def replayed(path: str, own: str, other: str) -> list[dict[str, Any]]:
    """Replay both files and return every line."""
    files = ("--replay", f"badges={own}", "--replay", f"forecast={other}")
    return json_lines(tocsin("run", path, *files, "--json"))


@pytest.mark.parametrize("unit", ["user", "event"])
@pytest.mark.parametrize(("aggregate", "single"), [(SUM, True), (SUM, False), (COUNT, False)])
def test_a_forecast_in_a_file_decides_like_the_same_numbers_in_a_table(
    tmp_path: Path, aggregate: str, unit: str, *, single: bool
) -> None:
    """Neither a person's caps nor their clip hold there; duplicates count once; charges agree."""
    path = watching_a_feed(tmp_path, aggregate, unit=unit)
    own, other = visits(tmp_path, HOURS), forecast(tmp_path, single=single)
    lines = replayed(path, own, other)
    rang = {
        (int(line["window_start"][11:13]), line["group"]["room"])
        for line in lines
        if "group" in line
    }
    for hour, expected in enumerate(EXPECTED):
        folder = tmp_path / f"table{hour}"
        folder.mkdir()
        table = banded(folder, aggregate, "'usual[room]'", unit)
        table.write_text(f"tables: {{usual: usual.csv}}\n{table.read_text()}")
        rows = "".join(f"{room},{expected.get(room, 0)}\n" for room in ("hall", "lab"))
        (folder / "usual.csv").write_text(f"room,n\n{rows}")
        answers = json_lines(tocsin("run", table, "--replay", visits(folder, HOURS), "--json"))
        alarms = {
            line["group"]["room"]
            for line in answers
            if "group" in line and int(line["window_start"][11:13]) == hour
        }
        assert {room for at, room in rang if at == hour} == alarms
    assert all(hour < len(EXPECTED) for hour, _ in rang)
    assert {line["outcome"] for line in lines if "outcome" in line} == {"decided"}
    again = replayed(path, own, other)
    assert [line for line in again if "group" in line] == [
        line for line in lines if "group" in line
    ]
    ledger_must_verify(load(Path(path), environ={}))


def test_an_event_of_the_protected_feed_changes_no_reference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One more, of somebody else, changes one count of its own feed and no partial of the other."""
    extra = {"person": "hall0", "room": "lab", "n": 9, "ts": 3 * HOUR_MS - 1}
    found = []
    for name in ("without", "with"):
        folder = tmp_path / name
        folder.mkdir()
        path, own = watching_a_feed(folder, SUM, unit="event"), visits(folder, HOURS)
        if name == "with":
            with Path(own).open("a") as file:
                file.write(json.dumps(extra) + "\n")
        with monkeypatch.context() as patched:
            stored = stored_partials(patched)
            replayed(path, own, forecast(folder, single=False))
        found.append(stored)
    without, one_more = (
        {(one.key.start_ms, one.partition, one.digest) for one in stored} for stored in found
    )
    changed = {(start_ms, partition) for start_ms, partition, _ in without ^ one_more}
    assert changed == {(2 * HOUR_MS, 0)}
    assert {partition for _, partition, _ in without} == {0, REFERENCE_PARTITIONS}


def test_a_replay_asks_for_both_files(tmp_path: Path) -> None:
    """That of the reference, too, each by the name of its feed."""
    path = watching_a_feed(tmp_path, SUM)
    own = visits(tmp_path, HOURS)
    unnamed = tocsin("run", path, "--replay", own)
    assert "write FEED=PATH with one of: badges, forecast" in unnamed.stderr
    alone = tocsin("run", path, "--replay", f"badges={own}")
    assert "no file is given for feed 'forecast'" in alone.stderr


@pytest.mark.integration
def test_a_forecast_that_lags_is_waited_for_but_not_for_ever(
    broker: Broker, postgres: Postgres, tmp_path: Path
) -> None:
    """Two partitions each, two workers, one killed while the forecast lags; then it stays away."""
    scenario = ForecastScenario(
        broker,
        tmp_path,
        ledger=postgres.new_database(),
        having="ABS(COUNT(*) - REFERENCE) >= 0.5 * REFERENCE",
        epsilon_max="100000",
    )
    with scenario:
        workers = [scenario.start_worker(), scenario.start_worker()]
        wait_until("a worker runs", scenario.cursor_ms)
        first_ms = scenario.people(scenario.cursor_ms())
        scenario.mark(first_ms)
        scenario.expect(first_ms)
        scenario.mark(first_ms + WINDOW_MS + 1_000)
        wait_until("the first window is decided", lambda: first_ms in scenario.windows("decision"))

        second_ms = scenario.people(first_ms)
        scenario.mark(second_ms)
        scenario.expect(second_ms)
        wait_until("its people are counted", lambda: scenario.own(second_ms) == {0, 1})
        time.sleep(2)
        assert second_ms not in scenario.windows("decision")
        workers[0].kill()
        last_mark_ms = second_ms + WINDOW_MS + 1_000
        scenario.mark(last_mark_ms)
        wait_until(
            "the second window is decided", lambda: second_ms in scenario.windows("decision")
        )

        wait_until(
            "a window is denied for lack of a forecast",
            lambda: _late(scenario, last_mark_ms),
        )
        denied_ms = min(line["start_ms"] for line in _late(scenario, last_mark_ms))
        wait_until("and published", lambda: denied_ms in scenario.decided())
    partials = scenario.done("partial")
    own = [line for line in partials if line["partition"] < REFERENCE_PARTITIONS]
    reference = [line for line in partials if line["partition"] >= REFERENCE_PARTITIONS]
    assert {line["partition"] - REFERENCE_PARTITIONS for line in reference} == {0, 1}
    counted, expected = add_up(own), add_up(reference)
    published, records = scenario.published(), scenario.decided()
    for start_ms in (first_ms, second_ms):
        assert counted[start_ms] == tuple(PEOPLE[room] for room in ROOMS)
        assert expected[start_ms] == tuple(USUAL[room] for room in ROOMS)
        assert rang_at(published, start_ms) == {"library", "roof"}
    outcomes = {start: copies[0] for start, copies in records.items()}
    assert sorted(outcomes) == list(range(min(outcomes), max(outcomes) + 1, WINDOW_MS))
    assert outcomes[denied_ms]["reason"] == "reference_timeout"
    assert outcomes[denied_ms]["epsilon_units"] == 0
    for line in _late(scenario, last_mark_ms):
        assert line["at_ns"] / 1e6 > line["start_ms"] + WINDOW_MS + 1_000 + 45_000
    ledger_must_verify(scenario.alarms())


def _late(scenario: ForecastScenario, since_ms: int) -> list[dict[str, Any]]:
    """Return the windows that ended after an instant and lacked a forecast."""
    return [
        line
        for line in scenario.done("decision")
        if line["reason"] == "reference_timeout" and line["start_ms"] >= since_ms - WINDOW_MS
    ]
