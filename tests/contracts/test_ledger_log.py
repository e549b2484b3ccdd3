"""What only a log promises: nothing of it changes unseen, and it may begin in the middle."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import msgspec
import pytest
import sqlalchemy as sa

from accountant.budget.filter import EventFilter, UserFilter, WithRoom
from accountant.costs.charges import UniformCost
from accountant.costs.noisy import Noisy
from accountant.errors import LedgerCorruptError, LedgerError
from accountant.log import images
from accountant.log.entries import Asked, Ended, Worst, decode
from accountant.records import Answer, Stand
from accountant.regions.regions import Region
from accountant.regions.shapes import Shape
from accountant.rules import admission
from accountant.store.tables import ENTRIES, WORKING
from tests.support.archived import moved
from tests.support.ledgers import (
    CELLS,
    EVENT,
    USER,
    Series,
    admit,
    answers,
    deny,
    must_verify,
    partial,
    registration,
    requests,
    seen,
    set_up,
    settle,
    terms,
)
from tests.support.runs import OTHER, RUN, WHOLE, ask, ring

DATABASES = ["sqlite"]
BOTH = pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)

E = Series("e", 20, 10, 3)
LAB = Series("lab", 10, 10, 2)
OLD = Series("old", first=-100)
LONG = Series("long", 200, 200, 5)


def fill(ledger):
    """Put rows into every table: a run, a pane, counts, recovered and archived decisions."""
    ledger.pins.register_budget(terms(EVENT, 50, "old"))
    ledger.pins.register_query(registration(OLD, "old"))
    ledger.admit("old", [OLD.request(0)])
    settle(ledger, OLD, 0)
    ledger.mark_published(OLD.key(0))
    assert moved(ledger, -90)[-1].kind in {Ended.kind, Worst.kind}
    ledger.pins.remove_alarm("old")
    set_up(ledger, USER, WHOLE + 4 * OTHER.units, [RUN, OTHER])
    ledger.pins.register_budget(terms(EVENT, 50, "t"))
    for one in (E, LAB):
        ledger.pins.register_query(registration(one, "t"))
    ask(ledger, 50, OTHER)
    ring(ledger, 0, 1)
    settle(ledger, OTHER, 0, units=1)
    ledger.mark_published(RUN.key(0), OTHER.key(0))
    ledger.admit("t", requests([E, LAB], 70))
    settle(ledger, E, 0, cells=(0, 1, 2, 3))
    settle(ledger, LAB, 0, noisy=Noisy(b"secret counts", 0))
    deny(ledger, E, 1)
    other = seen(settle(ledger, E, 2), scope="t", start_ms=30, end_ms=50, sequence=9)
    ledger.upkeep.reconcile([replace(other, ledger_id="other", next_start_ms=40)])
    ledger.counts.put_partial(replace(partial(OTHER, 1), cells=4, used=b"everybody"))
    ledger.counts.put_mark("feed", 0, 100, 3)
    ledger.counts.put_places({"feed": {0: (4, Stand.READING)}})
    ledger.journal.note("start")
    with ledger._door.write() as writing:
        head = writing.state.head
        writing.tx.kept.put(images.IMAGE, head.number, head.hash + images.dump(writing.state))


def flipped(value):
    """Yield other values for one."""
    match value:
        case bool():
            yield not value
        case int():
            yield from (value + 10_000, value - 10_000)
        case bytes():
            yield value + b"x"
            yield bytes([value[0] ^ 1]) + value[1:] if value else b"y"
        case _:
            yield f"{value}x"


UNSEEN = {
    "door": "nobody waits for another before an append: of two, one fails",
    "happened/start": "how often workers started and what stopped them: nothing follows from it",
    "image": "the state is folded from its beginning",
    "marks": "a mark that is gone is sought before: reading begins earlier, and no count changes",
    "partials": "a count that is gone is counted again, from the same slice of the log",
    "places": "what partitions look like now, written anew every few seconds: a window that it "
    "denies is not charged",
    "published/": "a decision that leaves twice has the same id",
    "secret": "another one is not taken for it: the ledger is not opened",
    "used": "what people used up that is gone is counted again, from the period's beginning",
}
"""What may be deleted of working rows without a word of ``verify``, with the reason."""


def unseen(table, row):
    """Whether a row may be deleted."""
    words = (table.name.removeprefix("tocsin_"), row.get("kind", ""), row.get("name", ""))
    return any(word.startswith(one) for word in words for one in UNSEEN)


@pytest.mark.parametrize("table", [ENTRIES, *WORKING], ids=lambda one: str(one.name))
def test_every_change_of_every_row_is_named(opened, table):
    """By ``verify``, or by whoever opens it next; so is every row that is gone and matters."""
    ledger = opened()
    fill(ledger)
    must_verify(ledger)
    engine = ledger._store._engine
    with engine.connect() as connection:
        rows = [row._asdict() for row in connection.execute(sa.select(table))]
    assert rows
    for row in rows:
        mine = [column == row[column.name] for column in table.primary_key.columns]
        changes = [
            table.update().values({column.name: other})
            for column in table.columns
            for other in flipped(row[column.name])
        ]
        changes += [] if unseen(table, row) else [table.delete()]
        for change in changes:
            with engine.begin() as connection:
                connection.execute(change.where(*mine))
            with suppress(LedgerError, ValueError):  # where it cannot even be read
                assert ledger.reports.verify(), (table.name, change.compile().params, row)
            with engine.begin() as connection:
                connection.execute(table.delete())
                connection.execute(table.insert(), rows)
    must_verify(ledger)


@BOTH
def test_an_alarm_that_comes_late_meets_what_was_forgotten(opened):
    """A window that began before all others is answered above what lies in it, however old."""
    ledger = opened()
    set_up(ledger, EVENT, 5, [LAB])
    admit(ledger, 190, LAB)
    for index in range(19):
        settle(ledger, LAB, index)
    with ledger._door.write() as writing:
        budget = writing.state.budgets["s"]
        budget._kept = -1_000  # as after many more windows
        budget.forget()
        assert budget.final == budget.settled == []
    ledger.pins.register_query(registration(replace(LONG, units=3)))
    ledger.pins.register_query(registration(replace(LONG, query="over", units=1)))
    late = [replace(LONG, units=3), replace(LONG, query="over", units=1)]
    admit(ledger, 200, LAB, *late)
    assert answers(ledger, late[0], 1) == ["reserved"]  # 2 of LAB and 3 fill the 5
    settle(ledger, late[0], 0)
    assert answers(ledger, late[1], 1) == ["refused"]


LIES = [
    (EVENT, b'"worst_units":2', b'"worst_units":1'),
    (EVENT, b'"sequence":1', b'"sequence":2'),
    (EVENT, b'"cursor_ms":10', b'"cursor_ms":20'),
    (EVENT, b'"decided":[1,', b'"decided":[2,'),
    (EVENT, b'"epsilon_max_units":9', b'"epsilon_max_units":10'),
    (USER, b'"drawn":{"0":[8,2]}', b'"drawn":{"0":[4,4]}'),  # of the alarm's share
]


@pytest.mark.parametrize(("unit", "true", "false"), LIES)
def test_a_snapshot_that_lies_is_named(opened, unit, true, false):
    """The fold from the beginning says what the snapshot should have been."""
    ledger = opened()
    series = LAB if unit is EVENT else replace(LAB, share=4, period=1_000)
    set_up(ledger, unit, 9, [series])
    admit(ledger, 100, series)
    settle(ledger, series, 0)
    with ledger._door.write() as writing:
        image = images.dump(writing.state)
        assert true in image
        entry = decode("snapshot", b'{"state":' + image.replace(true, false) + b"}")
        writing.append(entry)
    assert any("snapshot" in line for line in ledger.reports.verify())


def test_a_log_without_its_beginning_is_refused(opened):
    """Somebody deleted its oldest entries: there is nothing to fold from."""
    ledger = opened()
    set_up(ledger, EVENT, 9, [LAB])
    with ledger._store._engine.begin() as connection:
        connection.execute(ENTRIES.delete().where(ENTRIES.c.seq < 3))
    with pytest.raises(LedgerCorruptError, match="beginning"):
        opened()


@pytest.mark.parametrize("other", [{"start_ms": 1}, {"units": 3}, {"periods": (100,)}])
def test_what_ended_is_what_was_granted(opened, monkeypatch, other):
    """No entry settles a window under the name of another, or at another's worst."""
    ledger, series = opened(), replace(LAB, period=100)
    set_up(ledger, USER, 9, [series])
    admit(ledger, 10, series)
    settled = ended(ledger, series)
    wrong = msgspec.structs.replace(settled, asked=msgspec.structs.replace(settled.asked, **other))
    with pytest.raises(LookupError), ledger._door.write() as writing:
        writing.append(wrong)
    must_verify(ledger)
    # Broken twin: takes every window for the one that was granted.
    with monkeypatch.context() as twin:
        twin.setattr(Asked, "__ne__", lambda *_: False)
        with ledger._door.write() as writing:
            writing.append(wrong)
    assert any("do not follow" in line for line in ledger.reports.verify())


def ended(ledger, series):
    """Return how the first window of a series would end."""
    with ledger._door.read() as (_, state):
        key, cost = series.key(0), UniformCost(series.units, CELLS)
        charge = admission.reserved(state.budgets["s"], key, series.fingerprint, cost)
        rest = {"alarms": b"[]", "alarm_count": 0, "next_start_ms": key.end_ms, "now_ms": 20}
        return admission.settled(1, charge, cost, release_ms=20, run=None, left=None, **rest)


ROOM = {room: Region.where(room=room) for room in ("lab", "hall")}


@pytest.mark.parametrize(
    ("unit", "together"),
    [
        (USER, [LAB, E]),
        (USER, [replace(LAB, windows=2)]),
        (EVENT, [LAB, E]),
        (EVENT, [replace(E, shape=Shape(ROOM["lab"].canonical))]),
    ],
    ids=["user", "caps", "event", "region"],
)
def test_a_filter_that_grants_too_much_is_named(opened, monkeypatch, unit, together):
    """Broken twin: whatever is asked fits. ``verify`` adds it up by itself."""
    mine = [replace(one, period=100 if unit is USER else 0) for one in together]
    ledger = opened()
    set_up(ledger, unit, 5, mine)
    admit(ledger, 40, *mine)
    must_verify(ledger)
    for judge in (UserFilter, EventFilter, WithRoom):
        monkeypatch.setattr(judge, "answer", lambda *_: Answer.RESERVED)
    ledger.admit("s", requests([replace(one, units=3) for one in mine], 100))
    assert any("above the limit of 5" in line for line in ledger.reports.verify())
