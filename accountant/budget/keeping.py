"""What alarms keep of a budget from one another: shares, and what open runs may still cost.

Unit ``user``. An alarm that was given a share keeps what it has not drawn of it yet, in every
period. A run that is open keeps, in the periods it touches, what the alarms it has left may cost.
Both are looked at by the questions of *other* alarms only: what an alarm keeps is its own.

Guarantee: what is kept is never negative, and a function of how the windows before the one asked
about ended, of public configuration, and of acts of the custodian. So a filter that keeps it still
holds the wall, and its answers tell no more than the transcript does. Proof:
``docs/research/proofs/filter.md``.
"""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from accountant.budget.standings import Standing

__all__ = ["Keeper", "Keepers", "OpenRun"]


class OpenRun(NamedTuple):
    """A run that the next window of its query can go on with.

    Args:
        periods: starts (ms) of the budget periods that each of its windows touches.
        left_units: what the alarms it has left may cost.
        until_ms: it has no window that ends as late; ``None`` where it may have some for as long as
            its period lasts.
    """

    periods: tuple[int, ...]
    left_units: int
    until_ms: int | None

    @classmethod
    def after(
        cls, start_ms: int, end_ms: int, periods: tuple[int, ...], left_units: int
    ) -> Self | None:
        """Return the run as one of its windows left it; ``None`` where that spent it.

        Its windows touch the first of its periods: they start before the second one does. They are
        of one length, but for days on which clocks change: twice as long covers those.
        """
        if left_units < 1:
            return None
        over_ms = periods[1] + 2 * (end_ms - start_ms) if len(periods) > 1 else None
        return cls(periods, left_units, over_ms)


@dataclass(slots=True)
class Keeper:
    """One alarm that keeps something.

    Args:
        share_units: its share of every period; 0 without one.
        least: what it holds by period start (ms), of windows that have ended; read where it has a
            share.
        most: the same with open windows at their worst.
        run: its newest run, as its windows that have ended left it.
        open: which periods its open windows touch, by their starts (ms).
    """

    share_units: int = 0
    least: Counter[int] = field(default_factory=Counter)
    most: Counter[int] = field(default_factory=Counter)
    run: OpenRun | None = None
    open: set[tuple[int, ...]] = field(default_factory=set)

    def beyond(self, period: int) -> tuple[int, int]:
        """Return what it keeps beside what it holds: with open windows at nothing, and at worst."""
        least = most = 0
        if self.run is not None and period in self.run.periods:
            # However a window of its own periods ends, what it costs and what it leaves of the run
            # are no less together; a window of others may be the first of another run.
            least = self.run.left_units if self.open <= {self.run.periods} else 0
            # And a window that is open holds no less, at worst, where it touches the period.
            held = any(period in touched for touched in self.open)
            most = 0 if held else self.run.left_units
        if self.share_units:
            least = max(least, self.share_units - self.least[period])
            most = max(most, self.share_units - self.most[period])
        return least, most

    def take(self, standing: Standing) -> None:
        """Count one of its windows, in order."""
        if self.share_units:
            for period in standing.periods:
                self.most[period] += standing.held.loss_units
                if not standing.open:
                    self.least[period] += standing.held.loss_units
        if standing.open:
            self.open.add(standing.periods)
        if standing.left_units is not None:
            held = standing.held
            self.run = OpenRun.after(
                held.start_ms, held.end_ms, standing.periods, standing.left_units
            )


class Keepers:
    """Adds up what the alarms of a budget keep from each of them.

    Args:
        keepers: by query, as they stand before the first window that is asked about.
    """

    def __init__(self, keepers: Mapping[str, Keeper] | None = None) -> None:
        self._keepers = dict(keepers or {})
        self._sums: dict[int, tuple[int, int]] = {}

    def passed(self, end_ms: int) -> None:
        """Take note that windows are asked about from now on that end at an instant, or later."""
        over = [
            one
            for one in self._keepers.values()
            if one.run is not None and one.run.until_ms is not None and one.run.until_ms <= end_ms
        ]
        for keeper in over:
            with self._changing(keeper, ()):
                keeper.run = None

    def beside(self, query: str, period: int) -> tuple[int, int]:
        """Return what all alarms but one keep of a period, at least and at most.

        Least goes with the losses of ended windows, most with those of open ones at their worst.
        """
        if not self._keepers:
            return 0, 0
        sums = self._sums.get(period)
        if sums is None:
            each = [one.beyond(period) for one in self._keepers.values()]
            sums = self._sums[period] = sum(one for one, _ in each), sum(two for _, two in each)
        own = self._keepers.get(query)
        least, most = (0, 0) if own is None else own.beyond(period)
        return sums[0] - least, sums[1] - most

    def hold(self, standing: Standing) -> None:
        """Count a window."""
        keeper = self._keepers.get(standing.query)
        if keeper is None:
            if standing.left_units is None:
                return
            keeper = self._keepers[standing.query] = Keeper()
        with self._changing(keeper, standing.periods):
            keeper.take(standing)

    @contextmanager
    def _changing(self, keeper: Keeper, periods: Iterable[int]) -> Iterator[None]:
        """Keep the sums in step with what changes of one alarm."""
        touched = {*periods, *(keeper.run.periods if keeper.run is not None else ())}
        known = [period for period in touched if period in self._sums]
        before = [keeper.beyond(period) for period in known]
        yield
        for period, was in zip(known, before, strict=True):
            sums, now = self._sums[period], keeper.beyond(period)
            self._sums[period] = sums[0] + now[0] - was[0], sums[1] + now[1] - was[1]
