"""How an Arrow message is framed: every byte of it belongs to one IPC stream, or it is refused.

Readers of IPC streams are lax: they stop where a stream ends and never look at what stands behind
it, so rows there would be lost without a trace. And a compressed body says itself how much memory
it wants, so none is taken: Kafka compresses. Both are looked at here, in the frames alone, before
any column of them is read.

Source: Arrow columnar format, "Encapsulated message format"; Message.fbs.
"""

from __future__ import annotations

import struct

import pyarrow as pa

__all__ = ["check_frames"]

# The numbers of fields in tables of Message.fbs.
_HEADER = 2
_DICTIONARY_DATA = 1
_BATCH_COMPRESSION = 3


def check_frames(message: bytes) -> None:
    """Check that a message is frames from its first byte to its last, none of them compressed.

    Raises:
        ValueError: bytes are left over, or a body is compressed.
        struct.error: metadata point out of their frame.
        pyarrow.ArrowException: a frame is none.
        OSError: bytes are missing.
    """
    source = pa.BufferReader(message)
    try:
        while True:
            if _is_compressed(pa.ipc.read_message(source)):
                raise ValueError("a compressed body")
    except EOFError:  # the frame that ends the stream, or there is none
        if source.tell() != len(message):
            raise ValueError("bytes behind the end of the stream") from None


def _is_compressed(frame: pa.ipc.Message) -> bool:
    """Tell whether the body of a batch is compressed."""
    if frame.type not in {"dictionary", "record batch"}:
        return False
    metadata = bytes(frame.metadata)
    batch = _follow(metadata, _table_at(metadata, 0), _HEADER)
    if frame.type == "dictionary":
        batch = _follow(metadata, batch, _DICTIONARY_DATA)
    return _slot(metadata, batch, _BATCH_COMPRESSION) != 0


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
