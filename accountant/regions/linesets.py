"""Sets on one ordered line of values, kept as the positions at which membership changes.

A cut is a position between values: to its left lie smaller ones, to its right larger ones. A set is
whether it holds the values left of every cut, and its strictly rising cuts. If some value lies
between any two cuts, no two forms describe the same set; ``accountant.regions.valuesets`` sees to
that.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["Cut", "LineSet", "NumberCut", "sweep"]

NumberCut: TypeAlias = tuple[int | Fraction, int]
"""The position right before (0) or right after (1) a number."""

Cut = TypeVar("Cut", NumberCut, str)
"""A number's side, or the string that a position stands right before."""


@dataclass(frozen=True, slots=True)
class LineSet(Generic[Cut]):
    """A set of values on one line.

    Args:
        begins_inside: whether the values left of every cut are in it.
        cuts: where membership changes, strictly rising.
    """

    begins_inside: bool
    cuts: tuple[Cut, ...] = ()

    @classmethod
    def changing_at(cls, cuts: Iterable[Cut]) -> LineSet[Cut]:
        """Return the set that begins outside and changes at sorted cuts; equal ones cancel."""
        kept: list[Cut] = []
        for cut in cuts:
            if kept and kept[-1] == cut:
                kept.pop()
            else:
                kept.append(cut)
        return cls(begins_inside=False, cuts=tuple(kept))

    @classmethod
    def between(cls, low: Cut | None, high: Cut | None) -> LineSet[Cut]:
        """Return the values between two cuts, none if they are not in order; ``None`` is no end."""
        if low is None:
            return cls(begins_inside=True, cuts=() if high is None else (high,))
        if high is None:
            return cls(begins_inside=False, cuts=(low,))
        return cls(begins_inside=False, cuts=(low, high) if low < high else ())

    @property
    def empty(self) -> bool:
        """Whether it holds no value."""
        return not self.begins_inside and not self.cuts

    @property
    def full(self) -> bool:
        """Whether it holds every value."""
        return self.begins_inside and not self.cuts

    def holds(self, before: Cut) -> bool:
        """Say whether it holds the value right after the position ``before``."""
        return self.begins_inside ^ (bisect_right(self.cuts, before) & 1 == 1)

    def complement(self) -> LineSet[Cut]:
        """Return the values that are not in it."""
        return LineSet(not self.begins_inside, self.cuts)

    def intersection(self, other: LineSet[Cut]) -> LineSet[Cut]:
        """Return the values in both, in time linear in the cuts."""
        if self.full or other.empty:
            return other
        if other.full or self.empty:
            return self
        return LineSet(
            self.begins_inside and other.begins_inside, tuple(_changes_of_both(self, other))
        )

    def overlaps(self, other: LineSet[Cut]) -> bool:
        """Say whether some value is in both, in time linear in the cuts."""
        if self.begins_inside and other.begins_inside:
            return True
        return next(_changes_of_both(self, other), None) is not None

    def intervals(self) -> Iterator[tuple[Cut | None, Cut | None]]:
        """Yield its stretches from left to right, each by its two cuts; ``None`` is no end."""
        ends: list[Cut | None] = [None] if self.begins_inside else []
        ends.extend(self.cuts)
        if len(ends) % 2:
            ends.append(None)
        yield from zip(ends[::2], ends[1::2], strict=True)


def sweep(sets: Sequence[LineSet[Cut]]) -> Iterator[tuple[int, Cut | None, Cut | None]]:
    """Yield the stretches between neighbouring cuts of any of the sets, from left to right.

    Args:
        sets: sets on one line.

    Yields:
        ``(members, low, high)``: bit ``i`` of ``members`` is set if set ``i`` holds the stretch
        from ``low`` to ``high``; ``None`` is no end.
    """
    flips: dict[Cut, int] = {}
    for at, each in enumerate(sets):
        for cut in each.cuts:
            flips[cut] = flips.get(cut, 0) ^ (1 << at)
    members = sum(1 << at for at, each in enumerate(sets) if each.begins_inside)
    low: Cut | None = None
    for cut in sorted(flips):
        yield members, low, cut
        members ^= flips[cut]
        low = cut
    yield members, low, None


def _changes_of_both(left: LineSet[Cut], right: LineSet[Cut]) -> Iterator[Cut]:
    """Yield the cuts of the intersection, merging those of the two."""
    lefts, rights, i, j = left.cuts, right.cuts, 0, 0
    in_left, in_right = left.begins_inside, right.begins_inside
    inside = in_left and in_right
    while i < len(lefts) or j < len(rights):
        from_left = j == len(rights) or (i < len(lefts) and lefts[i] <= rights[j])
        from_right = i == len(lefts) or (j < len(rights) and rights[j] <= lefts[i])
        cut = lefts[i] if from_left else rights[j]
        if from_left:
            in_left, i = not in_left, i + 1
        if from_right:
            in_right, j = not in_right, j + 1
        if (in_left and in_right) is not inside:
            inside = not inside
            yield cut
