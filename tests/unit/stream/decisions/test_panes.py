"""Panes are drawn once, whatever is killed; windows over them cost nothing; few are kept."""

from __future__ import annotations

import shutil
from itertools import islice

import pytest

from accountant.costs.noisy import Noisy
from accountant.records import Outcome
from accountant.store.private import NOISY
from accountant.store.tables import PRIVATE
from operators.noise.source import NoiseSource
from stream.custody.changes import apply_changes
from stream.decisions.lifecycle import State, step
from stream.decisions.mechanisms import panes_of
from stream.decisions.release import (
    count_records,
    decision_record,
    released_counts,
    seen_decision,
)
from stream.decisions.steps import Step
from stream.model.lifecycles import EVERY_WINDOW
from stream.windows.instants import iso_utc
from tests.support.archived import moved
from tests.support.ledgers import (
    EVENT,
    Series,
    admit,
    must_verify,
    only_scope,
    open_ledger,
    set_up,
    settle,
)
from tests.support.paned import alarm, configured, decided, opened, replayed, rows

SLIDING = "HOP(ts, INTERVAL '1' MINUTE, INTERVAL '3' MINUTE)"
TWO = (
    alarm("warning", SLIDING, "COUNT(*) > 9", release="counts"),
    alarm("critical", SLIDING, "COUNT(*) > 12"),
)
OWN = alarm("own", "TUMBLE(ts, INTERVAL '1' MINUTE)", "COUNT(*) > 9", mechanism="tslm")
EARLY = (alarm("early", "CUMULATE(ts, INTERVAL '1' MINUTE, INTERVAL '4' MINUTE)", "COUNT(*) > 9"),)
PANES = Series("panes-1")
KILLED_AT = [step for step in Step if step is not Step.AFTER_POLL]


class KilledError(Exception):
    """The process ends here."""


class Counting(NoiseSource):
    """The cryptographic source, which notes how often panes were drawn."""

    draws = 0

    def discrete_laplace(self, t, n):
        """Draw, and count it."""
        self.draws += 1
        return super().discrete_laplace(t, n)


def stored(ledger, alarms):
    """Return every pane that the ledger keeps."""
    (panes,) = alarms.panes
    return {row.key: row.counts for row in ledger.noisy.between(panes, 0, 1 << 62)}


def cut_off(alarms, ledger, events, after, **options):
    """Replay until so many decisions have left, and return them."""
    going = replayed(alarms, ledger, events, **options)
    some = list(islice(going, after))
    going.close()
    return some


@pytest.mark.parametrize("at", KILLED_AT, ids=str)
def test_a_killed_replay_goes_on_with_the_panes_that_it_stored(tmp_path, at):
    """At every step, of panes and of windows: a stored pane stays, and is charged once.

    The counts that leave are those that a window was stored with, also when its panes are gone.
    """
    alarms = configured(tmp_path, *TWO, until="00:06")
    events = rows(tmp_path, (4, 0, 9, 2, 1, 7))
    (panes,) = alarms.panes
    seen = {}
    left = []
    kills = 0

    def step(now, key):
        nonlocal steps
        for window, counts in stored(ledger, alarms).items():
            assert seen.setdefault(window, counts) == counts
        decision = ledger.decision(key) if key is not None else None
        for one in count_records(decision) if decision is not None else ():
            assert seen.setdefault(one.count_id, one) == one
        steps -= now is at
        if steps == 0:
            raise KilledError

    for nth in (2, 5, 1 << 30):
        steps = nth
        with opened(alarms) as ledger:
            try:
                for one in replayed(alarms, ledger, events, step=step):
                    left += count_records(one)
            except KilledError:
                kills += 1
            must_verify(ledger)
    assert kills == 2
    assert all(seen[one.count_id] == one for one in left)
    assert len({one.count_id for one in left}) == 4
    assert len(seen) == 6 + 4
    with opened(alarms) as ledger:
        status = ledger.reports.status()
        assert len(stored(ledger, alarms)) < 6
    (scope,) = status.scopes.values()
    assert scope.spent_units == panes_of(alarms.panes[panes]).plan.epsilon * 10**12
    sequences = {name: one.sequence for name, one in status.queries.items()}
    assert sequences == {panes: 6, "warning": 4, "critical": 4}


def test_panes_that_two_copies_of_a_ledger_drew_are_seen_and_charged_twice(tmp_path):
    """No pane rings: its record says which draw it is about, and no copy takes it for its own."""
    copies = [configured(tmp_path / name, *TWO, until="00:04") for name in ("one", "two")]
    opened(copies[0]).close()
    shutil.copy(tmp_path / "one" / "ledger.db", tmp_path / "two")
    told = []
    for name, alarms in zip(("one", "two"), copies, strict=True):
        decisions = decided(alarms, rows(tmp_path / name, (90, 0, 90, 0)))
        records = [decision_record(alarms.running[one.key.query], alarms, one) for one in decisions]
        told.append(list(map(seen_decision, records)))
    theirs, mine = told
    panes = {one.key for one in theirs if one.query in copies[0].panes}
    assert len(panes) == 4
    assert len({one.draw for each in told for one in each} - {None}) == 8
    with opened(copies[1]) as ledger:
        assert ledger.upkeep.unknown_decisions(mine) == []
        unknown = ledger.upkeep.unknown_decisions(theirs)
        assert panes <= {one.key for one in unknown}
        before = only_scope(ledger)
        assert ledger.upkeep.reconcile(theirs) == len(unknown)
        assert ledger.upkeep.reconcile(theirs) == 0
        after = only_scope(ledger)
        must_verify(ledger)
    assert after.spent_units == 2 * before.spent_units


def test_what_an_earlier_replay_left_over_leaves_panes_first(tmp_path):
    """Of windows that had not left, too: an older ledger learns from them what was drawn.

    Six panes are six draws, for eight windows; who replays again draws none.
    """
    alarms = configured(tmp_path, *TWO, until="00:06")
    events, noise = rows(tmp_path, (4, 0, 9, 2, 1, 7)), Counting()
    with opened(alarms) as ledger:
        # All are stored by now, and none has left.
        cut_off(alarms, ledger, events, 1, noise=noise)
        left = [one.key for one in replayed(alarms, ledger, events, noise=noise)]
        assert list(replayed(alarms, ledger, events, noise=noise)) == []
    assert len(left) == 14
    assert left == sorted(left, key=lambda key: (key.end_ms, key.query not in alarms.panes, key))
    assert noise.draws == 6


@pytest.mark.parametrize(("written", "kept"), [(TWO, 3), (EARLY, 4)], ids=["sliding", "steps"])
def test_no_more_panes_are_kept_than_windows_to_come_read(tmp_path, written, kept):
    """The next sliding window reads two of those that are there, a step all of its window's."""
    alarms = configured(tmp_path, *written, until="00:20")
    most = 0

    def step(_step, _key):
        nonlocal most
        most = max(most, len(stored(ledger, alarms)))

    with opened(alarms) as ledger:
        decisions = list(replayed(alarms, ledger, rows(tmp_path, (1,) * 20), step=step))
    assert {one.outcome for one in decisions} == {Outcome.DECIDED}
    assert most == kept


def test_readers_are_told_of_no_pane_and_of_every_window_over_a_denied_one(tmp_path):
    """Denials of panes are on the topic; what is said of it names alarms, and misses nothing.

    No count leaves with a denial.
    """
    alarms = configured(tmp_path, OWN, *TWO, until="00:04", wall="0.9")
    (panes,) = alarms.panes
    decisions = decided(alarms, rows(tmp_path, (1, 1, 1, 1)))
    denied = [one for one in decisions if one.outcome is Outcome.DENIED]
    assert {one.key.query for one in denied} >= {panes, "warning", "critical"}
    told = set()
    for one in denied:
        record = decision_record(alarms.running[one.key.query], alarms, one)
        assert (record.reason, record.loss_units) == ("budget", 0)
        assert [*count_records(one), *released_counts(one)] == []
        notices = step(State(), record, (), EVERY_WINDOW)[1]
        assert [each.alarm for each in notices] == [one.key.query] * (one.key.query != panes)
        told |= {(each.alarm, each.window_start) for each in notices}
    gone = [one.key for one in denied if one.key.query == panes]
    over = {
        (one.key.query, iso_utc(one.key.start_ms))
        for one in decisions
        for pane in gone
        if one.key.query in alarms.panes[panes].readers
        and one.key.start_ms <= pane.start_ms < pane.end_ms <= one.key.end_ms
    }
    assert over
    assert over <= told


def test_a_window_whose_panes_are_gone_is_denied(tmp_path):
    """An alarm that joins when all is over: nothing is drawn for it again, and nothing charged."""
    events = rows(tmp_path, (1,) * 6)
    alarms = configured(tmp_path, TWO[0], until="00:06")
    decided(alarms, events)
    joined = configured(tmp_path, *TWO, until="00:06")
    assert joined.panes.keys() == alarms.panes.keys()
    late = decided(joined, events)
    assert {one.key.query for one in late} == {"critical"}
    assert [one.reason for one in late] == [*["pane_gone"] * 3, "not_admitted"]


@pytest.fixture
def ledger(tmp_path):
    """A ledger with four windows of panes that are admitted."""
    with open_ledger(f"sqlite:///{tmp_path / 'ledger.db'}") as found:
        set_up(found, EVENT, 100, [PANES])
        admit(found, 40, PANES)
        yield found


def test_a_pane_that_is_settled_again_keeps_its_first_draw(ledger):
    """Two workers drew, one stored: the other is given what is there, and its draw is dropped."""
    first = settle(ledger, PANES, 0, noisy=Noisy(b"first", 0))
    assert settle(ledger, PANES, 0, noisy=Noisy(b"second", 0)) == first
    (row,) = ledger.noisy.between("panes-1", 0, 10)
    assert row.counts == b"first"
    must_verify(ledger)


def test_stored_panes_that_were_changed_are_found(ledger):
    """A pane drawn again in its row's place, one that is gone, one that nothing decided."""
    gone, mine = PRIVATE.delete(), PRIVATE.c.kind == NOISY
    second = mine & (PRIVATE.c.start_ms == 10)

    def edited(statement):
        with ledger._store.write() as tx:
            tx.connection.execute(statement)
        return ledger.reports.verify()

    def drawn(start_ms):
        """Draw again, as who has the ledger's secret: the row itself is sound."""
        with ledger._store.write() as tx:
            tx.private.put(NOISY, "panes-1", start_ms, start_ms + 10, "f1", b"again")
        return ledger.reports.verify()

    for index in range(3):
        settle(ledger, PANES, index, noisy=Noisy(f"noisy {index}".encode(), 10))
    must_verify(ledger)
    assert drawn(0) == ["noisy counts of 'panes-1' belong to no decision"]
    assert edited(gone.where(mine & (PRIVATE.c.start_ms == 0))) == []
    assert drawn(10) == ["noisy counts of 'panes-1' are not as their decision left them"]
    (row, _) = edited(PRIVATE.update().where(second).values(body=b"and again"))
    assert row.startswith("a row of tocsin_private is not what was stored")
    for some in (gone.where(second), gone.where(mine)):
        (problem,) = edited(some)
        assert problem == "noisy counts of 'panes-1' are gone, and windows to come read them"
    settle(ledger, PANES, 3, noisy=Noisy(b"noisy 3", 30))
    must_verify(ledger)
    ledger.pins.remove_alarm("panes-1")
    must_verify(ledger)


def test_archiving_leaves_the_panes_that_are_read(tmp_path):
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


def test_an_accepted_change_ends_the_panes_that_were_stored(tmp_path):
    """No window is made of panes of two rates: those across are denied, later ones decided."""
    events = rows(tmp_path, (1,) * 20)
    alarms = configured(tmp_path, *TWO, until="00:20")
    with opened(alarms) as ledger:
        cut_off(alarms, ledger, events, 20)
        left = (one.key for name in alarms.running for one in ledger.unpublished(name, 2**62))
        ledger.mark_published(*left)
    sharper = configured(
        tmp_path, *(one.replace("tolerance: 2", "tolerance: 1") for one in TWO), until="00:20"
    )
    with opened(sharper) as ledger:
        assert len(apply_changes(sharper, ledger, now_ms=0)) == 3
        assert stored(ledger, sharper) == {}
        rest = list(replayed(sharper, ledger, events))
        must_verify(ledger)
    reasons = {one.reason for one in rest}
    assert reasons == {"pane_gone", None}
    assert {one.outcome for one in rest if one.key.query in sharper.panes} == {Outcome.DECIDED}
