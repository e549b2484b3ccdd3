"""What a real ledger charges an event: windows one by one, and the panes that they share."""

from __future__ import annotations

import pytest

from accountant.records import Answer
from accountant.units import PrivacyUnit, to_loss_units
from operators.panes import Panes
from operators.single.tslm import Tslm
from tests.statistical.panes_law import asked as asked_of
from tests.support.ledgers import CELLS, Series, open_ledger, requests, set_up

PANE_MS = 10


def granted(path, series, until_ms, most_units):
    """Return whether a budget limit per event grants every window up to an instant."""
    with open_ledger(f"sqlite:///{path}") as ledger:
        set_up(ledger, PrivacyUnit.EVENT, most_units, series)
        asked_for = requests(series, until_ms)
        ledger.admit("s", asked_for)
        last = asked_for[-2 * len(series) :]
        return {ledger.answer(each.charge.key) for each in last} == {Answer.RESERVED}


def charged(folder, series, until_ms, units):
    """Return whether an event is charged ``units`` exactly: not granted with one less."""
    enough, short = (folder / f"{series[0].query}-{each}.db" for each in ("enough", "short"))
    held = granted(enough, series, until_ms, units)
    return held and not granted(short, series, until_ms, units - 1)


@pytest.mark.parametrize(("panes", "thresholds"), [(1, 1), (4, 1), (12, 1), (12, 3), (60, 3)])
def test_a_ledger_charges_an_event_for_windows_or_their_panes(tmp_path, panes, thresholds):
    """TUMBLE and HOP, by windows and by panes; the filter needs that limit, and no unit less."""
    questions = [
        asked_of(panes, 20, threshold=80 + 40 * at, cells=CELLS) for at in range(thresholds)
    ]
    planned = Panes.planned(questions)
    each = to_loss_units(Tslm.priced(questions[0].test, questions[0].promise).epsilon)
    until_ms = (2 * panes + 2) * PANE_MS
    shared = [Series("panes", size=PANE_MS, step=PANE_MS, units=planned.units)]
    windows = [
        Series(f"w{at}", size=panes * PANE_MS, step=PANE_MS, units=each) for at in range(thresholds)
    ]
    assert charged(tmp_path, windows, until_ms, panes * thresholds * each)
    assert charged(tmp_path, shared, until_ms, planned.units)
