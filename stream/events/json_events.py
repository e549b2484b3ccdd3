"""JSON events: one message is one object.

Every message is parsed by itself. There is no fast parser for the whole batch with a slow one to
fall back on: what such a pair says about one message could depend on its neighbours.
"""

from __future__ import annotations

import re
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from stream.events.codings import Coding, one_each
from stream.events.values import VALUE_TYPES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from stream.events.columns import Parsed
    from stream.model.feeds import Feed

__all__ = ["CODING", "JsonParser"]

_MAX_DEPTH = 256
# A string, or what is left of the message after a quote that nothing closes: linear time.
_JSON_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_NOT_BRACKETS = bytes(sorted(set(range(256)) - set(b"[]{}")))


class _TooDeepError(Exception):
    """Brackets nest too deep."""


class JsonParser:
    """Reads JSON objects into declared columns.

    A declared field may be absent or null, and fields that are not declared are ignored. Of a key
    that stands twice the last value counts. Integers must be written as integers and fit 64 bits;
    floats may be written as integers. A timestamp is whole milliseconds since the epoch, or ISO
    8601 text in the RFC 3339 profile (``2024-05-01T10:00:00.000Z``); without a zone it is UTC, and
    a fraction of a millisecond is cut off.

    Args:
        feed: its declared fields.
    """

    def __init__(self, feed: Feed) -> None:
        fields = {f"f{at}": field for at, field in enumerate(feed.fields.values())}
        event = msgspec.defstruct(
            "Event",
            [(name, VALUE_TYPES[field.type], None) for name, field in fields.items()],
            rename={name: field.name for name, field in fields.items()},
            gc=False,
        )
        self._nothing = event()
        self._decode = msgspec.json.Decoder(event).decode
        self._columns = [(attrgetter(name), field.type) for name, field in fields.items()]

    def parse(self, messages: Sequence[bytes]) -> Iterator[Parsed]:
        """Yield the rows of the messages, some at a time."""
        short = max(map(len, messages), default=0) <= _MAX_DEPTH
        decode = self._decode if short else self._decode_shallow
        return one_each(messages, decode, self._columns, self._nothing)

    def _decode_shallow(self, message: bytes) -> Any:
        # A nesting too deep for the interpreter's stack would depend on the caller's depth.
        if len(message) > _MAX_DEPTH and _too_deep(message):
            raise _TooDeepError
        return self._decode(message)


def _too_deep(message: bytes) -> bool:
    """Tell whether brackets outside strings nest deeper than ``_MAX_DEPTH``."""
    if message.count(b"[") + message.count(b"{") <= _MAX_DEPTH:
        return False
    brackets = _JSON_STRING.sub(b"", message).translate(None, _NOT_BRACKETS)
    codes = np.frombuffer(brackets, dtype=np.uint8)
    opening = (codes == ord("[")) | (codes == ord("{"))
    return bool(np.where(opening, 1, -1).cumsum().max(initial=0) > _MAX_DEPTH)


CODING: Final = Coding(
    lambda feed: JsonParser(feed).parse,
    lambda rows: map(msgspec.json.encode, rows.to_pylist()),
    single=True,
)
