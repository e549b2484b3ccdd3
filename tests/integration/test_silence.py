"""A bound on what silence misses, end to end: from YAML over the plan to ledger and alarms."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from accountant.units import to_loss_units
from stream.config.loading import load
from stream.decisions.mechanisms import price_of, run_of
from tests.support.commands import configuration, events, json_lines, ledger_must_verify, tocsin

if TYPE_CHECKING:
    from tests.support.postgres import Postgres

LIMIT = 0.06


def written(folder: Path, limit: float | None = LIMIT) -> Path:
    """Write a configuration of one alarm in runs, with a bound or without."""
    folder.mkdir(exist_ok=True)
    path = Path(configuration(folder, unit="user", epsilon_max="1000", aggregate="COUNT(*) > 30"))
    bound = "" if limit is None else f", max_fnr_given_no_alarm: {limit}"
    keys = f"    tolerance: 1\n    mechanism: {{svt: {{max_alarms: 20{bound}}}}}\n"
    path.write_text(path.read_text().replace("    tolerance: 1\n", keys))
    return path


def planned(path: Path) -> dict[str, float]:
    """Return what the plan says of the runs."""
    (run,) = (one for one in json_lines(tocsin("plan", str(path), "--json")) if "windows" in one)
    assert run["record"] == "run"
    return run


def check(path: Path) -> None:
    """Replay: a run costs its opening and its alarms, on the terms that keep the bound."""
    query = load(path, environ={}).queries["crowd"]
    operator = run_of(query)
    assert operator is not None
    terms = operator.run_terms
    lines = json_lines(tocsin("run", str(path), "--replay", events(path.parent), "--json"))
    decided = [line for line in lines if "outcome" in line]
    assert {line["outcome"] for line in decided} == {"decided"}
    alarms = sum("predicate" in line for line in lines)
    assert alarms > 0
    ledger_must_verify(load(path, environ={}))
    spent = sum(line["epsilon_units"] for line in decided)
    opened = (spent - alarms * terms.alarm_units) / terms.open_units
    assert opened == int(opened) >= 1
    assert spent <= opened * to_loss_units(price_of(query).epsilon)


def test_a_bound_is_planned_for_and_charged(tmp_path: Path) -> None:
    """The plan keeps it where it would not be kept, for a dearer run, and the ledger follows."""
    bounded, free = written(tmp_path / "bounded"), written(tmp_path / "free", None)
    one, other = planned(bounded), planned(free)
    assert one["missed_in_silence"] <= one["max_fnr_in_silence"] == LIMIT
    assert other["missed_in_silence"] > LIMIT
    assert "max_fnr_in_silence" not in other
    assert one["questions"] == other["questions"]
    queries = (load(path, environ={}).queries["crowd"] for path in (bounded, free))
    kept, plain = (price_of(query).epsilon for query in queries)
    assert kept > plain
    shown = " ".join(tocsin("plan", str(bounded)).stdout.replace("│", " ").split())
    assert f"missed if silent 0.06 <= {LIMIT:g} " in shown
    check(bounded)


def test_with_and_without_a_bound_are_two_registrations(tmp_path: Path) -> None:
    """Other terms are another fingerprint: no run goes on with a threshold drawn for others."""
    prints = {
        load(written(tmp_path, limit), environ={}).queries["crowd"].fingerprint
        for limit in (None, 0.06, 0.07)
    }
    assert len(prints) == 3


@pytest.mark.integration
def test_a_bound_is_charged_on_postgresql(postgres: Postgres, tmp_path: Path) -> None:
    """The same in a ledger there."""
    path = written(tmp_path)
    path.write_text(f"ledger: {postgres.new_database()}\n{path.read_text()}")
    check(path)
