"""The verdict finds what went wrong: a sound soak that was tampered with in one place at a time."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import cache, partial
from itertools import product

import pytest

from tests.soak import timetable
from tests.soak.alarms import CELLS, FEEDS, PARTITIONS, alarms_of
from tests.soak.log import LogRecord, keep
from tests.soak.recount import Recount, recount
from tests.soak.sensors import CODECS, Reading, as_arrow, as_json, home
from tests.soak.timetable import SHORT, Fault
from tests.soak.verdict import Soaked, Truth, judge
from tests.support.files import write_rows

START_MS = 1_700_000_004_000 // 12_000 * 12_000
LOAD_MS = 24_000
PEOPLE = [f"p{number}" for number in range(200)]


@cache
def logs():
    """Everybody is in the attic in every second, by partition, then time."""
    badges = []
    sales = []
    for partition, second in product(range(PARTITIONS), range(LOAD_MS // 1000)):
        ts = START_MS + second * 1000
        readings = [
            Reading(one, f"{one}-{second}", "attic", ts, 4, online=False, partition=partition)
            for one in PEOPLE
            if home(one) == partition
        ]
        append = partial(LogRecord, partition, append_ms=ts + 10)
        badges += [append(offset=len(badges), value=as_json(one)) for one in readings]
        sales.append(append(offset=len(sales), value=as_arrow(readings)))
    return {"badges": badges, "sales": sales}


@pytest.fixture
def files():
    """What a sound soak leaves, made from a recount of its own log.

    By name: text, one object, or the objects of JSON lines.
    """
    found = {
        "about.json": {
            "pace": "short",
            "stuck": [],
            "load_began_ms": START_MS,
            "load_ended_ms": START_MS + LOAD_MS,
        },
        "codecs.json": {feed: dict.fromkeys(CODECS, 1) for feed in FEEDS},
        "verify.txt": "exit 0\nok\n",
        "replay.prom": _page(),
        "faults": [
            {"fault": one.fault, "told": "9 entries moved", "at_ms": 0, "back_ms": 0}
            for one in SHORT.faults
        ],
        "ends": [],
    }
    found |= {name: [] for name in ("decisions", "alarms", "partials", "replay")}
    for alarm in alarms_of(SHORT):
        one = Recount(alarm, START_MS)
        recount(alarm.feed, logs()[alarm.feed], [one])
        starts = range(START_MS, START_MS + LOAD_MS - alarm.size_ms + 1, alarm.step_ms)
        for number, start_ms in enumerate(starts, 1):
            _window(found, one, start_ms, number)
    return found


def _window(found, one, start_ms, number):
    alarm = one.alarm
    total = 0
    for partition in range(PARTITIONS):
        cells = dict(one.counts.get((start_ms, partition), {}))
        total += cells.get("attic", 0)
        place = {"alarm": alarm.name, "start_ms": start_ms, "partition": partition}
        found["partials"].append({**place, "complete": True, "cells": cells})
    window = {"alarm": alarm.name, "window_start": _iso(start_ms)}
    decision = {**window, "outcome": "decided", "reason": None, "sequence": number}
    found["decisions"].append(decision)
    found["replay"].append(dict(decision))
    if total > alarm.threshold:
        fires = {**window, "alarm_id": f"{alarm.name}-{start_ms}", "group": {"room": "attic"}}
        found["alarms"].append(fires)
        found["replay"].append(fires)


def _iso(time_ms):
    return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat()


def _page(*, more=0, reason="late", drops=0):
    """Return what the custodian's page of a replay says of events and drops."""
    events = len(PEOPLE) * LOAD_MS // 1000 + more
    lines = ["# TYPE tocsin_events counter"]
    lines += [f'tocsin_events_total{{feed="{feed}"}} {events}.0' for feed in FEEDS]
    lines += ["# TYPE tocsin_events_dropped counter"]
    lines += [f'tocsin_events_dropped_total{{feed="badges",reason="{reason}"}} {drops}.0']
    return "\n".join([*lines, ""])


def judged(folder, files):
    """Write the files of a soak, and judge it."""
    for name, content in files.items():
        if isinstance(content, list):
            write_rows(folder / f"{name}.jsonl", content)
        else:
            text = content if isinstance(content, str) else json.dumps(content)
            (folder / name).write_text(text)
    for feed, records in logs().items():
        keep(folder / f"{feed}.parquet", iter(records))
    soaked = Soaked(folder)
    return judge(soaked, Truth.of(soaked))


def test_a_sound_soak_passes(tmp_path, files):
    """The files that a recount itself would write hold no fault."""
    assert judged(tmp_path, files) == []
    assert any(one["cells"] for one in files["partials"])
    assert files["alarms"]


def _lose(name, at):
    return lambda files: files[name].__delitem__(at)


def _change(name, at, **values):
    return lambda files: files[name][at].update(values)


def _count(**more):
    """Add to what the first partial with counts adds to rooms."""

    def tamper(files):
        one = next(one for one in files["partials"] if one["cells"])
        one["cells"] = {room: one["cells"].get(room, 0) + added for room, added in more.items()}

    return tamper


def _twice(name, **values):
    return lambda files: files[name].append({**files[name][0], **values})


def _write(name, content):
    return lambda files: files.update({name: content})


def _end(code, *, ours, told="tocsin stops"):
    return _write("ends", [{"worker": 0, "code": code, "ours": ours, "told": told, "ended_ms": 5}])


ARCHIVED = [one.fault for one in SHORT.faults].index(Fault.ARCHIVING)


@pytest.mark.parametrize(
    ("tamper", "told"),
    [
        (_count(attic=1), "counts"),
        (_count(attic=-1, deck=1), "counts"),
        (_lose("partials", 0), "was stored 0 times"),
        (_twice("partials"), "was stored 2 times"),
        (_change("partials", 0, complete=False), "stored as incomplete"),
        (_lose("decisions", 1), "was never decided"),
        (_change("decisions", 1, outcome="denied", reason="conflict"), "denied as conflict"),
        (_change("decisions", 1, sequence=7), "are not 1, 2, 3"),
        (_twice("decisions", sequence=9), "published in 2 ways"),
        (_lose("alarms", 0), "above the threshold were"),
        (_twice("alarms", group={"room": CELLS[1]}), "above the threshold were"),
        (_twice("alarms", alarm_id="another"), "fired in attic under 2 ids"),
        (_change("replay", 0, outcome="denied"), "is decided otherwise by a replay"),
        (_end(70, ours=False), "ended with 70"),
        (_end(1, ours=False), "ended with 1"),
        (_end(2, ours=False, told="this machine's clock is"), "ended with 2"),
        (_end(4, ours=False, told=""), "ended with 4"),
        (_end(70, ours=True), "ended with 70"),
        # What Tocsin says itself is held against it, too.
        (_write("verify.txt", "exit 2\nbudget user: ..."), "ledger verify"),
        (_write("codecs.json", {"badges": {"gzip": 1}}), "no batch in lz4"),
        (_write("replay.prom", _page(reason="misrouted", drops=1)), "misrouted"),
        (_write("replay.prom", _page(more=1)), "tocsin_events_total"),
        # Entries have to have moved while the workers went on.
        (_change("faults", ARCHIVED, told="0 entries moved to "), "entries archived: 0 entries"),
    ],
)
def test_one_thing_wrong_is_found(tmp_path, files, tamper, told):
    """One event, window, alarm or exit that is not what it should be fails the whole soak."""
    tamper(files)
    assert told in "\n".join(judged(tmp_path, files))


def test_an_outage_outlasts_what_would_deny_and_clocks_stay_within_what_is_idle():
    """Or a soak would not test what it says that it does."""
    for pace in timetable.PACES.values():
        assert pace.outage_s > pace.decide_timeout_s
        assert pace.ahead_ms < pace.idle_partition_timeout_ms
        assert pace.publish_delay_ms >= pace.idle_partition_timeout_ms + 2_000
