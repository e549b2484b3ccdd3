"""Entries that move to an archive: the past gives way, and nothing that is alive can tell."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace

import pytest

from accountant.errors import LedgerCorruptError, LedgerError
from accountant.ledger import archives
from accountant.log.entries import Ended, read_checkpoint
from accountant.records import Answer, Outcome
from stream.custody.archive import archive, archived_in
from tests.support.archived import move_all, moved
from tests.support.ledgers import (
    EVENT,
    USER,
    Series,
    admit,
    deny,
    each_unit,
    must_verify,
    requests,
    seen,
    set_up,
    settle,
    status_of,
    without_checkpoint,
)

DATABASES = ["sqlite"]
BOTH = pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
PERIOD = 60
SMALL = 7


@pytest.fixture(autouse=True)
def small_steps(monkeypatch):
    """Nobody else waits for the database here; the ledgers of tests take many steps."""
    monkeypatch.setattr(archives, "_PAUSE_S", 0.0)
    monkeypatch.setattr(archives, "_STEP", SMALL)


def queries(unit):
    """Return a tumbling, a hopping and a long query."""
    period = PERIOD if unit is USER else 0
    return [
        Series("a", units=1, period=period),
        Series("hop", 20, 10, 2, period=period),
        Series("long", 40, 40, 1, cells_per_unit=2 if period else 1, period=period),
    ]


def wall(unit):
    """Return a wall that some windows pass."""
    return 8 if unit is USER else 4


def end_until(ledger, all_series, until_ms):
    """Ask for every window that ends by an instant, one by one, end it and publish it."""
    asked = requests(all_series, until_ms)
    for number, request in enumerate(asked, 1):
        key = request.charge.key
        if ledger.cursor(key.query) > key.start_ms:
            continue
        ledger.admit("s", asked[:number])
        one = next(series for series in all_series if series.query == key.query)
        index = key.start_ms // one.step
        kind = (key.start_ms // 10 + len(key.query)) % 4
        if ledger.answer(key) is not Answer.RESERVED or kind == 3:
            deny(ledger, one, index)
        elif kind == 2:
            settle(ledger, one, index, cells=(one.units, 0, 0, 0))
        else:
            settle(ledger, one, index, units=min(kind, one.units))
        ledger.mark_published(key)


@BOTH
@each_unit
def test_nobody_can_tell(opened, unit):
    """Of a ledger whose past was moved: what it knows, what it shows, and what verifies.

    That it answers as one that has all of it, ``test_ledger_histories`` has.
    """
    all_series = queries(unit)
    one = opened()
    set_up(one, unit, wall(unit), all_series)
    end_until(one, all_series, 120)
    admit(one, 150, *all_series)
    decisions = [one.decision(each.charge.key) for each in requests(all_series, 120)]
    topic = [seen(each) for each in decisions if each is not None]
    assert {each.outcome for each in topic} == set(Outcome)
    before, last_ms = without_checkpoint(one.reports.status()), one.upkeep.last_decided_ms()
    noted = dict([read_checkpoint(one.reports.status().checkpoint)])
    rows = moved(one, 100)
    assert sum(row.kind == Ended.kind for row in rows) > 20
    other = opened()  # folds from the snapshot; the first goes on with what it knows
    wrong = [
        replace(topic[0], **change)
        for change in (
            *({"sequence": 99}, {"epsilon_units": 99}, {"end_ms": 99}, {"alarm_count": 9}),
            {"ledger_id": "another"},
        )
    ]
    for ledger in (one, other):
        assert without_checkpoint(ledger.reports.status()) == before
        assert ledger.upkeep.last_decided_ms() == last_ms
        assert status_of(ledger).archived_ms == 100
        assert ledger.reports.verify(noted) == []
        assert ledger.reports.verify(noted, archived=rows) == []
        # What lies on the topic is known still; what was never decided so, is not.
        every = [*topic, *wrong]
        assert [one for one in every if ledger.upkeep.unknown_decisions([one])] == wrong

    end_until(one, all_series, 160)
    end_until(other, all_series, 200)
    rows += moved(other, 190, "g")
    assert one.reports.status() == other.reports.status() == opened().reports.status()
    assert one.upkeep.unknown_decisions(topic) == []
    assert one.reports.verify(noted, archived=rows) == []
    must_verify(one)


@pytest.mark.parametrize("archived", [True, False])
def test_noted_entries_outlive_what_was_moved(ledger, archived):
    """At the end of an archive and behind it they are compared; before it, with the archive."""
    a = Series("a", period=PERIOD)
    set_up(ledger, USER, 9, [a])
    noted = dict([read_checkpoint(ledger.reports.status().checkpoint)])
    for index in range(4):
        admit(ledger, 10 * index + 10, a)
        noted.update([read_checkpoint(ledger.reports.status().checkpoint)])
        settle(ledger, a, index)
        noted.update([read_checkpoint(ledger.reports.status().checkpoint)])
        ledger.mark_published(a.key(index))
    rows = moved(ledger, 20)
    last = rows[-1].seq
    inside = {number: hashed for number, hashed in noted.items() if number < last}
    beyond = {number: hashed for number, hashed in noted.items() if number >= last}
    assert last in noted
    assert min(len(inside), len(beyond)) > 1
    files = rows if archived else None
    assert ledger.reports.verify(beyond, archived=files) == []
    found = ledger.reports.verify(noted, archived=files)
    assert len(found) == (0 if archived else len(inside))
    assert all("give the archive it lies in" in line for line in found)
    found = ledger.reports.verify(dict.fromkeys(beyond, b"?" * 16), archived=files)
    assert len(found) == len(beyond)
    assert all("not the one that was noted" in line for line in found)
    # From a noted entry on: at the end of an archive, and behind it.
    for since in noted.items():
        gone = since[0] < last
        given = {"archived": files} if gone else {}
        assert bool(ledger.reports.verify(since=since, **given)) is (gone and not archived)
        assert ledger.reports.verify(since=(since[0], b"?" * 16), **given)


def test_what_must_not_go_is_refused(ledger):
    """Entries that do not begin where the last archive ended, that are not there, or too young."""
    a = Series("a", period=PERIOD)
    set_up(ledger, USER, 9, [a])
    end_until(ledger, [a], 50)
    first, last = ledger.archives.movable(40)
    rows = list(ledger.archives.entries(first, last + 1))
    copy, more = (ledger.archives.copied(rows[:many], first, many) for many in (last, last + 1))
    numbers = (last - 1, last + 100)
    for wrong, before_ms in (
        *((copy._replace(first=first + off), 40) for off in (-1, 1)),
        *((copy._replace(last=copy.last._replace(number=at)), 40) for at in numbers),
        *((copy, 30), (more, 40)),
    ):
        with pytest.raises(LedgerError, match="of the ledger changed while they were copied"):
            ledger.archives.move("f", wrong, before_ms)
    assert ledger.archives.kept() == []
    assert move_all(ledger, 40) == last
    must_verify(ledger)


@BOTH
def test_two_at_once_archive_everything_once(opened, tmp_path):
    """One is told to wait; others go on deciding meanwhile."""
    all_series = queries(EVENT)
    ledgers = [opened() for _ in range(4)]
    set_up(ledgers[0], EVENT, 4, all_series)
    end_until(ledgers[0], all_series, 120)

    def run(ledger):
        try:
            return archive(ledger, tmp_path / "archive", 100).entries
        except LedgerError as error:
            if error.message != "another process archives this ledger":
                raise
            return 0

    with ThreadPoolExecutor() as pool:
        moved_by = [pool.submit(run, one) for one in ledgers[:3]]
        end_until(ledgers[3], all_series, 200)
        moves = [one.result() for one in moved_by]
    assert sum(bool(one) for one in moves) == 1
    folder = tmp_path / "archive"
    rows = [*archived_in(ledgers[0], folder), *ledgers[0].reports.entries()]
    assert [row.seq for row in rows] == list(range(1, len(rows) + 1))
    for one in ledgers:
        assert one.reports.verify(archived=archived_in(one, folder)) == []
        assert one.reports.status() == ledgers[0].reports.status()


def test_every_change_of_an_archive_is_named(ledger):
    """Whichever entry is changed, left out or put in another place."""
    all_series = queries(EVENT)
    set_up(ledger, EVENT, 4, all_series)
    end_until(ledger, all_series, 40)
    rows = moved(ledger, 30)
    end_until(ledger, all_series, 70)
    rows += moved(ledger, 60, "g")
    assert ledger.reports.verify(archived=rows) == []
    for at, row in enumerate(rows):
        changes = (
            *({"seq": row.seq + 1}, {"kind": f"{row.kind}x"}, {"key": f"{row.key}x"}),
            *({"payload": row.payload + b" "}, {"hash": row.hash[::-1]}),
        )
        for other in (*([row._replace(**change)] for change in changes), [row, row], []):
            changed = [*rows[:at], *other, *rows[at + 1 :]]
            assert ledger.reports.verify(archived=changed), (at, other)
    assert ledger.reports.verify(archived=rows[::-1])


def test_a_snapshot_is_read_as_strictly_as_any_entry(ledger, opened, tmp_path):
    """A process that begins with it does not go on from what was changed behind its back."""
    all_series = queries(EVENT)
    set_up(ledger, EVENT, 4, all_series)
    end_until(ledger, all_series, 40)
    moved(ledger, 30)
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as database, database:
        change = "payload = CAST(REPLACE(CAST(payload AS TEXT), '1', '0') AS BLOB)"
        database.execute(f"UPDATE tocsin_entries SET {change} WHERE kind = 'snapshot'")  # noqa: S608
    with pytest.raises(LedgerCorruptError, match="is not what was stored"):
        status_of(opened())


@each_unit
def test_every_flipped_byte_of_a_file_is_named(ledger, tmp_path, unit):
    """But for bytes that nobody reads: then every entry is still what it was."""
    all_series = queries(unit)
    set_up(ledger, unit, wall(unit), all_series)
    end_until(ledger, all_series, 60)
    (name,) = archive(ledger, tmp_path, 40).files
    path = tmp_path / name
    whole, rows = path.read_bytes(), list(archived_in(ledger, tmp_path))
    assert ledger.reports.verify(archived=rows) == []
    named = 0
    steps = range(0, len(whole), len(whole) // 100)
    for at in steps:
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        try:
            found = ledger.reports.verify(archived=archived_in(ledger, tmp_path))
            same = not found and list(archived_in(ledger, tmp_path)) == rows
        except LedgerError:
            same = False
        named += not same
        assert same or found, at
    assert named > len(steps) // 2
