"""What a real ledger charges an event: windows one by one, and the panes that they share."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from accountant.costs.charges import UniformCost
from accountant.records import Answer
from accountant.units import PrivacyUnit
from operators.noise.source import NoiseSource
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


def test_a_pane_is_drawn_once_whatever_crashes(tmp_path):
    """Its counts are stored with its charge: a second draw is dropped, also after a restart."""
    planned = Panes.planned([asked(3, 9)])
    panes = Series("panes", size=PANE_MS, step=PANE_MS, units=planned.units)
    secrets = NoiseSource()
    counts = np.full((1, CELLS), 40)

    def settled(ledger, index):
        noisy = planned.release(counts, secrets)
        return ledger.settle(
            panes.key(index),
            fingerprint=panes.fingerprint,
            cost=planned.cost,
            alarms=noisy.astype("<i8").tobytes(),
            alarm_count=0,
            next_start_ms=panes.key(index + 1).start_ms,
            release_ms=panes.key(index).end_ms,
        )

    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    with open_ledger(url) as ledger:
        set_up(ledger, PrivacyUnit.EVENT, planned.units, [panes])
        ledger.admit("s", requests([panes], 3 * PANE_MS))
        planned.release(counts, secrets)  # a draw that dies before it is stored costs nothing more
        first = [settled(ledger, index).alarms for index in range(3)]
    with open_ledger(url) as ledger:
        again = [settled(ledger, index).alarms for index in range(3)]
        spent = ledger.reports.status().scopes["s"].spent_units
    assert again == first
    assert len(set(first)) == 3
    assert spent == planned.units  # of whatever event, though three panes were released
    assert planned.cost == UniformCost(planned.units, CELLS)
    noisy = np.stack([np.frombuffer(each, dtype="<i8").astype(np.int64) for each in first])
    assert np.abs(noisy - counts).max() > 0
    expected = noisy.sum(axis=0) > 120 - planned.shifts[0]
    assert planned.decide(0, noisy).tolist() == expected.tolist()
