"""Which alarms share noisy panes, what these cost an event, and what that saves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from accountant.units import from_loss_units, to_loss_units
from operators.registry import DEFAULT
from stream.decisions.counts import deviation_of
from stream.decisions.mechanisms import panes_of, price_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from stream.model.queries import Query

__all__ = ["PaneShare", "pane_shares"]


@dataclass(frozen=True, slots=True)
class Errors:
    """What one alarm does at worst: certified upper bounds, from the exact law of its noise.

    Args:
        alarm: its name.
        noises: panes of a window, each with noise of its own.
        missed: probability that a predicate beyond its threshold does not ring.
        false: probability that one rings that is more than the tolerance allows below it.
        deviation: standard deviation of its released counts, in their unit; ``None`` where it
            releases none.
    """

    alarm: str
    noises: int
    missed: Fraction
    false: Fraction
    deviation: float | None


@dataclass(frozen=True, slots=True)
class PaneShare:
    """Alarms over the same panes.

    Args:
        panes: the query that counts and pays for them.
        windows: how long they are, in words.
        units: what an event loses, in loss units, whatever windows it lies in.
        apart_units: what it would lose if each window of each alarm were decided by itself.
        alarms: what each of them does at worst, in the order of the file.
    """

    panes: str
    windows: str
    units: int
    apart_units: int
    alarms: tuple[Errors, ...]

    @property
    def times(self) -> float:
        """How many times less that is."""
        return self.apart_units / self.units

    @property
    def text(self) -> str:
        """The same in words."""
        names = ", ".join(one.alarm for one in self.alarms)
        shared = "share" if len(self.alarms) > 1 else "has"
        cost, apart = (float(from_loss_units(one)) for one in (self.units, self.apart_units))
        return (
            f"{names} {shared} noisy panes, {self.panes} ({self.windows}): an event pays"
            f" {cost:.3f}, once; window by window, {DEFAULT.name} would take {apart:.3f}"
            f" ({self.times:.1f} times as much)" + "".join(map(_released, self.alarms))
        )


def pane_shares(queries: Sequence[Query]) -> tuple[PaneShare, ...]:
    """Return what is shared among the queries of one budget, in their order.

    Raises:
        ConfigError: an aim that cannot be kept.
    """
    known = {query.id: query for query in queries}
    return tuple(
        PaneShare(
            panes=query.id,
            windows=query.calendar.describe(),
            units=to_loss_units(price_of(query).epsilon),
            apart_units=sum(_apart(known[name]) for name in query.readers),
            alarms=tuple(_errors(known[name]) for name in query.readers),
        )
        for query in queries
        if query.readers
    )


def _apart(query: Query) -> int:
    """Return what an event would lose by an alarm whose windows are each decided alone."""
    epsilon = DEFAULT.price(query.condition, query.aim).epsilon
    return query.calendar.overlap * to_loss_units(epsilon)


def _errors(query: Query) -> Errors:
    operator = panes_of(query)
    if operator is None:
        raise ValueError("only windows over panes have their errors")
    panes, released = query.aim.panes, query.releases_counts
    deviation = deviation_of(query, operator, panes) if released else None
    return Errors(query.id, panes, *operator.errors, deviation)


def _released(one: Errors) -> str:
    """Return what the noisy counts of an alarm are worth; nothing where it releases none."""
    if one.deviation is None:
        return ""
    return (
        f"; the noisy counts of {one.alarm} leave for nothing more, with a standard deviation of"
        f" {one.deviation:.3g}"
    )
