"""What a real ledger charges an event: windows one by one, and the panes that they share."""

from __future__ import annotations

from functools import partial

import pytest

from accountant.records import Answer
from accountant.units import PrivacyUnit
from operators.panes import Panes, alternatives
from tests.statistical.panes_law import asked as asked_of
from tests.support.ledgers import CELLS, Series, open_ledger, requests, set_up

PANE_MS = 10
THRESHOLDS = (80, 120, 160)


asked = partial(asked_of, threshold=120, cells=CELLS)


def granted(path, series, until_ms, wall):
    """Return whether a wall per event grants every window up to an instant."""
    with open_ledger(f"sqlite:///{path}") as ledger:
        set_up(ledger, PrivacyUnit.EVENT, wall, series)
        asked_for = requests(series, until_ms)
        ledger.admit("s", asked_for)
        answers = {ledger.answer(each.charge.key) for each in asked_for[-2 * len(series) :]}
        return answers == {Answer.RESERVED}


def charged(folder, series, until_ms, units):
    """Return whether an event is charged ``units`` exactly: not granted with one less."""
    held = granted(folder / "enough.db", series, until_ms, units)
    return held and not granted(folder / "short.db", series, until_ms, units - 1)


@pytest.mark.parametrize(("panes", "thresholds"), [(1, 1), (4, 1), (12, 1), (12, 3), (60, 3)])
def test_a_ledger_charges_an_event_what_the_comparison_says(tmp_path, panes, thresholds):
    """TUMBLE and HOP, by windows and by panes; the filter needs that wall, and no unit less."""
    questions = [asked(panes, 20, threshold=threshold) for threshold in THRESHOLDS[:thresholds]]
    planned = Panes.planned(questions)
    ways = {each.tree: each.units for each in alternatives(questions)}
    each = ways[None] // (panes * thresholds)
    windows = [
        Series(f"w{threshold}", size=panes * PANE_MS, step=PANE_MS, units=each)
        for threshold in THRESHOLDS[:thresholds]
    ]
    (tmp_path / "windows").mkdir()
    (tmp_path / "panes").mkdir()
    until_ms = (2 * panes + 2) * PANE_MS
    assert charged(tmp_path / "windows", windows, until_ms, ways[None])
    shared = [Series("panes", size=PANE_MS, step=PANE_MS, units=planned.units)]
    assert charged(tmp_path / "panes", shared, until_ms, planned.units)
    assert ways[planned.tree] == planned.units
