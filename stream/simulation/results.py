"""What trials measured: error rates with their confidence, losses.

Everything here is private but the plans: it is computed from exact statistics.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from scipy.special import betaincinv

from accountant.units import PrivacyUnit, from_loss_units
from operators.registry import ALL
from stream.model.alarms import cells_per_unit
from stream.simulation.plays import operator_tried

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Mapping, Sequence

    from operators.base import Plan
    from stream.model.alarm import Alarm
    from stream.model.alarms import Alarms
    from stream.simulation.draws.spread import Spread
    from stream.simulation.draws.tally import Tally
    from stream.simulation.history import CountedAlarm
    from stream.simulation.variants import Variant

__all__ = [
    "AUDIENCE",
    "CAVEAT",
    "CONFIDENCE",
    "AlarmResults",
    "Losses",
    "Rate",
    "Simulation",
    "Tried",
    "results_of",
]

AUDIENCE: Final = (
    "custodian only: computed from private data without noise; it must not be published"
)
"""Who may see any of this."""
CAVEAT: Final = (
    "Figures of private data: a setting that is picked by them reveals something of this history,"
    " which no budget accounts for. Simulate a history outside the live budget (older than its"
    " first period, or of people it does not protect), or synthetic events."
)
"""What is wrong with choosing by it."""
CONFIDENCE: Final = 0.95
"""Of the intervals around measured rates."""

_BEYOND_DOUBT: Final = 0.999_999  # many settings are compared: chance must not accuse one


@dataclass(frozen=True, slots=True)
class Rate:
    """How often something happened, with a Clopper-Pearson interval.

    Draws of one cell are independent, and rates that differ between cells only narrow the law of
    their mean, so the interval holds for the mean rate over the cells of this history. Draws that
    share noise, or a budget that denies some, are not: they count for as many fewer as their spread
    over replays says.

    Args:
        count: times it happened.
        of: times it could have.
        shared: by how much draws count for less than independent ones, >= 1.

    Source: Korn and Graubard, Confidence intervals for proportions with small expected number of
    positive counts estimated from survey data (1998), for draws in runs.
    """

    count: int
    of: int
    shared: float = 1.0

    @property
    def value(self) -> float | None:
        """The rate; ``None`` where it could never happen."""
        return self.count / self.of if self.of else None

    @property
    def interval(self) -> tuple[float, float]:
        """The interval at ``CONFIDENCE``; all of [0, 1] where nothing was tried."""
        return self.interval_at(CONFIDENCE)

    def interval_at(self, confidence: float) -> tuple[float, float]:
        """Return the interval at another confidence."""
        each_side = (1 - confidence) / 2
        low, high = 0.0, 1.0
        count, of = self.count / self.shared, self.of / self.shared
        if self.count:
            low = float(betaincinv(count, of - count + 1, each_side))
        if self.count < self.of:
            high = float(betaincinv(count + 1, of - count, 1 - each_side))
        return low, high


@dataclass(frozen=True, slots=True)
class Losses:
    """A law of realised losses.

    Args:
        epsilons: the losses that occurred, ascending.
        shares: share of each; they add up to 1.
    """

    epsilons: tuple[float, ...]
    shares: tuple[float, ...]

    @classmethod
    def of(cls, counted: Counter[int]) -> Losses:
        """Return the law of losses counted by loss units, at least one."""
        units, total = sorted(counted), counted.total()
        return cls(
            tuple(float(from_loss_units(each)) for each in units),
            tuple(counted[each] / total for each in units),
        )

    @property
    def mean(self) -> float:
        """Mean loss."""
        return sum(eps * share for eps, share in zip(self.epsilons, self.shares, strict=True))

    @property
    def most(self) -> float:
        """The largest loss."""
        return self.epsilons[-1]

    def quantile(self, share: float) -> float:
        """Return the least loss that at least such a share does not pass."""
        reached = list(accumulate(self.shares))
        at = bisect_left(reached, share - 1e-12)
        return self.epsilons[min(at, len(self.epsilons) - 1)]


@dataclass(frozen=True, slots=True, eq=False)
class Tried:
    """One alarm in one variant of the file, and what it did.

    Args:
        alarm: the alarm, as it was replayed.
        plan: its worst case, from configuration alone.
        tally: of all replays.
        configured: whether the file says so.
        charged: how often one event pays what a cell loses: once for each window that it lies in,
            or once for its pane.
    """

    alarm: Alarm
    plan: Plan
    tally: Tally
    configured: bool = True
    charged: int = 1

    @property
    def fnr(self) -> Rate:
        """True cells that did not fire."""
        return self._rate(self.tally.missed, self.tally.true, self.tally.missed_spread)

    @property
    def fpr(self) -> Rate:
        """Cells false beyond their tolerance that fired."""
        return self._rate(self.tally.false_alarms, self.tally.false, self.tally.false_spread)

    @property
    def severities(self) -> dict[str, tuple[Rate, Rate]]:
        """Misses and false alarms of every severity level, counting higher ones as it."""
        return {
            name: (Rate(one.missed, one.true), Rate(one.false_alarms, one.false))
            for name, one in self.tally.severities.items()
        }

    @property
    def uncertain(self) -> Rate:
        """Cells between true and false beyond tolerance that fired: either answer is right."""
        return Rate(self.tally.uncertain_fired, self.tally.uncertain)

    @property
    def before(self) -> Rate:
        """Of early alarms: true cells that fired before their condition held, which is false."""
        return Rate(self.tally.delays.before, self.tally.true)

    def _rate(self, count: int, of: int, spread: Spread) -> Rate:
        mechanism, alarm = ALL[self.alarm.mechanism], self.alarm
        in_runs = mechanism.run is not None and alarm.aim.looks == 1
        together = in_runs or alarm.panes or self.tally.denied
        return Rate(count, of, spread.shared(count, of) if together else 1.0)

    @property
    def denied(self) -> float:
        """The share of windows that a budget denied."""
        return self.tally.denied / self.tally.windows

    @property
    def losses(self) -> Losses:
        """Realised loss of a cell."""
        return Losses.of(self.tally.losses)

    @property
    def highest(self) -> Losses:
        """Realised loss of the highest-cost cells that one privacy unit reaches in a window."""
        return Losses.of(self.tally.highest)

    @property
    def keeps(self) -> bool:
        """Whether the miss rate is not shown, beyond doubt, to be above ``max_fnr``."""
        return self._within(self.fnr)

    @property
    def broken(self) -> bool:
        """Whether too much was missed, beyond doubt, of what was asked in full."""
        missed = self.tally.missed - self.tally.unasked_missed
        true = self.tally.true - self.tally.unasked
        return not self._within(self._rate(missed, true, self.tally.missed_spread))

    def _within(self, missed: Rate) -> bool:
        return missed.interval_at(_BEYOND_DOUBT)[0] <= self.alarm.aim.max_fnr


@dataclass(frozen=True, slots=True, eq=False)
class AlarmResults:
    """One alarm, every way that it was replayed.

    Args:
        alarm: as written.
        counted: its windows.
        reached: cells of a window that one privacy unit reaches.
        tried: as written first, then changed.
        refused: why it could not be changed otherwise.
    """

    alarm: Alarm
    counted: CountedAlarm
    reached: int
    tried: tuple[Tried, ...]
    refused: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Simulation:
    """Everything one simulation found out.

    Args:
        alarms: the configuration.
        runs: replays of every variant.
        results: per alarm.
    """

    alarms: Alarms
    runs: int
    results: tuple[AlarmResults, ...]


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
    by_event = alarms.budget.unit is PrivacyUnit.EVENT
    found = []
    for name in variants[0].tried:
        tried: list[Tried] = []
        for variant, tally in zip(variants, tallies, strict=True):
            if name in variant.tried:
                alarm = variant.alarms.by_name[name]
                charged = alarm.calendar.charged if by_event and not alarm.panes else 1
                plan = operator_tried(alarm).plan
                tried.append(Tried(alarm, plan, tally[name], not tried, charged))
        refused = tuple(each.refused[name] for each in variants if name in each.refused)
        alarm = alarms.by_name[name]
        reached = cells_per_unit(alarm, alarms.budget)
        found.append(AlarmResults(alarm, counted[name], reached, tuple(tried), refused))
    return Simulation(alarms, runs, tuple(found))
