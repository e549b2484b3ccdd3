"""A bound on what silence misses, end to end: from YAML over the plan to ledger and alarms."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from accountant.units import to_loss_units
from stream.config.loading import load
from stream.decisions.mechanisms import price_of, run_of
from stream.planning.runs import run_outlook
from tests.support.commands import configuration, events, json_lines, ledger_must_verify, tocsin

if TYPE_CHECKING:
    from stream.planning.runs import RunOutlook

LIMIT = 0.06


def written(folder: Path, limit: float | None = LIMIT) -> Path:
    """Write a configuration of one alarm in runs, with a bound or without."""
    folder.mkdir(exist_ok=True)
    bound = "" if limit is None else f", max_fnr_given_no_alarm: {limit}"
    keys = f"mechanism: {{svt: {{max_alarms: 20{bound}}}}}"
    return Path(configuration(folder, unit="user", epsilon_max="1000", more=keys))


def outlook(path: Path) -> RunOutlook:
    """Return what planning says of the alarm's SVT run."""
    alarms = load(path, environ={})
    return run_outlook(alarms.by_name["crowd"], alarms.budget)


def planned(path: Path) -> float | None:
    """Return the miss rate given no alarm, where the plan says one."""
    (budget,) = json_lines(tocsin("plan", path, "--json"))
    (alarm,) = budget["alarms"]
    found: float | None = alarm["miss_rate_given_no_alarm"]
    return found


def check(path: Path) -> None:
    """Replay: a run costs its opening and its alarms, on the terms that keep the bound."""
    query = load(path, environ={}).by_name["crowd"]
    operator = run_of(query)
    terms = operator.run_terms
    lines = json_lines(tocsin("run", path, "--replay", events(path.parent), "--json"))
    decided = [line for line in lines if "outcome" in line]
    assert {line["outcome"] for line in decided} == {"decided"}
    alarms = sum("group" in line for line in lines)
    assert alarms > 0
    ledger_must_verify(load(path, environ={}))
    spent = sum(line["epsilon_units"] for line in decided)
    opened = (spent - alarms * terms.alarm_units) / terms.open_units
    assert opened == int(opened) >= 1
    assert spent <= opened * to_loss_units(price_of(query).epsilon)


def test_a_bound_is_planned_for_and_charged(tmp_path: Path) -> None:
    """The plan keeps it where it would not be kept, for a dearer run, and the ledger follows."""
    bounded, free = written(tmp_path / "bounded"), written(tmp_path / "free", None)
    one, other = outlook(bounded), outlook(free)
    assert one.missed_given_no_alarm <= LIMIT < other.missed_given_no_alarm
    assert one.queries == other.queries
    assert planned(bounded) is None, "within twice max_fnr"
    assert planned(free) == pytest.approx(other.missed_given_no_alarm)
    queries = (load(path, environ={}).by_name["crowd"] for path in (bounded, free))
    kept, plain = (price_of(query).epsilon for query in queries)
    assert kept > plain
    assert f"up to {other.missed_given_no_alarm:.2g} late" in tocsin("plan", free).stdout
    check(bounded)
