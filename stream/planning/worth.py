"""What every alarm of a file is worth: at what count it rings, and how often for nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from stream.planning.false_rings import false_rings
from stream.planning.ringing import RingLaw, curve_of, why_not

if TYPE_CHECKING:
    from stream.model.alarms import Alarms, Budget
    from stream.model.queries import Query
    from stream.planning.false_rings import FalseRings
    from stream.planning.ringing import Ringing

__all__ = ["Worth", "worth_of", "worths"]


@dataclass(frozen=True, slots=True)
class Worth:
    """What one alarm is worth.

    Args:
        query: the alarm.
        ringing: how likely it rings; ``None`` where that is not known.
        why_not: why it is not.
        false: how often it rings for nothing; ``None`` where it does not say what is usual.
        law: to ask at other counts.
    """

    query: Query
    ringing: Ringing | None = None
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
    ringing = curve_of(law, budget)
    if ringing is None:
        return Worth(query, why_not="its condition has too many outcomes to add up")
    return Worth(query, ringing, false=false_rings(law, budget), law=law)
