"""What a ledger's age costs: counted in what the database does, on both of them, never in time."""

from __future__ import annotations

import gc
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from accountant.audit import verify, wallchecks
from accountant.audit.chainchecks import Place
from accountant.rules import compaction
from accountant.ledger import upkeep
from accountant.loss.overlap import Held
from accountant.records import Answer
from accountant.store import rows
from accountant.store.chain import read_anchor
from accountant.store.declaration import Table
from accountant.store.rows import Rows
from accountant.store.tables import TABLES
from accountant.store.tables.charged import ChargeRow, LinkRow
from accountant.units import PrivacyUnit
from tests.support.aged import age, effort
from tests.support.exports import replayed
from tests.support.ledgers import (
    Clock,
    Series,
    deny,
    open_ledger,
    requests,
    set_up,
    settle,
    without_anchors,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from accountant.ledger.ledger import Ledger
    from accountant.store.transaction import Transaction

WALL = 10**9
STEP_LINKS = 40


class Killed(Exception):  # noqa: N818  # not an error of the ledger's
    """Ends a compaction between two steps."""


def alarms(unit: PrivacyUnit, period: int = 100) -> list[Series]:
    """Return queries with tumbling windows."""
    return [Series(name, period=period if unit is PrivacyUnit.USER else 0) for name in "abcd"]


@pytest.fixture(params=list(PrivacyUnit))
def unit(request: pytest.FixtureRequest) -> PrivacyUnit:
    """Each privacy unit."""
    found: PrivacyUnit = request.param
    return found


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a step so small that the ledgers of tests take many, without a pause."""
    monkeypatch.setattr(compaction, "STEP_LINKS", STEP_LINKS)
    monkeypatch.setattr(upkeep, "PAUSE_S", 0)


@pytest.mark.usefixtures("small_steps")
def test_compaction_takes_its_share_for_every_charge(fresh: Callable[[], Ledger]) -> None:
    """Three times the charges take three times the work, in transactions as large as before."""
    took = []
    for past in (60, 180):
        ledger = fresh()
        age(ledger, PrivacyUnit.USER, WALL, alarms(PrivacyUnit.USER, 10**6), past)
        with effort(ledger) as work:
            assert ledger.upkeep.compact("s", 10 * past) == 4 * past
        took.append(work)
    assert took[1].steps < 4 * took[0].steps
    assert took[0].largest == took[1].largest < 3 * STEP_LINKS


@pytest.mark.usefixtures("small_steps")
def test_every_step_leaves_a_ledger_like_any_other(
    fresh: Callable[[], Ledger], unit: PrivacyUnit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed after any of its steps, a compaction has done less; nothing that is asked can tell."""
    whole, killed = fresh(), fresh()
    for ledger in (whole, killed):
        age(ledger, unit, WALL, alarms(unit), 30)
    before = without_anchors(killed.reports.status())
    totals = replayed(killed.reports.export())

    def kill(_: float) -> None:
        raise Killed

    monkeypatch.setattr(upkeep.time, "sleep", kill)
    kills = 0
    while True:
        try:
            killed.upkeep.compact("s", 250)
        except Killed:
            kills += 1
        else:
            break
        assert killed.reports.verify() == []
        assert without_anchors(killed.reports.status()) == before
        assert replayed(killed.reports.export()) == totals
    assert kills == 4 * 25 * 2 // STEP_LINKS

    monkeypatch.setattr(upkeep.time, "sleep", lambda _: None)
    assert whole.upkeep.compact("s", 250) == 4 * 25
    assert replace(without_anchors(whole.reports.status()), ledger_id=before.ledger_id) == before
    kept = [
        [row for row in one.reports.export() if row["record"] in {"charges", "compacted"}]
        for one in (whole, killed)
    ]
    assert kept[0] == kept[1]
    assert whole.upkeep.compact("s", 250) == killed.upkeep.compact("s", 250) == 0


@pytest.mark.usefixtures("small_steps")
def test_no_step_makes_room_under_the_wall(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks for a window between two steps is answered as if nothing had gone."""
    series, past = Series("a", period=10**9), 120
    age(ledger, PrivacyUnit.USER, past + 3, [series], past)
    answers = []

    def ask(_: float) -> None:
        index = past + len(answers)
        ledger.admit("s", [series.request(index)])
        answers.append(ledger.answer(series.key(index)))
        (settle if answers[-1] is Answer.RESERVED else deny)(ledger, series, index)
        assert ledger.reports.verify() == []

    monkeypatch.setattr(upkeep.time, "sleep", ask)
    assert ledger.upkeep.compact("s", 10 * past) == past
    assert answers == [*[Answer.RESERVED] * 3, *[Answer.REFUSED] * (len(answers) - 3)]
    assert len(answers) > 4


def test_a_status_takes_as_long_as_ever(fresh: Callable[[], Ledger], unit: PrivacyUnit) -> None:
    """Thirty times the decisions: not a step or a row more."""
    took = []
    for past in (5, 150):
        ledger = fresh()
        age(ledger, unit, WALL, alarms(unit, 10**6), past)
        ledger.reports.status()
        with effort(ledger) as work:
            status = ledger.reports.status()
        assert [one.decided for one in status.queries.values()] == [past] * 4
        took.append(work.steps)
    assert took[1] <= took[0] + 2


TALLIES = {
    "one too many": "UPDATE tocsin_tallies SET windows = windows + 1 WHERE reason = ''",
    "another instant": "UPDATE tocsin_tallies SET last_ms = last_ms + 1 WHERE reason = 'no'",
    "one that is gone": "DELETE FROM tocsin_tallies WHERE reason = 'no'",
    "another reason": "UPDATE tocsin_tallies SET reason = 'yes' WHERE reason = 'no'",
}


@pytest.mark.parametrize("tampering", TALLIES)
def test_counts_of_decisions_are_recomputed(ledger: Ledger, tampering: str) -> None:
    """Verify counts again what status reads."""
    a = Series("a")
    set_up(ledger, PrivacyUnit.EVENT, WALL, [a])
    ledger.admit("s", requests([a], 30))
    settle(ledger, a, 0)
    deny(ledger, a, 1, "no")
    deny(ledger, a, 2, "no")
    assert ledger.reports.verify() == []
    with ledger._store.write() as tx:
        tx.connection.exec_driver_sql(TALLIES[tampering])
    assert any("windows of 'a' that were de" in line for line in ledger.reports.verify())


def aged(
    fresh: Callable[[], Ledger], unit: PrivacyUnit, past: int
) -> tuple[Ledger, tuple[int, bytes]]:
    """Return a ledger that has decided windows since it was old, and a link from before that."""
    ledger, series = fresh(), alarms(unit)
    age(ledger, unit, WALL, series, past)
    noted = read_anchor(ledger.reports.status().scopes["s"].anchor)
    for index in range(past, past + 12):
        ledger.admit("s", [one.request(index) for one in series])
        for one in series:
            (settle if index % 3 else deny)(ledger, one, index)
    ledger.admit("s", [one.request(past + 12) for one in series])
    return ledger, noted


def test_a_ledger_is_verified_since_a_noted_link(
    fresh: Callable[[], Ledger], unit: PrivacyUnit
) -> None:
    """It takes as long as what came after, however old the ledger; what came after is compared."""
    took = []
    for past in (20, 200):
        ledger, noted = aged(fresh, unit, past)
        with effort(ledger) as work:
            assert ledger.reports.verify(since={"s": noted}) == []
        took.append(work.steps)
    assert took[1] < 1.2 * took[0]

    at = f" WHERE query = 'a' AND start_ms = {ledger.cursor('a') - 20}"
    for change in (
        "UPDATE tocsin_charges SET loss_units = loss_units + 1",
        "UPDATE tocsin_charges SET units = units + 1",
        "UPDATE tocsin_links SET link = link + 1000",
        "DELETE FROM tocsin_decisions",
        "DELETE FROM tocsin_charges",
    ):
        with tampered(ledger, change + at) as tx:
            found = verify.problems(tx, {}, {"s": Place(*noted)})
        assert any("'a'" in line or "of the chain" in line for line in found)
    with tampered(ledger, "UPDATE tocsin_charges SET units = 9 WHERE start_ms = 0") as tx:
        assert verify.problems(tx, {}, {"s": Place(*noted)}) == [], "as it says: trusted"
        assert verify.problems(tx, {}) != []
    number, digest = noted
    for wrong in ((number, b"?" * 16), (number + 10**6, digest), (number - 1, digest)):
        assert any("noted" in line for line in ledger.reports.verify(since={"s": wrong}))
    for mark in ledger.unpublished("a", 10**9):
        ledger.mark_published(mark.key)
    assert ledger.upkeep.compact("s", 10 * past - 50) == 4 * past - 20
    assert ledger.reports.verify({"s": dict([noted])}, since={"s": noted}) == []
    assert any("compacted" in line for line in ledger.reports.verify(since={"s": (1, digest)}))


@contextmanager
def tampered(ledger: Ledger, change: str) -> Iterator[Transaction]:
    """Yield a transaction with a change behind the ledger's back; it is rolled back."""
    with suppress(Killed), ledger._store.write() as tx:
        tx.connection.exec_driver_sql(change)
        yield tx
        raise Killed


def test_an_aged_ledger_is_one_that_decided(new_url: Callable[[], str], unit: PrivacyUnit) -> None:
    """What puts a past into a ledger leaves row for row what deciding each window does."""
    series, past, clock = alarms(unit), 12, Clock(0)
    with ExitStack() as stack:
        aged, decided = (
            stack.enter_context(open_ledger(new_url(), clock, entropy=bytes)) for _ in range(2)
        )
        age(aged, unit, WALL, series, past)
        set_up(decided, unit, WALL, series)
        for index in range(past):
            clock.now_ms = series[0].key(index).end_ms
            decided.admit("s", [one.request(index) for one in series])
            for one in series:
                settle(decided, one, index)
                decided.mark_published(one.key(index))
        with aged._store.read() as one_tx, decided._store.read() as other_tx:
            for table in TABLES:
                one, other = (Rows(tx.connection, table).raw() for tx in (one_tx, other_tx))
                assert list(one) == list(other), table.name


_HELD = {ChargeRow, LinkRow, Held}


def test_verifying_holds_no_more_of_an_old_ledger(
    fresh: Callable[[], Ledger], unit: PrivacyUnit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many charges there are, a few chunks of them are alive at once."""
    monkeypatch.setattr(wallchecks, "BLOCK", 50)
    monkeypatch.setattr(rows, "PAGE", 50)
    ledger = fresh()
    age(ledger, unit, WALL, alarms(unit), 250)
    reads, most, own = count(1), [0], Table.read

    def read(table: Any, stored: Any) -> Any:
        if next(reads) % 300 == 0:
            held = sum(type(one) in _HELD for one in gc.get_objects())  # a proxy may be of nothing
            most[0] = max(most[0], held)
        return own(table, stored)

    gc.freeze()  # what was there before verifying is not looked through again and again
    with monkeypatch.context() as looking:
        looking.setattr(Table, "read", read)
        assert ledger.reports.verify() == []
    assert 50 < most[0] < 500 < 3 * 4 * 250
    for column in ("scopes SET settled_worst_units", "totals SET held_units"):
        name = column.rpartition(" ")[2]
        for change in ("- 1", "+ 1"):
            with tampered(ledger, f"UPDATE tocsin_{column} = {name} {change}") as tx:
                wrong = verify.problems(tx, {})
            assert bool(wrong) is ("scopes" in column or unit is PrivacyUnit.USER)
