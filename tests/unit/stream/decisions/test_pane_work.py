"""How much is done to decide a window over panes: counted, as time tells of the machine as well."""

from __future__ import annotations

import sys
from collections import Counter

import numpy as np
import pytest

from stream.decisions import panes
from stream.decisions.mechanisms import panes_of
from stream.decisions.panes import TOKEN_BYTES, StoredPanes, decoded
from tests.support.paned import alarm, configured, opened, replayed, rows

SLIDING = "HOP(ts, INTERVAL '1' MINUTE, INTERVAL '{}' MINUTE)"
CALLS_A_PANE = 40
"""Read, looked up by its key, unpacked and added: no more Python for a pane than this."""


def calls(folder, cells, several):
    """Return how many functions a window calls that is decided from stored panes."""
    window = SLIDING.format(several)
    rooms = [f"r{at}" for at in range(cells)]
    until = f"{several // 60:02d}:{several % 60:02d}"
    alarms = configured(folder, alarm("a", window, "COUNT(*) > 9"), rooms=rooms, until=until)
    seen = Counter()

    def noted(_frame, event, _given):
        seen[event] += 1

    with opened(alarms) as ledger:
        list(replayed(alarms, ledger, rows(folder, (1,) * several)))
        query, stored = alarms.by_name["a"], StoredPanes(alarms, ledger)
        operator = panes_of(query)
        bounds = query.calendar.bounds(query.calendar.first_starting_at(1_704_067_200_000))
        sys.setprofile(noted)
        try:
            found = stored.over(query, *bounds)
            assert not isinstance(found, str)
            reached = operator.reached(found)
        finally:
            sys.setprofile(None)
    assert reached.shape == (cells,)
    return seen["call"] + seen["c_call"]


def test_no_python_is_run_for_every_cell(tmp_path):
    """A thousand times as many cells are no call more; a pane more is a few."""
    calls(tmp_path / "first", 2, 4)  # what a process does once is done
    few = calls(tmp_path / "few", 2, 4)
    assert calls(tmp_path / "many", 2_000, 4) == few
    assert calls(tmp_path / "long", 2, 24) - few <= 20 * CALLS_A_PANE


@pytest.mark.parametrize("far", [0, 100, 30_000, 2**31 - 1, 2**52])
def test_panes_are_stored_as_narrow_as_their_counts(far):
    """And read as they were, whatever their width: also those that were stored wider before."""
    noisy = np.array([-far, far, -far - 1, far + 1, 7] * 200)
    stored = panes._encoded(noisy) + b"t" * TOKEN_BYTES
    assert decoded(stored, len(noisy)).tolist() == noisy.tolist()
