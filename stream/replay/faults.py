"""What is wrong with one row, in words with its values: for the custodian's terminal alone."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Final

from stream.events.columns import MAX_STRING_BYTES
from stream.events.files import misfit
from stream.model.feeds import FieldType, required_fields
from stream.windows.shown import moment_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from stream.model.alarm import Alarm
    from stream.model.feeds import Feed

__all__ = [
    "OUTSIDE_HISTORY",
    "OUTSIDE_WINDOWS",
    "REMEDIES",
    "UNASKED",
    "passed_by",
    "why",
]

OUTSIDE_HISTORY: Final = "outside_history"
"""Dated outside the feed's public history."""
OUTSIDE_WINDOWS: Final = "outside_windows"
"""Dated in the history, when no window that is to be decided runs."""
UNASKED: Final = "unasked"
"""No alarm's WHERE or FILTER is true of it."""

_SHOWN: Final = 80
_MANY: Final = 2_000
_EARLY_MS: Final = 31_536_000_000  # 1971: seconds since 1970 read as milliseconds end there

REMEDIES: Final[Mapping[str, str]] = {
    "create_time": "the topic needs message.timestamp.type=LogAppendTime",
    "undecodable": "each line is one JSON object, or as many cells of CSV as the header has",
    "unmarked": "no watermark covers it: start the feed's writer of watermarks",
    "wrong_type": "write the value as the feed declares it, or correct the declaration",
    "too_long": f"no declared string is longer than {MAX_STRING_BYTES} bytes",
    "not_finite": "leave the field out where there is no number",
    "missing_field": "correct `time`, `unit`, `id` or `fields` of the feed, or the file",
    "bad_time": "write milliseconds since 1970, or ISO 8601",
    "misrouted": "sensors key their messages by `unit`; see `partitioner`",
    "out_of_domain": "correct the domain, or the values",
    "bad_value": "the field that the alarm adds up is missing",
    "early": "dated after it was appended: does the sensor's clock or time zone run ahead?",
    "late": "appended after its windows had closed: raise `grace`, or check the sensor's clock",
}
"""What to do about rows that are dropped, by reason."""


def _quoted(value: object) -> str:
    """Return a value as a terminal may show it: one short line without control characters."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def why(
    reason: str,
    values: Mapping[str, object] | str,
    feed: Feed,
    alarms: Sequence[Alarm],
    *,
    text: bool,
) -> str:
    """Say what is wrong with a row.

    Args:
        reason: why it was dropped.
        values: the row, as its file has it.
        feed: what it is declared to be.
        alarms: what is counted on the feed.
        text: the values are cells of CSV.
    """
    if isinstance(values, str):
        return _quoted(values)
    if reason == "missing_field":
        found = _missing(values, feed)
    elif reason == "out_of_domain":
        found = _unknown(values, feed, alarms)
    else:
        found = _unfit(reason, values, feed, text=text)
    return "; ".join(found) or _quoted(dict(values))


def passed_by(reason: str, time_ms: int, feed: Feed, timezone: str) -> str:
    """Say why a row that is in order is not used.

    Args:
        reason: one of those of ``stream.replay.findings``.
        time_ms: when it is dated.
        feed: what it is an event of.
        timezone: by whose clock times are told.
    """
    dated = f"dated {moment_text(time_ms, timezone)}"
    if reason == OUTSIDE_WINDOWS:
        return f"{dated}, when no window runs; is that its time zone?"
    if reason == UNASKED:
        return "no alarm's WHERE or FILTER is true of it"
    if feed.history is not None:
        span = (moment_text(at_ms, timezone) for at_ms in feed.history)
        dated += f", `history` is {' to '.join(span)}"
        if time_ms < _EARLY_MS <= feed.history[0]:
            dated += "; are the times seconds? Numbers are milliseconds since 1970"
    return dated


def _unfit(reason: str, values: Mapping[str, object], feed: Feed, *, text: bool) -> Iterable[str]:
    """Yield the fields whose own values are the reason."""
    for name, field in feed.fields.items():
        value = values.get(name)
        told = f"`{name}` is {_quoted(value)}"
        if reason == "wrong_type" and misfit(value, field.type, text=text):
            told += f", declared as {field.type.value}"
            if field.type is FieldType.TIMESTAMP:
                told += "; write ISO 8601, as 2025-03-05T09:12:00Z, or milliseconds since 1970"
            yield told
        elif reason == "bad_time" and name == feed.time:
            yield f"{told}; numbers are milliseconds since 1970, not micro- or nanoseconds"


def _missing(values: Mapping[str, object], feed: Feed) -> Iterable[str]:
    others = [name for name in values if name not in feed.fields]
    for name in sorted(required_fields(feed)):
        if values.get(name) is None:
            near = _nearest(name, others)
            yield f"no `{name}`" + (f"; is it `{near}`?" if near else "")


def _unknown(values: Mapping[str, object], feed: Feed, alarms: Sequence[Alarm]) -> Iterable[str]:
    told: dict[str, None] = {}
    for alarm in alarms:
        for name, known in zip(alarm.counted.fields, alarm.counted.values, strict=True):
            value = values.get(name)
            written = str(value).lower() if isinstance(value, bool) else str(value)
            if value is None:
                told[f"no `{name}`"] = None
            elif written not in known:
                near = _nearest(written, known)
                asked = f"; did you mean {_quoted(near)}?" if near else ""
                place = feed.fields[name].domain_file or f"the domain of `{name}`"
                told[f"{_quoted(value)} is not in {place}{asked}"] = None
    return told


def _nearest(word: str, known: Sequence[str]) -> str | None:
    """Return what a word may have been meant to be."""
    by_lower = {name.strip().lower(): name for name in known}
    lower = word.strip().lower()
    if lower in by_lower:
        return by_lower[lower]
    if len(known) > _MANY:  # a comparison with each would take seconds
        return None
    near = difflib.get_close_matches(lower, by_lower, n=1, cutoff=0.6)
    return by_lower[near[0]] if near else None
