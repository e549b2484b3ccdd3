"""Two workers that die and are replaced, and what has to hold of everything they did."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from accountant.records import Outcome
from operators.svt import RunState
from stream.build import open_ledger
from stream.decisions.release import alarm_records
from stream.decisions.steps import Step
from tests.support.hostile import WINDOW_MS
from tests.support.ledgers import must_verify, only_scope
from tests.support.oracle import add_up, crowd
from tests.support.waiting import wait_until
from tests.support.worker_main import BEFORE_COMMIT

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Hashable, Iterable, Mapping

    from accountant.costs.charges import WindowKey
    from accountant.costs.runs import StoredRun
    from accountant.ledger.ledger import Ledger
    from accountant.records import StoredDecision
    from operators.svt import Svt
    from tests.support.scenario import Scenario

STEPS = (
    f"{Step.AFTER_POLL}:4",
    f"{Step.BEFORE_PARTIAL}:2",
    f"{Step.AFTER_PARTIAL}:2",
    f"{Step.AFTER_RESERVE}:2",
    f"{Step.AFTER_DRAW}:1",
    f"{BEFORE_COMMIT}:1",
    f"{Step.AFTER_COMMIT}:1",
    f"{Step.AFTER_PUBLISH}:1",
)

_LOOK_S = 1.0  # far less than a window's three seconds


def thresholds(ledger: Ledger) -> dict[tuple[str, int], int]:
    """Return the noise of every query's run, by query and start of the run."""
    return {opened: state.threshold_noise for opened, state in run_states(ledger).items()}


@dataclass
class Matrix:
    """A scenario whose two workers are replaced as they die, and watched meanwhile.

    Args:
        scenario: topics, ledger and workers.
        ledger: the same one, opened to look at it.
        noise: returns what windows of the ledger share that was drawn once.
    """

    scenario: Scenario
    ledger: Ledger
    noise: Callable[[Ledger], Mapping[tuple[str, int], Hashable]] = thresholds
    worst_units: int = 0
    caught_up_ms: int = 0
    few: tuple[int, int] | None = None
    drawn: dict[tuple[str, int], set[Hashable]] = field(default_factory=dict)
    panes: dict[WindowKey, set[bytes]] = field(default_factory=dict)

    def watch_budget(self) -> None:
        """Note the largest loss the ledger ever shows, and what runs and panes were drawn as."""
        status = self.ledger.reports.status()
        if (scope := status.scopes.get("user")) is not None:
            self.worst_units = max(self.worst_units, scope.spent_units)
            assert scope.spent_units <= scope.epsilon_max_units
        for opened, noise in self.noise(self.ledger).items():
            self.drawn.setdefault(opened, set()).add(noise)
        for query in status.queries:
            for pane in self.ledger.noisy.between(query, -(2**62), 2**62):
                self.panes.setdefault(pane.key, set()).add(pane.counts)

    def kill_at_steps(self, plans: list[str], *, patience_s: float) -> Counter[str]:
        """Start workers that die at the planned steps, two at a time; return where they died.

        The last one is alone: beside another that hears of every window first it might never get to
        its step.
        """
        left = iter(plans)
        slots = [self.scenario.start_worker(plan) for plan in islice(left, 2)]
        deadline_s = time.monotonic() + patience_s
        while slots and time.monotonic() < deadline_s:
            self.watch_budget()
            for slot in [slot for slot in slots if not slot.alive]:
                assert slot.ended() == -9, slot.text()
                slots.remove(slot)
                slots += [self.scenario.start_worker(plan) for plan in islice(left, 1)]
            time.sleep(_LOOK_S)
        self.scenario.stop()
        return Counter(line["step"] for line in self.scenario.done("kill"))

    def kill_at_random(self, times: int, rng: random.Random) -> None:
        """Kill one of two workers, ``times`` times, up to fourteen seconds apart."""
        slots = [self.scenario.start_worker() for _ in range(2)]
        wait_until("a worker is registered", lambda: self.ledger.reports.status().queries)
        for _ in range(times):
            until_s = time.monotonic() + rng.uniform(0.5, 14.0)
            while time.monotonic() < until_s:
                self.watch_budget()
                time.sleep(_LOOK_S)
            victim = slots.pop(rng.randrange(2))
            assert victim.alive, victim.text()
            victim.kill()
            slots.append(self.scenario.start_worker())

    def finish(self) -> list[StoredDecision]:
        """Let two healthy workers catch up; return every decision of the ledger."""
        self.scenario.stop()
        target_ms = self.caught_up_ms = time.time_ns() // 1_000_000
        for _ in range(2):
            self.scenario.start_worker()

        names = self.scenario.alarms().by_name

        def caught_up():
            self.watch_budget()
            queries = self.ledger.reports.status().queries
            return all(
                name in queries
                and queries[name].cursor_ms >= target_ms
                and all(
                    one.published
                    for one in decisions_of(self.ledger, name)
                    if one.key.end_ms <= target_ms
                )
                for name in names
            )

        wait_until("the survivors catch up", caught_up)
        self.scenario.stop()
        return decisions_of(self.ledger, self.scenario.query)


def check_promises(matrix: Matrix, name: str) -> dict[str, Any]:
    """Assert promises 2, 3 and 4 of an alarm over a whole run; return what was checked."""
    scenario, decisions = matrix.scenario, decisions_of(matrix.ledger, name)

    def own(lines):
        return [line for line in lines if line.get("alarm") == name]

    stored_ms = {decision.key.start_ms: decision.decided_at_ms for decision in decisions}
    starts_ms = list(stored_ms)
    assert starts_ms == list(range(starts_ms[0], starts_ms[-1] + 1, WINDOW_MS))
    assert {decision.reason for decision in decisions} <= {None, "budget"}

    records = scenario.read(scenario.topic)
    truth = crowd(
        records,
        starts_ms,
        partitions=scenario.partitions,
        size_ms=WINDOW_MS,
        few=matrix.few,
        every=bool(scenario.around),
    )
    counted = add_up(own(scenario.done("counted")))
    decided = [d.key.start_ms for d in decisions if d.outcome is Outcome.DECIDED]
    assert {start: counted[start] for start in decided} == {s: truth[s] for s in decided}

    draws = own(line for line in scenario.done("step") if line["step"] == Step.AFTER_DRAW)
    # Stopping the survivors may cut off the draw of a window past the last stored decision.
    kept = [draw for draw in draws if draw["start_ms"] <= starts_ms[-1]]
    assert all(d["at_ns"] // 1_000_000 <= stored_ms[d["start_ms"]] + 1 for d in kept)

    # Of what was decided since the survivors caught up, stopping them may cut off the last ones.
    released = [decision for decision in decisions if decision.published]
    assert all(d.published for d in decisions if d.key.end_ms <= matrix.caught_up_ms)
    published = scenario.decided(name)
    for decision in released:
        copies = published[decision.key.start_ms]
        assert all(copy == copies[0] for copy in copies)
        assert copies[0]["sequence"] == decision.sequence
        assert copies[0]["ledger"] == decision.ledger_id
    alarms = own(scenario.published())
    seen = {alarm["alarm_id"] for alarm in alarms}
    query = scenario.alarms().by_name[name]
    left, made = (
        {alarm.alarm_id for one in some for alarm in alarm_records(query, one)}
        for some in (released, decisions)
    )
    assert left <= seen <= made
    scenario.topics_must_agree()

    scope = only_scope(matrix.ledger)
    assert matrix.worst_units <= scope.epsilon_max_units
    loss = "epsilon" if scope.promise is None else "rho"
    worst, most = (f"{units / 1e12:.3f}" for units in (matrix.worst_units, scope.epsilon_max_units))
    return {
        "windows": len(decisions),
        "decided": len(decided),
        "refused for the budget": len(decisions) - len(decided),
        "events on the topic": len(records),
        "draws lost before their commit": len(draws) - len({d["start_ms"] for d in draws}),
        "alarms": len(seen),
        "alarm records, repeats included": len(alarms),
        f"largest {loss} ever seen / {loss}_max": f"{worst} / {most}",
    }


def decisions_of(ledger: Ledger, query: str) -> list[StoredDecision]:
    """Return the ledger's decisions of an alarm, in order."""
    keys = [one.key for one in ledger.progress.decided(query, -(2**62), 2**62)]
    found = [ledger.decision(key) for key in keys]
    return [decision for decision in found if decision is not None]


def check_charged(scenario: Scenario) -> None:
    """Assert that the ledger holds, and that what was decided is all that was paid for."""
    with open_ledger(scenario.alarms()) as ledger:
        must_verify(ledger)
        scope = only_scope(ledger)
        stored = Counter(one.outcome for one in decisions_of(ledger, scenario.query))
    paid = stored[Outcome.DECIDED] + scope.reservations
    assert scope.spent_units == paid * scenario.window_units()


def private_runs(ledger: Ledger) -> list[StoredRun]:
    """Return what is private of every query's run."""
    with ledger._door.read() as (tx, state):
        runs = [tx.private.run(one.run, one.left) for one in state.queries.values()]
    return [run for run in runs if run is not None]


def run_states(ledger: Ledger) -> dict[tuple[str, int], RunState]:
    """Return the private state of every query's run, by query and start of the run."""
    return {
        (run.query, run.opened_start_ms): RunState.from_bytes(run.state)
        for run in private_runs(ledger)
    }


def check_paid_by_run(svt: Svt, decisions: Iterable[StoredDecision]) -> None:
    """Assert that each window of a minute's runs paid for its opening, if it was, and its alarms.

    Args:
        svt: what decided.
        decisions: of one alarm, in order.
    """
    left, period = 0, None
    for one in decisions:
        minute = one.key.start_ms // 60_000
        if minute != period:
            period, left = minute, 0
        if one.outcome is not Outcome.DECIDED:
            continue
        opening = left == 0
        left = (svt.terms.alarms if opening else left) - one.alarm_count
        assert left >= 0
        assert one.epsilon_units == svt.cost_units(opening, one.alarm_count)
