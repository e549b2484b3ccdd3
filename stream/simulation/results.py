"""What a simulation found out: typed figures, once, for the terminal, JSON and the page.

All of it is private but the plans: it is computed from exact statistics. As JSON it has the keys of
``docs/how-to/evaluate-on-history.md``.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from importlib.metadata import version
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
from msgspec import UNSET, UnsetType
from scipy.special import betaincinv

from accountant.units import PrivacyUnit, from_loss_units
from operators.registry import OFFERED
from stream.config.alarms.tolerances import tolerance_text
from stream.model.alarms import cells_per_unit, scope_of
from stream.model.holds import in_runs
from stream.simulation.plays import operator_tried
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
    from stream.simulation.variants import Variant

__all__ = [
    "CONFIDENCE",
    "NOTHING_TRUE",
    "AlarmResults",
    "Law",
    "Losses",
    "Rate",
    "Setting",
    "SeverityRates",
    "Simulation",
    "as_json",
    "interval",
    "results_of",
]

_AUDIENCE: Final = (
    "custodian only: computed from private data without noise; it must not be published"
)
_CAVEAT: Final = (
    "Figures of private data: a setting that is picked by them reveals something of this history,"
    " which no budget accounts for. Simulate a history outside the live budget (older than its"
    " first period, or of people it does not protect), or synthetic events."
)
NOTHING_TRUE: Final = "No true alarm in this history: how many would be missed cannot be measured"
CONFIDENCE: Final = 0.95
"""Of the intervals around measured rates."""

_IN_WORDS: Final = frozenset({"timezone", "setting", "notes"})
"""What only people read."""
_BEYOND_DOUBT: Final = 0.999_999  # many settings are compared: chance must not accuse one


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
class Losses(Law):
    """A law of realised losses.

    Args:
        distribution: every loss, ascending, with its share.
    """

    distribution: tuple[Mapping[str, float], ...] = ()

    @classmethod
    def counted(cls, units: Counter[int]) -> Losses:
        """Return the law of losses that were counted by loss units."""
        total = units.total()
        shares = (
            {"epsilon": float(from_loss_units(each)), "share": units[each] / total}
            for each in sorted(units)
        )
        return replace(cls.of(units, from_loss_units(1)), distribution=tuple(shares))


@dataclass(frozen=True, slots=True)
class SeverityRates:
    """Misses and false alarms of one severity level, counting higher ones as it.

    Args:
        severity: its name.
        fnr: as of a setting.
        fpr: likewise.
    """

    severity: str
    fnr: Rate
    fpr: Rate


@dataclass(frozen=True, slots=True)
class Setting:
    """One alarm in one variant of the file, and what it did.

    Args:
        setting: what distinguishes it, in words.
        mechanism: that decided it.
        configured: whether the file says so.
        baseline: whether the mechanism keeps no ``max_fnr``.
        tolerance: as the file would have it.
        first_tolerance: likewise; ``None`` of a mechanism without.
        max_fnr: promised.
        max_fpr: asked for; ``None`` where none is.
        denied: the share of windows that a budget denied.
        keeps_max_fnr: whether the miss rate is not shown, beyond doubt, to be above ``max_fnr``.
        fnr: true cells that did not fire.
        fpr: cells false beyond their tolerance that fired.
        uncertain: cells in between that fired: either answer is right.
        severities: of every level.
        epsilon_worst: what a cell loses in the worst case, from configuration alone.
        epsilon_limit: the least that any mechanism could.
        epsilon_cell: realised loss of a cell.
        epsilon_highest_cells: of the highest-cost cells that one privacy unit reaches in a window.
        distribution: of the loss of a cell: every loss, ascending, with its share.
        charged_windows: how often one event pays what a cell loses: once for each window that it
            lies in, or once for its pane.
        before: of early alarms, true cells that fired before their condition held, which is false.
        delay_s: of early alarms, from the end of the first step at which the condition held to the
            end of the one that fired, in seconds.
        delay_steps: of early alarms, in how many steps how many fired.
    """

    setting: str
    mechanism: str
    configured: bool
    baseline: bool
    tolerance: str
    first_tolerance: str | None
    max_fnr: float
    max_fpr: float | None
    denied: float
    keeps_max_fnr: bool
    fnr: Rate
    fpr: Rate
    uncertain: Rate
    severities: tuple[SeverityRates, ...]
    epsilon_worst: float
    epsilon_limit: float
    epsilon_cell: Losses
    epsilon_highest_cells: Law
    charged_windows: int
    before: Rate | UnsetType = UNSET
    delay_s: Law | UnsetType = UNSET
    delay_steps: tuple[Mapping[str, int], ...] | UnsetType = UNSET


@dataclass(frozen=True, slots=True)
class AlarmResults:
    """One alarm, every way that it was replayed.

    Args:
        alarm: its name.
        sql: as written.
        budget: the name of its budget.
        windows: that were replayed.
        incomplete_windows: left out since the log no longer holds all of them.
        first_window: start of the first.
        last_window: start of the last.
        cells: groups of a window.
        looks: steps of a window.
        cells_per_unit: cells of a window that one privacy unit reaches.
        settings: as written first, then changed.
        refused: why it could not be changed otherwise.
        notes: what is wrong with what was found, or could not be.
    """

    alarm: str
    sql: str
    budget: str
    windows: int
    incomplete_windows: int
    first_window: str
    last_window: str
    cells: int
    looks: int
    cells_per_unit: int
    settings: tuple[Setting, ...]
    refused: tuple[str, ...]
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
        runs: replays of every variant.
        confidence: of the intervals.
        alarms: in the order of the file.
    """

    format: str = "tocsin.simulation.2"
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


def as_json(simulation: Simulation) -> dict[str, Any]:
    """Return all figures, ready for ``json.dumps``; what is unset is left out."""

    def figures(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        return {name: each for name, each in pairs if each is not UNSET and name not in _IN_WORDS}

    return asdict(simulation, dict_factory=figures)


def results_of(
    alarms: Alarms,
    variants: Sequence[Variant],
    counted: Mapping[str, CountedAlarm],
    tallies: Sequence[Mapping[str, Tally]],
    runs: int,
) -> Simulation:
    """Sort what came of the variants by alarm.

    Args:
        alarms: the configuration.
        variants: what was replayed, as written first.
        counted: per alarm.
        tallies: of every variant, by alarm.
        runs: replays of each.
    """
    return Simulation(
        configuration=alarms.file,
        timezone=alarms.timezone,
        unit=alarms.budget.unit.value,
        epsilon_max=float(alarms.budget.epsilon_max),
        runs=runs,
        alarms=tuple(
            _alarm(alarms.by_name[name], alarms, variants, counted[name], tallies)
            for name in variants[0].tried
        ),
    )


def _alarm(
    asked: Alarm,
    alarms: Alarms,
    variants: Sequence[Variant],
    counted: CountedAlarm,
    tallies: Sequence[Mapping[str, Tally]],
) -> AlarmResults:
    name = asked.id
    settings: list[Setting] = []
    notes: list[str] = []
    by_event = alarms.budget.unit is PrivacyUnit.EVENT
    for variant, tally in zip(variants, tallies, strict=True):
        if name in variant.tried:
            alarm = variant.alarms.by_name[name]
            charged = alarm.calendar.charged if by_event and not alarm.panes else 1
            one = _setting(alarm, asked, tally[name], configured=not settings, charged=charged)
            settings.append(one)
            notes += _notes(one, alarm, tally[name])
    if not tallies[0][name].cells.true:
        notes.insert(0, NOTHING_TRUE)
    first, last = (iso_utc(int(counted.starts_ms[at])) for at in (0, -counted.looks))
    return AlarmResults(
        alarm=name,
        sql=asked.sql,
        budget=scope_of(asked, alarms),
        windows=counted.windows,
        incomplete_windows=counted.incomplete,
        first_window=first,
        last_window=last,
        cells=len(asked.domain),
        looks=counted.looks,
        cells_per_unit=cells_per_unit(asked, alarms.budget),
        settings=tuple(settings),
        refused=tuple(each.refused[name] for each in variants if name in each.refused),
        notes=tuple(notes),
    )


def _setting(
    alarm: Alarm, asked: Alarm, tally: Tally, *, configured: bool, charged: int
) -> Setting:
    aim, cells, plan = alarm.aim, tally.cells, operator_tried(alarm).plan
    calendar, first = alarm.calendar, aim.first_tolerances
    false = [(each.false_alarms, each.false) for each in tally.replays]

    def rate(count: int, of: int, replays: Sequence[tuple[int, int]]) -> Rate:
        return Rate.measured(count, of, _shared(alarm, tally, replays, count, of))

    levels: dict[str, Cells] = {}
    for severity, decided in tally.severities:
        levels[severity] = levels.get(severity, Cells()) + decided
    found = Setting(
        setting=_name(alarm, asked) + " *" * configured,
        mechanism=alarm.mechanism,
        configured=configured,
        baseline=alarm.mechanism not in OFFERED,
        tolerance=tolerance_text(alarm, aim.tolerances),
        first_tolerance=tolerance_text(alarm, first) if first else None,
        max_fnr=float(aim.max_fnr),
        max_fpr=None if aim.max_fpr is None else float(aim.max_fpr),
        denied=tally.denied / tally.windows,
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
        epsilon_worst=float(plan.epsilon),
        epsilon_limit=plan.limit,
        epsilon_cell=Losses.counted(tally.losses),
        epsilon_highest_cells=Law.of(tally.highest, from_loss_units(1)),
        charged_windows=charged,
    )
    if not isinstance(calendar, CumulativeCalendar):
        return found
    steps = ({"steps": each, "count": tally.delays[each]} for each in sorted(tally.delays))
    return replace(
        found,
        before=Rate.measured(tally.early, cells.true),
        delay_s=Law.of(tally.delays, Fraction(calendar.step_ms, 1000)),
        delay_steps=tuple(steps),
    )


def _notes(one: Setting, alarm: Alarm, tally: Tally) -> Iterator[str]:
    """Yield what is wrong with what was found of a setting."""
    cells = tally.cells
    asked = cells.missed - tally.unasked_missed, cells.true - tally.unasked
    if not one.baseline and not _keeps(alarm, tally, *asked):
        yield f"{one.setting} missed more than max_fnr allows: please report this"
    elif tally.unasked_missed and not one.keeps_max_fnr:
        yield f"{one.setting}: budget denied windows, or an SVT run was spent: they count as missed"


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


def _name(alarm: Alarm, asked: Alarm) -> str:
    """Return what distinguishes a variant: of several comparisons the first tolerance alone."""
    aim, own = alarm.aim, asked.aim
    tolerance = tolerance_text(alarm, aim.tolerances)
    if len(aim.tolerances) > 1:
        pairs = zip(aim.tolerances, own.tolerances, strict=True)
        factor = next((each / first for each, first in pairs if first), 1.0)
        tolerance = f"tolerance x{factor:.3g}"
    rate = f", {float(aim.max_fnr):g}" if aim.max_fnr != own.max_fnr else ""
    return f"{alarm.mechanism}, {tolerance}{rate}"
