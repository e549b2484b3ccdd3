"""What a simulation found out: typed figures, once, for the terminal and for JSON.

All of it is private: it is computed from exact statistics. As JSON it has the keys of
``docs/how-to/evaluate-on-history.md``.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from importlib.metadata import version
from itertools import accumulate
from typing import TYPE_CHECKING, Final, Self

import numpy as np
from scipy.special import betaincinv

from accountant.units import from_loss_units
from stream.decisions.mechanisms import price_of
from stream.model.holds import in_runs
from stream.simulation.tally import Cells
from stream.windows.cumulative import CumulativeCalendar
from stream.windows.instants import iso_utc

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator, Mapping, Sequence

    from stream.model.alarm import Alarm
    from stream.model.alarms import Alarms
    from stream.simulation.history import CountedAlarm
    from stream.simulation.tally import Tally

__all__ = [
    "CONFIDENCE",
    "NOTHING_TRUE",
    "AlarmResults",
    "Delays",
    "Law",
    "Rate",
    "SeverityRates",
    "Simulation",
    "interval",
    "results_of",
]

_AUDIENCE: Final = (
    "custodian only: computed from private data without noise; it must not be published"
)
_CAVEAT: Final = (
    "Figures of private data: an alarm that is chosen by them reveals something of this history,"
    " which no budget accounts for. Simulate a history outside the live budget (older than its"
    " first period, or of people it does not protect), or synthetic events."
)
NOTHING_TRUE: Final = "No true alarm in this history: how many would be missed cannot be measured"
CONFIDENCE: Final = 0.95
"""Of the intervals around measured rates."""

_BEYOND_DOUBT: Final = 0.999_999  # many simulations are run: chance must not accuse an alarm


def interval(count: int, of: int, confidence: float, *, shared: float = 1.0) -> tuple[float, float]:
    """Return a Clopper-Pearson interval; all of [0, 1] where nothing was tried.

    Draws of one cell are independent, and rates that differ between cells only narrow the law of
    their mean, so the interval holds for the mean rate over the cells of this history.

    Args:
        count: times something happened.
        of: times it could have.
        confidence: of the interval.
        shared: by how much draws count for less than independent ones, >= 1.

    Source: Korn and Graubard, Confidence intervals for proportions with small expected number of
    positive counts estimated from survey data (1998), for draws in runs.
    """
    each_side = (1 - confidence) / 2
    happened, tried = count / shared, of / shared
    low, high = 0.0, 1.0
    if count:
        low = float(betaincinv(happened, tried - happened + 1, each_side))
    if count < of:
        high = float(betaincinv(happened + 1, tried - happened, 1 - each_side))
    return low, high


@dataclass(frozen=True, slots=True)
class Rate:
    """How often something happened, with its interval at ``CONFIDENCE``.

    Args:
        value: the rate; ``None`` where it could never happen.
        low: of the interval.
        high: of the interval.
        count: times it happened.
        of: times it could have.
    """

    value: float | None
    low: float
    high: float
    count: int
    of: int

    @classmethod
    def measured(cls, count: int, of: int, shared: float = 1.0) -> Rate:
        """Return the rate of some draws, as :func:`interval` has them."""
        ends = interval(count, of, CONFIDENCE, shared=shared)
        return cls(count / of if of else None, *ends, count, of)


@dataclass(frozen=True, slots=True)
class Law:
    """A law of losses, or of delays; of nothing all is ``None``.

    Args:
        mean: of the law.
        median: the least value that at least half of all do not pass.
        p95: that at least 95 % do not pass.
        max: the largest.
    """

    mean: float | None
    median: float | None
    p95: float | None
    max: float | None

    @classmethod
    def of(cls, counted: Counter[int], unit: Fraction) -> Self:
        """Return the law of values that were counted in some unit."""
        if not counted:
            return cls(None, None, None, None)
        levels, total = sorted(counted), counted.total()
        mean = sum(level * counted[level] for level in levels) * unit / total
        reached = list(accumulate(counted[level] for level in levels))
        middle, most = (bisect_left(reached, Fraction(each, 100) * total) for each in (50, 95))
        found = (mean, *(levels[at] * unit for at in (middle, most, -1)))
        return cls(*map(float, found))


@dataclass(frozen=True, slots=True)
class SeverityRates:
    """Misses and false alarms of one severity level, counting higher ones as it.

    Args:
        severity: its name.
        fnr: as of an alarm.
        fpr: likewise.
    """

    severity: str
    fnr: Rate
    fpr: Rate


@dataclass(frozen=True, slots=True)
class Delays:
    """When an early alarm fired.

    Args:
        before: true cells that fired before their condition held, which is false.
        delay_s: from the end of the first step at which the condition held to the end of the one
            that fired, in seconds.
    """

    before: Rate
    delay_s: Law


@dataclass(frozen=True, slots=True)
class AlarmResults:
    """One alarm, and what it did.

    Args:
        alarm: its name.
        mechanism: that decides it.
        windows: that were replayed.
        incomplete_windows: left out since the log no longer holds all of them.
        first_window: start of the first.
        last_window: start of the last.
        cells: groups of a window.
        looks: steps of a window.
        denied: the share of windows that a budget denied.
        max_fnr: promised.
        keeps_max_fnr: whether the miss rate is not shown, beyond doubt, to be above ``max_fnr``.
        fnr: true cells that did not fire.
        fpr: cells false beyond their tolerance that fired.
        uncertain: cells in between that fired: either answer is right.
        severities: of every level.
        epsilon_worst: what a cell loses in the worst case, from configuration alone.
        epsilon_cell: realised loss of a cell.
        epsilon_highest_cells: of the highest-cost cells that one privacy unit reaches in a window.
        early: of early alarms; ``None`` of others.
        notes: what is wrong with what was found.
    """

    alarm: str
    mechanism: str
    windows: int
    incomplete_windows: int
    first_window: str
    last_window: str
    cells: int
    looks: int
    denied: float
    max_fnr: float
    keeps_max_fnr: bool
    fnr: Rate
    fpr: Rate
    uncertain: Rate
    severities: tuple[SeverityRates, ...]
    epsilon_worst: float
    epsilon_cell: Law
    epsilon_highest_cells: Law
    early: Delays | None
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """Everything one simulation found out.

    Args:
        format: name and version of what it is as JSON.
        audience: who may see any of this.
        caveat: what is wrong with choosing by it.
        tocsin: version.
        configuration: the name of its file.
        timezone: of the file.
        unit: of privacy.
        epsilon_max: of the budget.
        runs: replays of the history.
        confidence: of the intervals.
        alarms: in the order of the file.
    """

    format: str = "tocsin.simulation.3"
    audience: str = _AUDIENCE
    caveat: str = _CAVEAT
    tocsin: str = version("tocsin")
    configuration: str
    timezone: str
    unit: str
    epsilon_max: float
    runs: int
    confidence: float = CONFIDENCE
    alarms: tuple[AlarmResults, ...]


def results_of(
    alarms: Alarms,
    names: Sequence[str],
    counted: Mapping[str, CountedAlarm],
    tallies: Mapping[str, Tally],
    runs: int,
) -> Simulation:
    """Return the figures of what came of some alarms.

    Args:
        alarms: the configuration.
        names: of the alarms that are shown.
        counted: per alarm.
        tallies: of all replays, by alarm.
        runs: replays.
    """
    return Simulation(
        configuration=alarms.file,
        timezone=alarms.timezone,
        unit=alarms.budget.unit.value,
        epsilon_max=float(alarms.budget.epsilon_max),
        runs=runs,
        alarms=tuple(_alarm(alarms.by_name[name], counted[name], tallies[name]) for name in names),
    )


def _alarm(alarm: Alarm, counted: CountedAlarm, tally: Tally) -> AlarmResults:
    cells, calendar = tally.cells, alarm.calendar
    false = [(each.false_alarms, each.false) for each in tally.replays]

    def rate(count: int, of: int, replays: Sequence[tuple[int, int]]) -> Rate:
        return Rate.measured(count, of, _shared(alarm, tally, replays, count, of))

    levels: defaultdict[str, Cells] = defaultdict(Cells)
    for severity, decided in tally.severities:
        levels[severity] += decided
    early = None
    if isinstance(calendar, CumulativeCalendar):
        step_s = Fraction(calendar.step_ms, 1000)
        early = Delays(Rate.measured(tally.early, cells.true), Law.of(tally.delays, step_s))
    first, last = (iso_utc(int(counted.starts_ms[at])) for at in (0, -counted.looks))
    return AlarmResults(
        alarm=alarm.id,
        mechanism=alarm.mechanism,
        windows=counted.windows,
        incomplete_windows=counted.incomplete,
        first_window=first,
        last_window=last,
        cells=len(alarm.domain),
        looks=counted.looks,
        denied=tally.denied / tally.windows,
        max_fnr=float(alarm.aim.max_fnr),
        keeps_max_fnr=_keeps(alarm, tally, cells.missed, cells.true),
        fnr=rate(cells.missed, cells.true, _misses(tally)),
        fpr=rate(cells.false_alarms, cells.false, false),
        uncertain=Rate.measured(cells.uncertain_fired, cells.uncertain),
        severities=tuple(
            SeverityRates(
                severity,
                Rate.measured(each.missed, each.true),
                Rate.measured(each.false_alarms, each.false),
            )
            for severity, each in levels.items()
        ),
        epsilon_worst=float(price_of(alarm).epsilon),
        epsilon_cell=Law.of(tally.losses, from_loss_units(1)),
        epsilon_highest_cells=Law.of(tally.highest, from_loss_units(1)),
        early=early,
        notes=tuple(_notes(alarm, tally)),
    )


def _notes(alarm: Alarm, tally: Tally) -> Iterator[str]:
    """Yield what is wrong with what was found of an alarm."""
    cells = tally.cells
    missed, true = cells.missed - tally.unasked_missed, cells.true - tally.unasked
    if not cells.true:
        yield NOTHING_TRUE
    elif not _keeps(alarm, tally, missed, true):
        yield "missed more than max_fnr allows: please report this"
    elif tally.unasked_missed and not _keeps(alarm, tally, cells.missed, cells.true):
        yield "budget denied windows, or an SVT run was spent: they count as missed"


def _misses(tally: Tally) -> list[tuple[int, int]]:
    """Return the misses of each replay, and its true cells."""
    return [(each.missed, each.true) for each in tally.replays]


def _keeps(alarm: Alarm, tally: Tally, missed: int, true: int) -> bool:
    """Whether a miss rate is not shown, beyond doubt, to be above ``max_fnr``."""
    shared = _shared(alarm, tally, _misses(tally), missed, true)
    return interval(missed, true, _BEYOND_DOUBT, shared=shared)[0] <= alarm.aim.max_fnr


def _shared(
    alarm: Alarm, tally: Tally, replays: Sequence[tuple[int, int]], count: int, of: int
) -> float:
    """Return by how much draws count for less than independent ones: at least 1.

    Draws that share noise, or a budget that denies some, are not independent: it is the variance
    over replays of the mean, over what it would be if they were. Where something never happened, or
    always, nothing is known: then a replay counts as one draw.

    Args:
        alarm: whose draws these are.
        tally: of its replays.
        replays: how often something happened in each replay, and could have.
        count: times it happened.
        of: times it could have.
    """
    if not (in_runs(alarm) or alarm.panes or tally.denied):
        return 1.0
    happened, could = np.array([each for each in replays if each[1]], np.float64).reshape(-1, 2).T
    runs = len(could)
    if runs < 2 or not 0 < count < of:
        return max(1.0, of / max(runs, 1))
    rate = count / of
    apart = float(((happened - rate * could) ** 2).sum())
    return max(1.0, apart * runs / (runs - 1) / (of * rate * (1 - rate)))
