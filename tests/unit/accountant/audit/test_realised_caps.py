"""Realised losses where a person counts in a few windows of a period only: the dearest few."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from accountant.audit import realised
from accountant.units import UNITS_PER_EPSILON, PrivacyUnit
from tests.support.ledgers import CELLS, Series, open_ledger, set_up, settle

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("few", [1, 2, 5])
@pytest.mark.parametrize("room", [realised.MOST_CELLS_READ, 1])
def test_the_dearest_few_windows_of_each_cell_are_added(
    tmp_path: Path, few: int, room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against adding up by hand; where there is no room to tell them apart, all are added."""
    costs = np.random.default_rng(few).integers(0, 50, size=(8, CELLS))
    costs[3] = 40  # uniform, as a window is stored whose cells cost the same
    monkeypatch.setattr(realised, "MOST_CELLS_READ", room)
    query = Series("q", units=UNITS_PER_EPSILON, period=1_000, windows=few)
    with open_ledger(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        set_up(ledger, PrivacyUnit.USER, 100 * query.units, [query])
        for at, each in enumerate(costs.tolist()):
            ledger.admit("s", [query.request(at)])
            settle(ledger, query, at, units=each[0], cells=None if at == 3 else each)
        found = ledger.reports.realised("q", cells=CELLS)
        while not found.complete:
            found = ledger.reports.realised("q", cells=CELLS)
    dearest = np.sort(costs, axis=0)[-few if room > 1 else 0 :].sum(axis=0)
    assert found.costs.tolist() == dearest.tolist()
    assert found.windows == len(costs)
