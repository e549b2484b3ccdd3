"""Early alarms over panes: once a window, at the first step that passes, from what is stored."""

from __future__ import annotations

import numpy as np
import pytest

from operators.noise.source import NoiseSource
from stream.decisions.panes import decoded
from stream.decisions.release import alarm_records
from stream.decisions.steps import Step
from stream.windows.instants import iso_utc
from tests.support.archived import move_all
from tests.support.ledgers import must_verify, only_scope
from tests.support.paned import alarm, configured, decided, opened, replayed, rows

STEPS = "CUMULATE(ts, INTERVAL '1' MINUTE, INTERVAL '4' MINUTE)"
EARLY = alarm("early", STEPS, "COUNT(*) > 500")
WHOLE = alarm("whole", "TUMBLE(ts, INTERVAL '4' MINUTE)", "COUNT(*) > 500")
SURELY = 600
FIRST_MS = 1_704_067_200_000
EIGHT = (0, SURELY, 0, SURELY, SURELY, 0, 0, 0)
UNITS = (
    "privacy_unit: event",
    "privacy_unit: user, period: 1d",
    "privacy_unit: user, period: lifetime",
)


def steps_of(decisions, name="early"):
    """Return the decisions of one alarm."""
    return [one for one in decisions if one.key.query == name]


def rang(alarms, decisions):
    """Return how often each step of the early alarm rang."""
    query = alarms.by_name["early"]
    return [len(list(alarm_records(query, one))) for one in steps_of(decisions)]


@pytest.mark.parametrize("unit", UNITS)
def test_a_room_rings_once_a_window_at_the_first_step_that_passes(tmp_path, unit):
    """Two windows of four steps; what a step is of, and which one, is in the alarm."""
    alarms = configured(tmp_path, EARLY, WHOLE, until="00:08", unit=unit)
    (panes,) = alarms.panes.values()
    assert panes.readers == ("early", "whole")
    decisions = decided(alarms, rows(tmp_path, EIGHT))
    assert rang(alarms, decisions) == [0, 1, 0, 0, 1, 0, 0, 0]
    assert [one.alarm_count for one in steps_of(decisions, "whole")] == [1, 1]
    assert {one.epsilon_units for one in steps_of(decisions)} == {0}
    (record,) = alarm_records(alarms.by_name["early"], steps_of(decisions)[1])
    bounds = (record.window_start, record.step_start, record.step_end, record.window_end)
    assert bounds == tuple(iso_utc(FIRST_MS + minute * 60_000) for minute in (0, 1, 2, 4))


def deny(monkeypatch, query):
    """Let an alarm's second minute be decided too late."""
    second_ms = FIRST_MS + 2 * 60_000
    monkeypatch.setattr(
        "stream.decisions.judge._too_old",
        lambda alarm, end_ms, _now_ms: alarm.id == query and end_ms == second_ms,
    )


def test_a_step_that_is_denied_silences_the_rest_of_its_window(tmp_path, monkeypatch):
    """What would have rung at it is done, and nobody was told: the rest of the window says so."""
    deny(monkeypatch, "early")
    alarms = configured(tmp_path, EARLY, WHOLE, until="00:08")
    decisions = decided(alarms, rows(tmp_path, EIGHT))
    reasons = [one.reason for one in steps_of(decisions)]
    assert reasons == [None, "too_old", "step_missed", "step_missed", *[None] * 4]
    assert rang(alarms, decisions) == [0, 0, 0, 0, 1, 0, 0, 0]
    assert [one.alarm_count for one in steps_of(decisions, "whole")] == [1, 1]


class Quiet(NoiseSource):
    """Adds nothing, so that what is stored is what was counted."""

    def discrete_laplace(self, t, n):
        """Return zeros."""
        del t
        return np.zeros(n, dtype=np.int64)


COMES = ("a", "ab", "", "bc", "c", "ca", "a", "d")
FIRST = [1, 1, 0, 1, 1, 1, 0, 1]
"""Who comes in each minute, and how many of them for the first time in their four minutes."""


def of_people(written):
    """Return the same alarm as one that counts people."""
    return written.replace("COUNT(*)", "COUNT(DISTINCT person)")


def people(folder):
    """Return a file of them."""
    lines = [
        f"2024-01-01T00:{minute:02d}:{second:02d}Z,hall,{who}"
        for minute, several in enumerate(COMES)
        for second, who in enumerate(several)
    ]
    path = folder / "people.csv"
    path.write_text("\n".join(["ts,room,person", *lines, ""]))
    return path


@pytest.mark.parametrize("archived", [False, True])
@pytest.mark.parametrize("after", [0, 1, 3, 5, 6, 8, 11])
def test_people_count_in_the_first_pane_of_their_window_also_after_a_restart(
    tmp_path, after, *, archived
):
    """Whoever goes on within a window knows from the log who was there: nobody counts again.

    And from the ledger that the step before was decided, also when that is archived.
    """
    alarms = configured(tmp_path, *map(of_people, (EARLY, WHOLE)), until="00:08")
    (panes,) = alarms.panes.values()
    assert panes.firsts
    stored = {}
    reasons = set()
    left = after

    def step(at, key):
        nonlocal left
        if at is Step.AFTER_COMMIT and key is not None:
            for row in ledger.noisy.between(panes.id, key.start_ms, key.end_ms):
                (stored[row.key.start_ms],) = decoded(row.counts, 1).tolist()
            left -= 1
            if left == 0:
                raise KeyboardInterrupt

    events = people(tmp_path)
    for _ in range(2):
        with opened(alarms) as ledger:
            try:
                rest = replayed(alarms, ledger, events, noise=Quiet(), step=step)
                reasons |= {one.reason for one in rest}
            except KeyboardInterrupt:
                if archived:
                    move_all(ledger, max(one.cursor_ms for one in ledger.progress.queries()))
            must_verify(ledger)
            scope = only_scope(ledger)
    assert reasons == {None}
    assert [count for _, count in sorted(stored.items())] == FIRST
    assert scope.spent_units == 2 * panes.aim.pane_units


def test_a_pane_that_is_denied_ends_the_panes_of_its_window(tmp_path, monkeypatch):
    """Its events were never paid for, and decide who counts in later ones."""
    alarms = configured(tmp_path, of_people(EARLY), until="00:08")
    (panes,) = alarms.panes
    deny(monkeypatch, panes)
    decisions = decided(alarms, people(tmp_path))
    ends = [None, "too_old", "step_missed", "step_missed", *[None] * 4]
    assert [one.reason for one in steps_of(decisions, panes)] == ends
    assert [one.reason for one in steps_of(decisions)] == [None, *["too_old"] * 3, *[None] * 4]
