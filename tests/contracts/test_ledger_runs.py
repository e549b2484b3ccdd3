"""Runs in the ledger: windows that share one noisy threshold, charged by their alarms alone."""

# ruff: noqa: S608 - statements are put together from names in this file

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa
from sqlalchemy import event

from accountant.audit import verify
from accountant.costs.charges import UniformCost
from accountant.costs.runs import RunAfter, RunTerms
from accountant.errors import LedgerError
from accountant.records import Answer, Request, SeenDecision
from accountant.units import PrivacyUnit
from tests.support.ledgers import (
    CELLS,
    Series,
    deny,
    open_ledger,
    registration,
    requests,
    set_up,
    settle,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from accountant.costs.runs import StoredRun
    from accountant.ledger.ledger import Ledger
    from accountant.records import StoredDecision

TERMS = RunTerms(open_units=5, alarm_units=2, alarms=3)
WHOLE = 11
FOREVER = 10**9
RUN = Series("r", units=WHOLE, period=FOREVER)
OTHER = Series("s", units=4, period=FOREVER)
USER = PrivacyUnit.USER


def ask(ledger: Ledger, until_ms: int, *beside: Series, run: Series = RUN) -> None:
    """Ask for every window up to an instant; those of ``run`` share runs."""
    in_run = [replace(one, run=TERMS) for one in requests([run], until_ms)]
    both = [*in_run, *requests(beside, until_ms)]
    ledger.admit("s", sorted(both, key=lambda one: one.charge.key))


def ring(
    ledger: Ledger, index: int, rung: int = 0, run: Series = RUN, /, **changes: Any
) -> StoredDecision:
    """Decide a window of a run with as many alarms, as a judge would."""
    periods = run.request(index).charge.periods
    before = ledger.run(run.query, periods, run.fingerprint)
    left = (TERMS.alarms if before is None else before.left) - rung
    units = rung * TERMS.alarm_units + (TERMS.open_units if before is None else 0)
    after = RunAfter(f"secret {index}".encode(), left, rung, before, TERMS)
    after = replace(after, **{name: changes.pop(name) for name in ALL & changes.keys()})
    given: dict[str, Any] = {
        "fingerprint": run.fingerprint,
        "cost": UniformCost(units, CELLS),
        "alarms": b"[]",
        "alarm_count": rung,
        "next_start_ms": run.key(index + 1).start_ms,
        "release_ms": 0,
        "run": after,
    }
    return ledger.settle(run.key(index), **{**given, **changes})


ALL = set(RunAfter.__dataclass_fields__)


def now(ledger: Ledger, index: int, run: Series = RUN) -> StoredRun | None:
    """Return the run that a window would go on with."""
    return ledger.run(run.query, run.request(index).charge.periods, run.fingerprint)


def held(ledger: Ledger) -> int:
    """Return what the worst-off person has lost, open windows at worst."""
    return ledger.reports.status().scopes["s"].spent_units


def seen(decision: StoredDecision, **changes: Any) -> SeenDecision:
    """Return a decision of a run's window as it stands on the topic."""
    key = decision.key
    place = (decision.ledger_id, key.query, "s", key.start_ms, key.end_ms, decision.sequence)
    what = (decision.outcome, decision.epsilon_units, decision.alarm_count)
    return replace(SeenDecision(*place, *what, key.end_ms, periods=(0,)), **changes)


def ask_next(ledger: Ledger, index: int) -> None:
    """Ask for ten windows of a run from one on."""
    keys = (RUN.request(each) for each in range(index, index + 10))
    ledger.admit("s", [replace(one, run=TERMS) for one in keys])


def test_hundreds_of_windows_cost_their_alarms(ledger: Ledger) -> None:
    """At no moment more than one run is held, and at the end it has cost opening and two alarms."""
    set_up(ledger, USER, WHOLE, [RUN])
    expected_units = TERMS.open_units
    for index in range(300):
        if index % 10 == 0:
            ask_next(ledger, index)
        assert ledger.answer(RUN.key(index)) is Answer.RESERVED
        assert index % 20 or held(ledger) == WHOLE
        ring(ledger, index, int(index in {0, 200}))
        expected_units += TERMS.alarm_units * (index in {0, 200})
    assert held(ledger) == expected_units == 9
    status = ledger.reports.status().queries["r"]
    assert (status.alarms_left, status.alarms_rung, status.decided) == (1, 2, 300)
    assert ledger.reports.verify() == []


@pytest.mark.parametrize("wall", [2 * WHOLE - 1, 2 * WHOLE])
def test_a_spent_run_is_followed_by_another_if_it_fits(ledger: Ledger, wall: int) -> None:
    """The next window opens a run at its worst, or is refused for good."""
    set_up(ledger, USER, wall, [RUN])
    ask(ledger, 60)
    ring(ledger, 0, 1)
    assert ledger.answer(RUN.key(2)) is Answer.PENDING
    ring(ledger, 1, 2)
    assert held(ledger) == (WHOLE if wall < 2 * WHOLE else 2 * WHOLE)
    assert now(ledger, 2) is None
    if wall < 2 * WHOLE:
        for index in range(2, 6):
            assert ledger.answer(RUN.key(index)) is Answer.REFUSED
        deny(ledger, RUN, 2, "budget")
    else:
        assert ring(ledger, 2).epsilon_units == TERMS.open_units
        assert now(ledger, 3) is not None
    assert ledger.reports.verify() == []


def test_what_a_run_may_still_cost_is_kept_from_others(ledger: Ledger) -> None:
    """Another query is answered as soon as the alarms that are left decide it, and no sooner."""
    set_up(ledger, USER, WHOLE + 1, [RUN, OTHER])
    ask(ledger, 40, OTHER)
    ring(ledger, 0, 1)  # 7 spent, 4 may come
    assert ledger.answer(OTHER.key(0)) is Answer.RESERVED
    assert held(ledger) == 11
    assert ledger.answer(RUN.key(1)) is Answer.PENDING  # 7 + 4 + 4 > 12, unless it is cheap
    settle(ledger, OTHER, 0, units=1)
    assert ledger.answer(RUN.key(1)) is Answer.RESERVED
    assert ledger.answer(OTHER.key(1)) is Answer.PENDING  # 8 + 4 + 4 > 12
    ring(ledger, 1, 0)
    assert ledger.answer(OTHER.key(1)) is Answer.RESERVED
    settle(ledger, OTHER, 1, units=4)
    assert ledger.answer(RUN.key(2)) is Answer.REFUSED  # 12 spent, 4 more may come
    assert ledger.reports.verify() == []


def test_a_denied_window_leaves_the_run_as_it_is(ledger: Ledger) -> None:
    """Reserved, pending or never asked for: the run goes on behind it."""
    set_up(ledger, USER, WHOLE, [RUN])
    ask(ledger, 30)
    ring(ledger, 0, 1)
    before = now(ledger, 1)
    for index in (1, 2, 3):
        deny(ledger, RUN, index)
        assert now(ledger, index + 1) == before
        assert ledger.reports.verify() == []
    ask(ledger, 60)
    assert ledger.answer(RUN.key(4)) is Answer.RESERVED
    ring(ledger, 4, 2)
    assert held(ledger) == WHOLE


def test_a_run_ends_at_the_period_boundary(ledger: Ledger) -> None:
    """The first window of a period opens a run, whatever the last one left, at its full cost."""
    run = replace(RUN, period=30)
    set_up(ledger, USER, WHOLE, [run])
    ask(ledger, 60, run=run)
    for index, rung in enumerate((0, 1, 0, 0, 2, 0)):
        assert (now(ledger, index, run) is None) is (index % 3 == 0)
        ring(ledger, index, rung, run)
    assert ledger.reports.status().scopes["s"].periods == {0: 7, 30: 9}
    assert ledger.reports.verify() == []


def test_a_window_across_a_boundary_has_a_run_of_its_own(ledger: Ledger) -> None:
    """Windows go on with a run only if they touch the very same periods."""
    run = replace(RUN, size=20, period=30)
    set_up(ledger, USER, 4 * WHOLE, [run])
    ask(ledger, 60, run=run)
    opened = []
    for index in range(5):
        opened += [index] if now(ledger, index, run) is None else []
        ring(ledger, index, 0, run)
    assert opened == [0, 2, 3]
    assert ledger.reports.verify() == []


def test_a_changed_configuration_ends_the_run(ledger: Ledger) -> None:
    """Neither the old nor the new configuration can go on with it; what it cost stays."""
    set_up(ledger, USER, 2 * WHOLE, [RUN])
    ask(ledger, 30)
    ring(ledger, 0, 1)
    changed = replace(RUN, fingerprint="f2")
    ledger.pins.accept_change(registration(changed), 20)
    assert (now(ledger, 2), now(ledger, 2, changed)) == (None, None)
    assert ledger.answer(RUN.key(1)) is Answer.MISSED
    deny(ledger, changed, 1)
    deny(ledger, changed, 2)
    ask(ledger, 50, run=changed)
    assert ring(ledger, 3, 0, changed).epsilon_units == TERMS.open_units
    assert held(ledger) == 7 + WHOLE
    assert ledger.reports.verify() == []
    ledger.pins.retire_query("r")
    assert now(ledger, 4, changed) is None
    assert held(ledger) == 7 + 5
    assert ledger.reports.verify() == []


def test_an_adoption_ends_the_run(ledger: Ledger) -> None:
    """Its state may have been gone on from elsewhere: the window inside it is given up, too."""
    set_up(ledger, USER, 4 * WHOLE, [RUN, OTHER])
    ask(ledger, 40)
    first = ring(ledger, 0, 1)
    assert ledger.upkeep.mark_spent([seen(first, ledger_id="other", alarm_count=2)]) == 1
    assert now(ledger, 1) is None
    assert ledger.answer(RUN.key(1)) is Answer.MISSED
    assert ledger.answer(RUN.key(2)) is Answer.RESERVED
    assert held(ledger) == 7 + 7 + WHOLE
    with pytest.raises(LedgerError):
        ring(ledger, 1)
    deny(ledger, RUN, 1)
    assert ledger.reports.verify() == []
    assert ledger.upkeep.mark_spent([seen(first, query="s", ledger_id="other")]) == 1
    ring(ledger, 2, 0)
    assert now(ledger, 3) is not None
    assert ledger.reports.verify() == []


def test_lost_decisions_of_a_run_are_charged_exactly(fresh: Callable[[], Ledger]) -> None:
    """Adopted from the topic, a run costs opening and its alarms, as where it was decided."""
    lost, restored = fresh(), fresh()
    for one in (lost, restored):
        set_up(one, USER, WHOLE, [RUN])
    ask(lost, 40)
    topic = [seen(ring(lost, index, rung)) for index, rung in enumerate((0, 1, 0, 1))]
    assert [one.epsilon_units for one in topic] == [5, 2, 0, 2]
    assert restored.upkeep.mark_spent(topic) == 4
    assert held(restored) == held(lost) == 9
    ask(restored, 60)
    assert restored.answer(RUN.key(4)) is Answer.REFUSED
    assert restored.reports.verify() == []


def test_the_first_of_two_deciders_wins(ledger: Ledger, opened: Callable[[], Ledger]) -> None:
    """Both drew the same window from the same run; one draw and its state are stored, once."""
    set_up(ledger, USER, WHOLE, [RUN])
    ask(ledger, 30)
    ring(ledger, 0)
    other, before = opened(), now(ledger, 1)
    kept = ring(ledger, 1, 1, state=b"first")
    dropped = {"left": 3, "state": b"second", "cost": UniformCost(0, CELLS)}
    assert ring(other, 1, 0, previous=before, **dropped) == kept
    after = now(other, 2)
    assert after is not None
    assert (after.state, after.left, after.alarms_rung) == (b"first", 2, 1)
    assert held(ledger) == 11


STALE: list[dict[str, Any]] = [
    {"previous": None},
    {"previous": None, "cost": UniformCost(TERMS.open_units, CELLS), "left": 3},
    {"rung": 1},
    {"left": 3},
    {"left": 0, "rung": 2, "alarm_count": 2},
    {"left": -1, "rung": 3, "alarm_count": 3, "cost": UniformCost(6, CELLS)},
    {"left": 3, "rung": -1, "cost": UniformCost(0, CELLS)},
    {"alarm_count": 1},
    {"cost": UniformCost(1, CELLS)},
    {"cost": UniformCost(5, CELLS)},
    {"cost": UniformCost(0, CELLS - 1)},
    {"terms": RunTerms(4, 2, 3)},
    {"terms": RunTerms(5, 3, 2)},
    {"run": None},
]


@pytest.mark.parametrize("changes", STALE, ids=str)
def test_a_run_that_does_not_add_up_is_refused(ledger: Ledger, changes: dict[str, Any]) -> None:
    """Stale runs, alarms that were not left, other costs: nothing is written."""
    set_up(ledger, USER, WHOLE, [RUN])
    ask(ledger, 50)
    ring(ledger, 0, 1)
    before = (now(ledger, 1), ledger.reports.status(), list(ledger.reports.export()))
    with pytest.raises(LedgerError):
        ring(ledger, 1, 0, **changes)
    assert (now(ledger, 1), ledger.reports.status(), list(ledger.reports.export())) == before
    assert ledger.reports.verify() == []


def test_the_run_before_last_is_refused(ledger: Ledger) -> None:
    """Who read the run before an earlier window was decided has to read it again."""
    set_up(ledger, USER, 2 * WHOLE, [RUN])
    ask(ledger, 50)
    ring(ledger, 0)
    old = now(ledger, 1)
    ring(ledger, 1)
    with pytest.raises(LedgerError, match="not the one"):
        ring(ledger, 2, previous=old)
    ring(ledger, 2, 3)
    with pytest.raises(LedgerError, match="not the one"):
        ring(ledger, 3, previous=old)
    assert ring(ledger, 3).epsilon_units == TERMS.open_units


def test_a_run_where_none_was_reserved_is_refused(ledger: Ledger) -> None:
    """A window that was asked for by itself leaves no run behind under unit user."""
    set_up(ledger, USER, WHOLE, [RUN])
    ledger.admit("s", requests([RUN], 10))
    with pytest.raises(LedgerError, match="not reserved in a run"):
        ring(ledger, 0, cost=UniformCost(WHOLE, CELLS))


def test_requests_of_a_run_ask_for_a_whole_one() -> None:
    """Another worst case, more cells a person, or no period: that is a mistake of the caller."""
    good = RUN.request(0)
    assert Request(good.charge, "f", run=TERMS).run == TERMS
    wrong = (replace(RUN, units=10), replace(RUN, cells_per_unit=2), replace(RUN, period=0))
    for one in wrong:
        with pytest.raises(ValueError, match="run"):
            Request(one.request(0).charge, "f", run=TERMS)
    for terms in ((0, 2, 3), (5, 0, 3), (5, 2, 0)):
        with pytest.raises(ValueError, match="costs something"):
            RunTerms(*terms)


def test_under_unit_event_the_state_is_kept_and_all_is_charged(ledger: Ledger) -> None:
    """Whatever rings anywhere in the run, an event's own window costs a whole one."""
    run = replace(RUN, period=0)
    set_up(ledger, PrivacyUnit.EVENT, WHOLE, [run])
    ledger.admit("s", requests([run], 40))
    whole = UniformCost(WHOLE, CELLS)
    for index, rung in enumerate((1, 0, 2)):
        assert ledger.answer(run.key(index)) is Answer.RESERVED
        if index:
            with pytest.raises(LedgerError, match="cost"):
                ring(ledger, index, rung, run)
        assert ring(ledger, index, rung, run, cost=whole).epsilon_units == WHOLE
        assert (now(ledger, index + 1, run) is None) is (index == 2)
    assert held(ledger) == WHOLE
    assert ledger.reports.verify() == []
    ledger.pins.retire_query("r")
    assert ledger.reports.verify() == []


def test_the_state_shows_nowhere(ledger: Ledger) -> None:
    """Neither an export nor a status nor the text of a record gives a threshold away."""
    set_up(ledger, USER, WHOLE, [RUN])
    ask(ledger, 20)
    ring(ledger, 0, 1)
    run = now(ledger, 1)
    assert run is not None
    assert run.state == b"secret 0"
    text = json.dumps(list(ledger.reports.export())) + str(ledger.reports.status()) + repr(run)
    text += repr(RunAfter(run.state, 1, 1, run, TERMS))
    assert "secret" not in text
    assert "c2VjcmV0" not in text  # base64


@contextmanager
def dying_at(ledger: Ledger, step: int) -> Iterator[None]:
    """Interrupt whoever writes to the ledger before their write number ``step``."""
    left = count(step, -1)

    def before(_connection: Any, _cursor: Any, statement: str, *_: object) -> None:
        if not statement.startswith(("SELECT", "PRAGMA", "BEGIN")) and next(left) == 0:
            raise KeyboardInterrupt

    engine = ledger._store._engine
    event.listen(engine, "before_cursor_execute", before)
    try:
        yield
    finally:
        event.remove(engine, "before_cursor_execute", before)


def test_a_settlement_that_fails_on_its_way_writes_nothing(ledger: Ledger) -> None:
    """Run, charge and decision are one transaction, whichever write it dies at."""
    set_up(ledger, USER, WHOLE, [RUN])
    ask(ledger, 30)
    ring(ledger, 0, 1)
    before = (now(ledger, 1), list(ledger.reports.export()))

    # The run twice, its charge with total, link and head, the next one's answer with its total,
    # then partials, cursor, number and decision.
    writes = 12
    for step in range(writes):
        with dying_at(ledger, step), pytest.raises(KeyboardInterrupt):
            ring(ledger, 1, 1)
        assert (now(ledger, 1), list(ledger.reports.export())) == before, step
    with dying_at(ledger, writes):
        ring(ledger, 1, 1)
    assert ledger.reports.verify() == []


def test_many_deciders_at_once_share_one_run(ledger: Ledger) -> None:
    """Every window is decided once, and the run is the sum of what was stored."""
    set_up(ledger, USER, 3 * WHOLE, [RUN])
    windows = 30

    def decide(number: int) -> None:
        while (index := ledger.cursor("r") // 10) < windows:
            ask(ledger, 10 * (index + 1))
            refused = ledger.answer(RUN.key(index)) is Answer.REFUSED
            with suppress(LedgerError):  # another was faster: read anew
                if refused:
                    deny(ledger, RUN, index, "budget")
                else:
                    ring(ledger, index, int((index + number) % 3 == 0))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(decide, range(4)))
    assert ledger.reports.verify() == []
    decisions = [ledger.decision(RUN.key(index)) for index in range(windows)]
    units = [0 if one is None else one.epsilon_units for one in decisions]
    assert sum(units) == held(ledger) <= 3 * WHOLE


TAMPERED: Sequence[tuple[str, str]] = (
    ('UPDATE tocsin_runs SET "left" = 3', "costs 13 units in all"),
    ('UPDATE tocsin_runs SET "left" = -1', "impossible terms"),
    ("UPDATE tocsin_runs SET alarms_rung = 0", "cost 7 units, its alarms say 5"),
    ("UPDATE tocsin_runs SET alarm_units = 1", "its alarms say"),
    ("UPDATE tocsin_runs SET open_units = 4", "its alarms say"),
    ("UPDATE tocsin_runs SET periods = '[5]'", "other periods"),
    ("UPDATE tocsin_runs SET periods = '?'", "the run of 'r' cannot be read"),
    ("UPDATE tocsin_runs SET fingerprint = 'f9'", "outlived its configuration"),
    ("UPDATE tocsin_runs SET opened_start_ms = 1", "begin and end with a decided window"),
    ("UPDATE tocsin_runs SET last_start_ms = 0", "begin and end with a decided window"),
    ("DELETE FROM tocsin_runs", "it holds 4 units, its run says 11"),
    ("UPDATE tocsin_charges SET held_units = 3 WHERE start_ms = 20", "its run says 4"),
    ("UPDATE tocsin_charges SET held_units = NULL WHERE start_ms = 20", "holds None units"),
    ("UPDATE tocsin_charges SET held_units = 4 WHERE start_ms = 30", "it is pending in a run"),
    ("UPDATE tocsin_charges SET held_units = 10 WHERE start_ms = 0", "chain vouches for"),
    *(
        (f"UPDATE tocsin_charges SET in_run = false WHERE start_ms = {start}", "chain vouches for")
        for start in (0, 20, 30)
    ),
    ("UPDATE tocsin_charges SET in_run = true WHERE query = 's'", "chain vouches for"),
    ("UPDATE tocsin_charges SET held_units = 1 WHERE query = 's'", "it is in no run"),
    ("UPDATE tocsin_decisions SET epsilon_units = 11 WHERE start_ms = 0", "another epsilon"),
    ("UPDATE tocsin_decisions SET alarm_count = 2 WHERE query = 'r'", "gave more alarms"),
)


def test_tampering_with_runs_is_told(ledger: Ledger) -> None:
    """Whatever is changed of a run or of how its windows hold, verify names it."""
    set_up(ledger, USER, 2 * WHOLE, [RUN, OTHER])
    ask(ledger, 40, OTHER)
    ring(ledger, 0, 1)
    settle(ledger, OTHER, 0, units=1)
    ring(ledger, 1, 0)
    assert ledger.reports.verify() == []
    for change, word in TAMPERED:
        with suppress(_Undo), ledger._store.write() as tx:
            tx.connection.execute(sa.text(change))
            assert word in "\n".join(verify.problems(tx, {})), change
            raise _Undo
    assert ledger.reports.verify() == []


def test_compaction_leaves_a_run_usable(ledger: Ledger) -> None:
    """Charges of its windows go, it stays, and still adds up."""
    set_up(ledger, USER, WHOLE, [RUN])
    ask(ledger, 50)
    for index in range(5):
        ring(ledger, index, int(index == 1))
    ledger.mark_published(*(RUN.key(index) for index in range(5)))
    assert ledger.upkeep.compact("s", 40) > 0
    assert ledger.reports.verify() == []
    ask(ledger, 60)
    ring(ledger, 5, 2)
    assert held(ledger) == WHOLE
    assert ledger.reports.verify() == []


def test_a_run_outlives_its_decider(tmp_path: Path) -> None:
    """Whoever opens the ledger next goes on with the very state that was stored."""
    url = f"sqlite:///{tmp_path}/ledger.db"
    for index in range(4):
        with open_ledger(url) as ledger:
            set_up(ledger, USER, WHOLE, [RUN])
            ask(ledger, 40)
            before = now(ledger, index)
            assert (before.state if before else b"") == (
                f"secret {index - 1}".encode() * (index > 0)
            )
            ring(ledger, index, 0)


class _Undo(Exception):  # noqa: N818  # not an error: it rolls a tampering back
    """Rolls a tampering back."""
