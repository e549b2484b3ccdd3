"""Alarms in runs, decided by the real decider on a real ledger: what they pay, and what goes on.

Counts are put into the ledger as partitions would; the Kafka side is in the integration tests.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from accountant.costs.charges import WindowKey
from accountant.errors import LedgerError
from accountant.records import LogIdentity, Outcome, Partial
from accountant.store.private import RUN
from accountant.units import to_loss_units
from benchmarks.report import machine
from operators.registry import price
from operators.svt import Svt
from operators.svt.early import early_terms
from stream.build import Runtime, assemble, open_ledger
from stream.config.loading import examine, load
from stream.decisions.release import alarm_records, decision_record
from tests.support.files import edit
from tests.support.keys import nested
from tests.support.ledgers import must_verify, only_scope
from tests.support.matrix import run_states
from tests.support.tree import ROOT

if TYPE_CHECKING:
    from accountant.ledger.ledger import Ledger
    from stream.model.alarms import Alarms

REPORT = ROOT / "benchmarks" / "reports" / "runs.md"
MINUTE_MS = 60_000
ROOMS = 4
CONFIG = """\
ledger: sqlite:///{ledger}
feeds:
  badges:
    topic: building.badges
    time: ts
    unit: person
    fields:
      person: string
      room: {{domain: [a, b, c, d]}}
      age: {{type: integer, clip: [0, 9]}}
      ts: timestamp
    history: {{from: 1970-01-01, until: 1970-02-01}}
budget: {{privacy_unit: {unit}, epsilon_max: "{epsilon_max}"{period}}}
alarms:
  crowd:
    sql: |
      SELECT room FROM badges
      GROUP BY room, {window}
      HAVING {having}
    max_fnr: 0.05
    timing: {{max_age: 60d}}
{lines}"""


@dataclass
class Harness:
    """One alarm, its ledger and what decides it."""

    alarms: Alarms
    ledger: Ledger
    runtime: Runtime
    now_ms: list[int]

    @property
    def query(self):
        """The alarm."""
        return self.alarms.by_name["crowd"]

    @property
    def svt(self):
        """Its mechanism."""
        operator = self.runtime.judge._operators["crowd"]
        assert isinstance(operator, Svt)
        return operator

    def count(self, window, counts=None, *, complete=True):
        """Store what a window counted: nothing, unless said; all of it, unless said."""
        values = np.array(counts or [], dtype=np.int64)
        (index,) = np.nonzero(values)
        start_ms, end_ms = self.query.calendar.bounds(window)
        self.now_ms[0] = end_ms + MINUTE_MS
        self.ledger.counts.put_partial(
            Partial(
                key=WindowKey(end_ms, "crowd", start_ms),
                partition=0,
                fingerprint=self.query.fingerprint,
                topic_id="log",
                complete=complete,
                cells=ROOMS,
                index=index,
                value=values[index],
                first_offset=-1,
                last_offset=-1,
            )
        )

    def due(self):
        """Decide what is due."""
        return list(self.runtime.judge.decide_due("crowd"))

    def decide(self, window, counts=None):
        """Count a window and decide it."""
        self.count(window, counts)
        (decision,) = self.due()
        return decision

    def spent(self):
        """Return what the worst-off person lost, after checking the ledger."""
        must_verify(self.ledger)
        scope = only_scope(self.ledger)
        return scope.spent_units


def written(folder, **settings):
    """Write a configuration."""
    asked = {
        "unit": "user",
        "epsilon_max": "50",
        "mechanism": "svt",
        "having": "COUNT(*) > 100",
        "window": "TUMBLE(ts, INTERVAL '1' MINUTE)",
        "max_fpr": "1e-9",
        "tolerance": "20",
        "lines": (),
        **settings,
    }
    asked.setdefault("period", ", period: lifetime" if asked["unit"] == "user" else "")
    keys = [f"{key}: {asked[key]}" for key in ("tolerance", "mechanism", "max_fpr")]
    asked["lines"] = "".join(f"    {line}\n" for line in nested([*keys, *asked["lines"]]))
    path = folder / "alarms.yaml"
    path.write_text(CONFIG.format(ledger=folder / "ledger.db", **asked))
    return path


def query_of(path):
    """Return the alarm of a configuration."""
    return load(path, environ={}).by_name["crowd"]


@contextmanager
def running(folder, step=None, **settings):
    """Open (again) what a configuration says."""
    alarms = load(written(folder, **settings), environ={})
    log = LogIdentity("badges", "cluster", "log", "building.badges", 1)
    hooks = {} if step is None else {"step": step}
    now_ms = [0]
    with open_ledger(alarms) as ledger:
        runtime = assemble(
            alarms,
            ledger,
            identities={"badges": log},
            first_start_ms={"crowd": 0},
            clock_ms=lambda: now_ms[0],
            **hooks,
        )
        yield Harness(alarms, ledger, runtime, now_ms)


def dies(at, start_ms):
    """Return a hook that is a kill at a step of the window from an instant on."""

    def die(step, key):
        if step is at and key.start_ms == start_ms:
            raise KeyboardInterrupt

    return die


def crowded(one, window, rooms):
    """Decide a window in which so many rooms are full beyond doubt."""
    return one.decide(window, [400] * rooms + [0] * (ROOMS - rooms))


@pytest.mark.long
def test_windows_without_alarms_are_free(tmp_path, request):
    """However many windows a person is in: opening once, and the alarms (10,000 in a full run)."""
    full = request.config.getoption("--full")
    windows = 10_000 if full else 300
    with running(tmp_path) as one:
        paid = [
            crowded(one, window, ROOMS) if window == windows // 2 else one.decide(window, [10, 3])
            for window in range(windows)
        ]
        terms, crowd = one.svt.terms, one.ledger.reports.status().queries["crowd"]
        spent = terms.open_units + ROOMS * terms.alarm_units
        assert (paid[0].epsilon_units, one.spent()) == (terms.open_units, spent)
        assert paid[windows // 2].epsilon_units == ROOMS * terms.alarm_units
        assert (crowd.alarms_rung, crowd.alarms_left) == (ROOMS, 10 - ROOMS)
        assert spent < terms.epsilon_units
        # A person in one room of each window: what the cheapest mechanism for one window takes.
        apart = windows * to_loss_units(price("tslm", one.query.condition, one.query.aim).epsilon)
        assert apart > 10 * spent
    if full:
        run, cost, others = (f"{n / 1e12:.3f}" for n in (terms.epsilon_units, spent, apart))
        REPORT.write_text(
            f"# A run over many windows\n\n`make crash`. {machine()}\n\n"
            f"{windows:,} windows of four rooms, decided by the worker's decider on SQLite; a\n"
            f"person is in a room of every window, and {ROOMS} alarms ring. `svt` reserves\n"
            f"{run} for the run and has charged {cost}: opening it, and its alarms. `tslm`\n"
            f"with this promise would have charged {others}. `ledger verify` was clean.\n"
        )


def test_a_spent_run_is_followed_by_another_if_it_fits(tmp_path):
    """Budget for two runs of three alarms: the sixth alarm is the last, then windows are denied."""
    runs = {"lines": ["mechanism: {svt: {max_alarms: 3}}"]}
    query = query_of(written(tmp_path, **runs))
    worst = Svt.planned(query.condition, query.aim).terms.epsilon_units
    with running(tmp_path, **runs, epsilon_max=f"{2 * worst / 10**12:.12f}") as one:
        decisions = [crowded(one, window, 1) for window in range(8)]
        found = [(each.reason, each.alarm_count) for each in decisions]
        assert found == [(None, 1)] * 6 + [("budget", 0)] * 2
        assert one.spent() == 2 * worst


def test_what_a_spent_run_left_unasked_is_counted(tmp_path):
    """Four full rooms and two alarms left: the rooms behind get no answer."""
    with running(tmp_path, lines=["mechanism: {svt: {max_alarms: 2}}"]) as one:
        decisions = [crowded(one, 0, ROOMS), one.decide(1)]
        records = [decision_record(one.query, one.alarms, each) for each in decisions]
        assert [(each.alarms, each.unanswered) for each in records] == [(2, 2), (0, 0)]
        assert len(list(alarm_records(one.query, decisions[0]))) == 2


def test_a_run_outlives_its_decider(tmp_path):
    """Opened again after every window: one threshold, alarms counted on, no cost twice."""
    thresholds = set()
    for window in range(12):
        with running(tmp_path) as one:
            crowded(one, window, window % 4 == 0)
            (state,) = run_states(one.ledger).values()
            thresholds.add(state.threshold_noise)
            terms = one.svt.terms
            assert one.spent() == terms.open_units + (window // 4 + 1) * terms.alarm_units
    assert len(thresholds) == 1


def test_periods_end_runs(tmp_path):
    """Every day opens its own run, and a window across midnight one that both days pay for."""
    window = "HOP(ts, INTERVAL '1' HOUR, INTERVAL '2' HOUR)"
    with running(tmp_path, period=", period: 1d", window=window) as one:
        decisions = [one.decide(hour) for hour in range(48)]
        assert {each.outcome for each in decisions} == {Outcome.DECIDED}
        assert [n for n, each in enumerate(decisions) if each.epsilon_units] == [0, 23, 24, 47]
        # The second day pays for the window before it, its own run and the window after it.
        assert one.spent() == 3 * one.svt.terms.open_units


def test_an_event_pays_for_a_whole_run_in_each_of_its_windows(tmp_path):
    """Under unit event windows that share no event do not add up; each bears the run's worst."""
    with running(tmp_path, unit="event") as one:
        paid = {crowded(one, window, 1).epsilon_units for window in range(3)}
        assert paid == {one.spent()} == {one.svt.terms.epsilon_units}
        (state,) = run_states(one.ledger).values()
        assert (state.left, state.rung) == (7, 3)


@pytest.mark.long
def test_late_alarms_carry_the_window_they_are_about(tmp_path):
    """Put back into the run, a missed room is asked again with the next window's."""
    lines = ["mechanism: {svt: {repeat: 400, repeat_in: run, max_alarms: 50}}"]
    with running(tmp_path, lines=lines) as one:
        # Too low to fire often, high enough to fire sometimes: asked again and again.
        low = 101 - int(6 / float(one.svt.terms.query_rate))
        decisions = [one.decide(n, [] if n else [low] * ROOMS) for n in range(300)]
        late = [
            (alarm.window_start, alarm.group["room"])
            for each in decisions
            for alarm in alarm_records(one.query, each)
        ]
        assert len(late) == len(set(late)) == sum(each.alarm_count for each in decisions)
        (state,) = run_states(one.ledger).values()
        assert state.rung == len(late)
        assert one.spent() == one.svt.cost_units(True, len(late))


@pytest.mark.parametrize("has_secret", [False, True])
def test_a_tampered_state_is_not_gone_on_from(tmp_path, has_secret):
    """A run whose stored state was edited stops the alarm, in words without its content."""
    with running(tmp_path) as one:
        one.decide(0)
        with one.ledger._store.write() as tx:
            (row,) = tx.private.each(kind=RUN)
            if has_secret:  # the row is sound, and not the one that the log has a digest of
                tx.private.put(*row[:-2], bytes(len(row.body)))
            else:
                tx.connection.exec_driver_sql(
                    "UPDATE tocsin_private SET body = x'00' WHERE kind = 'run'"
                )
        with pytest.raises(LedgerError, match=r"as its last window left it|what was stored"):
            one.decide(1)


FAR = {"having": "COUNT(*) > 9000000", "tolerance": 400_000}
STEPS = "CUMULATE(ts, INTERVAL '1' MINUTE, INTERVAL '2' MINUTE)"
TWICE = {"lines": ["mechanism: {svt: {repeat: 2}}"]}
MANY = ", ".join(f"r{n}" for n in range(2000))
AGAIN = {"lines": ["mechanism: {svt: {repeat: 1000, repeat_in: run}}"]}


@pytest.mark.parametrize(
    ("settings", "rooms", "said"),
    [
        (FAR, "a, b, c, d", "steps of the sensitivity; the limit is 100000"),
        ({**FAR, "unit": "event"}, "a, b, c, d", "steps of the sensitivity; the limit is 100000"),
        (AGAIN, MANY, "up to 1,998,000 groups of a window would be queried again; the limit is 1,"),
    ],
)
def test_runs_that_cannot_be_planned_are_errors(tmp_path, settings, rooms, said):
    """A tolerance beyond what is planned for, under either unit, and a queue without an end.

    What would be asked again over many windows is stored in each of them.
    """
    path = written(tmp_path, **settings)
    edit(path, "a, b, c, d", rooms)
    assert said in "\n".join(map(str, examine(path, environ={}).errors))


def test_terms_are_part_of_what_is_registered(tmp_path, monkeypatch):
    """A planner that plans another run has another fingerprint: no state meets foreign terms."""
    path, planned = written(tmp_path), Svt.planned
    before = query_of(path).fingerprint

    def dearer(condition, aim):
        svt = planned(condition, aim)
        return replace(svt, terms=replace(svt.terms, open_units=svt.terms.open_units + 1))

    monkeypatch.setattr(Svt, "planned", dearer)
    assert query_of(path).fingerprint != before


@pytest.mark.parametrize(
    ("having", "monotone"),
    [
        ("COUNT(*) > 100", True),
        ("COUNT(*) < 100", True),
        ("SUM(age) > 100", True),
        ("MAX(age) > 5", True),
        ("MEDIAN(age) > 5", False),
        ("COUNT(*) > 100 OR SUM(age) > 100", True),
        ("COUNT(*) < 100 AND SUM(age) < 100", True),
        ("COUNT(*) > 100 AND SUM(age) < 900", False),
        ("COUNT(*) BETWEEN 10 AND 100", False),
        ("MAX(age) < 5", False),  # and there is somebody
    ],
)
def test_one_direction_is_seen(tmp_path, having, monotone):
    """A person can only raise counts and sums of what is not negative, not a median.

    Where one of two comparisons asks for more and the other for less, a person moves them apart.
    """
    query = query_of(written(tmp_path, having=having, tolerance=0))
    assert query.condition.monotone is monotone


MEDIAN, BETWEEN = "MEDIAN(age) > 5", "COUNT(*) BETWEEN 10 AND 100"
HOP = "HOP(ts, INTERVAL '1' MINUTE, INTERVAL '{}' MINUTE)"


@pytest.mark.parametrize(
    ("having", "changes", "cheap"),
    [
        (BETWEEN, {}, True),
        (MEDIAN, {"window": HOP.format(1)}, True),
        (MEDIAN, {"window": HOP.format(2)}, False),
        (BETWEEN, {"window": STEPS}, False),
        (BETWEEN, TWICE, False),
        (BETWEEN, {"unit": "user"}, False),
        ("COUNT(*) > 100", {"unit": "user", **TWICE}, True),
    ],
)
def test_one_question_of_an_event_has_the_monotone_price(tmp_path, having, changes, cheap):
    """Under unit event in windows that share no event, asked once; else by direction alone."""
    asked = {"unit": "event", "max_fpr": "0.01", "tolerance": "2", **changes}
    query = query_of(written(tmp_path, **asked, having=having))
    of = query.condition, query.aim
    terms = early_terms(*of) if query.aim.looks > 1 else Svt.planned(*of).terms
    assert terms.monotone is cheap


@pytest.mark.parametrize(
    ("having", "steady"),
    [
        ("COUNT(*) > 100", True),
        ("COUNT(age) < 100", True),
        ("COUNT(*) > 100 OR COUNT(age) > 90", False),
        (BETWEEN, False),
        ("COUNT(DISTINCT person) > 100", False),
        ("SUM(age) > 100", False),
    ],
)
def test_one_plain_count_alone_is_steady(tmp_path, having, steady):
    """Of early evaluations, a distinct count forgets, and a score follows one count and another."""
    query = query_of(written(tmp_path, unit="event", window=STEPS, having=having, tolerance=2))
    assert (query.condition.steady, query.condition.one_question) == (steady, False)
