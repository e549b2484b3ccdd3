"""Progressive alarms end to end: what cells did not need is spent on later windows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from accountant.records import Outcome
from stream.build import open_ledger
from stream.config.loading import load
from stream.decisions.mechanisms import plans_of
from tests.support.commands import configuration, events, json_lines, tocsin
from tests.support.ledgers import must_verify

if TYPE_CHECKING:
    from accountant.records import LedgerStatus

WINDOWS = 24


def decided(folder: Path, mechanism: str) -> LedgerStatus:
    """Replay a day, one busy hour in it, under a budget of two worst cases a person."""
    keys = {"aggregate": "COUNT(*) > 1000", "more": f"mechanism: {mechanism}"}
    plain = Path(configuration(folder, unit="user", epsilon_max="9", denials=True, **keys))
    alarms = load(plain, environ={})
    worst = plans_of(alarms)["crowd"].epsilon
    wall = f'"{2 * worst}"'
    plain.write_text(plain.read_text().replace('epsilon_max: "9"', f"epsilon_max: {wall}"))
    tocsin("run", plain, "--replay", events(folder), code=0)
    with open_ledger(load(plain, environ={})) as ledger:
        must_verify(ledger)
        return ledger.reports.status()


@pytest.mark.parametrize("mechanism", ["ppwlm", "dppwlm"])
def test_refunds_carry_a_day_that_worst_cases_do_not(tmp_path: Path, mechanism: str) -> None:
    """Two worst cases fit; rooms far from their threshold cost so little that all hours do."""
    status = decided(tmp_path, mechanism)
    (scope,) = status.scopes.values()
    assert status.queries["crowd"].decided == WINDOWS
    assert status.queries["crowd"].denied == {}
    assert 0 < scope.spent_units <= scope.epsilon_max_units
    assert scope.pending == 0


def test_one_level_refuses_what_it_cannot_carry(tmp_path: Path) -> None:
    """TSLM pays its worst case in every window, so that only two of them are decided."""
    status = decided(tmp_path, "tslm")
    assert status.queries["crowd"].decided == 2
    assert status.queries["crowd"].denied == {"budget": WINDOWS - 2}


def test_published_costs_are_the_planned_ones(tmp_path: Path) -> None:
    """What a window really cost is the custodian's alone: decisions carry the reservation."""
    plain = Path(configuration(tmp_path, more="mechanism: dppwlm"))
    alarms = load(plain, environ={})
    worst = float(plans_of(alarms)["crowd"].epsilon)
    lines = json_lines(tocsin("run", plain, "--replay", events(tmp_path), "--json"))
    decisions = [line for line in lines if "outcome" in line]
    assert len(decisions) == WINDOWS
    assert {line["outcome"] for line in decisions} == {str(Outcome.DECIDED)}
    assert [float(line["epsilon"]) for line in decisions] == pytest.approx([worst] * WINDOWS)
    losses = json_lines(tocsin("ledger", plain, "losses", "crowd", "--json"))
    assert all(float(line["epsilon"]) < worst for line in losses)
