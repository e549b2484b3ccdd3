"""The papers' claims at their own scale, in short: that crowds are what they are said to be."""

from __future__ import annotations

import numpy as np

from benchmarks.papers.regime.crowds import resampled
from tests.support.papers import made_up


def test_resampled_events_are_those_there_were():
    """Rows are drawn whole, as many as said, all alike likely; nobody known stays nobody."""
    events = made_up("badges", 500, groups=5)
    often = resampled(events, 40, np.random.default_rng(5))
    assert often.group.size == 40 * 500
    miles, at = np.unique(events.columns["miles"], return_index=True)
    row = at[np.searchsorted(miles, often.columns["miles"])]
    assert (events.columns["miles"][row] == often.columns["miles"]).all()
    assert (events.group[row] == often.group).all()
    assert (events.unit[row] == np.where(often.unit < 0, -1, often.unit // 40)).all()
    drawn = np.bincount(row, minlength=500)
    assert abs(drawn.var() / 40 - 1) < 0.3  # nearly Poisson; repeated would have none
