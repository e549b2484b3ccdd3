"""How many different people windows hold, about, in bounded memory.

Of every window looked at, only its smallest hashes are kept: while there are fewer than ``_KEPT``
the number is exact; beyond, the largest of them says how dense hashes lie, to about 3%.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

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
        for index, rows in _looked_at(first, last, self._every):
            self._least[index] = _least(self._least.get(index), hashed[rows])

    def counted(self) -> People | None:
        """Return the figures; ``None`` where no window that is looked at holds anybody."""
        if not self._least:
            return None
        sizes = sorted(map(_size, self._least.values()))
        full = any(len(least) == _KEPT for least in self._least.values())
        return People(sizes[-1], sizes[len(sizes) // 2], exact=not full)


def _looked_at(
    first: NDArray[np.int64], last: NDArray[np.int64], every: int
) -> Iterator[tuple[int, slice | NDArray[np.intp]]]:
    """Yield every window looked at and its rows: their positions, ascending, or all."""
    if not len(first):
        return
    window = first if every == 1 else -(-first // every) * every
    looked_at = window <= last
    if bool(looked_at.all() and (window[1:] >= window[:-1]).all()):  # as most logs are
        if len(window) == 1:
            yield int(window[0]), slice(None)
            return
        edges = [0, *(np.flatnonzero(np.diff(window)) + 1).tolist(), len(window)]
        for start, stop in pairwise(edges):
            yield int(window[start]), slice(start, stop)
        return
    rows = np.flatnonzero(looked_at)
    order = rows[np.argsort(window[rows], kind="stable")]
    cuts = np.flatnonzero(np.diff(window[order])) + 1
    for own in np.split(order, cuts) if len(order) else ():
        yield int(window[own[0]]), own


def _least(before: NDArray[np.uint64] | None, hashed: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the smallest of the hashes kept before and of new ones, ascending."""
    if before is not None:
        if len(before) == _KEPT:  # nearly all of a crowd's hashes are of no use
            hashed = hashed[hashed < before[-1]]
            if not len(hashed):
                return before
        hashed = np.concatenate([before, hashed])
    # numpy finds different 64-bit numbers by hashing them, which takes several times as long.
    ordered = np.sort(hashed)
    different = ordered[1:][ordered[1:] != ordered[:-1]]
    return np.concatenate([ordered[:1], different])[:_KEPT]


def _size(least: NDArray[np.uint64]) -> int:
    if len(least) < _KEPT:
        return len(least)
    return round((_KEPT - 1) * _HASHES / (int(least[-1]) + 1))
