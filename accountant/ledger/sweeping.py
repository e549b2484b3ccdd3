"""Fewer rounds of the garbage collector while a ledger is read a million rows at a time.

Every row is a tuple or two that live for a page, and the collector looks at them again and again:
a sixth of the time of a compaction, and more of a whole ``verify``. It is asked for less often, and
not turned off, so that what hangs together in circles still goes.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["seldom_swept"]

_ALLOCATIONS: Final = 100_000


@contextmanager
def seldom_swept() -> Iterator[None]:
    """Let the collector look for garbage after more allocations, for all threads, in this block."""
    first, *older = gc.get_threshold()
    if not 0 < first < _ALLOCATIONS:  # never, or seldom enough: by another thread, too
        yield
        return
    gc.set_threshold(_ALLOCATIONS, *older)
    try:
        yield
    finally:
        gc.set_threshold(first, *older)
