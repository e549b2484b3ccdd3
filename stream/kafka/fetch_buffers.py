"""Memory that fetches come and go in stays with the process.

A fetch is some 16 MB, and copied a few times before its events are counted. Given back to the
system each time, its pages are cleared and mapped anew for the next one: a tenth of the processor's
time that reading took, and the part of it that depends most on what else the machine does.
"""

from __future__ import annotations

import ctypes
from typing import Final

__all__ = ["keep_freed_memory"]

# Parameters of glibc's mallopt (malloc.h): more bytes than the first at the end of a heap are given
# back; blocks from the second on are mapped by themselves.
_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3

_KEPT_BYTES: Final = 128 << 20  # what a fetch, its copies and its columns come to
_MAPPED_BYTES: Final = 32 << 20  # glibc's own limit for it


def keep_freed_memory() -> bool:
    """Keep up to ``_KEPT_BYTES`` of freed memory a heap, where the C library can be told so.

    Returns:
        Whether it could: other C libraries than glibc go on as they do.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    return bool(mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)) and bool(
        mallopt(_MMAP_THRESHOLD, _MAPPED_BYTES)
    )
