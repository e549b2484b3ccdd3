"""Marks: how a trusted writer says that history up to an instant has all been written.

History is replayed with ``clock: watermarks``: on a fixed public grid of time, one writer puts a
mark into every partition. A mark is a Kafka record with the reserved header ``tocsin-mark``, which
holds an HMAC-SHA256 of the value, and a small JSON value. Sensors share the topic but not the key,
so nothing they write passes for a mark; a record with the header that does not verify is a bad
record like any other.
"""

from __future__ import annotations

import hmac
from hashlib import sha256
from typing import TYPE_CHECKING, Annotated

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["MARK_HEADER", "Mark", "claims_mark", "encode_mark", "verified_mark"]

MARK_HEADER = "tocsin-mark"
"""Key of the header that only marks may carry."""

_CONTEXT = b"tocsin-mark/1\0"
_MIN_KEY_BYTES = 16
_Natural = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class Mark(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Every event of the feed dated before ``time_ms`` lies before this record in its partition.

    Args:
        feed: name of the feed.
        time_ms: a point of the grid, milliseconds since the epoch.
        partition: the partition it was written to.
        sequence: number of the grid point, counted from 0; the same in all partitions.
    """

    feed: str
    time_ms: _Natural
    partition: _Natural
    sequence: _Natural


def encode_mark(mark: Mark, key: bytes) -> tuple[bytes, list[tuple[str, bytes]]]:
    """Return the value and the headers of the record that carries ``mark``.

    Args:
        mark: what it says.
        key: the feed's watermarks key, at least 16 bytes.

    Raises:
        ValueError: if the key is too short, or a number is negative or beyond 64 bits.
    """
    if len(key) < _MIN_KEY_BYTES:
        raise ValueError(f"a watermarks key has at least {_MIN_KEY_BYTES} bytes")
    value = msgspec.json.encode(mark)
    msgspec.json.decode(value, type=Mark)  # what no reader takes is never written
    return value, [(MARK_HEADER, _signature(value, key))]


def claims_mark(headers: Sequence[tuple[str, bytes | None]]) -> bool:
    """Tell whether a record with these headers is to be read as a mark, never as an event."""
    return any(name == MARK_HEADER for name, _ in headers)


def verified_mark(
    value: bytes | None,
    headers: Sequence[tuple[str, bytes | None]],
    *,
    key: bytes,
    feed: str,
    partition: int,
) -> Mark | None:
    """Return the mark that a record carries, or ``None`` where it is not an authentic one.

    The signature is checked before the value is parsed. A mark written for another feed or another
    partition is not authentic here.

    Args:
        value: the record's value.
        headers: the record's headers.
        key: the feed's watermarks key.
        feed: name of the feed that is being read.
        partition: the partition the record was read from.
    """
    signatures = [content for name, content in headers if name == MARK_HEADER]
    if value is None or len(signatures) != 1 or signatures[0] is None:
        return None
    if not hmac.compare_digest(signatures[0], _signature(value, key)):
        return None
    try:
        mark = msgspec.json.decode(value, type=Mark)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return mark if (mark.feed, mark.partition) == (feed, partition) else None


def _signature(value: bytes, key: bytes) -> bytes:
    return hmac.new(key, _CONTEXT + value, sha256).hexdigest().encode()
