"""The verdict finds what went wrong: a sound soak that was tampered with in one place at a time."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from tests.soak import timetable
from tests.soak.alarms import CELLS, FEEDS, PARTITIONS, alarms_of
from tests.soak.log import LogRecord, keep
from tests.soak.recount import Recount, recount
from tests.soak.sensors import CODECS, Reading, as_arrow, as_json, home
from tests.soak.timetable import SHORT, Fault
from tests.soak.verdict import Soaked, Truth, judge

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

START_MS = 1_700_000_004_000 // 12_000 * 12_000
LOAD_MS = 24_000
PEOPLE = [f"p{number}" for number in range(200)]
Files = dict[str, list[dict[str, Any]]]


@cache
def logs() -> dict[str, list[LogRecord]]:
    """Everybody is in the attic in every second, by partition, then time."""
    badges: list[LogRecord] = []
    sales: list[LogRecord] = []
    for partition in range(PARTITIONS):
        at_home = [person for person in PEOPLE if home(person) == partition]
        for second in range(LOAD_MS // 1000):
            ts = START_MS + second * 1000
            readings = [
                Reading(one, f"{one}-{second}", "attic", ts, 4, online=False, partition=partition)
                for one in at_home
            ]
            badges += [
                LogRecord(partition, len(badges) + at, ts + 10, as_json(one))
                for at, one in enumerate(readings)
            ]
            sales.append(LogRecord(partition, len(sales), ts + 10, as_arrow(readings)))
    return {"badges": badges, "sales": sales}


@pytest.fixture
def files() -> Files:
    """What a sound soak leaves, made from a recount of its own log."""
    found: Files = {"decisions": [], "alarms": [], "partials": [], "replay": [], "ledger": []}
    for alarm in alarms_of(SHORT):
        one = Recount(alarm, START_MS)
        recount(alarm.feed, logs()[alarm.feed], [one])
        starts = range(START_MS, START_MS + LOAD_MS - alarm.size_ms + 1, alarm.step_ms)
        for number, start_ms in enumerate(starts, 1):
            _window(found, one, start_ms, number)
    return found


def _window(found: Files, one: Recount, start_ms: int, number: int) -> None:
    alarm = one.alarm
    total = 0
    for partition in range(PARTITIONS):
        cells = dict(one.counts.get((start_ms, partition), {}))
        total += cells.get("attic", 0)
        place = {"alarm": alarm.name, "start_ms": start_ms, "partition": partition}
        found["partials"].append({**place, "complete": True, "cells": cells})
    window = {"alarm": alarm.name, "window_start": _iso(start_ms)}
    window["window_end"] = _iso(start_ms + alarm.size_ms)
    decision = {**window, "outcome": "decided", "reason": None, "sequence": number}
    found["decisions"].append({**decision, "append_ms": alarm.cut_ms(start_ms) + 5_000})
    found["replay"].append(decision)
    row = {"record": "ended", "alarm": alarm.name, "start_ms": start_ms}
    found["ledger"].append({**row, "sequence": number, "outcome": "decided"})
    if total > alarm.threshold:
        ringing = {**window, "alarm_id": f"{alarm.name}-{start_ms}", "group": {"room": "attic"}}
        found["alarms"].append(ringing)
        found["replay"].append(ringing)


def _iso(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat()


def _page(*, more: int = 0, reason: str = "late", drops: int = 0) -> str:
    """Return what the custodian's page of a replay says of events and drops."""
    events = len(PEOPLE) * LOAD_MS // 1000 + more
    lines = ["# TYPE tocsin_events counter"]
    lines += [f'tocsin_events_total{{feed="{feed}"}} {events}.0' for feed in FEEDS]
    lines += ["# TYPE tocsin_events_dropped counter"]
    lines += [f'tocsin_events_dropped_total{{feed="badges",reason="{reason}"}} {drops}.0']
    return "\n".join([*lines, ""])


def judged(
    folder: Path, files: Files, *, archived: str = "90 entries moved", **texts: str
) -> list[str]:
    """Write the files of a soak, and judge it."""
    times = {"load_began_ms": START_MS, "load_ended_ms": START_MS + LOAD_MS}
    about = {"pace": "short", "stuck": [], **times}
    plain = {
        "about.json": json.dumps(about),
        "codecs.json": json.dumps({feed: dict.fromkeys(CODECS, 1) for feed in FEEDS}),
        "verify.txt": "exit 0\nok\n",
        "left.json": json.dumps({one["alarm"]: one["sequence"] for one in files["ledger"]}),
        "replay.prom": _page(),
    } | {name.replace("_", "."): text for name, text in texts.items()}
    for name, text in plain.items():
        (folder / name).write_text(text)
    faults = [{"fault": one.fault, "told": "", "at_ms": 0, "back_ms": 0} for one in SHORT.faults]
    for one in faults:
        if one["fault"] == Fault.ARCHIVING:
            one["told"] = archived
    for name, lines in {"faults": faults, **files}.items():
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in lines))
    for feed, records in logs().items():
        keep(folder / f"{feed}.parquet", iter(records))
    soaked = Soaked(folder)
    return judge(soaked, Truth.of(soaked))


def test_a_sound_soak_passes(tmp_path: Path, files: Files) -> None:
    """The files that a recount itself would write hold no fault."""
    assert judged(tmp_path, files) == []
    assert any(one["cells"] for one in files["partials"])
    assert files["alarms"]


def _lose(name: str, at: int) -> Callable[[Files], None]:
    return lambda files: files[name].__delitem__(at)


def _change(name: str, at: int, **values: Any) -> Callable[[Files], None]:
    return lambda files: files[name][at].update(values)


def _one_event_more(files: Files) -> None:
    one = next(one for one in files["partials"] if one["cells"])
    one["cells"] = {**one["cells"], "attic": one["cells"]["attic"] + 1}


def _one_event_elsewhere(files: Files) -> None:
    one = next(one for one in files["partials"] if one["cells"])
    one["cells"] = {**one["cells"], "attic": one["cells"]["attic"] - 1, "deck": 1}


def _twice(name: str, **values: Any) -> Callable[[Files], None]:
    return lambda files: files[name].append({**files[name][0], **values})


def _end(code: int, *, ours: bool, told: str = "tocsin stops") -> Callable[[Files], None]:
    end = {"worker": 0, "code": code, "ours": ours, "told": told, "ended_ms": 5}
    return lambda files: files.update(ends=[end])


@pytest.mark.parametrize(
    ("tamper", "told"),
    [
        (_one_event_more, "counts"),
        (_one_event_elsewhere, "counts"),
        (_lose("partials", 0), "was stored 0 times"),
        (_twice("partials"), "was stored 2 times"),
        (_change("partials", 0, complete=False), "stored as incomplete"),
        (_lose("decisions", 1), "was never decided"),
        (_change("decisions", 1, outcome="denied", reason="conflict"), "denied as conflict"),
        (_change("decisions", 1, sequence=7), "are not 1, 2, 3"),
        (_twice("decisions", sequence=9), "published in 2 ways"),
        (_lose("alarms", 0), "above the threshold were"),
        (_twice("alarms", group={"room": CELLS[1]}), "above the threshold were"),
        (_twice("alarms", alarm_id="another"), "rang under 2 ids"),
        (_change("replay", 0, outcome="denied"), "a replay decides"),
        (_change("ledger", 0, outcome="denied"), "in the ledger"),
        (_change("ledger", 0, start_ms=7), "is not on the topic"),
        (_end(70, ours=False), "ended with 70"),
        (_end(1, ours=False), "ended with 1"),
        (_end(2, ours=False, told="this machine's clock is"), "ended with 2"),
        (_end(4, ours=False, told=""), "ended with 4"),
        (_end(70, ours=True), "ended with 70"),
    ],
)
def test_one_thing_wrong_is_found(
    tmp_path: Path, files: Files, tamper: Callable[[Files], None], told: str
) -> None:
    """One event, window, alarm or exit that is not what it should be fails the whole soak."""
    tamper(files)
    assert told in "\n".join(judged(tmp_path, files))


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        ({"verify_txt": "exit 2\nbudget user: ..."}, "ledger verify"),
        ({"codecs_json": json.dumps({"badges": {"gzip": 1}})}, "no batch in lz4"),
        ({"replay_prom": _page(reason="misrouted", drops=1)}, "misrouted"),
        ({"replay_prom": _page(more=1)}, "tocsin_events_total"),
    ],
)
def test_what_tocsin_says_itself_is_read(
    tmp_path: Path, files: Files, texts: dict[str, str], told: str
) -> None:
    """``verify``, the segment files and the custodian's page of a replay are held against it."""
    assert told in "\n".join(judged(tmp_path, files, **texts))


def test_an_archive_of_nothing_is_no_fault_that_was_done(tmp_path: Path, files: Files) -> None:
    """Entries have to have moved while the workers went on."""
    told = judged(tmp_path, files, archived="0 entries moved to ")
    assert "entries archived: 0 entries" in "\n".join(told)


def test_an_outage_outlasts_what_would_deny_and_clocks_stay_within_what_is_idle() -> None:
    """Or a soak would not test what it says that it does."""
    for pace in timetable.PACES.values():
        assert pace.outage_s > pace.decide_timeout_s
        assert pace.ahead_ms < pace.idle_partition_timeout_ms
        assert pace.publish_delay_ms >= pace.idle_partition_timeout_ms + 2_000
