"""Simulated replays do what replays of a ledger do: who fires, and which windows a budget denies.

Where noise is drawn in the same order, both are fed the same and agree to the last alarm; elsewhere
many of each are compared. The twins forget the budget, or what it gets back, and are found out.
"""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest

from accountant.records import Answer
from operators.noise.source import KeyedNoise, NoiseSource
from stream.build import open_ledger
from stream.config.loading import load
from stream.decisions.release import released_alarms, whole_window
from stream.replay.replay import Replay
from stream.simulation.budgets import Budgets
from stream.simulation.history import count_history
from stream.simulation.plays import Played
from stream.simulation.truth import may_fire, must_fire

if TYPE_CHECKING:
    from stream.model.alarm import Alarm
    from stream.simulation.history import CountedAlarm
    from stream.simulation.tally import Tally

SHOPS: Final = tuple(f"s{at}" for at in range(12))
CLASSES: Final = tuple(f"c{at}" for at in range(5))
HEAD: Final = """\
feeds:
  sales:
    topic: sales
    time: ts
    unit: card
    fields:
      card: string
      shop: {domain: [SHOPS]}
      class: {domain: [CLASSES]}
      ts: timestamp
    history: {from: "2024-01-01T06:00:00Z", until: "2024-01-01T12:00:00Z"}
ledger: sqlite:///LEDGER
budget: {BUDGET, on_shortfall: deny}
alarms:
"""
ALARM: Final = """\
  {name}:
    sql: SELECT {by} FROM sales GROUP BY {by}, {window} HAVING COUNT(*) > {most}
    max_fnr: 0.05
    timing: {{grace: 0s}}
"""
SLIDING: Final = "HOP(ts, INTERVAL '5' MINUTE, INTERVAL '15' MINUTE)"
QUARTERS: Final = "TUMBLE(ts, INTERVAL '15' MINUTE)"
THREE_QUARTERS: Final = "HOP(ts, INTERVAL '15' MINUTE, INTERVAL '45' MINUTE)"
MINUTES: Final = "TUMBLE(ts, INTERVAL '5' MINUTE)"
STEPS: Final = "CUMULATE(ts, INTERVAL '15' MINUTE, INTERVAL '1' HOUR)"
USER: Final = (
    "privacy_unit: user, period: 1d, epsilon_max: '{}', contribution: {{max_groups_per_window: 2,"
    " max_events_per_group: 1}}"
)
EVENT: Final = "privacy_unit: event, epsilon_max: '{}'"


def alarm(name: str, window: str, most: int, *lines: str, by: str = "shop, class") -> str:
    """Write one alarm."""
    written = ALARM.format(name=name, window=window, most=most, by=by)
    return written + "".join(f"    {line}\n" for line in lines)


BURST: Final = alarm("promotion", SLIDING, 20, "tolerance: 9", "mechanism: {svt: {max_alarms: 4}}")
"""Sliding windows, 60 groups, four alarms: one burst takes them all."""


def configured(folder: Path, budget: str, *alarms: str) -> Path:
    """Write a configuration."""
    folder.mkdir(exist_ok=True)
    head = HEAD.replace("SHOPS", ", ".join(SHOPS)).replace("CLASSES", ", ".join(CLASSES))
    head = head.replace("BUDGET", budget).replace("LEDGER", str(folder / "ledger.db"))
    path = folder / "alarms.yaml"
    path.write_text(head + "".join(alarms))
    return path


def sold(folder: Path) -> Path:
    """Write six hours of sales."""
    path = folder / "sales.jsonl"
    path.write_text(sales())
    return path


@cache
def sales() -> str:
    """Return some sales everywhere, a burst of one class at seven, another at ten."""
    random, lines = np.random.default_rng(7), []
    for minute in range(360):
        groups = [(str(random.choice(SHOPS)), str(random.choice(CLASSES))) for _ in range(6)]
        groups += [("s3", "c1")] * (4 * (60 <= minute < 90)) + [("s8", "c4")] * (
            4 * (240 <= minute < 270)
        )
        at = datetime(2024, 1, 1, 6, tzinfo=UTC) + timedelta(minutes=minute, seconds=30)
        for shop, kind in groups:
            row = {"card": f"p{len(lines)}", "shop": shop, "class": kind, "ts": at.isoformat()}
            lines.append(json.dumps(row))
    return "\n".join(lines) + "\n"


@cache
def counted(budget: str, alarms: tuple[str, ...]) -> dict[str, CountedAlarm]:
    """Return what the alarms count of the sales."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        loaded = load(configured(folder, budget, *alarms), environ={})
        return dict(count_history(loaded, {"sales": [sold(folder)]}))


@dataclass(frozen=True)
class Came:
    """What came of an alarm in one replay."""

    true: int
    uncertain: int
    false: int
    denied: int

    @classmethod
    def of(cls, tally: Tally) -> Came:
        """Return what a simulated replay says."""
        hits = tally.cells.true - tally.cells.missed
        return cls(hits, tally.cells.uncertain_fired, tally.cells.false_alarms, tally.denied)


def run(folder: Path, budget: str, *alarms: str, noise: NoiseSource | None = None) -> Any:
    """Replay into a new ledger; return what came of every alarm, by exact counts."""
    loaded, events = load(configured(folder, budget, *alarms), environ={}), sold(folder)
    fired: dict[str, set[tuple[int, int]]] = {name: set() for name in loaded.by_name}
    denied: dict[str, set[int]] = {name: set() for name in loaded.by_name}
    with closing(open_ledger(loaded)) as ledger:
        replay = Replay(loaded, ledger, {"sales": [events]})
        if noise is not None:
            replay.runtime.judge._noise = noise
        for decision in replay.run():
            query = loaded.by_name.get(decision.key.query)
            if query is None:
                continue
            if decision.reason is not None:
                assert decision.reason in {"budget", "step_missed"}
                denied[query.id].add(whole_window(query, decision.key)[0])
            cells = [query.domain.group(at) for at in range(len(query.domain))]
            for key, group in released_alarms(decision):
                place = whole_window(query, key)[0], cells.index(group)
                fired[query.id].add(place)
    by_name = counted(budget, alarms)
    return {
        name: judged(loaded.by_name[name], by_name[name], fired[name], denied[name])
        for name in fired
    }


def judged(
    query: Alarm, history: CountedAlarm, fired: set[tuple[int, int]], denied: set[int]
) -> Came:
    """Count which alarms were right."""
    came = [0, 0, 0]
    for window in range(history.windows):
        rows = history.looked_at(window, window + 1)[0].transpose(1, 0, 2)
        true = must_fire(query.condition, query.aim, rows).any(axis=0)
        may = may_fire(query.condition, query.aim, rows).any(axis=0)
        start_ms = int(history.starts_ms[window * history.looks])
        for cell in range(len(query.domain)):
            kind = 0 if true[cell] else 1 if may[cell] else 2
            came[kind] += (start_ms, cell) in fired
    return Came(came[0], came[1], came[2], len(denied))


def played(folder: Path, budget: str, *alarms: str) -> Played:
    """Return the same file, to be replayed without a ledger."""
    loaded = load(configured(folder, budget, *alarms), environ={})
    return Played(loaded, counted(budget, alarms), {})


HELD: Final = alarm("held", QUARTERS, 12, "tolerance: 3", "hold: 1h", by="shop")
SAME: Final = {
    "one burst takes all alarms of the period": (USER.format(8), (BURST,)),
    "a hold keeps alarms for later": (USER.format(8), (BURST + "    hold: 1h\n",)),
    "a second run is opened where it fits": (USER.format(16), (BURST,)),
    "every window pays for itself": (
        EVENT.format("5"),
        (BURST.replace("{svt: {max_alarms: 4}}", "svt"),),
    ),
    "a hold of single windows": (USER.format(20), (HELD,)),
    "a hold of progressive windows": (USER.format(20), (HELD + "    mechanism: ppwlm\n",)),
    "a hold of refined windows": (USER.format(20), (HELD + "    mechanism: dppwlm\n",)),
}


@pytest.mark.parametrize("scene", SAME)
def test_with_the_same_noise_a_replay_and_a_simulated_one_agree(tmp_path: Path, scene: str) -> None:
    """To the last alarm, and to the last window that is denied."""
    budget, alarms = SAME[scene]
    simulated, seen = played(tmp_path / "simulated", budget, *alarms), set()
    for seed in range(3):
        noise = b"seed %d" % seed
        real = run(tmp_path / str(seed), budget, *alarms, noise=KeyedNoise(noise))
        found = simulated.replay(KeyedNoise(noise))
        assert {name: Came.of(tally) for name, tally in found.items()} == real
        seen |= set(real.values())
    assert any(came.denied for came in seen)
    assert len(seen) > 1


MANY: Final = {
    "refunds of several alarms in one budget": (
        USER.format(14),
        (
            alarm("far", QUARTERS, 250, "tolerance: 3", "mechanism: ppwlm", by="class"),
            alarm("class", QUARTERS, 25, "tolerance: 4", "mechanism: tslm", by="class"),
        ),
    ),
    "shares, and runs beside single windows": (
        USER.format(14),
        (
            BURST.replace("mechanism: {svt: {max_alarms: 4}}", "mechanism: {svt: {max_alarms: 2}}"),
            alarm("class", QUARTERS, 25, "tolerance: 4", "share: 0.2", by="class"),
        ),
    ),
    "refunds where windows overlap": (
        EVENT.format("1.6"),
        (alarm("far", SLIDING, 250, "tolerance: 3", "mechanism: ppwlm", by="class"),),
    ),
    "steps of windows": (
        EVENT.format("1"),
        (
            alarm("early", STEPS, 90, "tolerance: 9", "mechanism: svt", by="class"),
            alarm("all", QUARTERS, 400, "tolerance: 3", "mechanism: ppwlm", by="class"),
        ),
    ),
    "panes": (
        EVENT.format("1"),
        (
            alarm("panes", THREE_QUARTERS, 60, "tolerance: 6", "mechanism: panes", by="class"),
            alarm("all", MINUTES, 400, "tolerance: 3", "mechanism: ppwlm", by="class"),
        ),
    ),
}
FIGURES: Final = ("true", "uncertain", "false", "denied")


def compared(folder: Path, scene: str, *, reals: int = 8, simulated: int = 100) -> bool:
    """Compare many replays of each kind; say whether a window was denied in any."""
    budget, alarms = MANY[scene]
    file = played(folder / "simulated", budget, *alarms)
    real = [run(folder / str(at), budget, *alarms) for at in range(reals)]
    noise = NoiseSource()
    tallies = [file.replay(noise) for _ in range(simulated)]
    for name in real[0]:
        for figure in FIGURES:
            ours = np.array([getattr(Came.of(each[name]), figure) for each in tallies], float)
            theirs = np.array([getattr(each[name], figure) for each in real], float)
            spread = max(ours.var(), theirs.var())
            error = np.sqrt(spread / len(ours) + spread / len(theirs))
            assert abs(ours.mean() - theirs.mean()) <= 6 * error + 1e-9, (name, figure)
    return any(each.denied for one in real for each in one.values())


@pytest.mark.long
@pytest.mark.parametrize("scene", MANY)
def test_many_replays_and_simulated_ones_have_the_same_figures(tmp_path: Path, scene: str) -> None:
    """Misses, false alarms and denied windows, within six standard errors."""
    assert compared(tmp_path, scene)


def test_a_simulation_that_never_denies_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first twin grants every window."""
    monkeypatch.setattr(Budgets, "grant", lambda *_: Answer.RESERVED)
    with pytest.raises(AssertionError):
        test_with_the_same_noise_a_replay_and_a_simulated_one_agree(
            tmp_path, "one burst takes all alarms of the period"
        )


@pytest.mark.long
def test_a_simulation_without_refunds_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second one takes every window at its worst."""
    settle = Budgets.settle
    monkeypatch.setattr(
        Budgets, "settle", lambda self, one, charge, _cost: settle(self, one, charge, charge.cost)
    )
    with pytest.raises(AssertionError):
        compared(tmp_path, "refunds of several alarms in one budget", reals=24)
