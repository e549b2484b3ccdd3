"""A ledger that was lost or restored is charged for all that was published, from the records."""

from __future__ import annotations

from pathlib import Path
from shutil import copytree

import pytest

from accountant.errors import LedgerError
from stream.build import open_ledger
from stream.config.loading import load
from stream.custody.restoring import read_decision, seen_by, take_over
from stream.decisions.records import decode_decision, encode
from stream.decisions.release import decision_record, seen_decision
from stream.replay.replay import Replay
from tests.support.commands import configuration, events
from tests.support.ledgers import must_verify, only_scope

EXTRA = """\
  hall:
    sql: |
      SELECT room FROM badges
      GROUP BY room, TUMBLE(ts, INTERVAL '2' HOUR)
      HAVING COUNT(*) > 30
    max_fnr: 0.05
    tolerance: 1
"""


def _configured(folder, unit, more="", period="lifetime"):
    folder.mkdir()
    path = Path(configuration(folder, unit=unit, epsilon_max="400"))
    path.write_text(path.read_text().replace("lifetime", period) + more)
    return load(path, environ={})


def _published(alarms, folder):
    """Decide everything, and return what the decisions topic says of it."""
    with open_ledger(alarms) as ledger:
        released = Replay(alarms, ledger, {"badges": [Path(events(folder))]}).run()
        records = [decision_record(alarms.by_name[one.key.query], alarms, one) for one in released]
    return [seen_decision(decode_decision(encode(record))) for record in records]


def test_what_another_copy_drew_for_the_same_window_is_charged_too(tmp_path):
    """Number, cost and how many fired are alike; who fired tells it from a second reading."""
    alarms = _configured(tmp_path / "live", "event")
    with open_ledger(alarms) as ledger:
        released = Replay(alarms, ledger, {"badges": [Path(events(tmp_path))]}).run()
        own = next(one for one in released if one.alarm_count)
        record = decision_record(alarms.by_name[own.key.query], alarms, own)
        seen, released_digest = read_decision(record)
        for digest, charged in ((released_digest, 0), ("0" * 32, 1)):
            assert take_over(alarms, ledger, seen_by(ledger, [(seen, digest)])) == charged


def test_two_draws_of_a_window_that_the_ledger_has_not_are_charged_both(tmp_path):
    """One who fired is not the other, though nothing of its own tells which is its own."""
    alarms = _configured(tmp_path / "live", "event")
    seen = next(one for one in _published(alarms, tmp_path) if one.alarm_count)
    after = _configured(tmp_path / "after", "event")
    with open_ledger(after) as ledger:
        for charged in (2, 0):
            read = seen_by(ledger, [(seen, "a" * 32), (seen, "b" * 32), (seen, "a" * 32)])
            assert take_over(after, ledger, read) == charged


def _spent(alarms):
    with open_ledger(alarms) as ledger:
        must_verify(ledger)
        scopes = ledger.reports.status().scopes.values()
        return {scope.scope: scope.spent_units for scope in scopes}


@pytest.mark.parametrize("unit", ["event", "user"])
@pytest.mark.parametrize("restored", [True, False])
def test_an_alarm_that_was_removed_since_is_charged(tmp_path, unit, restored):
    """By a copy from before it spent anything, and by a ledger that knows of nothing."""
    before = _configured(tmp_path / "live", unit, EXTRA)
    with open_ledger(before) as ledger:
        Replay(before, ledger, {"badges": [Path(events(tmp_path))]})
    after = _configured(tmp_path / "after", unit)
    if restored:
        copytree(tmp_path / "live" / ".tocsin", tmp_path / "after" / ".tocsin")
    seen, spent = _published(before, tmp_path), _spent(before)
    assert min(spent.values()) > 0
    assert {one.query for one in seen} == {"crowd", "hall"}
    with open_ledger(after) as ledger:
        assert take_over(after, ledger, seen) == len(seen)
        assert take_over(after, ledger, seen) == 0
    assert all(_spent(after)[scope] >= units for scope, units in spent.items())


def test_what_was_spent_counts_in_the_periods_of_today(tmp_path):
    """A day's loss is one of its week's, whatever the periods were when it left."""
    before = _configured(tmp_path / "live", "user", period="1d")
    seen, spent = _published(before, tmp_path), _spent(before)
    after = _configured(tmp_path / "after", "user", period="1w")
    with open_ledger(after) as ledger:
        take_over(after, ledger, seen)
        budget = only_scope(ledger)
    (week,) = after.budget.touched(0, 1)
    assert budget.periods == {week: spent["user"]}


def test_another_privacy_unit_is_refused(tmp_path):
    """What a person lost cannot be charged to events, nor the other way round."""
    seen = _published(_configured(tmp_path / "live", "user"), tmp_path)
    after = _configured(tmp_path / "after", "event")
    with (
        open_ledger(after) as ledger,
        pytest.raises(LedgerError, match="under another privacy unit than 'event'"),
    ):
        take_over(after, ledger, seen)
    assert _spent(after) == {}
