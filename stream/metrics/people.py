"""How many different people windows hold, about, in bounded memory.

Of every window looked at, only its smallest hashes are kept: while there are fewer than ``_KEPT``
the number is exact; beyond, the largest of them says how dense hashes lie, to about 3%.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = ["LATEST", "LatestPeople", "Roster", "Units"]

LATEST: Final = 8
"""How many windows of a live feed are held, which is enough to tell a usual one from an odd one."""

_KEPT: Final = 1_024
_HASHES: Final = 1 << 64
_SHARE_OF_ROSTER: Final = 4  # fewer rows than such a share are looked at one by one


class Roster(Protocol):
    """Different units. It may grow at its end; what is in it stays as it is."""

    @property
    def hashed(self) -> NDArray[np.uint64]:
        """Hashes, shape (d, 2); the first word is what is held here."""
        ...


class Units(Protocol):
    """The units of rows."""

    @property
    def number(self) -> NDArray[np.int64]:
        """Place of each row's unit in the roster, shape (n,)."""
        ...

    @property
    def roster(self) -> Roster:
        """Different units."""
        ...


class LatestPeople:
    """Counts the different units of the newest ``LATEST`` windows that hold any.

    Rows may come twice and in any order; those of windows that are older still are not looked at.

    Args:
        overlap: most windows that contain one instant.
    """

    def __init__(self, *, overlap: int) -> None:
        self._every = max(overlap, 1)
        self._least: dict[int, NDArray[np.uint64]] = {}

    def add(self, first: NDArray[np.int64], last: NDArray[np.int64], unit: Units) -> None:
        """Add rows.

        Args:
            first: shape (n,): first window that contains each row; shape (1,) where all share it.
            last: likewise, last such window.
            unit: of n rows, at least one.
        """
        for index, rows in _looked_at(first, last, self._every):
            if self.oldest is None or index >= self.oldest:
                self._add(index, unit.number[rows], unit.roster)
                if len(self._least) > LATEST:
                    del self._least[min(self._least)]

    def _add(self, index: int, number: NDArray[np.int64], roster: Roster) -> None:
        hashed = roster.hashed[:, 0]
        if len(number) >= len(hashed) // _SHARE_OF_ROSTER:
            met = np.zeros(len(hashed), np.bool_)  # each unit once, sooner than by sorting rows
            met[number] = True
            number = np.flatnonzero(met)
        self._least[index] = _least(self._least.get(index), hashed[number])

    @property
    def oldest(self) -> int | None:
        """The oldest window that is held; ``None`` while all are that ever came."""
        return min(self._least) if len(self._least) == LATEST else None

    @property
    def largest(self) -> int:
        """How many are in the fullest window that is held; 0 where none is."""
        return max(map(_size, self._least.values()), default=0)


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
