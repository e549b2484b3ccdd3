"""How often to look at a window: what an event pays, and how long after a jump the alarm rings.

The course is plain: at the window's start the count goes a tolerance beyond the first value that
should ring, and stays, so every look sees that. How long after the jump the alarm leaves, grace and
delay aside, is the expected end of the look that rings first, by the exact law of the first ring; a
window without a ring counts as its end.

Windows over panes slide, and the last window's length before a look is what it sees. Two looks that
share panes err together, so what is told of them is a bound: no look is the first to be quiet more
often than a look is quiet at all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.errors import ConfigError
from accountant.units import PrivacyUnit
from operators.registry import DEFAULT, OFFERED, create
from stream.decisions.mechanisms import early_of
from stream.planning.early import mean_ring_ms
from stream.windows.calendars import FixedCalendar
from stream.windows.cumulative import CumulativeCalendar

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

    from numpy.typing import NDArray

    from operators.descriptors import Mechanism
    from stream.model.alarms import Alarms
    from stream.model.queries import Query
    from stream.windows.calendars import Calendar

__all__ = ["Paced", "Pacing", "pacings"]

_LOOKS: Final = (1, 2, 3, 4, 6, 12, 30, 60)


@dataclass(frozen=True, slots=True)
class Paced:
    """One way to look so often.

    Args:
        mechanism: its name.
        windows: what is written in GROUP BY: TUMBLE (one look, at the end), CUMULATE or HOP.
        looks: at a window.
        step_ms: from one look to the next.
        epsilon: what an event pays, exact.
        delay_ms: expected from the jump to the ring.
        exact: whether it is the exact mean; else no more than this.
        used: whether this is what the configuration says.
    """

    mechanism: str
    windows: str
    looks: int
    step_ms: int
    epsilon: Fraction
    delay_ms: float
    exact: bool
    used: bool


@dataclass(frozen=True, slots=True)
class Pacing:
    """How often one alarm might look.

    Args:
        query: the alarm.
        window_ms: length of its windows.
        jumps_to: the count that every look sees, in the field's own unit.
        ways: fewest looks first.
    """

    query: str
    window_ms: int
    jumps_to: Fraction
    ways: tuple[Paced, ...]


def pacings(alarms: Alarms) -> tuple[Pacing, ...]:
    """Return how often the early alarms, and those over panes, of a file might look.

    Those of a count or sum that rings when it is large, as others have no such jump.
    """
    if alarms.budget.unit is not PrivacyUnit.EVENT:
        return ()
    found = (_pacing(query, alarms.settings.tick_ms) for query in alarms.queries.values())
    return tuple(each for each in found if each is not None)


def _pacing(query: Query, tick_ms: int) -> Pacing | None:
    calendar, condition = query.calendar, query.condition
    if not isinstance(calendar, CumulativeCalendar | FixedCalendar):
        return None
    if query.aim.looks == 1 and not query.panes:
        return None
    literals = condition.formula.literals
    if len(literals) != 1 or literals != condition.formula.atoms:
        return None
    atom = condition.atoms[literals[0]]
    spec = query.aggregates[atom.statistic]
    if not spec.never_negative:
        return None
    highest = int(atom.thresholds[0]) + query.aim.tolerances[0]
    own, size_ms = calendar.size_ms // calendar.step_ms, calendar.size_ms
    seen = np.zeros((condition.statistics, 1), np.int64)
    seen[atom.statistic] = highest
    ways = [
        way
        for looks in sorted({*_LOOKS, own})
        if size_ms % looks == 0 and size_ms // looks >= tick_ms
        for way in _ways(query, looks, size_ms, seen)
    ]
    return Pacing(query.id, size_ms, highest * spec.per_unit, tuple(ways))


def _ways(query: Query, looks: int, size_ms: int, seen: NDArray[np.int64]) -> Iterator[Paced]:
    """Yield every way to look so often that can keep the promise."""
    if looks == 1:
        aim = replace(query.aim, looks=1, panes=1, pane_units=0)
        once = DEFAULT.price(query.condition, aim).epsilon
        yield Paced(DEFAULT.name, "TUMBLE", 1, size_ms, once, float(size_ms), True, False)
        return
    for mechanism in OFFERED.values():
        try:
            yield from _ways_of(mechanism, query, looks, size_ms, seen)
        except ConfigError:  # its own way could be planned; another may not
            continue


def _ways_of(
    mechanism: Mechanism, query: Query, looks: int, size_ms: int, seen: NDArray[np.int64]
) -> Iterator[Paced]:
    name, step_ms = mechanism.name, size_ms // looks
    own = name == query.mechanism and _step_ms(query.calendar) == step_ms
    if mechanism.early is not None:
        aim = replace(query.aim, looks=looks, panes=1, pane_units=0)
        early = early_of(replace(query, mechanism=name, aim=aim))
        if early is not None:
            delay_ms = mean_ring_ms(early, np.repeat(seen, looks, axis=1), step_ms)
            epsilon = early.plan.epsilon
            used = own and query.aim.looks > 1
            yield Paced(name, "CUMULATE", looks, step_ms, epsilon, delay_ms, True, used)
    if mechanism.panes is not None and all(each.adds_up for each in query.aggregates):
        used = own and bool(query.panes) and query.aim.looks == 1
        alone = replace(query.aim, looks=1, panes=looks, pane_units=0)
        # Others may ask more of the panes that it has, and it pays for those.
        over = create(name, query.condition, query.aim if used else alone)
        rings = over.chances(0, seen)
        if rings is not None:
            most = 1 + (looks - 1) * (1 - float(rings[0]))
            yield Paced(name, "HOP", looks, step_ms, over.plan.epsilon, step_ms * most, False, used)


def _step_ms(calendar: Calendar) -> int | None:
    """Return how far apart the looks of fixed windows are; ``None`` for those of local days."""
    return calendar.step_ms if isinstance(calendar, CumulativeCalendar | FixedCalendar) else None
