"""How an Arrow message is framed: every byte of it belongs to one IPC stream, or it is refused.

Readers of IPC streams are lax: they stop where a stream ends and never look at what stands behind
it, so rows there would be lost without a trace. And a compressed body says itself how much memory
it wants. Both are looked at here, in the frames alone, before any column of them is read.

Source: Arrow columnar format, "Encapsulated message format" and "Compression"; Message.fbs.
"""

from __future__ import annotations

import struct
from typing import Final

import numpy as np
import pyarrow as pa

__all__ = ["MAX_UNPACKED_BYTES", "check_frames"]

MAX_UNPACKED_BYTES: Final = 1 << 26
"""What the compressed bodies of one message may unpack to, columns that are not declared included.

A rule of packing like the broker's ``max.message.bytes``, and known before any row is."""

_NOT_COMPRESSED: Final = -1  # a buffer of a compressed body that is kept as it was
_SIZE_BYTES: Final = 8  # of the unpacked size in front of a buffer

# The numbers of fields in tables of Message.fbs.
_HEADER = 2
_DICTIONARY_DATA = 1
_BATCH_BUFFERS, _BATCH_COMPRESSION = 2, 3


def check_frames(message: bytes) -> None:
    """Check that a message is frames from its first byte to its last.

    Raises:
        ValueError: bytes are left over, or its bodies unpack to more than ``MAX_UNPACKED_BYTES``.
        struct.error: metadata point out of their frame.
        pyarrow.ArrowException: a frame is none.
        OSError: bytes are missing.
    """
    source = pa.BufferReader(message)
    unpacked = 0
    try:
        while True:
            unpacked += _unpacked_bytes(pa.ipc.read_message(source))
            if unpacked > MAX_UNPACKED_BYTES:
                raise ValueError("a compressed message unpacks to too much")
    except EOFError:  # the frame that ends the stream, or there is none
        if source.tell() != len(message):
            raise ValueError("bytes behind the end of the stream") from None


def _unpacked_bytes(frame: pa.ipc.Message) -> int:
    """Return what the buffers of a compressed batch say that they unpack to; else 0."""
    if frame.type not in {"dictionary", "record batch"}:
        return 0
    metadata = bytes(frame.metadata)
    batch = _follow(metadata, _table_at(metadata, 0), _HEADER)
    if frame.type == "dictionary":
        batch = _follow(metadata, batch, _DICTIONARY_DATA)
    start = _follow(metadata, batch, _BATCH_BUFFERS)
    if not start or not _slot(metadata, batch, _BATCH_COMPRESSION):
        return 0
    (count,) = struct.unpack_from("<I", metadata, start)
    places = np.frombuffer(metadata, "<i8", 2 * count, start + 4).reshape(count, 2)
    total = 0
    for offset, length in places.tolist():
        if not length:
            continue
        if offset < 0:
            raise ValueError("a buffer before its body")
        (size,) = struct.unpack_from("<q", frame.body, offset)
        if size == _NOT_COMPRESSED:
            size = length - _SIZE_BYTES
        if size < 0:
            raise ValueError("a buffer of no size")
        total += size
    return total


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
