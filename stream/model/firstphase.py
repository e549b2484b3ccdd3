"""Tolerances of the first phase of ProBE and ProBE-Ent, for whatever tolerances an alarm has."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from stream.config.alarms.reduction import Relation
from stream.model.queries import AggregateKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream.config.alarms.statistics import Counting

__all__ = ["PHASED", "FirstTolerances", "default_first"]

PHASED: Final = frozenset({"probe", "probe-ent"})
"""Mechanisms with a first phase of its own tolerance."""

_SHARE: Final = Fraction(3, 10)
_FACTOR: Final = 5
_ADDED_UP: Final = frozenset({AggregateKind.COUNT, AggregateKind.DISTINCT_UNITS, AggregateKind.SUM})
_AFTER: Final = frozenset({Relation.GT, Relation.LE})


@dataclass(frozen=True, slots=True)
class FirstTolerances:
    """What a configuration says of the first phase, per atom, in units of its statistic.

    Args:
        written: as written; ``None`` where the default applies.
        shares: ProBE's share of the largest threshold, which is the default of counts and sums;
            ``None`` where it is five times the tolerance.
    """

    written: tuple[int | None, ...]
    shares: tuple[int | None, ...]

    def beside(self, tolerances: Sequence[int]) -> tuple[int, ...]:
        """Return the first phase's tolerances where the last one has these: none is smaller."""
        found = []
        for written, share, last in zip(self.written, self.shares, tolerances, strict=True):
            usual = _FACTOR * last if share is None else share
            found.append(max(usual if written is None else written, last))
        return tuple(found)


def default_first(counting: Counting) -> FirstTolerances:
    """Return what applies to a condition where nothing is written.

    A threshold tells how large counts and sums are, and nothing of the size of other statistics.
    """
    condition = counting.condition
    shares: list[int | None] = []
    for atom, counted in enumerate(counting.atoms):
        if counted.guard or counting.spec_of(atom).kind not in _ADDED_UP:
            shares.append(None)
            continue
        bounds = condition.atoms[condition.formula.atoms[atom]].thresholds
        after = int(counted.asked[0].relation in _AFTER)  # s > c is s >= c + 1
        ends = (int(bounds.max()) - after, int(bounds.min()) - after)
        shares.append(int(_SHARE * max(map(abs, ends))))
    return FirstTolerances((None,) * len(shares), tuple(shares))
