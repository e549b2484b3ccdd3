"""How long a run may be silent, as an alarm's calendar and its budget's periods have it."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from stream.config.alarms.silence import longest_run
from stream.windows.calendars import FixedCalendar, LocalCalendar
from stream.windows.periods import Periods
from tests.unit.stream.config.given import loaded

HOUR_MS = 3_600_000
ZONE = "Europe/Berlin"
CONFIG = """\
feeds:
  badges:
    topic: building.badges
    time: ts
    unit: person
    fields: {person: string, room: {domain: [hall, lab, lobby]}, ts: timestamp}
budget: {privacy_unit: user, epsilon_max: "4", period: 1d}
alarms:
  crowd:
    sql: |
      SELECT room FROM badges GROUP BY room, TUMBLE(ts, INTERVAL '1' HOUR)
      HAVING COUNT(DISTINCT person) > 100
    max_fnr: 0.05
    tolerance: 5
    mechanism: {svt: {max_fnr_given_no_alarm: 0.1, repeat: 2}}
"""


@pytest.mark.parametrize(
    ("calendar", "periods"),
    [
        (FixedCalendar(HOUR_MS, HOUR_MS), LocalCalendar(1, 1, ZONE)),
        (FixedCalendar(2 * HOUR_MS, HOUR_MS // 2), LocalCalendar(7, 7, ZONE)),
        (FixedCalendar(5 * HOUR_MS, 7 * HOUR_MS), FixedCalendar(24 * HOUR_MS, 24 * HOUR_MS)),
        (LocalCalendar(1, 1, ZONE), LocalCalendar(7, 7, ZONE)),
    ],
)
def test_no_run_is_longer(calendar, periods):
    """Windows that touch the same periods are in one run; clocks put back make a day longer."""
    of = Periods(periods)
    most = longest_run(calendar, of)
    first = calendar.first_starting_at(1_729_000_000_000)  # two weeks before clocks go back
    bounds = map(calendar.bounds, range(first, first + 1_200))
    runs = Counter(of.touched(start, end) for start, end in bounds if start < end)
    # No more than those that begin before the period and end in it, or after it.
    assert max(runs.values()) <= most <= max(runs.values()) + 2 * 4


def test_a_lifetime_has_the_windows_of_the_history():
    """And no longest run without one."""
    hours = FixedCalendar(HOUR_MS, HOUR_MS)
    assert longest_run(hours, Periods.lifetime(), (0, 10 * HOUR_MS)) == 10
    assert longest_run(hours, Periods.lifetime()) is None
    assert longest_run(hours, None) is None


@pytest.mark.parametrize(
    ("minutes", "step", "day", "windows"),
    [
        (55, 55, LocalCalendar(1, 1, ZONE), 29),  # on 2031-10-26, not in 2024 or 2025
        (1_380, 1_380, LocalCalendar(1, 1, "Africa/Casablanca"), 3),
        (50, 50, LocalCalendar(3_653, 3_653, ZONE), 105_208),
        (60, 60, LocalCalendar(1, 1, "UTC"), 24),
        (60, 60, LocalCalendar(1, 1, "Australia/Lord_Howe"), 25),
        (180, 60, LocalCalendar(1, 1, ZONE), 27),
    ],
)
def test_a_long_day_of_a_later_year_is_no_longer(minutes, step, day, windows):
    """Windows that do not divide a day begin elsewhere in the long day of every year."""
    calendar, periods = FixedCalendar(minutes * 60_000, step * 60_000), Periods(day)
    assert longest_run(calendar, periods) == windows
    at = day.first_starting_at(1_577_836_800_000)
    spans = np.array([day.bounds(at + each) for each in range(2 if day.size_days > 1 else 4_400)])
    first, _ = calendar.containing(spans[:, 0])
    _, last = calendar.containing(spans[:, 1] - 1)
    assert int((last - first).max()) + 1 == windows


def test_an_aim_knows_its_silence(tmp_path):
    """All windows of a day and cells of a window but one, as often as each is asked."""
    aim = loaded(tmp_path, CONFIG).by_name["crowd"].aim
    assert (aim.asked_in_silence, float(aim.max_fnr_in_silence or 0)) == ((24 * 3 - 1) * 2, 0.1)
