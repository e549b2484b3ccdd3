"""Draws of alarms whose windows share runs: whole stretches of windows at once.

A stretch is what one run covers at most, the windows that touch the same budget periods. A run that
is spent leaves the rest of its stretch unanswered: no budget is known here that would open another.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from accountant.costs.runs import StoredRun

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from operators.base import RunOperator
    from operators.noise.source import NoiseSource
    from stream.model.alarms import Budget
    from stream.model.queries import Query
    from stream.simulation.draws.held import Holding
    from stream.simulation.history import CountedAlarm

__all__ = ["DrawnRun", "drawn_run", "stretches_of"]


@dataclass(frozen=True, slots=True, eq=False)
class DrawnRun:
    """What one run did.

    Args:
        fired: per window, shape (cells,), bool: which cells ring, sooner or later.
        held: per window, shape (cells,), bool: which cells were not asked.
        units: what it cost, in loss units.
        asked: how many of its windows were asked in full, before the one in which it was spent.
    """

    fired: Sequence[NDArray[np.bool_]]
    held: Sequence[NDArray[np.bool_]]
    units: int
    asked: int


def stretches_of(query: Query, counted: CountedAlarm, budget: Budget) -> tuple[range, ...]:
    """Return the windows of an alarm by the runs they belong to, in order.

    Args:
        query: the alarm.
        counted: its windows.
        budget: whose periods end runs; without any, all windows share one.
    """
    periods = None if budget.periods is None else budget.periods.calendar
    if periods is None:
        return (range(counted.windows),)
    numbers = query.calendar.containing(counted.starts_ms)[1]
    ends = np.array([query.calendar.bounds(int(number))[1] for number in numbers], np.int64)
    touched = np.stack([periods.containing(counted.starts_ms)[0], periods.containing(ends - 1)[1]])
    breaks = np.flatnonzero((np.diff(touched, axis=1) != 0).any(axis=0)) + 1
    edges = [0, *breaks.tolist(), counted.windows]
    return tuple(range(first, last) for first, last in pairwise(edges))


def drawn_run(
    operator: RunOperator,
    windows: Sequence[NDArray[np.int64]],
    noise: NoiseSource,
    holding: Holding,
    first: int = 0,
) -> DrawnRun:
    """Decide the windows of a stretch by one run.

    Args:
        operator: of the alarm.
        windows: statistics of each, shape (statistics, cells), int64, in order.
        noise: the cryptographic source.
        holding: the draw, up to this stretch.
        first: number of the stretch's first window in it.
    """
    fired = list(holding.fired[first : first + len(windows)])  # views: who fires here, is held
    spared = []
    before: StoredRun | None = None
    units = rung = asked = 0
    for at, statistics in enumerate(windows):
        spared.append(held := holding.at(first + at))
        if before is not None and not before.left:
            continue
        step = operator.go_on(statistics, before, noise, window=at, held=held)
        fired[at] |= step.fired
        for window, cell in step.late:
            fired[window][cell] = True
        units += step.units
        rung += step.after.rung
        asked += bool(step.after.left)
        before = StoredRun(
            query="",
            fingerprint="",
            periods=(),
            open_units=operator.run_terms.open_units,
            alarm_units=operator.run_terms.alarm_units,
            left=step.after.left,
            alarms_rung=rung,
            opened_start_ms=0,
            last_start_ms=at,
            state=step.after.state,
        )
    return DrawnRun(fired, spared, units, asked)
