"""Realised losses of the cells of one window, on few levels, kept and stored small.

An ex-post mechanism stops each cell at one of a handful of levels, so a window of 100,000 cells is
a table of a dozen losses and one small number per cell. Stored, that number takes as many bits as
it needs, in bit planes, and the whole is deflated where that makes it shorter.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise
from operator import index as as_integer
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from accountant.arguments import WHOLE, expect, instance_of
from accountant.costs.charges import UniformCost
from accountant.errors import ArgumentError

if TYPE_CHECKING:
    from accountant.costs.charges import CellCosts

__all__ = ["MOST_CELLS", "MOST_LEVELS", "LevelCosts", "level_costs"]

MOST_LEVELS: Final = 2**16
"""Levels that one window can have; more and an index would no longer be shorter than the losses."""

MOST_CELLS: Final = 2**24
"""Cells that one window can have: a bound on what a forged text makes ``decode`` take."""

_LevelIndex: TypeAlias = NDArray[np.uint8 | np.uint16]

_VERSION: Final = 1
_PLAIN: Final = 0
_DEFLATED: Final = 1
_HEADER: Final = struct.Struct("<BBII")  # version, form of the body, cells, levels
_CHECKSUM_BYTES: Final = 16
_DEFLATE_LEVEL: Final = 1  # bit planes hold little that a longer search would find


@dataclass(frozen=True, slots=True, eq=False)
class LevelCosts:
    """Loss per cell of one window; satisfies ``accountant.costs.charges.CellCosts``.

    Levels that no cell is on are dropped, so that equal losses have one form: two are equal exactly
    if every cell loses the same.

    Args:
        levels: the losses that occur, in loss units, strictly increasing, in [0, 2^63).
        index: per cell, which level it is on; shape (cells,), any integers. Kept as a read-only
            copy in uint8, or uint16 beyond 256 levels.

    Raises:
        ValueError: no cell, more than ``MOST_CELLS`` or ``MOST_LEVELS``, levels out of order or
            range, or an index beyond them.
        TypeError: a level is not a whole number.
    """

    levels: tuple[int, ...]
    index: _LevelIndex

    def __post_init__(self) -> None:
        """Check both and bring them to the one form."""
        levels = tuple(map(as_integer, self.levels))
        index = _vector(self.index, "an index of levels")
        if not 1 <= len(levels) <= MOST_LEVELS:
            raise ArgumentError(f"a window has between 1 and {MOST_LEVELS} levels of loss")
        if any(low >= high for low, high in pairwise(levels)):
            raise ArgumentError("levels of loss rise strictly")
        if levels[0] < 0 or levels[-1] >= 2**63:
            raise ArgumentError(
                "a level of loss is at least 0 and below 2^63 loss units",
                hint="write losses as to_loss_units(epsilon) gives them",
            )
        if int(index.min()) < 0 or int(index.max()) >= len(levels):
            raise ArgumentError("`index` refers to a level that does not exist")
        used = np.flatnonzero(np.bincount(index.astype(np.intp), minlength=len(levels)))
        if len(used) < len(levels):
            index = np.searchsorted(used, index)
            levels = tuple(levels[level] for level in used)
        kept = index.astype(_index_type(len(levels)))
        kept.setflags(write=False)
        object.__setattr__(self, "levels", levels)
        object.__setattr__(self, "index", kept)

    @classmethod
    def of(cls, units: NDArray[np.int64]) -> LevelCosts:
        """Return the costs with these losses.

        Args:
            units: loss units per cell, integers in [0, 2^63), shape (cells,).

        Raises:
            ValueError: no such array, or more than ``MOST_LEVELS`` different losses.
        """
        losses = _vector(units, "losses per cell")
        levels = np.unique(losses)
        index = np.searchsorted(levels, losses).astype(_index_type(len(levels)))
        return cls(tuple(levels.tolist()), index)

    @classmethod
    def uniform(cls, units: int, cells: int) -> LevelCosts:
        """Return the costs of ``cells`` cells that all lose ``units``."""
        expect(WHOLE, units=units, cells=cells)
        if not 1 <= cells <= MOST_CELLS:
            raise ArgumentError(
                f"a window has between 1 and {MOST_CELLS} cells",
                hint="give one entry for every predicate",
            )
        return cls((units,), np.zeros(cells, dtype=np.uint8))

    @classmethod
    def decode(cls, text: bytes) -> LevelCosts:
        """Return the costs that ``encode`` wrote.

        Raises:
            ValueError: the bytes are damaged, cut off, or of a version unknown here.
        """
        expect(instance_of(bytes), text=text)
        checked = memoryview(text)[: max(len(text) - _CHECKSUM_BYTES, 0)]
        if len(checked) < _HEADER.size or _checksum(checked) != text[len(checked) :]:
            raise ArgumentError("stored costs are damaged")
        version, form, cells, levels = _HEADER.unpack_from(checked)
        if version != _VERSION or form not in (_PLAIN, _DEFLATED):
            raise ArgumentError("stored costs are of another version")
        if not (1 <= levels <= MOST_LEVELS and 1 <= cells <= MOST_CELLS):
            raise ArgumentError("stored costs have an impossible size")
        bits = (levels - 1).bit_length()
        plane_bytes = (cells + 7) // 8
        expected = 8 * levels + bits * plane_bytes
        body = bytes(checked[_HEADER.size :])
        if form == _DEFLATED:
            body = _inflate(body, expected)
        if len(body) != expected:
            raise ArgumentError("stored costs have an impossible size")
        costs = cls(
            tuple(np.frombuffer(body, dtype="<u8", count=levels).tolist()),
            _unpacked(np.frombuffer(body, np.uint8, offset=8 * levels), bits, cells),
        )
        if len(costs.levels) != levels:
            raise ArgumentError("stored costs name a level that no cell is on")
        return costs

    def encode(self) -> bytes:
        """Return the costs as bytes, about ``log2(levels)`` bits per cell or less.

        The levels, 8 bytes each, come before the index in bit planes, the lowest bit first. How far
        they are deflated depends on the zlib at hand.
        """
        bits = (len(self.levels) - 1).bit_length()
        planes = [np.packbits((self.index >> bit).astype(np.uint8) & 1) for bit in range(bits)]
        plain = b"".join([np.array(self.levels, dtype="<u8").tobytes(), *map(bytes, planes)])
        bodies = {_PLAIN: plain, _DEFLATED: zlib.compress(plain, _DEFLATE_LEVEL)}
        form = min(bodies, key=lambda form: len(bodies[form]))
        text = _HEADER.pack(_VERSION, form, self.cells, len(self.levels)) + bodies[form]
        return text + _checksum(text)

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return len(self.index)

    @property
    def counts(self) -> tuple[int, ...]:
        """How many cells are on each level; none of them 0."""
        return tuple(np.bincount(self.index, minlength=len(self.levels)).tolist())

    @property
    def worst_units(self) -> int:
        """The largest loss of any one cell."""
        return self.levels[-1]

    def largest_sum_units(self, cells: int) -> int:
        """The loss of someone who reaches the ``cells`` dearest cells, in time linear in levels.

        Raises:
            ValueError: ``cells`` is negative.
        """
        if cells < 0:
            raise ArgumentError("`cells` is negative")
        total = 0
        for units, count in zip(reversed(self.levels), reversed(self.counts), strict=True):
            taken = min(cells, count)
            total += taken * units
            cells -= taken
        return total

    def units(self, cell: int) -> int:
        """Return the loss of one cell.

        Raises:
            IndexError: there is no such cell.
        """
        if not 0 <= cell < self.cells:
            raise IndexError("no such cell")
        return self.levels[int(self.index[cell])]

    def as_array(self) -> NDArray[np.int64]:
        """Return the loss of every cell, shape (cells,)."""
        return np.array(self.levels, dtype=np.int64)[self.index]

    def __eq__(self, other: object) -> bool:
        """Say whether both have the same cells with the same losses."""
        if not isinstance(other, LevelCosts):
            return NotImplemented
        return self.levels == other.levels and np.array_equal(self.index, other.index)

    def __hash__(self) -> int:
        """Return a hash of the losses."""
        return hash((self.levels, self.index.tobytes()))

    def __repr__(self) -> str:
        """Return how many cells are on which level."""
        return f"LevelCosts({dict(zip(self.levels, self.counts, strict=True))})"


def level_costs(cost: CellCosts) -> LevelCosts:
    """Return any costs that know their cells as levels.

    Raises:
        TypeError: the costs say nothing of single cells.
    """
    match cost:
        case LevelCosts():
            return cost
        case UniformCost():
            return _uniform(cost)
        case _:
            raise TypeError(f"{type(cost).__name__} has no loss per cell")


@lru_cache(maxsize=64)
def _uniform(cost: UniformCost) -> LevelCosts:
    return LevelCosts.uniform(cost.units, cost.cells)


def _index_type(levels: int) -> np.dtype[np.uint8 | np.uint16]:
    """Return the smallest type there is for so many levels, or for more than there may be."""
    return np.dtype(np.uint8) if levels <= 2**8 else np.dtype(np.uint16)


def _vector(values: Any, name: str) -> NDArray[np.integer[Any]]:
    array: NDArray[Any] = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ArgumentError(
            f"{name}: a vector of integers",
            hint="write np.asarray(values, dtype=np.int64), one entry for every predicate",
        )
    if not 1 <= len(array) <= MOST_CELLS:
        raise ArgumentError(
            f"a window has between 1 and {MOST_CELLS} cells",
            hint="give one entry for every predicate",
        )
    return array


def _checksum(text: bytes | memoryview) -> bytes:
    return blake2b(text, digest_size=_CHECKSUM_BYTES).digest()


def _inflate(body: bytes, expected: int) -> bytes:
    """Return the deflated body, never much more of it than there should be."""
    inflater = zlib.decompressobj()
    try:
        inflated = inflater.decompress(body, expected + 1)
    except zlib.error:
        raise ArgumentError("stored costs are damaged") from None
    if not inflater.eof or inflater.unused_data:
        raise ArgumentError("stored costs have an impossible size")
    return inflated


def _unpacked(planes: NDArray[np.uint8], bits: int, cells: int) -> _LevelIndex:
    """Return the index whose bit planes these are; refuse what follows the last cell."""
    index = np.zeros(cells, dtype=_index_type(2**bits))
    for bit, plane in enumerate(planes.reshape(bits, -1) if bits else ()):
        flags = np.unpackbits(plane)
        if flags[cells:].any():
            raise ArgumentError("stored costs go on after the last cell")
        index |= flags[:cells].astype(index.dtype) << bit
    return index
