"""Realised losses where a person counts in a few windows of a period only: the dearest few."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
import pytest

from accountant.audit import realised
from accountant.costs.charges import Charge, PeriodCap, UniformCost, WindowKey
from accountant.costs.levels import LevelCosts
from accountant.ledger.ledger import Ledger
from accountant.records import BudgetTerms, QueryRegistration, Request
from accountant.regions.shapes import ANYWHERE
from accountant.units import UNITS_PER_EPSILON, PrivacyUnit

if TYPE_CHECKING:
    from pathlib import Path

CELLS, WORST = 3, UNITS_PER_EPSILON


@pytest.mark.parametrize("few", [1, 2, 5])
@pytest.mark.parametrize("room", [realised.MOST_CELLS_READ, 1])
def test_the_dearest_few_windows_of_each_cell_are_added(
    tmp_path: Path, few: int, room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against adding up by hand; where there is no room to tell them apart, all are added."""
    costs = np.random.default_rng(few).integers(0, 50, size=(8, CELLS))
    costs[3] = 40  # uniform, as a window is stored whose cells cost the same
    monkeypatch.setattr(realised, "MOST_CELLS_READ", room)
    with Ledger.open(
        f"sqlite:///{tmp_path}/ledger.db", clock_ms=lambda: 10**6, entropy=os.urandom
    ) as ledger:
        _decide(ledger, costs, few)
        found = ledger.reports.realised("q", cells=CELLS)
        while not found.complete:
            found = ledger.reports.realised("q", cells=CELLS)
    dearest = np.sort(costs, axis=0)[-few if room > 1 else 0 :].sum(axis=0)
    assert found.costs.tolist() == dearest.tolist()
    assert found.windows == len(costs)


def _decide(ledger: Ledger, costs: np.ndarray, few: int) -> None:
    ledger.pins.register_budget(BudgetTerms("s", PrivacyUnit.USER, 100 * WORST, "1d"))
    ledger.pins.register_query(QueryRegistration("q", "s", "badges", "f1", "{}", 0, ANYWHERE))
    for at, each in enumerate(costs.tolist()):
        key = WindowKey(at * 10 + 10, "q", at * 10)
        cap = PeriodCap(few, "q", "f1")
        charge = Charge(key, UniformCost(WORST, CELLS), 1, (0,), cap)
        ledger.admit("s", [Request(charge, "f1")])
        uniform = len(set(each)) == 1
        ledger.settle(
            key,
            fingerprint="f1",
            cost=UniformCost(each[0], CELLS) if uniform else LevelCosts.of(np.array(each)),
            alarms=b"[]",
            alarm_count=0,
            next_start_ms=key.end_ms,
            release_ms=0,
        )
