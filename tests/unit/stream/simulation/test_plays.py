"""Simulated replays do what replays of a ledger do: who fires, and which windows a budget denies.

Where noise is drawn in the same order, both are fed the same and agree to the last alarm; elsewhere
many of each are compared. The twins forget the budget, or what it gets back, and are found out.
"""

from __future__ import annotations

import json
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

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
from stream.simulation.tally import Cells
from stream.simulation.truth import may_fire, must_fire

SHOPS = tuple(f"s{at}" for at in range(12))
CLASSES = tuple(f"c{at}" for at in range(5))
HEAD = """\
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
ALARM = """\
  {name}:
    sql: SELECT {by} FROM sales GROUP BY {by}, {window} HAVING COUNT(*) > {most}
    max_fnr: 0.05
    timing: {{grace: 0s}}
"""
SLIDING = "HOP(ts, INTERVAL '5' MINUTE, INTERVAL '15' MINUTE)"
QUARTERS = "TUMBLE(ts, INTERVAL '15' MINUTE)"
THREE_QUARTERS = "HOP(ts, INTERVAL '15' MINUTE, INTERVAL '45' MINUTE)"
MINUTES = "TUMBLE(ts, INTERVAL '5' MINUTE)"
STEPS = "CUMULATE(ts, INTERVAL '15' MINUTE, INTERVAL '1' HOUR)"
USER = (
    "privacy_unit: user, period: 1d, epsilon_max: '{}', contribution: {{max_groups_per_window: 2,"
    " max_events_per_group: 1}}"
)
EVENT = "privacy_unit: event, epsilon_max: '{}'"


def alarm(name, window, most, *lines, by="shop, class"):
    """Write one alarm."""
    written = ALARM.format(name=name, window=window, most=most, by=by)
    return written + "".join(f"    {line}\n" for line in lines)


BURST = alarm("promotion", SLIDING, 20, "tolerance: 9", "mechanism: {svt: {max_alarms: 4}}")
"""Sliding windows, 60 groups, four alarms: one burst takes them all."""


def configured(folder, budget, *alarms):
    """Write a configuration."""
    folder.mkdir(exist_ok=True)
    head = HEAD.replace("SHOPS", ", ".join(SHOPS)).replace("CLASSES", ", ".join(CLASSES))
    head = head.replace("BUDGET", budget).replace("LEDGER", str(folder / "ledger.db"))
    path = folder / "alarms.yaml"
    path.write_text(head + "".join(alarms))
    return path


def sold(folder):
    """Write six hours of sales."""
    path = folder / "sales.jsonl"
    path.write_text(sales())
    return path


@cache
def sales():
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
def counted(budget, alarms):
    """Return what the alarms count of the sales."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        loaded = load(configured(folder, budget, *alarms), environ={})
        return dict(count_history(loaded, {"sales": [sold(folder)]}))


def came(cells, denied):
    """Return true, uncertain and false alarms, and denied windows."""
    return cells.true - cells.missed, cells.uncertain_fired, cells.false_alarms, denied


def run(folder, budget, *alarms, noise=None):
    """Replay into a new ledger; return what came of every alarm, by exact counts."""
    loaded, history = load(configured(folder, budget, *alarms), environ={}), counted(budget, alarms)
    fired = {name: np.zeros((each.windows, each.cells), bool) for name, each in history.items()}
    denied = {name: set() for name in loaded.by_name}
    with closing(open_ledger(loaded)) as ledger:
        replay = Replay(loaded, ledger, {"sales": [sold(folder)]})
        if noise is not None:
            replay.runtime.judge._noise = noise
        for decision in replay.run():
            query = loaded.by_name.get(decision.key.query)
            if query is None:
                continue
            if decision.reason is not None:
                assert decision.reason in {"budget", "step_missed"}
                denied[query.id].add(whole_window(query, decision.key))
            windows = history[query.id]
            starts_ms = windows.starts_ms[:: windows.looks].tolist()
            cells = [query.domain.group(at) for at in range(windows.cells)]
            for key, group in released_alarms(decision):
                start_ms, _ = whole_window(query, key)
                fired[query.id][starts_ms.index(start_ms), cells.index(group)] = True
    return {
        name: came(judged(query, history[name], fired[name]), len(denied[name]))
        for name, query in loaded.by_name.items()
    }


def judged(query, history, fired):
    """Count which alarms were right."""
    rows = history.looked_at(0, history.windows).transpose(2, 0, 1, 3)
    kinds = (kind(query.condition, query.aim, rows).any(axis=1) for kind in (must_fire, may_fire))
    return Cells.of(fired, *kinds)


def played(folder, budget, *alarms):
    """Return the same file, to be replayed without a ledger."""
    loaded = load(configured(folder, budget, *alarms), environ={})
    return Played(loaded, counted(budget, alarms), {})


HELD = alarm("held", QUARTERS, 12, "tolerance: 3", "hold: 1h", by="shop")
SAME = {
    "one burst takes all alarms of the period": (USER.format(8), (BURST,)),
    "a hold keeps alarms for later": (USER.format(8), (BURST + "    hold: 1h\n",)),
    "a second run is opened where it fits": (USER.format(16), (BURST,)),
    "every window pays for itself": (
        EVENT.format("5"),
        (BURST.replace("{svt: {max_alarms: 4}}", "svt"),),
    ),
    "a hold of single windows": (USER.format(20), (HELD,)),
    "a hold of progressive windows": (USER.format(20), (HELD + "    mechanism: ppwlm\n",)),
    "refunds of an alarm beside another": (
        USER.format(14),
        (
            alarm(
                "far", QUARTERS, 250, "tolerance: 3", "mechanism: ppwlm", "hold: 30m", by="class"
            ),
            alarm("near", QUARTERS, 25, "tolerance: 4", "mechanism: tslm", "hold: 30m", by="class"),
        ),
    ),
    "a hold of refined windows": (USER.format(20), (HELD + "    mechanism: dppwlm\n",)),
}


def simulated(file, noise):
    """Return what came of every alarm in one simulated replay."""
    tallies = file.replay(noise)
    return {name: came(tally.cells, tally.denied) for name, tally in tallies.items()}


@pytest.mark.parametrize("scene", SAME)
def test_with_the_same_noise_a_replay_and_a_simulated_one_agree(tmp_path, scene):
    """To the last alarm, and to the last window that is denied."""
    budget, alarms = SAME[scene]
    file, seen = played(tmp_path / "simulated", budget, *alarms), set()
    for seed in ("0", "1", "2"):
        real = run(tmp_path / seed, budget, *alarms, noise=KeyedNoise(seed.encode()))
        assert simulated(file, KeyedNoise(seed.encode())) == real
        seen |= set(real.values())
    assert any(denied for *_, denied in seen)
    assert len(seen) > 1


MANY = {
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


@pytest.mark.long
@pytest.mark.parametrize("scene", MANY)
def test_many_replays_and_simulated_ones_have_the_same_figures(tmp_path, scene):
    """Misses, false alarms and denied windows of 8 and 50, within six standard errors.

    What differs by 2.3 standard deviations of one replay is found.
    """
    budget, alarms = MANY[scene]
    file, noise = played(tmp_path / "simulated", budget, *alarms), NoiseSource()
    real = [run(tmp_path / str(at), budget, *alarms) for at in range(8)]
    tried = [simulated(file, noise) for _ in range(50)]
    for name in real[0]:
        ours, theirs = (np.array([each[name] for each in found], float) for found in (tried, real))
        spread = np.maximum(ours.var(axis=0), theirs.var(axis=0))
        error = np.sqrt(spread / len(ours) + spread / len(theirs))
        apart = np.abs(ours.mean(axis=0) - theirs.mean(axis=0))
        assert (apart <= 6 * error + 1e-9).all(), name
    assert any(denied for each in real for *_, denied in each.values())


def never_denied(*_):
    """Grant every window."""
    return Answer.RESERVED


def at_their_worst(self, one, charge, _cost, settle=Budgets.settle):
    """Settle every window at its worst."""
    settle(self, one, charge, charge.cost)


@pytest.mark.parametrize(
    ("name", "broken", "scene"),
    [
        ("grant", never_denied, "one burst takes all alarms of the period"),
        ("settle", at_their_worst, "refunds of an alarm beside another"),
    ],
)
def test_a_simulation_that_never_denies_or_refunds_is_found_out(
    tmp_path, monkeypatch, name, broken, scene
):
    """A broken twin of the budget differs from a real replay with the same noise."""
    monkeypatch.setattr(Budgets, name, broken)
    with pytest.raises(AssertionError):
        test_with_the_same_noise_a_replay_and_a_simulated_one_agree(tmp_path, scene)
