"""Privacy units of rows, each different one hashed, routed and compared once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stream.events.grouping import numbered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["Roster", "Units"]


class Roster:
    """The hashes of different units. It may grow at its end; what is in it stays as it is.

    Args:
        hashed: shape (d, 2), uint64: 128-bit keyed hashes, no two alike.
    """

    def __init__(self, hashed: NDArray[np.uint64] | None = None) -> None:
        """Begin with some units."""
        self._hashed = np.zeros((0, 2), np.uint64) if hashed is None else hashed
        self._count = len(self._hashed)

    @property
    def hashed(self) -> NDArray[np.uint64]:
        """Return the hashes, shape (d, 2)."""
        return self._hashed[: self._count]

    def __len__(self) -> int:
        """Number of units."""
        return self._count

    def extend(self, hashed: NDArray[np.uint64]) -> None:
        """Add the hashes, shape (n, 2), of units that are not in it."""
        first, self._count = self._count, self._count + len(hashed)
        if self._count > len(self._hashed):
            room = np.empty((2 * self._count, 2), np.uint64)
            room[:first] = self._hashed[:first]
            self._hashed = room
        self._hashed[first : self._count] = hashed


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """The privacy unit of every row: a number that means something beside ``roster`` only.

    Args:
        number: shape (n,), int64: place of the row's unit in the roster.
        roster: units, each once; some may be of no row.
    """

    number: NDArray[np.int64]
    roster: Roster

    @staticmethod
    def of(hashes: NDArray[np.uint64]) -> Units:
        """Return the units that rows' hashes, shape (n, 2), stand for."""
        number, first = numbered(hashes[:, 0], hashes[:, 1])
        return Units(number, Roster(hashes[first]))

    @staticmethod
    def joined(parts: Sequence[Units]) -> Units:
        """Return the units of one or more parts, in order.

        Those of no row are left out, unless all parts have one roster.
        """
        rosters = {id(part.roster): part.roster for part in parts}
        if len(rosters) == 1:
            return Units(np.concatenate([part.number for part in parts]), parts[0].roster)
        met = Units.of(np.concatenate([roster.hashed for roster in rosters.values()]))
        starts = np.cumsum([0, *map(len, rosters.values())]).tolist()
        renamed = {
            name: met.number[start : start + len(roster)]
            for start, (name, roster) in zip(starts, rosters.items(), strict=False)
        }
        number = np.concatenate([renamed[id(part.roster)][part.number] for part in parts])
        return Units(number, met.roster).trimmed()

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.number)

    def __getitem__(self, rows: slice | NDArray[np.intp] | NDArray[np.bool_]) -> Units:
        """Return the units of some rows."""
        return Units(self.number[rows], self.roster)

    def hashes(self) -> NDArray[np.uint64]:
        """Return the hash of every row's unit, shape (n, 2)."""
        return self.roster.hashed[self.number]

    def trimmed(self) -> Units:
        """Return the same without the units of no row."""
        used = np.zeros(len(self.roster), np.bool_)
        used[self.number] = True
        if used.all():
            return self
        return Units((np.cumsum(used) - 1)[self.number], Roster(self.roster.hashed[used]))
