"""Made-up intents: what is found keeps what was stated, and what is impossible is so.

All forty, with a finer grid beside what is impossible: ``python -m tests.trials.report``.
"""

from __future__ import annotations

import pytest

from stream.planning.locking import resolve
from tests.trials.intents import INTENTS, all_ways
from tests.trials.report import tried

_SHORT = [name for at, name in enumerate(INTENTS) if at % 4 == 3 or "base" in name]


@pytest.mark.parametrize("name", _SHORT)
def test_every_answer_keeps_what_was_stated(name, tmp_path):
    """By plan, exact law and a run; of what is impossible a grid of all ways finds none."""
    _, _, checked = tried(INTENTS[name], tmp_path, every=4)
    assert checked == "kept" or checked.startswith("0 of "), checked


def test_the_grid_finds_ways_where_there_are_some(tmp_path):
    """Or it would call anything impossible."""
    alarms = resolve(INTENTS["sensors: base"].write(tmp_path)).report.alarms
    assert any(one.keeps for one in all_ways(alarms, every=4))
