"""What every alarm of a file is worth: at what count it rings, and how often for nothing."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from stream.planning.false_rings import false_rings
from stream.planning.ringing import RingLaw, why_not

if TYPE_CHECKING:
    from stream.model.alarms import Alarms, Budget
    from stream.model.queries import Query
    from stream.planning.false_rings import FalseRings

__all__ = ["Worth", "worth_of", "worths"]


@dataclass(frozen=True, slots=True)
class Worth:
    """What one alarm is worth.

    Args:
        query: the alarm.
        why_not: why it is not known how likely it fires.
        false: how often it rings for nothing; ``None`` where it does not say what is usual.
        law: how likely it fires; ``None`` where that is not known.
    """

    query: Query
    why_not: str | None = None
    false: FalseRings | None = None
    law: RingLaw | None = None


def worths(alarms: Alarms) -> tuple[Worth, ...]:
    """Return what the alarms of a file are worth, in its order.

    Raises:
        ConfigError: an aim that cannot be kept.
    """
    return tuple(worth_of(query, alarms.budget) for query in alarms.queries.values())


def worth_of(query: Query, budget: Budget) -> Worth:
    """Return what one alarm is worth.

    Raises:
        ConfigError: its aim cannot be kept.
    """
    reason = why_not(query)
    if reason is not None:
        return Worth(query, why_not=reason)
    law = RingLaw.of(query)
    if law.at(law.median_cell, [Fraction(0)]) is None:
        return Worth(query, why_not="its condition has too many outcomes to add up")
    return Worth(query, false=false_rings(law, budget), law=law)
