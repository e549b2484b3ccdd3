"""Made-up intents: what is found keeps what was stated, and what is impossible is so.

All forty, with a finer grid beside what is impossible: ``python -m tests.trials.report``.
"""

from __future__ import annotations

import pytest

from stream.planning.locking import resolve
from tests.trials.intents import INTENTS, all_ways, unkept

_SHORT = [name for at, name in enumerate(INTENTS) if at % 4 == 3 or "base" in name]


@pytest.mark.parametrize("name", _SHORT)
def test_every_answer_keeps_what_was_stated(name, tmp_path):
    """By the plan of the locked file and the exact law of its mechanism."""
    intent = INTENTS[name]
    resolved = resolve(path := intent.write(tmp_path))
    (one,) = resolved.solved
    assert (one.found is not None) is (intent.possible is not False)
    if one.found is None:
        assert one.changes
        return
    resolved.after.path.write_text(resolved.after.text, encoding="utf-8")
    assert not list(unkept(one.found, path))


def test_what_is_impossible_is_so_whatever_is_tried(tmp_path):
    """A grid of all that may be chosen; under ten times the budget the same grid finds ways."""
    intent = INTENTS["sensors: the threshold is the baseline"]
    (tmp_path / "more").mkdir()
    resolved = resolve(intent.write(tmp_path))
    assert resolved.unmet
    assert resolved.report.alarms is not None
    assert not any(one.keeps for one in all_ways(resolved.report.alarms, every=4))
    more = resolve(INTENTS["sensors: base"].write(tmp_path / "more")).report.alarms
    assert more is not None
    assert any(one.keeps for one in all_ways(more, every=4))
