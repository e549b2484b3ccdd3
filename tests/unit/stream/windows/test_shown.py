"""Instants as clocks of a zone show them, and what the zone is called then."""

from __future__ import annotations

import pytest

from stream.windows.instants import TIME_END_MS, from_iso_utc
from stream.windows.shown import clock_text, delay_text, moment_text

MAY_MS = from_iso_utc("2024-05-01T08:00:00.000Z")


@pytest.mark.parametrize(
    ("late_ms", "zone", "shown"),
    [
        (0, "UTC", "2024-05-01 08:00"),
        (0, "Europe/Berlin", "2024-05-01 10:00"),
        (0, "Asia/Kolkata", "2024-05-01 13:30"),
        (0, "Pacific/Auckland", "2024-05-01 20:00"),
        (0, "Pacific/Honolulu", "2024-04-30 22:00"),
        (5_000, "UTC", "2024-05-01 08:00:05"),
        (7, "UTC", "2024-05-01 08:00:00.007"),
        (-MAY_MS, "UTC", "1970-01-01 00:00"),
        (-MAY_MS - 1, "UTC", "1969-12-31 23:59:59.999"),
    ],
)
def test_a_clock_shows_no_more_than_there_is(late_ms, zone, shown):
    """Seconds and their parts stand only where they are not 0."""
    assert clock_text(MAY_MS + late_ms, zone) == shown


@pytest.mark.parametrize(
    ("instant", "zone", "shown"),
    [
        ("2024-05-01T08:00:00.000Z", "Europe/Berlin", "2024-05-01 10:00 CEST"),
        ("2024-01-01T08:00:00.000Z", "Europe/Berlin", "2024-01-01 09:00 CET"),
        ("2024-05-01T08:00:00.000Z", "UTC", "2024-05-01 08:00 UTC"),
        ("2024-05-01T08:00:00.000Z", "Asia/Dubai", "2024-05-01 12:00 Asia/Dubai"),
        ("2024-10-27T00:30:00.000Z", "Europe/Berlin", "2024-10-27 02:30 CEST"),
        ("2024-10-27T01:30:00.000Z", "Europe/Berlin", "2024-10-27 02:30 CET"),
        ("9999-12-31T23:30:00.000Z", "Europe/Berlin", "9999-12-31 23:30 UTC"),
    ],
)
def test_a_moment_names_its_zone(instant, zone, shown):
    """By its letters, which tell the hour that is there twice apart; else by the zone's own name.

    The last hours of the last year are told in UTC where a zone is past them.
    """
    assert moment_text(from_iso_utc(instant), zone) == shown


def test_what_no_calendar_holds_is_refused():
    """The year 10,000, and a zone that is none."""
    with pytest.raises(OverflowError):
        clock_text(TIME_END_MS, "UTC")
    with pytest.raises(ValueError, match="unknown time zone 'Mars/Olympus'"):
        moment_text(MAY_MS, "Mars/Olympus")


@pytest.mark.parametrize(
    ("delay_ms", "shown"),
    [
        (0, "0 s"),
        (59_400, "59 s"),
        (60_000, "1.0 min"),
        (-150_000, "-2.5 min"),
        (10_799_000, "180.0 min"),
        (10_800_000, "3.0 h"),
    ],
)
def test_a_delay_is_told_in_what_suits_it(delay_ms, shown):
    """Seconds below a minute, hours from three on; what comes too early is negative."""
    assert delay_text(delay_ms) == shown
