"""How much a compressed batch holds, asked before a client unpacks it in one piece.

A broker weighs a batch as it was sent: a megabyte of zstd may hold thirty gigabytes. aiokafka
unpacks it as a whole, so that one sensor's batch would end every worker that comes to it, one after
the other. What holds more than :data:`MOST_BYTES` must not be unpacked.

Most batches are cleared by what their codec can make of so many bytes at best. The others are
unpacked into room for :data:`MOST_BYTES`, of which the system gives as much as is written to.

Source: RFC 1952 (gzip), RFC 8878 (zstd), the frame formats of lz4 and snappy, and xerial's framing.
"""

from __future__ import annotations

import struct
import zlib
from gzip import GzipFile
from io import BytesIO
from typing import Any, Final

import cramjam
import numpy as np

__all__ = ["MOST_BYTES", "too_large"]

MOST_BYTES: Final = 1 << 25
"""What a compressed batch may hold: as headers alone it takes a second and more than a gigabyte.

librdkafka and Python's clients count before they compress, and stop at a megabyte. Java's counts
what it expects to be left: with a ``batch.size`` of a megabyte, events all alike came to more. With
16 KiB, its default, gzip and lz4 cannot hold so much.
"""

_GZIP, _SNAPPY, _LZ4, _ZSTD = 1, 2, 3, 4
_MOST_OF_A_BYTE = {_GZIP: 1032, _LZ4: 255, _ZSTD: 1 << 15}
"""A block of zstd takes 4 bytes at least, and holds 128 KiB at most."""
_XERIAL = b"\x82SNAPPY\x00"
_XERIAL_HEADER_BYTES = 16

_NO_ROOM = "whole buffer"  # how cramjam says that more came out than there was room for


def too_large(codec: int, body: memoryview) -> bool:
    """Tell whether the records of a batch hold more than may be unpacked.

    Args:
        codec: the number that Kafka has for it, from the batch's attributes; 0 for none.
        body: the compressed records.

    Returns:
        ``False`` also of what nobody can unpack: whoever tries is told so.
    """
    try:
        return _most(codec, body) > MOST_BYTES and _passes(codec, body)
    except (IndexError, struct.error, cramjam.DecompressionError):  # snappy's own lengths
        return False


def _most(codec: int, body: memoryview) -> int:
    """Return an upper bound of what a body holds, or of what is too much of it, from its frames."""
    if codec == _SNAPPY:
        return _snappy(body)
    return len(body) * _MOST_OF_A_BYTE.get(codec, 0)


def _passes(codec: int, body: memoryview) -> bool:
    """Tell whether more comes out of a body than there is room for."""
    if codec == _SNAPPY:
        return True  # its blocks say how much they hold, and hold that
    if codec == _GZIP:
        return _gzip_passes(body)
    room: Any = np.empty(MOST_BYTES, np.uint8)  # a buffer, which its stubs do not say
    unpack = cramjam.lz4.decompress_into if codec == _LZ4 else cramjam.zstd.decompress_into
    try:
        unpack(body, room)
    except cramjam.DecompressionError as error:
        return _NO_ROOM in str(error)
    return False


def _gzip_passes(body: memoryview) -> bool:
    """Tell whether the members of a gzip body hold too much, as whoever reads it comes to them."""
    try:
        with GzipFile(fileobj=BytesIO(body)) as file:
            return len(file.read(MOST_BYTES + 1)) > MOST_BYTES
    except (OSError, EOFError, zlib.error):
        return False


def _snappy(body: memoryview) -> int:
    """Return what a snappy body says that it holds, in xerial's blocks or as one."""
    if bytes(body[: len(_XERIAL)]) != _XERIAL:
        return cramjam.snappy.decompress_raw_len(body)
    held, at = 0, _XERIAL_HEADER_BYTES
    while at < len(body) and held <= MOST_BYTES:
        (size,) = struct.unpack_from(">i", body, at)
        if size < 0:
            raise IndexError("a block before its own beginning")
        at += 4
        held += cramjam.snappy.decompress_raw_len(body[at : at + size])
        at += size
    return held
