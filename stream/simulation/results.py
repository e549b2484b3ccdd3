"""What trials measured: error rates with their confidence, losses, min-entropy.

Everything here is private but the plans: it is computed from exact statistics.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from scipy.special import betaincinv

from accountant.units import PrivacyUnit, from_loss_units

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Mapping

    from operators.base import Plan
    from stream.model.alarms import Alarms
    from stream.model.queries import Query
    from stream.simulation.draws.spread import Spread
    from stream.simulation.draws.tally import Tally
    from stream.simulation.history import CountedAlarm
    from stream.simulation.settings import Setting, Untried

__all__ = [
    "AUDIENCE",
    "CONFIDENCE",
    "AlarmResults",
    "Losses",
    "Measured",
    "Rate",
    "Simulation",
    "rates_of",
]

AUDIENCE: Final = (
    "custodian only: computed from private data without noise; it must not be published"
)
"""Who may see any of this."""
CONFIDENCE: Final = 0.95
"""Of the intervals around measured rates."""

_BEYOND_DOUBT: Final = 0.999_999  # many settings are compared: chance must not accuse one


@dataclass(frozen=True, slots=True)
class Rate:
    """How often something happened, with a Clopper-Pearson interval.

    Draws of one cell are independent, and rates that differ between cells only narrow the law of
    their mean, so the interval holds for the mean rate over the cells of this history. Draws that
    share a run's threshold are not: they count for as many fewer as their spread over runs says.

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


def rates_of(tally: Tally) -> tuple[Rate, Rate]:
    """Return misses of true cells, and rings of false ones, of independent draws."""
    return Rate(tally.missed, tally.true), Rate(tally.false_rings, tally.false)


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
class Measured:
    """One setting and what it did.

    Args:
        setting: what was tried.
        plan: its worst case, from configuration alone.
        fits: whether the budget carries all alarms when this one is set so.
        tally: of all draws.
        charged: how often one event pays what a cell loses: once for each window that it lies in,
            or once for its pane.
    """

    setting: Setting
    plan: Plan
    fits: bool
    tally: Tally
    charged: int = 1

    @property
    def fnr(self) -> Rate:
        """True cells that did not ring."""
        return self._rate(self.tally.missed, self.tally.true, self.tally.missed_spread)

    @property
    def fpr(self) -> Rate:
        """Cells false beyond their tolerance that rang."""
        return self._rate(self.tally.false_rings, self.tally.false, self.tally.false_spread)

    @property
    def severities(self) -> dict[str, tuple[Rate, Rate]]:
        """Misses and false rings of every severity level, counting higher ones as it."""
        return {name: rates_of(one) for name, one in self.tally.severities.items()}

    @property
    def uncertain(self) -> Rate:
        """Cells between true and false beyond tolerance that rang: either answer is right."""
        return Rate(self.tally.uncertain_rings, self.tally.uncertain)

    @property
    def before(self) -> Rate:
        """Of early alarms: true cells that rang before their condition held, which is false."""
        return Rate(self.tally.delays.before, self.tally.true)

    def _rate(self, count: int, of: int, spread: Spread) -> Rate:
        together = self.setting.in_runs or self.setting.over_panes
        return Rate(count, of, spread.shared(count, of) if together else 1.0)

    @property
    def losses(self) -> Losses:
        """Realised loss of a cell."""
        return Losses.of(self.tally.losses)

    @property
    def dearest(self) -> Losses:
        """Realised loss of the dearest cells that one privacy unit reaches in a window."""
        return Losses.of(self.tally.dearest)

    @property
    def entropy(self) -> float:
        """Mean over the windows of the normalised min-entropy of their losses."""
        return self.tally.entropy / self.tally.windows

    @property
    def keeps(self) -> bool:
        """Whether the miss rate is not shown, beyond doubt, to be above ``max_fnr``."""
        return self._within(self.fnr)

    @property
    def broken(self) -> bool:
        """Whether too much was missed, beyond doubt, of what was asked before a run was spent."""
        missed = self.tally.missed - self.tally.unasked_missed
        true = self.tally.true - self.tally.unasked
        return not self._within(self._rate(missed, true, self.tally.missed_spread))

    @property
    def spent(self) -> bool:
        """Whether true cells were left without an answer, as a run was spent."""
        return self.tally.unasked > 0

    def _within(self, missed: Rate) -> bool:
        return missed.interval_at(_BEYOND_DOUBT)[0] <= self.setting.aim.max_fnr


@dataclass(frozen=True, slots=True, eq=False)
class AlarmResults:
    """One alarm, every setting of it.

    Args:
        query: the alarm.
        counted: its windows.
        measured: settings that were tried, in order.
        untried: settings that were not, with reasons.
    """

    query: Query
    counted: CountedAlarm
    measured: tuple[Measured, ...]
    untried: tuple[Untried, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Simulation:
    """Everything one simulation found out.

    Args:
        alarms: the configuration.
        runs: draws of every window.
        results: per alarm.
        reached: per alarm, cells of a window that one privacy unit reaches.
    """

    alarms: Alarms
    runs: int
    results: tuple[AlarmResults, ...]
    reached: Mapping[str, int]

    @property
    def by_person(self) -> bool:
        """Whether the privacy unit may reach several cells of a window."""
        return self.alarms.budget.unit is PrivacyUnit.USER
