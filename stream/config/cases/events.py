"""Made-up events of a test: a list, or files, by feed.

A listed event is one JSON object of a file of events. What stands in the file of tests is put into
the types that the feed declares; what does not fit stays a text, and is dropped as it would be.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from stream.config.scalars import closest
from stream.config.yamlfile import Scalar
from stream.model.feeds import FieldType
from stream.model.references import feeds_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from stream.config.findings import Findings
    from stream.config.yamlfile import Tree
    from stream.model.alarm import Alarm
    from stream.model.feeds import Feed

__all__ = ["GivenEvents", "read_events"]

_REPEAT: Final = "repeat"
_NUMBER: Final = "{i}"
_MOST: Final = 1_000_000
_EXAMPLE: Final = "write - {person: a, room: hall, ts: ...}"
_READERS: Final[Mapping[FieldType, Callable[[str], object]]] = {
    FieldType.FLOAT: float,
    FieldType.BOOLEAN: {"true": True, "false": False}.__getitem__,
}
"""How other values than whole numbers are read."""


@dataclass(frozen=True, slots=True)
class GivenEvents:
    """Events of a test, by feed.

    Args:
        lines: one JSON object each.
        paths: files.
    """

    lines: dict[str, tuple[str, ...]] = field(default_factory=dict)
    paths: dict[str, tuple[Path, ...]] = field(default_factory=dict)


def read_events(tree: Tree, alarm: Alarm, findings: Findings) -> GivenEvents:
    """Return what is given for the feeds of an alarm.

    Args:
        tree: a list of events, a file or a list of them; or each of these by feed.
        alarm: the alarm.
        findings: receive what is wrong.
    """
    found = GivenEvents()
    feeds = {feed.name: feed for feed in feeds_of(alarm)}
    by_feed = tree if isinstance(tree, dict) else {alarm.feed.name: tree}
    for name, value in by_feed.items():
        at = findings.under(name) if isinstance(tree, dict) else findings
        if name not in feeds:
            message = f"alarm `{alarm.id}` does not read feed `{name}`"
            at.wrong((), message, closest(name, feeds), key=True)
            continue
        values = value if isinstance(value, list) else [value]
        if values and all(isinstance(each, Scalar) for each in values):
            texts = [each.text for each in values if isinstance(each, Scalar)]
            found.paths[name] = tuple(findings.folder / text for text in texts)
        elif isinstance(value, list):
            found.lines[name] = _lines(value, feeds[name], at)
        else:
            at.wrong((), "this has to be a list of events or a file", _EXAMPLE)
    for name in feeds:
        if name not in by_feed:
            hint = f"write events: {{{', '.join(f'{each}: [...]' for each in feeds)}}}"
            findings.wrong((), f"events of feed `{name}` are missing", hint)
    return found


def _lines(events: list[Tree], feed: Feed, findings: Findings) -> tuple[str, ...]:
    lines: list[str] = []
    for number, event in enumerate(events):
        at = findings.under(number)
        if not isinstance(event, dict):
            at.wrong((), "an event has to be a mapping", _EXAMPLE)
            continue
        numbered = _REPEAT in event and _REPEAT not in feed.fields
        given = dict(event)
        times = _times(given.pop(_REPEAT), at) if numbered else 1
        if len(lines) + times > _MOST:
            hint = "write the events into a file"
            at.wrong((), f"the list has more than {_MOST:,} events", hint)
            break
        template = _template(given, feed, at)
        for nth in range(1, times + 1):
            shown = str(nth) if numbered else _NUMBER
            values = {
                name: _value(value, feed.fields[name].type, shown)
                for name, value in template.items()
            }
            lines.append(json.dumps(values, ensure_ascii=False))
    return tuple(lines)


def _times(value: Tree, at: Findings) -> int:
    """Return how many events a template stands for."""
    if isinstance(value, Scalar) and value.text.isascii() and value.text.isdigit():
        return int(value.text[:9])
    at.wrong(_REPEAT, "repeat has to be a whole number", "write repeat: 200")
    return 0


def _template(event: dict[str, Tree], feed: Feed, at: Findings) -> dict[str, Scalar]:
    """Return the values of an event that the feed declares."""
    template: dict[str, Scalar] = {}
    for name, value in event.items():
        if not isinstance(value, Scalar):
            at.wrong(name, "a field has to have one value", _EXAMPLE)
        elif name not in feed.fields:
            message = f"`{name}` is not a field of feed `{feed.name}`"
            at.wrong(name, message, closest(name, feed.fields), key=True)
        else:
            template[name] = value
    return template


def _value(value: Scalar, kind: FieldType, number: str) -> object:
    """Return a value as JSON has it: of the declared type where it can be read as one."""
    if value.kind == "null":
        return None
    text = value.text.replace(_NUMBER, number)
    if kind is FieldType.STRING:
        return text
    if value.kind == "str" and text == value.text and kind is not FieldType.TIMESTAMP:
        return text  # in quotes: another type is meant
    try:
        return _READERS.get(kind, int)(text)
    except (KeyError, ValueError):
        return text
