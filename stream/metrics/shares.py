"""What share of a feed's recent events no alarm can use: for the custodian's registry only."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["SPAN_S", "RecentShare"]

SPAN_S: Final = 900.0
"""Events count for so long after they were read."""

_PIECE_S: Final = 15.0


@dataclass(slots=True)
class _Piece:
    """What was read within ``_PIECE_S``."""

    since_s: float
    read: int = 0
    dropped: int = 0


class RecentShare:
    """The share of events dropped among those read of late; safe to use from many threads.

    Args:
        monotonic_s: a clock that never goes back.
    """

    def __init__(self, monotonic_s: Callable[[], float]) -> None:
        self._monotonic_s = monotonic_s
        self._pieces: deque[_Piece] = deque()
        self._lock = Lock()

    def add(self, *, read: int = 0, dropped: int = 0) -> None:
        """Count events that were read, or found to be of no use."""
        with self._lock:
            now_s = self._forget()
            if not self._pieces or now_s - self._pieces[-1].since_s >= _PIECE_S:
                self._pieces.append(_Piece(now_s))
            self._pieces[-1].read += read
            self._pieces[-1].dropped += dropped

    def value(self) -> float:
        """Return the share, 0 where nothing was read."""
        with self._lock:
            self._forget()
            read = sum(piece.read for piece in self._pieces)
            # Some are told as dropped a moment before they are told as read.
            dropped = min(sum(piece.dropped for piece in self._pieces), read)
        return dropped / read if read else 0.0

    def _forget(self) -> float:
        """Drop what is too old; return what time it is."""
        now_s = self._monotonic_s()
        while self._pieces and now_s - self._pieces[0].since_s > SPAN_S:
            self._pieces.popleft()
        return now_s
