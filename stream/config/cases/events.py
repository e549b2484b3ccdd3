"""Made-up events of a test: a list, or files, by feed.

A listed event is one JSON object of a file of events. What stands in the file of tests is put into
the types that the feed declares; what does not fit stays a text, and is dropped as it would be.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from stream.config.scalars import closest
from stream.model.feeds import FieldType
from stream.model.references import feeds_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from stream.config.findings import Findings
    from stream.config.yamlfile import Scalar
    from stream.model.alarm import Alarm
    from stream.model.feeds import Feed

__all__ = ["read_events"]

_REPEAT: Final = "repeat"
_NUMBER: Final = "{i}"
_MOST: Final = 1_000_000
_EXAMPLE: Final = "write - {person: a, room: hall, ts: ...}"
_READERS: Final[Mapping[FieldType, Callable[[str], object]]] = {
    FieldType.STRING: str,
    FieldType.FLOAT: float,
    FieldType.BOOLEAN: {"true": True, "false": False}.__getitem__,
}
"""How other values than whole numbers are read."""


def read_events(
    written: Mapping[str, Sequence[Any]], alarm: Alarm, findings: Findings
) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[Path, ...]]]:
    """Return what is given for the feeds of an alarm: events as lines of JSON, and files.

    Args:
        written: events, or names of files, by feed; under "" those of the alarm's own.
        alarm: the alarm.
        findings: receive what is wrong.

    Raises:
        Refused: an event is.
    """
    lines: dict[str, tuple[str, ...]] = {}
    paths: dict[str, tuple[Path, ...]] = {}
    # Whoever counts windows exactly does without panes.
    feeds = {feed.name: feed for feed in feeds_of(replace(alarm, panes=""))}
    for key, events in written.items():
        at, name = findings.under(key), key or alarm.feed.name
        if name not in feeds:
            message = f"alarm `{alarm.id}` does not read feed `{name}`"
            at.wrong((), message, closest(name, feeds), key=True)
        elif events and all(isinstance(each, str) for each in events):
            paths[name] = tuple(findings.folder / each for each in events)
        else:
            lines[name] = _lines(events, feeds[name], at)
    for name in feeds.keys() - lines.keys() - paths.keys():
        hint = f"write events: {{{', '.join(f'{each}: [...]' for each in feeds)}}}"
        findings.wrong((), f"events of feed `{name}` are missing", hint)
    return lines, paths


def _lines(events: Sequence[Any], feed: Feed, findings: Findings) -> tuple[str, ...]:
    lines: list[str] = []
    for number, event in enumerate(events):
        at = findings.under(number)
        if not isinstance(event, dict):
            raise at.wrong((), "an event has to be a mapping", _EXAMPLE)
        given = dict(event)
        times = 1 if _REPEAT in feed.fields else _times(given.pop(_REPEAT, "1"), at)
        if len(lines) + times > _MOST:
            hint = "write the events into a file"
            raise at.wrong((), f"the list has more than {_MOST:,} events", hint)
        for name, value in given.items():
            if name not in feed.fields:
                message = f"`{name}` is not a field of feed `{feed.name}`"
                raise at.wrong(name, message, closest(name, feed.fields), key=True)
            if not isinstance(value, str):
                raise at.wrong(name, "a field has to have one value", _EXAMPLE)
        for nth in range(1, times + 1):
            values = {
                name: _value(value, feed.fields[name].type, nth) for name, value in given.items()
            }
            lines.append(json.dumps(values, ensure_ascii=False))
    return tuple(lines)


def _times(value: Any, at: Findings) -> int:
    """Return how many events a template stands for."""
    if isinstance(value, str) and value.isascii() and value.isdigit():
        return int(value[:9])
    raise at.wrong(_REPEAT, "repeat has to be a whole number", "write repeat: 200")


def _value(value: Scalar, kind: FieldType, nth: int) -> object:
    """Return a value as JSON has it: of the declared type where it can be read as one."""
    if value.kind == "null":
        return None
    text = value.replace(_NUMBER, str(nth))
    if value.kind == "str" and text == value and kind is not FieldType.TIMESTAMP:
        return text  # in quotes: another type is meant
    try:
        return _READERS.get(kind, int)(text)
    except (KeyError, ValueError):
        return text
