"""How many different people windows hold, about, in bounded memory.

Of every window looked at, only its smallest hashes are kept: while there are fewer than ``_KEPT``
the number is exact; beyond, the largest of them says how dense hashes lie, to about 3%.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["People", "PeoplePerWindow"]

_KEPT: Final = 1_024
_WINDOWS: Final = 8_192  # 64 MiB of hashes
_HASHES: Final = 1 << 64


@dataclass(frozen=True, slots=True)
class People:
    """How many different ids windows hold that hold any; private.

    Args:
        largest: in the fullest window.
        median: of all windows with somebody in them.
        exact: whether both were counted, and not estimated.
    """

    largest: int
    median: int
    exact: bool


class PeoplePerWindow:
    """Counts the different units of some windows of one calendar.

    Args:
        windows: how many indexes the calendar has between its first and its last.
        overlap: most windows that contain one instant.
    """

    def __init__(self, *, windows: int, overlap: int) -> None:
        # Windows that are looked at share no instant, so a row is of one of them at most.
        self._every = max(-(-windows // _WINDOWS), overlap, 1)
        self._least: dict[int, NDArray[np.uint64]] = {}

    def add(
        self, first: NDArray[np.int64], last: NDArray[np.int64], hashed: NDArray[np.uint64]
    ) -> None:
        """Add rows.

        Args:
            first: shape (n,): first window that contains each row.
            last: shape (n,): last such window.
            hashed: shape (n,): hash of each row's unit.
        """
        window = -(-first // self._every) * self._every
        looked_at = np.flatnonzero(window <= last)
        order = looked_at[np.argsort(window[looked_at], kind="stable")]
        edges = np.flatnonzero(np.diff(window[order])) + 1
        for rows in np.split(order, edges) if len(order) else ():
            index = int(window[rows[0]])
            before = self._least.get(index, np.zeros(0, np.uint64))
            self._least[index] = np.unique(np.concatenate([before, hashed[rows]]))[:_KEPT]

    def counted(self) -> People | None:
        """Return the figures; ``None`` where no window that is looked at holds anybody."""
        if not self._least:
            return None
        sizes = sorted(map(_size, self._least.values()))
        full = any(len(least) == _KEPT for least in self._least.values())
        return People(sizes[-1], sizes[len(sizes) // 2], exact=not full)


def _size(least: NDArray[np.uint64]) -> int:
    if len(least) < _KEPT:
        return len(least)
    return round((_KEPT - 1) * _HASHES / (int(least[-1]) + 1))
