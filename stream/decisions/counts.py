"""Released counts: what the noisy panes of a window add up to, as the ledger keeps it.

Guarantee: they are a function of noisy panes, of configuration, and of nothing else, so they cost
nothing more than these (``docs/research/proofs/panes.md``). They are stored with the decision that
they leave with, and in the part that its hash covers: a retry and a replay have the same, also when
the panes are kept no more. They are not cut off at 0: that would protect nobody, and what is cut
off is too high on average, most where little is counted.
"""

from __future__ import annotations

import math
import sys
from itertools import product
from typing import TYPE_CHECKING

import msgspec
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from operators.base import PaneOperator
    from stream.model.alarm import Alarm

__all__ = ["WindowCounts", "counts_of", "deviation_of"]

_DIGITS = 6  # so that it is the same wherever it is computed
_LARGEST_EXACT = 1 << 53  # readers of JSON hold whole numbers up to here


class WindowCounts(msgspec.Struct, frozen=True):
    """The noisy counts of one window.

    Groups are named: a later configuration may number them otherwise.

    Args:
        noisy_panes: the name of the panes.
        panes: how many were added up.
        standard_deviation: of the noise of every count, in its unit.
        fields: of a group, in the order of the group-by.
        values: of every group, in the order of the domain.
        counts: of every group.
    """

    noisy_panes: str
    panes: int
    standard_deviation: float
    fields: tuple[str, ...]
    values: list[tuple[str, ...]]
    counts: list[int | float]

    def by_group(self) -> Iterator[tuple[dict[str, str], int | float]]:
        """Yield every group with its count."""
        for values, count in zip(self.values, self.counts, strict=True):
            yield dict(zip(self.fields, values, strict=True)), count


def counts_of(
    alarm: Alarm, operator: PaneOperator, noisy: Iterable[NDArray[np.int64]]
) -> WindowCounts | None:
    """Return what leaves of a window's noisy panes; ``None`` where the alarm releases no counts.

    Args:
        alarm: the alarm.
        operator: that decides it.
        noisy: shape (cells,), int64: what was released of each of its panes.
    """
    if not alarm.releases_counts:
        return None
    (aggregate,), domain = alarm.aggregates, alarm.domain
    above, below = aggregate.per_unit.as_integer_ratio()
    total = np.zeros(len(domain), dtype=np.int64)
    panes = 0
    for each in noisy:
        total += each
        panes += 1
    return WindowCounts(
        noisy_panes=alarm.panes,
        panes=panes,
        standard_deviation=deviation_of(alarm, operator, panes),
        fields=domain.fields,
        values=list(product(*domain.values)),  # as the domain counts them: the last field fastest
        counts=[_number(steps, above, below) for steps in total.tolist()],
    )


def deviation_of(alarm: Alarm, operator: PaneOperator, panes: int) -> float:
    """Return the standard deviation of a window's noise, in the unit of its counts: six digits.

    Args:
        alarm: the alarm.
        operator: that decides it.
        panes: of the window.
    """
    (aggregate,) = alarm.aggregates
    deviation = operator.deviation(panes) * float(aggregate.per_unit)
    return float(f"{min(deviation, sys.float_info.max):.{_DIGITS}g}")


def _number(steps: int, above: int, below: int) -> int | float:
    """Return a sum in its field's own unit: whole where that is exact, else the nearest float.

    Args:
        steps: the sum, in steps of ``above / below``.
        above: a whole number.
        below: another, with no factor in common.
    """
    value = steps * above
    if below == 1 and abs(value) <= _LARGEST_EXACT:
        return value
    try:
        return value / below
    except OverflowError:
        return math.copysign(sys.float_info.max, steps)
