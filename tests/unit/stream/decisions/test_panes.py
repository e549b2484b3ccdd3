"""Panes are drawn once, whatever is killed; windows over them cost nothing; few are kept."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest

from accountant.costs.noisy import Noisy
from accountant.ledger.ledger import Ledger
from accountant.records import BudgetTerms, LogIdentity, Outcome
from accountant.store.private import NOISY
from accountant.store.tables import PRIVATE
from accountant.units import PrivacyUnit
from operators.noise.source import NoiseSource
from stream.custody.changes import apply_changes
from stream.decisions.lifecycle import State, step
from stream.decisions.mechanisms import panes_of
from stream.decisions.release import decision_record, seen_decision
from stream.decisions.steps import Step
from stream.model.lifecycles import EVERY_WINDOW
from stream.windows.instants import iso_utc
from tests.support.archived import moved
from tests.support.ledgers import TOPIC_ID, Series, registration, settle
from tests.support.paned import alarm, configured, decided, opened, replayed, rows

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from accountant.costs.charges import WindowKey
    from accountant.records import StoredDecision
    from stream.model.alarms import Alarms

SLIDING = "HOP(ts, INTERVAL '1' MINUTE, INTERVAL '3' MINUTE)"
TWO = (alarm("warning", SLIDING, "COUNT(*) > 9"), alarm("critical", SLIDING, "COUNT(*) > 12"))
OWN = alarm("own", "TUMBLE(ts, INTERVAL '1' MINUTE)", "COUNT(*) > 9", mechanism="tslm")
EARLY = (alarm("early", "CUMULATE(ts, INTERVAL '1' MINUTE, INTERVAL '4' MINUTE)", "COUNT(*) > 9"),)
KILLED_AT = [step for step in Step if step is not Step.AFTER_POLL]


class KilledError(Exception):
    """The process ends here."""


class Counting(NoiseSource):
    """The cryptographic source, which notes how often panes were drawn."""

    draws = 0

    def discrete_laplace(self, t: Fraction, n: int) -> NDArray[np.int64]:
        """Draw, and count it."""
        self.draws += 1
        return super().discrete_laplace(t, n)


def stored(ledger: Ledger, alarms: Alarms) -> dict[WindowKey, bytes]:
    """Return every pane that the ledger keeps."""
    (panes,) = alarms.panes
    return {row.key: row.counts for row in ledger.noisy.between(panes, 0, 1 << 62)}


def cut_off(alarms: Alarms, ledger: Ledger, events: Path, after: int) -> list[StoredDecision]:
    """Replay until so many decisions have left, and return them."""
    going = replayed(alarms, ledger, events)
    some = [next(going) for _ in range(after)]
    going.close()
    return some


@pytest.fixture
def ledger_path(tmp_path: Path) -> Path:
    """Return where a ledger with a query of one budget lies."""
    path = tmp_path / "ledger.db"
    with ledger_at(path) as ledger:
        ledger.pins.register_budget(BudgetTerms("s", PrivacyUnit.EVENT, 100, ""))
        ledger.pins.register_log(LogIdentity("feed", "cluster", TOPIC_ID, "rooms", 2))
        ledger.pins.register_query(registration(Series("panes-1", 10, 10)))
    return path


def ledger_at(path: Path) -> Ledger:
    """Open a ledger."""
    return Ledger.open(f"sqlite:///{path}", clock_ms=lambda: 1_000_000, entropy=NoiseSource().token)


@pytest.mark.parametrize("at", KILLED_AT, ids=str)
def test_a_killed_replay_goes_on_with_the_panes_that_it_stored(tmp_path: Path, at: Step) -> None:
    """At every step, of panes and of windows: a stored pane stays, and is charged once."""
    alarms = configured(tmp_path, *TWO, until="00:06")
    events = rows(tmp_path, (4, 0, 9, 2, 1, 7))
    seen: dict[WindowKey, bytes] = {}
    kills = 0

    def step(now: Step, _key: WindowKey | None) -> None:
        nonlocal left
        for window, counts in stored(ledger, alarms).items():
            assert seen.setdefault(window, counts) == counts
        left -= now is at
        if left == 0:
            raise KilledError

    for nth in (2, 5, 1 << 30):
        left = nth
        with opened(alarms) as ledger:
            try:
                list(replayed(alarms, ledger, events, step=step))
            except KilledError:
                kills += 1
            assert ledger.reports.verify() == []
    assert kills == 2
    assert len(seen) == 6
    with opened(alarms) as ledger:
        status = ledger.reports.status()
        (panes,) = alarms.panes
        (scope,) = status.scopes.values()
        each = panes_of(alarms.panes[panes])
        assert scope.spent_units == each.plan.epsilon * 10**12
        assert {name: one.sequence for name, one in status.queries.items()} == {
            panes: 6,
            "warning": 4,
            "critical": 4,
        }


def test_panes_that_two_copies_of_a_ledger_drew_are_seen_and_charged_twice(tmp_path: Path) -> None:
    """No pane rings: its record says which draw it is about, and no copy takes it for its own."""
    copies = [configured(tmp_path / name, *TWO, until="00:04") for name in ("one", "two")]
    opened(copies[0]).close()
    shutil.copy(tmp_path / "one" / "ledger.db", tmp_path / "two")
    told = []
    for name, alarms in zip(("one", "two"), copies, strict=True):
        with opened(alarms) as ledger:
            decisions = list(replayed(alarms, ledger, rows(tmp_path / name, (90, 0, 90, 0))))
            running = {one.key: alarms.running[one.key.query] for one in decisions}
        records = [decision_record(running[one.key], alarms, one) for one in decisions]
        told.append(list(map(seen_decision, records)))
    theirs, mine = told
    panes = [one for one in theirs if one.query in copies[0].panes]
    assert len(panes) == 4
    assert len({one.draw for each in told for one in each} - {None}) == 8
    with opened(copies[1]) as ledger:
        assert ledger.upkeep.unknown_decisions(mine) == []
        unknown = ledger.upkeep.unknown_decisions(theirs)
        assert {one.key for one in unknown} >= {one.key for one in panes}
        before = ledger.reports.status().scopes
        assert ledger.upkeep.reconcile(theirs) == len(unknown)
        assert ledger.upkeep.reconcile(theirs) == 0
        after = ledger.reports.status().scopes
        assert ledger.reports.verify() == []
    ((name, scope),) = before.items()
    assert after[name].spent_units == 2 * scope.spent_units


def test_what_an_earlier_replay_left_over_leaves_panes_first(tmp_path: Path) -> None:
    """Of windows that had not left, too: an older ledger learns from them what was drawn."""
    alarms = configured(tmp_path, *TWO, until="00:06")
    events = rows(tmp_path, (4, 0, 9, 2, 1, 7))
    with opened(alarms) as ledger:
        cut_off(alarms, ledger, events, 1)  # all are stored by now, and none has left
        left = [one.key for one in replayed(alarms, ledger, events)]
    assert len(left) == 14
    assert left == sorted(left, key=lambda key: (key.end_ms, key.query not in alarms.panes, key))


@pytest.mark.parametrize(("written", "kept"), [(TWO, 3), (EARLY, 4)], ids=["sliding", "steps"])
def test_no_more_panes_are_kept_than_windows_to_come_read(
    tmp_path: Path, written: Sequence[str], kept: int
) -> None:
    """The next sliding window reads two of those that are there, a step all of its window's."""
    alarms = configured(tmp_path, *written, until="00:20")
    most = 0

    def step(_step: Step, _key: WindowKey | None) -> None:
        nonlocal most
        most = max(most, len(stored(ledger, alarms)))

    with opened(alarms) as ledger:
        decisions = list(replayed(alarms, ledger, rows(tmp_path, (1,) * 20), step=step))
    assert {one.outcome for one in decisions} == {Outcome.DECIDED}
    assert most == kept


def test_readers_are_told_of_no_pane_and_of_every_window_over_a_denied_one(tmp_path: Path) -> None:
    """Denials of panes are on the topic; what is said of it names alarms, and misses nothing."""
    alarms = configured(tmp_path, OWN, *TWO, until="00:04", wall="0.9")
    decisions = decided(alarms, rows(tmp_path, (1, 1, 1, 1)))
    records = [decision_record(alarms.running[one.key.query], alarms, one) for one in decisions]
    denied = [one for one in records if one.outcome == "denied"]
    notices = [step(State(), one, (), EVERY_WINDOW)[1] for one in denied]
    told = {(one.alarm, one.window_start) for each in notices for one in each}
    (panes,) = alarms.panes
    assert panes in {one.alarm for one in denied}
    assert {(one.reason, one.loss_units) for one in denied} == {("budget", 0)}
    assert told == {(one.alarm, one.window_start) for one in denied if one.alarm != panes}
    over = [one for one in decisions if one.key.query in alarms.panes[panes].readers]
    for pane in (one.key for one in decisions if one.key.query == panes and one.reason):
        reading = [
            one
            for one in over
            if one.key.start_ms <= pane.start_ms and pane.end_ms <= one.key.end_ms
        ]
        assert reading
        assert all((one.key.query, iso_utc(one.key.start_ms)) in told for one in reading)


def test_a_window_whose_panes_are_gone_is_denied(tmp_path: Path) -> None:
    """An alarm that joins when all is over: nothing is drawn for it again, and nothing charged."""
    events = rows(tmp_path, (1,) * 6)
    alarms = configured(tmp_path, TWO[0], until="00:06")
    decided(alarms, events)
    joined = configured(tmp_path, *TWO, until="00:06")
    assert joined.panes.keys() == alarms.panes.keys()
    late = decided(joined, events)
    assert {one.key.query for one in late} == {"critical"}
    assert [one.reason for one in late] == [*["pane_gone"] * 3, "not_admitted"]


def test_a_pane_that_is_settled_again_keeps_its_first_draw(ledger_path: Path) -> None:
    """Two workers drew, one stored: the other is given what is there, and its draw is dropped."""
    window = Series("panes-1", 10, 10)
    with ledger_at(ledger_path) as ledger:
        ledger.admit("s", [window.request(0)])
        first = settle(ledger, window, 0, noisy=Noisy(b"first", 0))
        assert settle(ledger, window, 0, noisy=Noisy(b"second", 0)) == first
        (row,) = ledger.noisy.between("panes-1", 0, 10)
        assert row.counts == b"first"
        assert ledger.reports.verify() == []


def test_stored_panes_that_were_changed_are_found(ledger_path: Path) -> None:
    """A pane drawn again in its row's place, one that is gone, one that nothing decided."""
    window = Series("panes-1", 10, 10)

    def edited(statement: Any) -> list[str]:
        with ledger._store.write() as tx:
            tx.connection.execute(statement)
        return ledger.reports.verify()

    def drawn(start_ms: int) -> list[str]:
        """Draw again, as who has the ledger's secret: the row itself is sound."""
        with ledger._store.write() as tx:
            tx.private.put(NOISY, "panes-1", start_ms, start_ms + 10, "f1", b"again")
        return ledger.reports.verify()

    mine, gone = PRIVATE.c.kind == NOISY, PRIVATE.delete()
    with ledger_at(ledger_path) as ledger:
        ledger.admit("s", [window.request(index) for index in range(4)])
        for index in range(3):
            settle(ledger, window, index, noisy=Noisy(f"noisy {index}".encode(), 10))
        assert ledger.reports.verify() == []
        assert drawn(0) == ["noisy counts of 'panes-1' belong to no decision"]
        assert edited(gone.where(mine, PRIVATE.c.start_ms == 0)) == []
        assert drawn(10) == ["noisy counts of 'panes-1' are not as their decision left them"]
        second = (mine, PRIVATE.c.start_ms == 10)
        (row, _) = edited(PRIVATE.update().where(*second).values(body=b"and again"))
        assert row.startswith("a row of tocsin_private is not what was stored")
        missing = ["noisy counts of 'panes-1' are gone, and windows to come read them"]
        assert edited(gone.where(*second)) == missing
        assert edited(gone.where(mine)) == missing
        settle(ledger, window, 3, noisy=Noisy(b"noisy 3", 30))
        assert ledger.reports.verify() == []
        ledger.pins.remove_alarm("panes-1")
        assert ledger.reports.verify() == []


def test_archiving_leaves_the_panes_that_are_read(tmp_path: Path) -> None:
    """Their decisions go, and the replay goes on; with the archive they are compared still."""
    alarms = configured(tmp_path, *TWO, until="00:20")
    events = rows(tmp_path, (1,) * 20)
    with opened(alarms) as ledger:
        until_ms = max(one.key.end_ms for one in cut_off(alarms, ledger, events, 30))
        past = moved(ledger, until_ms)
        assert past
        assert ledger.reports.verify() == ledger.reports.verify(archived=past) == []
        assert stored(ledger, alarms)
        rest = list(replayed(alarms, ledger, events))
        assert {one.outcome for one in rest} == {Outcome.DECIDED}
        assert ledger.reports.verify() == ledger.reports.verify(archived=past) == []


def test_an_accepted_change_ends_the_panes_that_were_stored(tmp_path: Path) -> None:
    """No window is made of panes of two rates: those across are denied, later ones decided."""
    events = rows(tmp_path, (1,) * 20)
    alarms = configured(tmp_path, *TWO, until="00:20")
    with opened(alarms) as ledger:
        cut_off(alarms, ledger, events, 20)
    sharper = configured(
        tmp_path, *(one.replace("tolerance: 2", "tolerance: 1") for one in TWO), until="00:20"
    )
    with opened(sharper) as ledger:
        assert len(apply_changes(sharper, ledger, now_ms=0)) == 3
        assert stored(ledger, sharper) == {}
        rest = list(replayed(sharper, ledger, events))
        assert ledger.reports.verify() == []
    reasons = {one.reason for one in rest}
    assert reasons == {"pane_gone", None}
    assert {one.outcome for one in rest if one.key.query in sharper.panes} == {Outcome.DECIDED}


def test_windows_draw_nothing_and_panes_once(tmp_path: Path) -> None:
    """Six panes are six draws, for eight windows; a second replay draws none."""
    alarms = configured(tmp_path, *TWO, until="00:06")
    events, noise = rows(tmp_path, (4, 0, 9, 2, 1, 7)), Counting()
    with opened(alarms) as ledger:
        assert len(list(replayed(alarms, ledger, events, noise=noise))) == 14
        assert noise.draws == 6
        assert list(replayed(alarms, ledger, events, noise=noise)) == []
        assert noise.draws == 6
