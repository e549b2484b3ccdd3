"""JSON events: one message is one object.

Every message is parsed by itself. There is no fast parser for the whole batch with a slow one to
fall back on: what such a pair says about one message could depend on its neighbours.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
import numpy as np
import pyarrow as pa

from stream.events.codings import Coding, single
from stream.events.columns import GOOD, Drop, Parsed, arrow_type
from stream.model.feeds import FieldType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from stream.model.feeds import Feed

__all__ = ["CODING", "JsonParser", "epoch_ms", "fits"]

_INT64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
_TYPES: dict[FieldType, Any] = {
    FieldType.STRING: str | None,
    FieldType.INTEGER: _INT64 | None,
    FieldType.FLOAT: float | None,
    FieldType.BOOLEAN: bool | None,
    FieldType.TIMESTAMP: _INT64 | datetime | None,
}
_INTEGERS = {int, type(None)}
_WHOLE = {FieldType.INTEGER, FieldType.TIMESTAMP}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_DEPTH = 256
_AT_ONCE = 4096  # their objects stay in the processor's cache, and their memory is used again
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
        fields = tuple(feed.fields.values())
        attributes = [f"f{at}" for at in range(len(fields))]
        event = msgspec.defstruct(
            "Event",
            [
                (name, _TYPES[field.type], None)
                for name, field in zip(attributes, fields, strict=True)
            ],
            rename={name: field.name for name, field in zip(attributes, fields, strict=True)},
            gc=False,
        )
        self._decode = msgspec.json.Decoder(event).decode
        self._columns = [
            (attrgetter(name), field.type) for name, field in zip(attributes, fields, strict=True)
        ]

    def parse(self, messages: Sequence[bytes]) -> tuple[Parsed, dict[int, Drop]]:
        """Parse every message by itself.

        Returns:
            The rows of the messages that could be read, in order, and the reason for each of the
            others by its position.
        """
        short = max(map(len, messages), default=0) <= _MAX_DEPTH
        decode = self._decode if short else self._decode_shallow
        remaining = iter(messages)
        bad: dict[int, Drop] = {}
        parts = []
        for start in range(0, max(len(messages), 1), _AT_ONCE):
            events, refused = _decoded(decode, islice(remaining, _AT_ONCE))
            bad |= {start + at: drop for at, drop in refused.items()}
            parts.append(
                [_column(list(map(getter, events)), kind) for getter, kind in self._columns]
            )
        columns = tuple(map(_joined, zip(*parts, strict=True)))
        return Parsed(columns, np.full(len(messages) - len(bad), GOOD, dtype=np.uint8)), bad

    def _decode_shallow(self, message: bytes) -> Any:
        # A nesting too deep for the interpreter's stack would depend on the caller's depth.
        if len(message) > _MAX_DEPTH and _too_deep(message):
            raise _TooDeepError
        return self._decode(message)


def fits(value: object, kind: FieldType) -> None:
    """Check that a value that JSON holds is of a declared type.

    Raises:
        ValueError: it is not.
    """
    msgspec.convert(value, _TYPES[kind])


def epoch_ms(value: int | datetime | None) -> int | None:
    """Return a timestamp in milliseconds since the epoch, rounded down; naive times are UTC."""
    if value is None or isinstance(value, int):
        return value
    since = (value if value.tzinfo else value.replace(tzinfo=UTC)) - _EPOCH
    return since.days * 86_400_000 + since.seconds * 1_000 + since.microseconds // 1_000


def _decoded(
    decode: Callable[[bytes], Any], messages: Iterator[bytes]
) -> tuple[list[Any], dict[int, Drop]]:
    """Return what could be read, and the reason for each of the others by its position."""
    events: list[Any] = []
    bad: dict[int, Drop] = {}
    while True:  # goes round again after every message that is refused
        try:
            # What came before a message that raises stays in the list.
            events.extend(map(decode, messages))
        except msgspec.ValidationError:
            bad[len(events) + len(bad)] = Drop.WRONG_TYPE
        except MemoryError:
            raise
        except Exception:  # noqa: BLE001 (total: whatever these bytes provoke is about them)
            bad[len(events) + len(bad)] = Drop.UNDECODABLE
        else:
            return events, bad


def _joined(parts: Sequence[pa.Array]) -> pa.Array:
    return parts[0] if len(parts) == 1 else pa.concat_arrays(parts)


def _column(values: Sequence[Any], kind: FieldType) -> pa.Array:
    if kind in _WHOLE:
        # Twice as fast where none is null or a date: nothing else that is no number was let in.
        with suppress(TypeError):
            return pa.array(np.fromiter(values, np.int64, len(values)))
    if kind is FieldType.TIMESTAMP and not set(map(type, values)) <= _INTEGERS:
        values = [value if value.__class__ is int else epoch_ms(value) for value in values]
    return pa.array(values, arrow_type(kind))


def _too_deep(message: bytes) -> bool:
    """Tell whether brackets outside strings nest deeper than ``_MAX_DEPTH``."""
    if message.count(b"[") + message.count(b"{") <= _MAX_DEPTH:
        return False
    brackets = _JSON_STRING.sub(b"", message).translate(None, _NOT_BRACKETS)
    codes = np.frombuffer(brackets, dtype=np.uint8)
    opening = (codes == ord("[")) | (codes == ord("{"))
    return bool(np.where(opening, 1, -1).cumsum().max(initial=0) > _MAX_DEPTH)


CODING: Final = Coding(
    lambda feed: single(JsonParser(feed).parse),
    lambda rows: map(msgspec.json.encode, rows.to_pylist()),
    single=True,
)
