"""The embedded shell from files to decisions: both examples, resuming, exports, several feeds."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from accountant.errors import ConfigError, DataError, LedgerError
from accountant.records import Outcome
from accountant.units import floor_loss_units
from stream.build import open_ledger
from stream.config.loading import load
from stream.decisions.release import alarm_records
from stream.decisions.steps import Step
from stream.events.decoder import Record
from stream.replay.exports import ExportInfo, LoggedRecord, log_writer
from stream.replay.replay import Replay, windows_of
from tests.support.examples import BADGES, EXAMPLES, copied
from tests.support.ledgers import must_verify
from tests.support.oracle import add_up
from tests.support.recording import journalled, stored_partials

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from accountant.costs.charges import WindowKey
    from accountant.records import Partial, StoredDecision
    from stream.model.alarms import Alarms

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS

CONFIG = """\
feeds:
  badges:
    topic: building.badges
    time: ts
    unit: person
    fields: {person: string, room: {domain: [hall, lab]}, ts: timestamp}
    history: {from: 1970-01-01, until: 1970-01-01T06:00}
  doors:
    topic: building.doors
    time: ts
    unit: person
    fields: {person: string, ts: timestamp}
    history: {from: 1970-01-01, until: 1970-01-01T06:00}
budget: {privacy_unit: user, epsilon_max: "1000", period: lifetime}
alarms:
  crowd:
    sql: |
      SELECT room FROM badges GROUP BY room, HOP(ts, INTERVAL '30' MINUTE, INTERVAL '1' HOUR)
      HAVING COUNT(DISTINCT person) > 20
    max_fnr: 0.05
    tolerance: 1
    timing: {grace: 10m}
  busy-door:
    sql: |
      SELECT 1 FROM doors GROUP BY TUMBLE(ts, INTERVAL '1' HOUR) HAVING COUNT(*) > 20
    max_fnr: 0.05
    tolerance: 1
"""
WINDOWS = 11 + 6


class KilledError(Exception):
    """Stands for the end of a process."""


def configured(folder: Path, text: str = CONFIG) -> Alarms:
    """Write and load a configuration; its ledger lies in the same folder."""
    folder.mkdir(exist_ok=True)
    path = folder / "alarms.yaml"
    path.write_text(text)
    return load(path, environ={})


def example(name: str, folder: Path) -> Alarms:
    """Copy an example, so that its ledger is made elsewhere, and load it."""
    return load(copied(name, folder), environ={})


def people(folder: Path, *, seed: int = 1) -> dict[str, list[Path]]:
    """Write badge readings as JSON lines and door events as CSV, both out of order."""
    random = np.random.default_rng(seed)
    times = random.integers(0, 6 * HOUR_MS, size=600)
    badges, doors = folder / "badges.jsonl", folder / "doors.csv"
    rows = [
        {"person": f"p{random.integers(60)}", "room": str(random.choice(["hall", "lab"])), "ts": t}
        for t in times.tolist()
    ]
    badges.write_text("".join(json.dumps(row) + "\n" for row in rows))
    cells = "".join(f"{t},p{t % 7}\n" for t in random.permutation(times).tolist())
    doors.write_text(f"ts,person\n{cells}")
    return {"badges": [badges], "doors": [doors]}


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> list[Partial]:
    """Return what reaches the ledger."""
    return stored_partials(monkeypatch)


def replayed(alarms: Alarms, files: Mapping[str, Sequence[Path]]) -> list[StoredDecision]:
    """Replay to the end, check the ledger, return the decisions."""
    with open_ledger(alarms) as ledger:
        decisions = list(Replay(alarms, ledger, files).run())
        must_verify(ledger)
        status = ledger.reports.status()
        for scope in status.scopes.values():
            assert scope.spent_units <= floor_loss_units(alarms.budget.epsilon_max)
            assert scope.reservations == 0
        assert all(query.unpublished == 0 for query in status.queries.values())
    return decisions


def ringing(alarms: Alarms, decisions: Sequence[StoredDecision]) -> Iterator[tuple[str, str, str]]:
    """Yield (alarm, group, window start) of every alarm."""
    for decision in decisions:
        for alarm in alarm_records(alarms.by_name[decision.key.query], decision):
            yield alarm.alarm, ", ".join(alarm.group.values()), alarm.window_start


def test_office_rings_for_the_crowded_rooms(tmp_path: Path) -> None:
    """The three crowds of the week ring, every hour is decided, a second run draws nothing."""
    alarms = example("office", tmp_path)
    files = {"badges": [tmp_path / "office" / BADGES.name]}
    decisions = replayed(alarms, files)
    assert [d.outcome for d in decisions] == [Outcome.DECIDED] * 75
    rang = set(ringing(alarms, decisions))
    assert {
        ("fire-code", "canteen", "2025-03-04T11:00:00.000Z"),
        ("fire-code", "auditorium", "2025-03-06T09:00:00.000Z"),
        ("fire-code", "atrium", "2025-03-07T16:00:00.000Z"),
    } <= rang
    assert len(rang) < 20
    with open_ledger(alarms) as ledger:
        before = list(ledger.reports.entries())
        again = Replay(alarms, ledger, files)
        assert list(again.run()) == []
        assert [(d.key, d.sequence) for d in again.earlier()] == [
            (d.key, d.sequence) for d in decisions
        ]
        assert list(ledger.reports.entries()) == before
    assert (again.windows, again.before, dict(again.ended)) == (75, 75, {})


def test_office_readings_are_what_the_simulator_writes(tmp_path: Path) -> None:
    """The committed readings can be made again, byte for byte."""
    program: dict[str, object] = {"__name__": "simulate"}
    source = (EXAMPLES / "office" / "simulate.py").read_text()
    exec(compile(source, "simulate.py", "exec"), program)  # noqa: S102  # a script, not a package
    main = program["main"]
    main(str(tmp_path / "badges.jsonl"))
    committed = BADGES.read_bytes()
    assert (tmp_path / "badges.jsonl").read_bytes() == committed


def test_decisions_come_in_the_order_of_requests(tmp_path: Path) -> None:
    """Windows of all feeds are decided by end, then alarm, whatever their grace and size."""
    alarms = configured(tmp_path)
    decisions = replayed(alarms, people(tmp_path))
    keys = [decision.key for decision in decisions]
    assert keys == sorted(keys)
    for query in alarms.by_name:
        numbers = [decision.sequence for decision in decisions if decision.key.query == query]
        assert numbers == list(range(1, len(numbers) + 1))


def test_a_killed_replay_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """Killed at every step in turn, a replay still decides every window once and loses no alarm."""
    alarms = configured(tmp_path)
    files = people(tmp_path)
    steps = [
        Step.BEFORE_PARTIAL,
        Step.AFTER_PARTIAL,
        Step.AFTER_RESERVE,
        Step.AFTER_DRAW,
        Step.AFTER_COMMIT,
        Step.AFTER_PUBLISH,
    ]
    seen: dict[WindowKey, set[tuple[int, bytes]]] = {}

    def take(replay: Replay) -> None:
        for decision in replay.run():
            seen.setdefault(decision.key, set()).add((decision.sequence, decision.alarms))

    for at, victim in enumerate(steps):

        def die(step: Step, _key: WindowKey | None, *, on: Step = victim) -> None:
            nonlocal left
            left -= step is on
            if left < 0:
                raise KilledError

        left = at % 3
        with open_ledger(alarms) as ledger, pytest.raises(KilledError):
            take(Replay(alarms, ledger, files, step=die))
    with open_ledger(alarms) as ledger:
        take(Replay(alarms, ledger, files))
        must_verify(ledger)
    assert len(seen) == WINDOWS
    assert all(len(copies) == 1 for copies in seen.values())


def test_a_caller_that_stops_has_published_what_it_took(tmp_path: Path) -> None:
    """Decisions before the one in hand do not come again; the one in hand may."""
    alarms = configured(tmp_path)
    files = people(tmp_path)
    with open_ledger(alarms) as ledger:
        running = Replay(alarms, ledger, files).run()
        taken = [next(running).key for _ in range(5)]
        running.close()
    rest = replayed(alarms, files)
    order = sorted(key for query in alarms.by_name.values() for key in windows_of(query))
    assert taken == order[:5]
    assert [decision.key for decision in rest] == order[4:]


def test_windows_without_events_are_decided(tmp_path: Path) -> None:
    """Files without a row decide every window of the history all the same."""
    alarms = configured(tmp_path)
    badges, doors = tmp_path / "badges.jsonl", tmp_path / "doors.parquet"
    badges.write_text("")
    columns = {"ts": pa.array([], pa.timestamp("ms", "UTC")), "person": pa.array([], pa.string())}
    pq.write_table(pa.table(columns), doors)
    decisions = replayed(alarms, {"badges": [badges], "doors": [doors]})
    assert [d.outcome for d in decisions] == [Outcome.DECIDED] * WINDOWS


def test_events_outside_the_history_change_no_window(tmp_path: Path, stored: list[Partial]) -> None:
    """Which windows are decided is public: earlier, later and far-future events add none."""
    alarms = configured(tmp_path)
    files = people(tmp_path)
    replayed(alarms, files)
    before = [one.digest for one in stored]
    again = configured(tmp_path / "again")
    files = people(tmp_path / "again")
    with files["badges"][0].open("a") as file:
        for time_ms in (6 * HOUR_MS, 24 * HOUR_MS, 253_402_300_799_999):
            file.write(json.dumps({"person": "p1", "room": "hall", "ts": time_ms}) + "\n")
    stored.clear()
    replayed(again, files)
    assert [one.digest for one in stored] == before


def export(
    folder: Path, rows: Iterable[tuple[int, int, dict[str, object]]], *, first_offset: int = 0
) -> Path:
    """Write an export of the badges topic from (partition, append time, event)."""
    path = folder / "log.parquet"
    offsets = Counter({0: first_offset, 1: first_offset})
    with log_writer(path, ExportInfo("building.badges", 2)) as write:
        for partition, append_ms, event in rows:
            value = json.dumps(event).encode()
            record = Record(offsets[partition], append_ms, log_append=True, value=value)
            write([LoggedRecord(partition, record)])
            offsets[partition] += 1
    return path


def test_a_dump_counts_by_its_own_append_times(tmp_path: Path, stored: list[Partial]) -> None:
    """Of a log's export, what was appended after the cut or in a wrong partition does not count."""
    text = CONFIG.replace("privacy_unit: user", "privacy_unit: event").replace(
        ", period: lifetime", ""
    )
    alarms = configured(tmp_path, text)
    doors = people(tmp_path)["doors"]
    rows: list[tuple[int, int, dict[str, object]]] = []
    for person in ("p0", "p1"):
        for partition in (0, 1):  # one of the two is the wrong one
            event = {"person": person, "room": "hall", "ts": 5 * MINUTE_MS}
            rows.append((partition, 6 * MINUTE_MS, event))
    cut_ms = HOUR_MS + 10 * MINUTE_MS
    for person, append_ms in (("p0", cut_ms - 1), ("p1", cut_ms)):
        for partition in (0, 1):  # p1 is late for the window that ends at 01:00, not for the next
            event = {"person": person, "room": "lab", "ts": 55 * MINUTE_MS}
            rows.append((partition, append_ms, event))
    rows.append((0, 253_402_300_799_999, {"person": "p0", "room": "lab", "ts": 5 * HOUR_MS}))
    replayed(alarms, {"badges": [export(tmp_path, rows)], "doors": doors})
    crowds = [one for one in stored if one.key.query == "crowd"]
    assert {one.partition for one in crowds} == {0, 1}
    totals = add_up(journalled(crowds), cells=2)
    assert totals[0] == (2, 1)
    assert totals[30 * MINUTE_MS] == (0, 2)


@pytest.mark.parametrize("problem", ["beside", "topic", "history", "nothing", "suffix"])
def test_unsuitable_replays_are_refused(tmp_path: Path, problem: str) -> None:
    """What cannot be replayed is refused with a hint, before anything is decided."""
    text = CONFIG
    files = people(tmp_path)
    if problem == "beside":
        files["badges"].append(export(tmp_path, []))
    elif problem == "topic":
        files["doors"] = [export(tmp_path, [])]
    elif problem == "history":
        line = "    history: {from: 1970-01-01, until: 1970-01-01T06:00}\n"
        text = CONFIG.replace(line, "", 1)
    elif problem == "nothing":
        del files["doors"]
    else:
        files["doors"] = [files["doors"][0].rename(tmp_path / "doors.txt")]
    alarms = configured(tmp_path, text)
    with open_ledger(alarms) as ledger:
        with pytest.raises((ConfigError, DataError)) as caught:
            list(Replay(alarms, ledger, files).run())
        assert caught.value.hint
        assert not any(query.sequence for query in ledger.reports.status().queries.values())


def test_two_replays_do_not_share_a_ledger_at_once(tmp_path: Path) -> None:
    """While another process decides an alarm, a replay stops and says so."""
    alarms = configured(tmp_path)
    files = people(tmp_path)
    with (
        open_ledger(alarms) as other,
        other.exclusive("decide:busy-door") as mine,
        open_ledger(alarms) as ledger,
    ):
        assert mine
        with pytest.raises(LedgerError, match="another process"):
            list(Replay(alarms, ledger, files).run())
    assert len(replayed(alarms, files)) >= 1
