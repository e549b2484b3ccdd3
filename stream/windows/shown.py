"""Instants as people read them: by the clock of a time zone. Records keep ISO 8601 in UTC."""

from __future__ import annotations

from datetime import datetime, timedelta

from stream.windows.localtime import EPOCH, load_zone

__all__ = ["clock_text", "delay_text", "moment_text"]

_MINUTE_MS = 60_000
_HOUR_MS = 60 * _MINUTE_MS
_HOURS_FROM_MS = 3 * _HOUR_MS


def clock_text(time_ms: int, timezone: str) -> str:
    """Return date and time as ``2024-05-01 10:00``, finer only where it is finer.

    Args:
        time_ms: milliseconds since the Unix epoch.
        timezone: IANA name.

    Raises:
        OverflowError: if it lies outside the years 1 to 9999, in UTC.
        ValueError: there is no such zone.
    """
    local = _local(time_ms, timezone)
    date, _, clock = local.replace(tzinfo=None).isoformat(timespec="milliseconds").partition("T")
    return f"{date} {clock.removesuffix('.000').removesuffix(':00')}"


def moment_text(time_ms: int, timezone: str) -> str:
    """Return ``clock_text`` with what the zone calls its time then: ``2024-05-01 10:00 CEST``.

    Raises:
        OverflowError: if it lies outside the years 1 to 9999, in UTC.
        ValueError: there is no such zone.
    """
    name = _local(time_ms, timezone).tzname() or timezone
    return f"{clock_text(time_ms, timezone)} {name if name.isalpha() else timezone}"


def _local(time_ms: int, timezone: str) -> datetime:
    """Return an instant by the clock of a zone, or in UTC where that would leave the years."""
    moment = EPOCH + timedelta(milliseconds=time_ms)
    zone = load_zone(timezone)
    try:
        return moment.astimezone(zone)
    except OverflowError:
        return moment


def delay_text(delay_ms: float) -> str:
    """Return how long something took, in seconds, minutes or hours, as tables have room for.

    Args:
        delay_ms: may be negative, for what came too early.
    """
    if abs(delay_ms) < _MINUTE_MS:
        return f"{delay_ms / 1000:.0f} s"
    if abs(delay_ms) < _HOURS_FROM_MS:
        return f"{delay_ms / _MINUTE_MS:.1f} min"
    return f"{delay_ms / _HOUR_MS:.1f} h"
