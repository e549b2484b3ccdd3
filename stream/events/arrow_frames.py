"""How an Arrow message is framed: every byte of it belongs to one IPC stream, or it is refused.

Readers of IPC streams are lax: they stop where a stream ends and never look at what stands behind
it, so rows there would be lost without a trace. And a compressed body says itself how much memory
it wants. Both are looked at here, in the frames alone, before any of them is read::

    [FFFFFFFF size metadata][body] [FFFFFFFF size metadata][body] ... [FFFFFFFF 0]

The last frame, which ends the stream, may be absent. Writers before Arrow 0.15 leave out FFFFFFFF.

Source: Arrow columnar format, "Encapsulated message format" and "Compression"; Message.fbs.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["MAX_UNPACKED_BYTES", "check_frames"]

MAX_UNPACKED_BYTES: Final = 1 << 26
"""What the compressed bodies of one message may unpack to, columns that are not declared included.

A rule of packing like the broker's ``max.message.bytes``, and known before any row is."""

_CONTINUES: Final = 0xFFFFFFFF
_NOT_COMPRESSED: Final = -1  # a buffer of a compressed body that is kept as it was
_SIZE_BYTES: Final = 8  # of the unpacked size in front of a buffer

# Tables of Message.fbs: the number of a field, and of a kind of header.
_HEADER_TYPE, _HEADER, _BODY_LENGTH = 1, 2, 3
_DICTIONARY_BATCH, _RECORD_BATCH = 2, 3
_DICTIONARY_DATA = 1
_BATCH_BUFFERS, _BATCH_COMPRESSION = 2, 3


def check_frames(message: bytes) -> None:
    """Check that a message is frames from its first byte to its last.

    Raises:
        ValueError: bytes are left over or missing, or its bodies unpack to more than
            ``MAX_UNPACKED_BYTES``.
        struct.error: metadata point out of their frame.
    """
    unpacked = 0
    for metadata, body in _frames(message):
        batch = _batch(metadata)
        if batch and _slot(metadata, batch, _BATCH_COMPRESSION):
            unpacked += _unpacked_bytes(metadata, batch, body)
            if unpacked > MAX_UNPACKED_BYTES:
                raise ValueError("a compressed message unpacks to too much")


def _frames(message: bytes) -> Iterator[tuple[bytes, memoryview]]:
    """Yield the metadata and the body of every frame."""
    whole = memoryview(message)
    at = 0
    while at < len(message):
        (size,) = struct.unpack_from("<I", message, at)
        at += 4
        if size == _CONTINUES:
            (size,) = struct.unpack_from("<I", message, at)
            at += 4
        if size == 0:
            if at != len(message):
                raise ValueError("bytes behind the end of the stream")
            return
        metadata = bytes(whole[at : at + size])
        at += size
        length_at = _slot(metadata, _table_at(metadata, 0), _BODY_LENGTH)
        length = struct.unpack_from("<q", metadata, length_at)[0] if length_at else 0
        if not 0 <= length <= len(message) - at:
            raise ValueError("a body that is not there")
        yield metadata, whole[at : at + length]
        at += length


def _unpacked_bytes(metadata: bytes, batch: int, body: memoryview) -> int:
    """Return what the buffers of a compressed batch say that they unpack to."""
    start = _follow(metadata, batch, _BATCH_BUFFERS)
    if not start:
        return 0
    (count,) = struct.unpack_from("<I", metadata, start)
    places = np.frombuffer(metadata, "<i8", 2 * count, start + 4).reshape(count, 2)
    total = 0
    for offset, length in places.tolist():
        if not length:
            continue
        if offset < 0:
            raise ValueError("a buffer before its body")
        (size,) = struct.unpack_from("<q", body, offset)
        if size == _NOT_COMPRESSED:
            size = length - _SIZE_BYTES
        if size < 0:
            raise ValueError("a buffer of no size")
        total += size
    return total


def _batch(metadata: bytes) -> int:
    """Return where the table of a frame's record batch starts, 0 where it holds none."""
    root = _table_at(metadata, 0)
    kind_at, batch = _slot(metadata, root, _HEADER_TYPE), _follow(metadata, root, _HEADER)
    kind = metadata[kind_at] if kind_at else 0
    if kind == _DICTIONARY_BATCH and batch:
        return _follow(metadata, batch, _DICTIONARY_DATA)
    return batch if kind == _RECORD_BATCH else 0


def _table_at(data: bytes, at: int) -> int:
    """Return where the flatbuffer table starts that the offset at ``at`` points to."""
    return at + int(struct.unpack_from("<I", data, at)[0])


def _slot(data: bytes, table: int, field: int) -> int:
    """Return where a field of a flatbuffer table stands, 0 where it is absent."""
    entries = table - int(struct.unpack_from("<i", data, table)[0])
    at = 4 + 2 * field
    if at >= struct.unpack_from("<H", data, entries)[0]:
        return 0
    offset = int(struct.unpack_from("<H", data, entries + at)[0])
    return table + offset if offset else 0


def _follow(data: bytes, table: int, field: int) -> int:
    """Return where the table starts that a field of ``table`` points to, 0 where it is absent."""
    at = _slot(data, table, field)
    return _table_at(data, at) if at else 0
