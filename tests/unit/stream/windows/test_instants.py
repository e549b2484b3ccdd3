"""ISO 8601 read and written: dates, offsets, clocks that skip or repeat, and the ends of time."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stream.windows.instants import TIME_END_MS, from_iso_utc, instant_ms, iso_utc
from stream.windows.localtime import load_zone

BERLIN = load_zone("Europe/Berlin")


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("2024-05-01", "2024-04-30T22:00:00.000Z"),
        ("2024-05-01T10:00", "2024-05-01T08:00:00.000Z"),
        (" 2024-05-01T10:00:00.250 ", "2024-05-01T08:00:00.250Z"),
        ("2024-05-01 10:00", "2024-05-01T08:00:00.000Z"),
        ("2024-05-01T10:00Z", "2024-05-01T10:00:00.000Z"),
        ("2024-05-01T10:00-03:00", "2024-05-01T13:00:00.000Z"),
        ("2024-10-27T02:30+01:00", "2024-10-27T01:30:00.000Z"),
        ("2024-03-31T03:00", "2024-03-31T01:00:00.000Z"),
    ],
)
def test_an_instant_is_read(text, utc):
    """By the zone's clocks where it has no offset; what is written back is in UTC."""
    assert iso_utc(instant_ms(text, BERLIN)) == utc
    assert from_iso_utc(utc) == instant_ms(text, BERLIN)


def test_a_day_begins_where_its_clocks_do():
    """In Beirut midnight was skipped on 2024-03-31: the day starts an hour later than midnight."""
    beirut = load_zone("Asia/Beirut")
    assert iso_utc(instant_ms("2024-03-31", beirut)) == "2024-03-30T22:00:00.000Z"


@given(st.integers(-62_135_596_800_000, TIME_END_MS - 1))
@example(TIME_END_MS - 1)
def test_instants_round_trip(time_ms):
    """Every instant of the years 1 to 9999 survives being written."""
    assert from_iso_utc(iso_utc(time_ms)) == time_ms


@pytest.mark.parametrize(
    "text",
    [
        "2024-05-01T08:00:00Z",
        "2024-05-01T10:00:00.000+02:00",
        "2024-05-01T10:00:00.0001Z",
        "2024-05-01",
    ],
)
def test_only_what_was_written_is_read_back(text):
    """UTC, with milliseconds, and nothing else."""
    with pytest.raises(ValueError, match=r"does not match|not an instant"):
        from_iso_utc(text)
