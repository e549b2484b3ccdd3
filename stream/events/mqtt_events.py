"""A message on MQTT becomes an event of a feed, by templates over its topic and its payload.

::

    zigbee2mqtt/+room/motion            a filter with a name for a level
    {topic.room}                        what stands at that level
    {payload.object.people_in}          a value of a JSON payload; {payload} is all of it
    {now}                               when the MQTT source took the message, in milliseconds
    {id}                                the same for every copy of one message

A template that is one slot keeps the value's type: a number stays a number. Any other is a text.
What a template does not find makes the message no event: sensors also report batteries.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property, partial
from operator import attrgetter
from string import Formatter
from typing import TYPE_CHECKING, Any, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stream.model.mqtt import Route, Template

__all__ = [
    "MOST_EVENT_BYTES",
    "Message",
    "TemplateError",
    "event_of",
    "levels_of",
    "overlap",
    "route_of",
    "template_of",
]

MOST_EVENT_BYTES: Final = 500_000
"""An event is a record of its own, and Kafka's brokers take a million bytes as a rule."""

_SLOTS: Final = "write {topic.NAME}, {payload.KEY.KEY}, {now} or {id}, and {{ or }} for a brace"


class TemplateError(ValueError):
    """A filter or a template that says nothing.

    Args:
        message: what is wrong.
        hint: what to write instead.
    """

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class _UnfitError(Exception):
    """The message does not have what a template asks for."""


@dataclass(frozen=True)
class Message:
    """One message as it was taken.

    Args:
        topic: it was published to.
        payload: its bytes.
        number: of its packet, the same when the broker sends it again; 0 under QoS 0.
        taken_ms: when it was taken.
        nonce: tells messages without a number apart; they are never sent again.
    """

    topic: str
    payload: bytes
    number: int
    taken_ms: int
    nonce: int = 0

    @property
    def id(self) -> str:
        """The same for every copy of one message: of topic, payload and packet."""
        digest = hashlib.blake2b(digest_size=16)
        for part in (self.topic.encode(), self.payload, b"%d/%d" % (self.number, self.nonce)):
            digest.update(len(part).to_bytes(8, "little") + part)
        return digest.hexdigest()

    @cached_property
    def levels(self) -> Sequence[str]:
        """The levels of the topic."""
        return self.topic.split("/")

    def at(self, path: Sequence[str]) -> Any:
        """Return the text, number or boolean at a path of the payload.

        Raises:
            _UnfitError: there is none, or the payload is no JSON.
        """
        found = self._tree
        for step in path:
            if isinstance(found, dict) and step in found:
                found = found[step]
            elif isinstance(found, list) and step.isdecimal() and int(step) < len(found):
                found = found[int(step)]
            else:
                raise _UnfitError
        if found is None or isinstance(found, (dict, list)):
            raise _UnfitError
        return found

    @cached_property
    def _tree(self) -> Any:
        """What a JSON payload holds, read when somebody asks for it."""
        try:
            return msgspec.json.decode(self.payload)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            raise _UnfitError from None


def levels_of(written: str) -> tuple[tuple[str, ...], Mapping[str, int]]:
    """Return a filter's levels as MQTT has them, and the places of levels by their name.

    Args:
        written: as in the file: ``zigbee2mqtt/+room/motion``, ``buildings/+/#``.

    Raises:
        TemplateError: it is no filter.
    """
    levels: list[str] = []
    places: dict[str, int] = {}
    parts = written.split("/")
    for at, part in enumerate(parts):
        name = part[1:]
        if part.startswith("+"):
            if name and not name.isidentifier():
                raise TemplateError(
                    f"`{name[:40]}` does not name a level", "use letters, digits and underscores"
                )
            if name in places:
                raise TemplateError(
                    f"two levels are named `{name[:40]}`", "give each a name of its own"
                )
            if name:
                places[name] = at
            levels.append("+")
            continue
        if "+" in part or "\0" in part or ("#" in part and (part != "#" or at < len(parts) - 1)):
            raise TemplateError(
                "not a filter of MQTT topics",
                "write + or +NAME for a whole level, and # for all below, at the end",
            )
        levels.append(part)
    if levels[0].startswith("$"):
        raise TemplateError("topics that begin with $ are the broker's own", "write another topic")
    return tuple(levels), places


def template_of(written: str, places: Mapping[str, int]) -> Template:
    """Return what a template makes of a message; it raises where the message has not what it asks.

    Args:
        written: as in the file.
        places: of the filter's levels, by their name.

    Raises:
        TemplateError: it is none, or asks for what no message has.
    """
    try:
        found = list(Formatter().parse(written))
    except ValueError:
        raise TemplateError("a brace stands alone in this template", _SLOTS) from None
    parts: list[Template] = []
    for text, name, form, conversion in found:
        if text:
            parts.append(partial(_fixed, text))
        if name is None:
            continue
        if form or conversion:
            raise TemplateError("a template has plain fields: no format, no conversion", _SLOTS)
        parts.append(_slot(name, places))
    return parts[0] if len(parts) == 1 else partial(_joined, parts)


def overlap(one: Sequence[str], other: Sequence[str]) -> bool:
    """Tell whether some topic belongs to two filters.

    Args:
        one: levels of a filter.
        other: levels of another.
    """
    for mine, theirs in zip(one, other, strict=False):
        if "#" in (mine, theirs):
            return True
        if mine != theirs and "+" not in (mine, theirs):
            return False
    longer = max(one, other, key=len)
    shorter = min(len(one), len(other))
    # `a/#` takes `a` as well.
    return len(one) == len(other) or (len(longer) == shorter + 1 and longer[-1] == "#")


def route_of(routes: Sequence[Route], topic: str) -> Route | None:
    """Return the route that a topic belongs to."""
    levels = topic.split("/")
    return next((route for route in routes if overlap(route.levels, levels)), None)


def event_of(route: Route, unit: str, message: Message) -> tuple[bytes, bytes] | None:
    """Return the key and the value of a record; ``None`` where the message is no event.

    Args:
        route: whose templates are used.
        unit: the field that is the key; its value is a text, whatever the payload has.
        message: of a topic that belongs to the route.
    """
    try:
        found = {name: template(message) for name, template in route.fields.items()}
        found[unit] = _text(found[unit])
    except _UnfitError:
        return None
    key, value = found[unit].encode(), msgspec.json.encode(found)
    return (key, value) if key and len(key) + len(value) <= MOST_EVENT_BYTES else None


def _slot(name: str, places: Mapping[str, int]) -> Template:
    """Return what stands for the name between two braces."""
    kind, _, rest = name.partition(".")
    path = rest.split(".") if rest else []
    if name == "now":
        return attrgetter("taken_ms")
    if name == "id":
        return attrgetter("id")
    if kind == "payload" and (name == kind or all(path)) and not name.endswith("."):
        return lambda message: message.at(path)
    if kind == "topic" and path:
        if rest in places:
            return lambda message: message.levels[places[rest]]
        known = f"write one of: {', '.join(places)}" if places else "write +NAME for a level"
        raise TemplateError(f"`{rest[:40]}` is not a level of this filter", known)
    raise TemplateError(f"`{{{name[:40]}}}` is nothing that a message has", _SLOTS)


def _fixed(text: str, _message: Message) -> str:
    return text


def _joined(parts: Sequence[Template], message: Message) -> str:
    return "".join(_text(part(message)) for part in parts)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
