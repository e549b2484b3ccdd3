"""Instants: milliseconds since the Unix epoch, their limit, and ISO 8601."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from stream.windows.localtime import EPOCH, MILLISECOND

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

__all__ = ["TIME_END_MS", "from_iso_utc", "instant_ms", "iso_utc"]

TIME_END_MS: Final = 253_402_300_800_000
"""Event times lie in ``[0, TIME_END_MS)``: from 1970 to the end of the year 9999."""


def instant_ms(text: str, timezone: ZoneInfo) -> int:
    """Return an ISO 8601 date or instant in milliseconds since the epoch.

    Args:
        text: as ``2011-06-01``, ``2011-06-01T08:30:00`` or with an offset or ``Z``.
        timezone: of instants without an offset.

    Raises:
        ValueError: it is none, finer than a millisecond, or outside 1970 to 9999; or clocks of the
            time zone do not show it, or show it twice.
    """
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise ValueError("is not an ISO date or instant") from None
    if moment.tzinfo is None:
        # A date alone is where its day begins, though clocks may not show 00:00 then.
        whole_day = re.fullmatch("[0-9W-]{7,10}", text.strip())
        moment = moment.replace(tzinfo=timezone) if whole_day else _local(moment, timezone)
    if re.search("[.,][0-9]{3}[0-9]*[1-9]", text):  # Python leaves out all after six digits
        raise ValueError("is finer than a millisecond")
    try:
        whole_seconds = int(moment.replace(microsecond=0).timestamp())
    except (OverflowError, ValueError):
        raise ValueError("is outside the years 1970 to 9999") from None
    milliseconds = whole_seconds * 1000 + moment.microsecond // 1000
    if not 0 <= milliseconds < TIME_END_MS:
        raise ValueError("is outside the years 1970 to 9999")
    return milliseconds


def _local(moment: datetime, timezone: ZoneInfo) -> datetime:
    """Return what a clock of a time zone shows as an instant.

    Raises:
        ValueError: it shows that never, or twice.
    """
    first, second = (moment.replace(tzinfo=timezone, fold=fold) for fold in (0, 1))
    try:
        if first.utcoffset() == second.utcoffset():
            return first
        skipped = first.astimezone(UTC).astimezone(timezone).replace(tzinfo=None) != moment
    except OverflowError:
        return first  # outside the years that are taken
    if skipped:
        raise ValueError(f"does not exist in {timezone.key}, because clocks go forward")
    raise ValueError(f"occurs twice in {timezone.key}, because clocks go back; add an offset")


def iso_utc(time_ms: int) -> str:
    """Return an instant as ``2024-05-01T10:00:00.000Z``.

    Raises:
        OverflowError: if it lies outside the years 1 to 9999.
    """
    moment = EPOCH + timedelta(milliseconds=time_ms)
    return f"{moment.replace(tzinfo=None).isoformat(timespec='milliseconds')}Z"


def from_iso_utc(text: str) -> int:
    """Return the milliseconds since the epoch of what ``iso_utc`` wrote.

    Raises:
        ValueError: if the text is anything else.
    """
    time_ms = (datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%f%z") - EPOCH) // MILLISECOND
    if iso_utc(time_ms) != text:
        raise ValueError("not an instant in UTC with milliseconds")
    return time_ms
