"""Conditions that no data, or all data, meet: found before anything is charged for them.

The comparisons of one aggregate cut its values into regions with one outcome for each comparison;
an aggregate that may be NULL has one more, where none of them holds. A condition is tried on every
combination of regions, aggregates being taken for independent: what is constant over all of those
is constant, while some dependences between aggregates go unnoticed.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, prod
from typing import TYPE_CHECKING, Final

import numpy as np

from stream.config.alarms.reduction import Function

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from stream.config.alarms.reduction import Aggregate, Tree
    from stream.config.alarms.thresholds import Levels, Profiles
    from stream.config.sql.comparisons import Asked, Measure

__all__ = ["Constant", "constant_comparisons", "constant_condition"]

MOST_COMBINATIONS: Final = 1 << 16
"""Conditions with more combinations of regions are not tried."""

_MOST_TRIED: Final = 1 << 22
_COUNTS: Final = frozenset({Function.COUNT, Function.DISTINCT})

_Cut = tuple[Fraction | int, int]
"""A place between values: before (0) or after (1) a number."""


@dataclass(frozen=True, slots=True)
class Constant:
    """A condition, or comparison, with one outcome.

    Args:
        outcome: which.
        profile: where it has it, the first such one.
        everywhere: whether it has it in all profiles; not looked at for conditions.
    """

    outcome: bool
    profile: int
    everywhere: bool = False


def constant_comparisons(
    levels: Mapping[Asked, Levels], aggregates: Mapping[Measure, Aggregate], profiles: Profiles
) -> dict[Asked, Constant]:
    """Return the comparisons of counts and sums that have one outcome whatever the data.

    Args:
        levels: thresholds of every comparison.
        aggregates: per measure its function and clips.
        profiles: groups of cells with the same thresholds.
    """
    found: dict[Asked, Constant] = {}
    for measure, aggregate in aggregates.items():
        ranked = _ranked(measure, aggregate, levels, profiles)
        if aggregate.nullable:
            continue
        for asked, row in zip(ranked.asked, ranked.rows, strict=True):
            for at_or_above, where in ((True, row <= ranked.least), (False, row >= ranked.most)):
                if where.any():
                    outcome = at_or_above is asked.comparison.upward
                    found[asked] = Constant(outcome, int(where.argmax()), bool(where.all()))
    return found


def constant_condition(
    tree: Tree[Asked],
    levels: Mapping[Asked, Levels],
    aggregates: Mapping[Measure, Aggregate],
    profiles: Profiles,
) -> Constant | None:
    """Return the outcome of a condition that has only one in some cell, else ``None``.

    Args:
        tree: the condition.
        levels: thresholds of every comparison in it.
        aggregates: per measure its function and clips.
        profiles: groups of cells with the same thresholds.
    """
    ranked = [_ranked(measure, each, levels, profiles) for measure, each in aggregates.items()]
    codes = np.concatenate([each.codes() for each in ranked])
    _, firsts = np.unique(codes, axis=1, return_index=True)
    tried = 0
    for profile in sorted(firsts.tolist()):
        regions = [each.regions(profile) for each in ranked]
        size = prod(map(len, regions))
        tried += size
        if size > MOST_COMBINATIONS or tried > _MOST_TRIED:
            continue
        truth: dict[Asked, NDArray[np.bool_]] = {}
        for each, columns in zip(ranked, _combined(regions), strict=True):
            truth.update(zip(each.asked, columns, strict=True))
        outcomes = tree.holds(truth.__getitem__)
        if outcomes.all() or not outcomes.any():
            return Constant(bool(outcomes[0]), profile)
    return None


@dataclass(frozen=True, slots=True)
class _Ranked:
    """The comparisons of one measure, their cuts as ranks: a value is below a cut or at it.

    Args:
        asked: the comparisons.
        rows: per comparison, shape (profiles,), the rank of its cut.
        least: no value is below this cut.
        most: no value is at this cut.
        nullable: whether the measure may be NULL.
    """

    asked: tuple[Asked, ...]
    rows: tuple[NDArray[np.int64], ...]
    least: int
    most: int
    nullable: bool

    def codes(self) -> NDArray[np.int16]:
        """Return the order of the cuts: profiles with equal columns have equal regions.

        Returns:
            Shape (comparisons, profiles).
        """
        rows = np.clip(np.stack(self.rows), self.least, self.most)
        ordered = np.sort(np.vstack([np.full_like(rows[:1], self.least), rows]), axis=0)
        new = np.diff(ordered, axis=0) > 0
        codes = np.stack([(new & (ordered[1:] <= row)).sum(axis=0) for row in rows])
        codes[rows >= self.most] = len(rows) + 1
        return codes.astype(np.int16)

    def regions(self, profile: int) -> list[tuple[bool, ...]]:
        """Return the combinations of outcomes that values can give."""
        cuts = [min(max(int(row[profile]), self.least), self.most) for row in self.rows]
        places = {self.least, *(cut for cut in cuts if cut < self.most)}
        flips = [not asked.comparison.upward for asked in self.asked]
        found = {
            tuple((place >= cut) is not flip for cut, flip in zip(cuts, flips, strict=True))
            for place in places
        }
        if self.nullable:
            found.add((False,) * len(cuts))
        return sorted(found)


def _ranked(
    measure: Measure,
    aggregate: Aggregate,
    levels: Mapping[Asked, Levels],
    profiles: Profiles,
) -> _Ranked:
    mine = tuple(asked for asked in levels if asked.measure == measure)
    cuts = [[_cut(value, asked) for value in levels[asked].values] for asked in mine]
    low, high = _ends(aggregate)
    pool = {cut for row in cuts for cut in row} | ({low, high} - {None})
    ranks = {cut: rank for rank, cut in enumerate(sorted(pool))}  # type: ignore[type-var]
    rows = tuple(
        profiles.spread(np.array([ranks[cut] for cut in row], np.int64), levels[asked].axis)
        for asked, row in zip(mine, cuts, strict=True)
    )
    return _Ranked(
        mine,
        rows,
        least=-1 if low is None else ranks[low],
        most=len(ranks) if high is None else ranks[high],
        nullable=aggregate.nullable,
    )


def _cut(value: Fraction, asked: Asked) -> _Cut:
    """Return the cut whose upper side a comparison (or its negation) asks for."""
    after = asked.comparison.after
    if asked.measure.function is Function.AVG:
        return value, int(after)
    return (floor(value) + 1 if after else ceil(value)), 0  # all else is whole granules


def _ends(aggregate: Aggregate) -> tuple[_Cut | None, _Cut | None]:
    """Return the cut that all values are at, and the one that none is at."""
    least, most = aggregate.span
    low = None if least is None else (least, 0)
    if most is None:
        return low, None
    return low, ((most, 1) if aggregate.function is Function.AVG else (most + 1, 0))


def _combined(
    regions: Sequence[Sequence[tuple[bool, ...]]],
) -> Iterator[list[NDArray[np.bool_]]]:
    """Yield per measure the outcomes of its comparisons over all combinations of regions."""
    sizes = [len(each) for each in regions]
    indices = np.unravel_index(np.arange(prod(sizes)), sizes)
    for places, each in zip(indices, regions, strict=True):
        yield list(np.array(each, dtype=np.bool_)[places].T)
