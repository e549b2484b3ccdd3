"""Which alarms of one budget share rows, and what composing them in parallel saves.

Alarms over disjoint regions cost a row only the dearest of them, not their sum (Parallel
Composition, Theorem 6). What that saves is the paper's utility gain (section 3.3).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, starmap
from typing import TYPE_CHECKING

from accountant.loss.maxoverlap import maximum_overlap, utility_gain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accountant.loss.maxoverlap import Overlap
    from accountant.regions.regions import Region
    from accountant.regions.shapes import Shape

__all__ = ["MOST_LISTED", "NO_ROW", "Covering", "Pair", "Sharing", "sharing_of"]

MOST_LISTED = 12
"""With more alarms than this, pairs are counted and not listed."""

NO_ROW = "(no row)"
"""Stands for the attribute that separates an alarm which no row can be in from all others."""

_NODE_LIMIT = 500  # and no other limit


@dataclass(frozen=True, slots=True)
class Covering:
    """What one alarm can cost a row it covers.

    Args:
        query: its name.
        shape: which rows its cells cover.
        loss_units: of a row that is in as many of its windows as can be.
    """

    query: str
    shape: Shape
    loss_units: int


@dataclass(frozen=True, slots=True)
class Pair:
    """Two alarms of one budget.

    Args:
        left: one alarm.
        right: another one.
        separated_by: attributes that no value of meets both; empty where they share rows.
        composed_units: what they cost the worst row, in loss units.
    """

    left: str
    right: str
    separated_by: tuple[str, ...]
    composed_units: int

    @property
    def shared(self) -> bool:
        """Whether some row is in both."""
        return not self.separated_by


@dataclass(frozen=True, slots=True)
class Sharing:
    """How the alarms of one budget overlap.

    Args:
        pairs: all of them, when there are no more than ``MOST_LISTED`` alarms.
        overlap: the worst row, in loss units; its positions are those of the alarms.
        worst: alarms that hold the worst row found.
    """

    pairs: tuple[Pair, ...]
    overlap: Overlap
    worst: tuple[str, ...]

    @property
    def gain(self) -> Fraction:
        """The utility gain of the whole budget (Parallel Composition, section 3.3)."""
        return Fraction(utility_gain(self.overlap))


def sharing_of(alarms: Sequence[Covering]) -> Sharing:
    """Compare the alarms of one budget, two by two and all together.

    Args:
        alarms: in the order in which they are listed.
    """
    listed = combinations(alarms, 2) if len(alarms) <= MOST_LISTED else ()
    overlap = maximum_overlap(
        [alarm.shape.as_region for alarm in alarms],
        [alarm.loss_units for alarm in alarms],
        work_limit=None,
        node_limit=_NODE_LIMIT,
    )
    worst = tuple(alarms[at].query for at in overlap.members)
    return Sharing(tuple(starmap(_pair, listed)), overlap, worst)


def _pair(left: Covering, right: Covering) -> Pair:
    both = (left.loss_units, right.loss_units)
    separated_by = _separating(left.shape.as_region, right.shape.as_region)
    return Pair(
        left=left.query,
        right=right.query,
        separated_by=separated_by,
        composed_units=max(both) if separated_by else sum(both),
    )


def _separating(left: Region, right: Region) -> tuple[str, ...]:
    """Return the attributes of which no value is in both regions."""
    if left.empty or right.empty:
        return (NO_ROW,)
    names = sorted({*left.attributes, *right.attributes})
    return tuple(name for name in names if not left.values(name).overlaps(right.values(name)))
