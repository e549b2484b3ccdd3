"""A ledger's history in words: every kind of entry says something, nothing at length."""

from __future__ import annotations

import json

import pytest

from accountant.log.entries import Entry, decode, encode
from accountant.store.entry_rows import EntryRow
from stream.custody.history import entry_fields, log_lines

HOUR_MS = 3_600_000
LONG = "x" * 500
HOUR, SPAN = '"start_ms":0,"end_ms":3600000', "1970-01-01 00:00 UTC to 1970-01-01 01:00 UTC"
NEXT = '"start_ms":3600000,"end_ms":7200000'
ASKED = '"fingerprint":"f","units":500000000000,"cells":4,"cells_per_unit":3,"answer":'
ENDED = f'{HOUR},"sequence":7,"outcome":'
AFTER = '"fingerprint":"f","next_start_ms":3600000,"release_ms":0,"decided_at_ms":0'
SHAPE = '"shape":{"region":"{}","grouping":""}'

ENTRIES = [
    (
        "begun",
        '{"ledger_id":"l","secret":"ZGlnZXN0","created_ms":5,"version":1}',
        "ledger_id l, secret ZGlnZXN0, created_ms 5",
    ),
    (
        "budget",
        (
            '{"terms":{"scope":"s","unit":"user","epsilon_max_units":99,"period":"lifetime",'
            '"promise":null}}'
        ),
        "scope s, unit user, epsilon_max_units 99, period lifetime",
    ),
    (
        "log",
        (
            '{"log":{"feed":"badges","cluster_id":"cluster","topic_id":"id","topic":"topic",'
            '"partitions":2}}'
        ),
        "feed badges, cluster_id cluster, topic_id id, topic topic, partitions 2",
    ),
    (
        "files",
        f'{{"feed":"badges","digests":["{"0" * 64}"],"first_ms":5}}',
        "feed badges, first_ms 5",
    ),
    (
        "growth",
        (
            '{"growth":{"feed":"badges","partitions":3,"before":2,"from_ms":5,"until_ms":null,'
            '"announced_ms":4}}'
        ),
        "feed badges, partitions 3, before 2, from_ms 5, until_ms None",
    ),
    (
        "query",
        (
            '{"query":"crowd","scope":"s","feed":"badges","fingerprint":"f",'
            f'"definition":"{LONG}",{SHAPE},"cursor_ms":5}}'
        ),
        "alarm crowd, scope s, feed badges, fingerprint f",
    ),
    (
        "changed",
        (
            f'{{"query":"crowd","fingerprint":"f","definition":"{LONG}",{SHAPE},'
            '"effective_from_ms":5}'
        ),
        "alarm crowd, fingerprint f",
    ),
    ("retired", '{"query":"crowd"}', "alarm crowd"),
    (
        "admitted",
        (
            f'{{"scope":"s","last":{{"query":"crowd",{HOUR}}},'
            f'"windows":[{{"query":"crowd",{HOUR},{ASKED}"reserved"}}]}}'
        ),
        f"'crowd' {SPAN}: reserved, 1.5 at worst",
    ),
    (
        "admitted",
        f'{{"scope":"s","last":{{"query":"crowd",{HOUR}}}}}',
        "scope s, alarm crowd, start_ms 0, end_ms 3600000",
    ),
    (
        "answered",
        f'{{"scope":"s","windows":[{{"query":"crowd",{HOUR},"answer":"refused"}}]}}',
        f"'crowd' {SPAN}: refused",
    ),
    (
        "ended",
        f'{{"query":"crowd",{ENDED}"decided",{AFTER},"alarm_count":2,"loss_units":250000000000}}',
        f"'crowd' {SPAN}: number 7, decided, 2 alarm(s), 0.25 lost",
    ),
    (
        "ended",
        f'{{"query":"crowd",{ENDED}"denied",{AFTER},"reason":"budget"}}',
        f"'crowd' {SPAN}: number 7, denied, budget",
    ),
    ("worst", '{"scope":"s","units":9}', "scope s, units 9"),
    (
        "recovered",
        (
            f'{{"decisions":[{{"ledger_id":"other","query":"crowd","scope":"s",{HOUR},"sequence":3,'
            '"outcome":"decided","epsilon_units":1000000000000,"alarm_count":0,'
            '"next_start_ms":3600000,"cells_per_unit":1,"periods":[],"draw":null,"gaussian":false}],'
            '"at_ms":5}'
        ),
        f"'crowd' {SPAN}: taken over, 1 spent",
    ),
    ("passed", '{"query":"crowd","cursor_ms":5}', "alarm crowd, cursor_ms 5"),
    ("clock", '{"before_ms":9,"now_ms":5}', "before_ms 9, now_ms 5"),
    (
        "archived",
        (
            '{"file":"f.parquet","first":1,"last":5,"last_hash":"AAAAAAAAAAAAAAAAAAAAAA==",'
            '"before_ms":9}'
        ),
        "file f.parquet, first 1, last 5, last_hash AAAAAAAAAAAAAAAAAAAAAA==, before_ms 9",
    ),
    ("snapshot", f'{{"state":{{"a":"{LONG}"}}}}', "of all that came before"),
]
"""Kinds of entries, what they are stored as, and what is told of them."""
EVERY = [(kind, payload) for kind, payload, _ in ENTRIES]


def row(kind: str, payload: str, number: int = 1) -> EntryRow:
    """Return an entry as it is stored."""
    return EntryRow(number, kind, "", payload.encode(), bytes(16))


def told(
    of: list[tuple[str, str]], alarm: str | None = None, since_ms: int | None = None
) -> list[str]:
    """Return the history of some entries."""
    rows = [row(*one, number) for number, one in enumerate(of, 1)]
    return list(log_lines(rows, "UTC", alarm, since_ms))


@pytest.mark.parametrize(("kind", "payload", "line"), ENTRIES)
def test_every_entry_is_a_line(kind: str, payload: str, line: str) -> None:
    """It begins with the number and the kind; what is long is left to the export."""
    assert encode(decode(kind, payload.encode())) == payload.encode()
    shown = kind.replace("query", "alarm")
    (found,) = told([(kind, payload)])
    assert found.startswith(f"1 {shown} {line}")
    assert LONG not in found
    said = payload.replace('"query":', '"alarm":').replace('"promise":', '"privacy":')
    stored = {"record": shown, "seq": 1, "hash": "0" * 32}
    assert entry_fields(row(kind, payload)) == {**json.loads(said), **stored}


def test_no_kind_is_left_out() -> None:
    """A new kind of entry needs a line above."""
    assert {kind for kind, _ in EVERY} == {each.kind for each in Entry.__subclasses__()}


def test_several_windows_are_in_one_line() -> None:
    """Of one alarm, its own; since an instant, those that end after it."""
    entry = (
        "admitted",
        (
            f'{{"scope":"s","last":{{"query":"other",{NEXT}}},"windows":['
            f'{{"query":"crowd",{HOUR},{ASKED}"reserved"}},'
            f'{{"query":"other",{NEXT},{ASKED}"pending"}}]}}'
        ),
    )
    (line,) = told([entry])
    assert line.count("; ") == 1
    assert told([entry], "crowd") == [line.split("; ")[0]]
    (later,) = told([entry], since_ms=HOUR_MS)
    assert later.startswith("1 admitted 'other' 1970-01-01 01:00 UTC to ")
    assert told([entry], "crowd", HOUR_MS) == []
    assert told([entry], "nobody") == []


def test_other_alarms_are_left_out() -> None:
    """What is about no alarm stays."""
    kinds = {line.split()[1] for line in told(EVERY, "other")}
    assert kinds == {
        *("begun", "budget", "log", "files", "growth", "admitted", "worst", "clock"),
        *("archived", "snapshot"),
    }
    assert len(told(EVERY, "crowd")) == len(EVERY)


@pytest.mark.parametrize("since_ms", [0, HOUR_MS - 1])
def test_since_an_instant_it_is_about_windows_alone(since_ms: int) -> None:
    """Also since the very first one."""
    kinds = {line.split()[1] for line in told(EVERY, since_ms=since_ms)}
    assert kinds == {"admitted", "answered", "ended", "recovered"}
    assert told(EVERY, since_ms=HOUR_MS) == []
