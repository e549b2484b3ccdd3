"""What early alarms cost and how soon they ring, from configuration alone.

A count is taken to grow evenly over its window and to end at so many per cent of the threshold. How
long after it has passed the threshold the alarm leaves (at the end of a step, grace and delay
aside) follows from the exact law of the first ring; a window without a ring counts as its end.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.errors import ConfigError
from accountant.units import PrivacyUnit, to_loss_units
from operators.registry import DEFAULT, OFFERED, mechanism_of, price
from stream.decisions.mechanisms import early_of, panes_of
from stream.model.losses import loss_name, rounded_loss
from stream.planning.fitting import Fitting
from stream.windows.cumulative import CumulativeCalendar
from stream.windows.shown import delay_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from accountant.loss.gaussian import Gaussian
    from operators.base import PaneOperator
    from operators.single.looks import EarlyAlarms
    from stream.model.alarms import Alarms
    from stream.model.queries import Query

__all__ = ["EarlyWay", "early_lines", "early_tables", "early_ways", "mean_ring_ms"]

_ENDS: Final = (120, 150, 200, 400)
"""Per cent of the threshold at which the window of an example ends."""


@dataclass(frozen=True, slots=True)
class EarlyWay:
    """One way to decide an alarm over a cumulative window.

    Args:
        query: the alarm.
        mechanism: what looks at every step; the default one where only the window's end is decided.
        early: whether steps are decided.
        used: whether this is what the configuration says.
        epsilon: what an event pays; under a Gaussian promise, of rho.
        delays_ms: by per cent of the threshold that the window ends at, how long after passing the
            threshold it rings on average; empty where its aggregate has no such growth.
    """

    query: str
    mechanism: str
    early: bool
    used: bool
    epsilon: Fraction
    delays_ms: Mapping[int, float]


def early_ways(alarms: Alarms) -> list[EarlyWay]:
    """Return the ways to decide every alarm over cumulative windows, its own among them.

    None under unit ``user``, for which there is one: panes.
    """
    if alarms.budget.unit is PrivacyUnit.USER:
        return []
    return [
        way for query in alarms.queries.values() if query.aim.looks > 1 for way in _ways_of(query)
    ]


def _ways_of(query: Query) -> Iterator[EarlyWay]:
    calendar = query.calendar
    if not isinstance(calendar, CumulativeCalendar):
        raise TypeError("only cumulative windows are looked at in steps")
    growths = _growths(query, calendar)
    for name, mechanism in OFFERED.items():
        if mechanism.early is None:
            continue
        try:
            early = _looks(replace(query, mechanism=name), calendar)
        except ConfigError:  # its own way could be planned; another may not
            continue
        if early is not None:
            delays = {
                end: mean_ring_ms(early, statistics, calendar.step_ms) - passed_ms
                for end, (statistics, passed_ms) in growths.items()
            }
            used = name == query.mechanism
            # Of people in the first of their panes, an event pays for two.
            twice = mechanism.panes is not None and not query.aggregates[0].adds_up
            epsilon = early.plan.epsilon * (2 if twice else 1)
            yield EarlyWay(query.id, name, True, used, epsilon, delays)
    once = price(DEFAULT.name, query.condition, replace(query.aim, looks=1))
    ends = {end: calendar.size_ms - passed_ms for end, (_, passed_ms) in growths.items()}
    yield EarlyWay(query.id, DEFAULT.name, False, False, once.epsilon, ends)


def _looks(query: Query, calendar: CumulativeCalendar) -> EarlyAlarms | PaneOperator | None:
    """Plan what looks at every step; ``None`` where panes do not add up."""
    if mechanism_of(query.mechanism).panes is None:
        return early_of(query)
    if query.panes:
        return panes_of(query)
    aim = replace(query.aim, panes=calendar.steps)
    return panes_of(replace(query, aim=aim)) if query.aggregates[0].adds_up else None


def _growths(
    query: Query, calendar: CumulativeCalendar
) -> dict[int, tuple[NDArray[np.int64], float]]:
    """Return per end the statistics of every look, and when the threshold is passed (ms)."""
    condition = query.condition
    if len(condition.formula.literals) > 1:
        return {}
    (name,) = condition.formula.atoms
    atom = condition.atoms[name]
    threshold = int(atom.thresholds[0])
    spec = query.aggregates[atom.statistic]
    if condition.formula.literals != (name,) or threshold < 1 or not spec.never_negative:
        return {}
    looks = np.arange(1, calendar.steps + 1)
    found = {}
    for end in _ENDS:
        last = -(-threshold * end // 100)
        statistics = np.zeros((condition.statistics, calendar.steps), np.int64)
        statistics[atom.statistic] = last * looks // calendar.steps
        found[end] = statistics, calendar.size_ms * threshold / last
    return found


def mean_ring_ms(
    early: EarlyAlarms | PaneOperator, statistics: NDArray[np.int64], step_ms: int
) -> float:
    """Return how long after its window's begin a cell rings first, on average; at its end without.

    Args:
        early: decides it at every look.
        statistics: of the cell, shape (statistics, looks), int64.
        step_ms: from one look to the next.
    """
    chances = early.first_rings(0, statistics)
    ends_ms = step_ms * np.arange(1, statistics.shape[1] + 1)
    return float(chances @ ends_ms + (1 - chances.sum()) * ends_ms[-1])


def early_tables(ways: Sequence[EarlyWay], gaussian: Gaussian | None = None) -> list[Fitting]:
    """Return what early alarms cost against how soon they ring, as a table; none without any.

    Args:
        ways: of all alarms.
        gaussian: what the budget promises; ``None`` for a pure one.
    """
    if not ways:
        return []
    rows = [
        (
            way.query,
            f"{way.mechanism}, {'every step' if way.early else 'at the end'}{' *' * way.used}",
            rounded_loss(gaussian, to_loss_units(way.epsilon)),
            *(delay_text(way.delays_ms[end]) if end in way.delays_ms else "" for end in _ENDS),
        )
        for way in ways
    ]
    title = (
        "early alarms: how long after passing the threshold they ring\n"
        "where the count grows evenly to so many per cent of it"
    )
    right = (loss_name(gaussian), *(f"{end}%" for end in _ENDS))
    return [Fitting.of(title, ("alarm", "decided"), right, rows, "* as configured")]


def early_lines(
    ways: Sequence[EarlyWay], gaussian: Gaussian | None = None
) -> Iterator[dict[str, object]]:
    """Yield the same as one JSON object a way.

    Args:
        ways: of all alarms.
        gaussian: what the budget promises; ``None`` for a pure one.
    """
    for way in ways:
        yield {
            "record": "early",
            "alarm": way.query,
            "mechanism": way.mechanism,
            "every_step": way.early,
            "configured": way.used,
            loss_name(gaussian): f"{float(way.epsilon):.12f}",
            "delay_s": {str(end): round(ms / 1000, 3) for end, ms in way.delays_ms.items()},
        }
