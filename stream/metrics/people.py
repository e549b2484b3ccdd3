"""How many different people windows hold, about, in bounded memory.

Of every window looked at, only its smallest hashes are kept: while there are fewer than ``_KEPT``
the number is exact; beyond, the largest of them says how dense hashes lie, to about 3%.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

__all__ = [
    "LATEST",
    "LatestPeople",
    "People",
    "PeoplePerWindow",
    "Roster",
    "Units",
    "add_people_of_each",
]

LATEST: Final = 8
"""How many windows of a live feed are held, which is enough to tell a usual one from an odd one."""

_KEPT: Final = 1_024
_WINDOWS: Final = 8_192  # 64 MiB of hashes
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


class LatestPeople:
    """Counts the different units of the newest ``LATEST`` windows that hold any.

    Rows may come twice and in any order; those of windows that are older still are not looked at.

    Args:
        overlap: most windows that contain one instant.
    """

    def __init__(self, *, overlap: int) -> None:
        self.every = max(overlap, 1)
        self._least: dict[int, NDArray[np.uint64]] = {}

    def add(self, first: NDArray[np.int64], last: NDArray[np.int64], unit: Units) -> None:
        """Add rows.

        Args:
            first: shape (n,): first window that contains each row; shape (1,) where all share it.
            last: likewise, last such window.
            unit: of n rows, at least one.
        """
        for index, rows in _looked_at(first, last, self.every):
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

    def add_ordered(
        self,
        index: int,
        hashed: NDArray[np.uint64],
        taken: NDArray[np.bool_],
        kind: NDArray[np.int64],
    ) -> None:
        """Add those rows of one window that are taken.

        Args:
            index: the window.
            hashed: shape (n,): hash of each row's unit, ascending.
            taken: by kind, whether its rows are.
            kind: shape (n,): of each row.
        """
        if self.oldest is not None and index < self.oldest:
            return
        before = self._least.get(index)
        if before is not None and len(before) == _KEPT:
            hashed = hashed[: np.searchsorted(hashed, before[-1])]
        for stop in (_KEPT + _KEPT // 4, len(hashed)):
            own = hashed[:stop][taken[kind[:stop][: len(hashed)]]]
            if stop >= len(hashed) or np.count_nonzero(own[1:] != own[:-1]) >= _KEPT:
                break
        if len(own):
            self._least[index] = _least(before, own)
            if len(self._least) > LATEST:
                del self._least[min(self._least)]

    @property
    def oldest(self) -> int | None:
        """The oldest window that is held; ``None`` while all are that ever came."""
        return min(self._least) if len(self._least) == LATEST else None

    @property
    def largest(self) -> int:
        """How many are in the fullest window that is held; 0 where none is."""
        return max(map(_size, self._least.values()), default=0)


def add_people_of_each(
    held: Sequence[LatestPeople],
    first: NDArray[np.int64],
    last: NDArray[np.int64],
    unit: Units,
    takers: tuple[NDArray[np.int64], NDArray[np.bool_]],
) -> None:
    """Add rows for every filter as ``LatestPeople.add`` would, of those that it takes.

    Hashes are ordered once, and of a crowd only the least are looked at.

    Args:
        held: by filter, of one overlap.
        first: as there.
        last: as there.
        unit: as there.
        takers: the kind of each row, shape (n,), and which filters take it: shape (kinds, filters).
    """
    kind, taken = takers
    for index, rows in _looked_at(first, last, held[0].every):
        hashed = unit.roster.hashed[unit.number[rows], 0]
        order = np.argsort(hashed)
        hashed, alike = hashed[order], kind[rows][order]
        for at, people in enumerate(held):
            people.add_ordered(index, hashed, taken[:, at], alike)


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
