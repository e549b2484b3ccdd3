"""Alarms in runs, decided by the real decider on a real ledger: what they pay, and what goes on.

Counts are put into the ledger as partitions would; the Kafka side is in the integration tests.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

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
from stream.decisions.steps import Step
from tests.support.keys import nested
from tests.support.matrix import run_states
from tests.support.tree import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from accountant.ledger.ledger import Ledger
    from accountant.records import StoredDecision
    from stream.model.alarm import Alarm
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
    def query(self) -> Alarm:
        """The alarm."""
        return self.alarms.by_name["crowd"]

    @property
    def svt(self) -> Svt:
        """Its mechanism."""
        operator = self.runtime.judge._operators["crowd"]
        assert isinstance(operator, Svt)
        return operator

    def count(self, window: int, counts: list[int] | None = None, *, complete: bool = True) -> None:
        """Store what a window counted: nothing, unless said; all of it, unless said."""
        values = np.array(counts or [], dtype=np.int64)
        start_ms, end_ms = self.query.calendar.bounds(window)
        self.now_ms[0] = end_ms + MINUTE_MS
        self.ledger.counts.put_partial(
            Partial(
                key=WindowKey(end_ms=end_ms, query="crowd", start_ms=start_ms),
                partition=0,
                fingerprint=self.query.fingerprint,
                topic_id="log",
                complete=complete,
                cells=ROOMS,
                index=np.flatnonzero(values).astype(np.int64),
                value=values[np.flatnonzero(values)],
                first_offset=-1,
                last_offset=-1,
            )
        )

    def due(self) -> list[StoredDecision]:
        """Decide what is due."""
        return list(self.runtime.judge.decide_due("crowd"))

    def decide(self, window: int, counts: list[int] | None = None) -> StoredDecision:
        """Count a window and decide it."""
        self.count(window, counts)
        (decision,) = self.due()
        return decision

    def spent(self) -> int:
        """Return what the worst-off person lost, after checking the ledger."""
        assert self.ledger.reports.verify() == []
        (scope,) = self.ledger.reports.status().scopes.values()
        return scope.spent_units


def written(folder: Path, **settings: Any) -> Path:
    """Write a configuration."""
    asked: dict[str, Any] = {
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


@contextmanager
def running(folder: Path, step: Any = None, **settings: Any) -> Iterator[Harness]:
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


def dies(at: Step, start_ms: int) -> Any:
    """Return a hook that is a kill at a step of the window from an instant on."""

    def die(step: Step, key: WindowKey) -> None:
        if step is at and key.start_ms == start_ms:
            raise KeyboardInterrupt

    return die


@pytest.mark.long
def test_windows_without_alarms_are_free(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """However many windows a person is in: opening once, and the alarms (10,000 in a full run)."""
    full = request.config.getoption("--full")
    windows = 10_000 if full else 300
    with running(tmp_path) as one:
        paid = [
            one.decide(window, [400] * ROOMS if window == windows // 2 else [10, 3, 0, 1])
            for window in range(windows)
        ]
        terms, status = one.svt.terms, one.ledger.reports.status()
        (scope,) = status.scopes.values()
        assert paid[0].epsilon_units == terms.open_units
        assert paid[windows // 2].epsilon_units == ROOMS * terms.alarm_units
        crowd = status.queries["crowd"]
        assert (crowd.alarms_rung, crowd.alarms_left) == (ROOMS, 10 - ROOMS)
        assert scope.spent_units == terms.open_units + ROOMS * terms.alarm_units
        assert scope.spent_units < terms.epsilon_units
        assert one.ledger.reports.verify() == []
        # A person in one room of each window: what the cheapest mechanism for one window takes.
        apart = windows * to_loss_units(price("tslm", one.query.condition, one.query.aim).epsilon)
        assert apart > 10 * scope.spent_units
        if full:
            figures = (terms.epsilon_units, scope.spent_units, apart)
            run, spent, others = (f"{units / 1e12:.3f}" for units in figures)
            lines = (
                *("# A run over many windows", "", f"`make crash`. {machine()}", ""),
                f"{windows:,} windows of four rooms, decided by the worker's decider on SQLite; a",
                f"person is in a room of every window, and {ROOMS} alarms ring. `svt` reserves",
                f"{run} for the run and has charged {spent}: opening it, and its alarms. `tslm`",
                f"with this promise would have charged {others}. `ledger verify` was clean.",
            )
            REPORT.write_text("\n".join(lines) + "\n")


def test_a_spent_run_is_followed_by_another_if_it_fits(tmp_path: Path) -> None:
    """Budget for two runs of three alarms: the sixth alarm is the last, then windows are denied."""
    lines = ["mechanism: {svt: {max_alarms: 3}}"]
    with running(tmp_path, lines=lines) as one:
        worst = one.svt.terms.epsilon_units
    path = tmp_path / "two"
    path.mkdir()
    with running(path, lines=lines, epsilon_max=f"{2 * worst / 10**12:.12f}") as one:
        decisions = [one.decide(window, [0, 400, 0, 0]) for window in range(8)]
        outcomes = [(each.outcome, each.reason, each.alarm_count) for each in decisions]
        assert outcomes == [(Outcome.DECIDED, None, 1)] * 6 + [(Outcome.DENIED, "budget", 0)] * 2
        assert one.spent() == 2 * worst


def test_what_a_spent_run_left_unasked_is_counted(tmp_path: Path) -> None:
    """Three full rooms and two alarms left: one ring less, and the rooms behind get no answer."""
    with running(tmp_path, lines=["mechanism: {svt: {max_alarms: 2}}"]) as one:
        decision = one.decide(0, [400, 400, 400, 400])
        record = decision_record(one.query, one.alarms, decision)
        assert (record.alarms, record.unanswered) == (2, 2)
        assert len(list(alarm_records(one.query, decision))) == 2
        after = decision_record(one.query, one.alarms, one.decide(1))
        assert (after.alarms, after.unanswered) == (0, 0)


def test_a_run_outlives_its_decider(tmp_path: Path) -> None:
    """Opened again after every window: one threshold, alarms counted on, no cost twice."""
    thresholds = set()
    for window in range(12):
        with running(tmp_path) as one:
            one.decide(window, [400, 0, 0, 0] if window % 4 == 0 else None)
            (state,) = run_states(one.ledger).values()
            thresholds.add(state.threshold_noise)
            terms = one.svt.terms
            assert one.spent() == terms.open_units + (window // 4 + 1) * terms.alarm_units
    assert len(thresholds) == 1


def test_a_draw_that_was_not_stored_is_forgotten(tmp_path: Path) -> None:
    """A decider that dies with its answers drawn leaves the run as it stood."""
    with running(tmp_path) as one:
        one.decide(0)
        before = run_states(one.ledger)
    with running(tmp_path, dies(Step.AFTER_DRAW, MINUTE_MS)) as one:
        with pytest.raises(KeyboardInterrupt):
            one.decide(1, [400] * ROOMS)
        assert run_states(one.ledger) == before
    with running(tmp_path) as one:
        (again,) = one.due()
        assert again.alarm_count == ROOMS
        (state,) = run_states(one.ledger).values()
        (old,) = before.values()
        assert (state.threshold_noise, state.left) == (old.threshold_noise, old.left - ROOMS)


def test_periods_end_runs(tmp_path: Path) -> None:
    """Every day opens its own run, and a window across midnight one that both days pay for."""
    window = "HOP(ts, INTERVAL '1' HOUR, INTERVAL '2' HOUR)"
    with running(tmp_path, period=", period: 1d", window=window) as one:
        decisions = [one.decide(hour) for hour in range(48)]
        assert {each.outcome for each in decisions} == {Outcome.DECIDED}
        assert [n for n, each in enumerate(decisions) if each.epsilon_units] == [0, 23, 24, 47]
        # The second day pays for the window before it, its own run and the window after it.
        assert one.spent() == 3 * one.svt.terms.open_units


def test_an_event_pays_for_a_whole_run_in_each_of_its_windows(tmp_path: Path) -> None:
    """Under unit event windows that share no event do not add up; each bears the run's worst."""
    with running(tmp_path, unit="event") as one:
        decisions = [one.decide(window, [400, 0, 0, 0]) for window in range(3)]
        assert {each.epsilon_units for each in decisions} == {one.svt.terms.epsilon_units}
        assert one.spent() == one.svt.terms.epsilon_units
        (state,) = run_states(one.ledger).values()
        assert (state.left, state.rung) == (7, 3)


@pytest.mark.long
def test_late_alarms_carry_the_window_they_are_about(tmp_path: Path) -> None:
    """Put back into the run, a missed room is asked again with the next window's."""
    lines = ["mechanism: {svt: {repeat: 400, repeat_in: run, max_alarms: 50}}"]
    with running(tmp_path, lines=lines) as one:
        # Too low to ring often, high enough to ring sometimes: asked again and again.
        low = 101 - int(6 / float(one.svt.terms.query_rate))
        decisions = [one.decide(0, [low] * ROOMS)]
        decisions += [one.decide(window) for window in range(1, 300)]
        late = [
            (alarm.window_start, alarm.group["room"], each.key.start_ms)
            for each in decisions
            for alarm in alarm_records(one.query, each)
        ]
        assert len(late) == len({each[:2] for each in late})
        (state,) = run_states(one.ledger).values()
        assert state.rung == len(late) == sum(each.alarm_count for each in decisions)
        assert one.spent() == one.svt.cost_units(True, len(late))


@pytest.mark.parametrize("has_secret", [False, True])
def test_a_tampered_state_is_not_gone_on_from(tmp_path: Path, has_secret: bool) -> None:
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


FAR: dict[str, Any] = {"having": "COUNT(*) > 9000000", "tolerance": 400_000}
STEPS = "CUMULATE(ts, INTERVAL '1' MINUTE, INTERVAL '2' MINUTE)"
TWICE: dict[str, Any] = {"lines": ["mechanism: {svt: {repeat: 2}}"]}
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
def test_runs_that_cannot_be_planned_are_errors(
    tmp_path: Path, settings: dict[str, Any], rooms: str, said: str
) -> None:
    """A tolerance beyond what is planned for, under either unit, and a queue without an end.

    What would be asked again over many windows is stored in each of them.
    """
    path = written(tmp_path, **settings)
    path.write_text(path.read_text().replace("a, b, c, d", rooms))
    assert said in "\n".join(map(str, examine(path, environ={}).errors))


def test_terms_are_part_of_what_is_registered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A planner that plans another run has another fingerprint: no state meets foreign terms."""
    path = written(tmp_path)
    before = load(path, environ={}).by_name["crowd"].fingerprint
    planned = Svt.planned

    def dearer(condition: Any, aim: Any) -> Svt:
        svt = planned(condition, aim)
        terms = replace(svt.terms, open_units=svt.terms.open_units + 1)
        return replace(svt, terms=terms)

    monkeypatch.setattr(Svt, "planned", dearer)
    assert load(path, environ={}).by_name["crowd"].fingerprint != before


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
def test_one_direction_is_seen(tmp_path: Path, having: str, monotone: bool) -> None:
    """A person can only raise counts and sums of what is not negative, not a median.

    Where one of two comparisons asks for more and the other for less, a person moves them apart.
    """
    alarms = load(written(tmp_path, having=having, tolerance=0), environ={})
    assert alarms.by_name["crowd"].condition.monotone is monotone


@pytest.mark.parametrize(
    ("having", "changes", "cheap"),
    [
        ("COUNT(*) BETWEEN 10 AND 100", {}, True),
        ("MEDIAN(age) > 5", {"window": "HOP(ts, INTERVAL '1' MINUTE, INTERVAL '1' MINUTE)"}, True),
        ("MEDIAN(age) > 5", {"window": "HOP(ts, INTERVAL '1' MINUTE, INTERVAL '2' MINUTE)"}, False),
        ("COUNT(*) BETWEEN 10 AND 100", {"window": STEPS}, False),
        ("COUNT(*) BETWEEN 10 AND 100", TWICE, False),
        ("COUNT(*) BETWEEN 10 AND 100", {"unit": "user"}, False),
        ("COUNT(*) > 100", {"unit": "user", **TWICE}, True),
    ],
)
def test_one_question_of_an_event_has_the_monotone_price(
    tmp_path: Path, having: str, changes: dict[str, Any], cheap: bool
) -> None:
    """Under unit event in windows that share no event, asked once; else by direction alone."""
    asked = {"unit": "event", "max_fpr": "0.01", "tolerance": "2", **changes}
    query = load(written(tmp_path, **asked, having=having), environ={}).by_name["crowd"]
    of = query.condition, query.aim
    terms = early_terms(*of) if query.aim.looks > 1 else Svt.planned(*of).terms
    assert terms.monotone is cheap


@pytest.mark.parametrize(
    ("having", "steady"),
    [
        ("COUNT(*) > 100", True),
        ("COUNT(age) < 100", True),
        ("COUNT(*) > 100 OR COUNT(age) > 90", False),
        ("COUNT(*) BETWEEN 10 AND 100", False),
        ("COUNT(DISTINCT person) > 100", False),
        ("SUM(age) > 100", False),
    ],
)
def test_one_plain_count_alone_is_steady(tmp_path: Path, having: str, steady: bool) -> None:
    """Of early evaluations, a distinct count forgets, and a score follows one count and another."""
    path = written(tmp_path, unit="event", window=STEPS, having=having, tolerance=2)
    condition = load(path, environ={}).by_name["crowd"].condition
    assert condition.steady is steady
    assert not condition.one_question
