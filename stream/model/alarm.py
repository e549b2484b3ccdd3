"""What an alarm counts, when it should fire, and what it promises.

Plain frozen data, made by ``stream.config`` and read by everything else. Times are integer
milliseconds since the Unix epoch, statistics are integers (see ``operators.conditions.atoms``).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

from operators.conditions.weights import Weight
from stream.model.feeds import Domain
from stream.model.lifecycles import EVERY_WINDOW, Lifecycle
from stream.model.numbers import decimal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from operators.base import Band
    from operators.conditions.condition import Aim, Condition
    from operators.deciders import Average, Quantile
    from stream.model.feeds import Feed
    from stream.model.filters import Where
    from stream.model.requirements import FalseAlarmRate
    from stream.windows.calendars import Calendar

__all__ = [
    "ALONE",
    "AggregateSpec",
    "Alarm",
    "FirstTolerances",
    "ReferenceFeed",
    "Term",
]

_FIRST_FACTOR: Final = 5
ALONE: Final = Domain((), ())
"""The one cell of a group that has no groups within it."""


@dataclass(frozen=True, slots=True)
class Term:
    """A multiple of one count or sum, as part of a linear statistic.

    Args:
        factor: what the event's weight in it is multiplied by; not 0.
        kind: COUNT or SUM.
        field: as of the statistic that it would be alone.
        lo: lower clip in granules, of SUM.
        hi: upper clip in granules, of SUM.
        resolution: the field's resolution, of SUM.
        where: which events count in it; ``None`` for all.
    """

    factor: int
    kind: Weight
    field: str | None = None
    lo: int = 0
    hi: int = 0
    resolution: Fraction | None = None
    where: Where | None = None

    @property
    def alone(self) -> AggregateSpec:
        """The count or sum by itself."""
        return AggregateSpec(self.kind, self.field, self.lo, self.hi, self.resolution, self.where)


@dataclass(frozen=True, slots=True, eq=False)
class AggregateSpec:
    """One statistic of an alarm: which events count, and what each of them weighs.

    Args:
        kind: what is added up.
        field: the field read; an event without it does not count. ``None`` for all events.
        lo: lower clip in granules, where values are read; of LINEAR, the least an event weighs.
        hi: upper clip in granules; of LINEAR, the most an event weighs.
        resolution: the field's resolution, where values are read; of LINEAR, what 1 stands for.
        where: further filter of the events that count (SQL's FILTER); ``None`` keeps all.
        pivots: shape (cells,), int64, per group, for OFFSET in granules over ``scale``, for
            RANK in granules; ``None`` otherwise.
        scale: of OFFSET, >= 1.
        above: weight above the pivot, of RANK.
        not_above: weight at the pivot and below, of RANK.
        terms: of LINEAR, at least one; an event counts if it does in any of them.
    """

    kind: Weight
    field: str | None = None
    lo: int = 0
    hi: int = 0
    resolution: Fraction | None = None
    where: Where | None = None
    pivots: NDArray[np.int64] | None = None
    scale: int = 1
    above: int = 1
    not_above: int = 0
    terms: tuple[Term, ...] = ()

    @property
    def per_unit(self) -> Fraction:
        """What one unit of it is in the field's own unit (1 for counts and ranks)."""
        if self.kind in {Weight.SUM, Weight.OFFSET, Weight.LINEAR}:
            return (self.resolution or Fraction(1)) / self.scale
        return Fraction(1)

    @property
    def adds_up(self) -> bool:
        """Whether a window's is the sum of what its panes count, each by itself."""
        return self.kind in {Weight.COUNT, Weight.SUM, Weight.LINEAR}

    @property
    def ends(self) -> tuple[int, int]:
        """The least and the most that an event may weigh."""
        match self.kind:
            case Weight.SUM | Weight.LINEAR:
                return self.lo, self.hi
            case Weight.OFFSET:
                pivots = np.zeros(1, np.int64) if self.pivots is None else self.pivots
                lo, hi = self.scale * self.lo, self.scale * self.hi
                return lo - int(pivots.max()), hi - int(pivots.min())
            case Weight.RANK:
                return min(self.above, self.not_above), max(self.above, self.not_above)
            case _:
                return 1, 1

    @property
    def never_negative(self) -> bool:
        """Whether it has no negative weights: an empty cell is then its least value."""
        return self.kind is not Weight.OFFSET and self.ends[0] >= 0

    @property
    def of_extreme(self) -> bool:
        """Whether it counts values on one side of a pivot: those that decide a MAX or a MIN."""
        return self.kind is Weight.RANK and {self.above, self.not_above} == {0, 1}

    @property
    def largest(self) -> int:
        """No event weighs more than this in magnitude; at least 1."""
        return max(1, *map(abs, self.ends))


@dataclass(frozen=True, slots=True, eq=False)
class ReferenceFeed:
    """Where the references of a band are counted: the alarm's SELECT over a public feed.

    Args:
        feed: public: nothing that is counted on it is protected.
        where: the alarm's row filter, read against this feed.
        aggregates: what the alarm's aggregate over this feed is read off.
        kind: how it is read off them; ``None`` where it is the one that is counted.
        timeout_ms: a window that lacks its references this long after its cut is denied.
    """

    feed: Feed
    where: Where | None
    aggregates: tuple[AggregateSpec, ...]
    kind: Average | Quantile | None
    timeout_ms: int


@dataclass(frozen=True, slots=True)
class FirstTolerances:
    """What the tolerances of ProBE's first phase follow from, per atom, in its statistic's units.

    Args:
        shares: ProBE's share of the largest threshold, of counts and sums; ``None`` where it is
            five times the tolerance.
    """

    shares: tuple[int | None, ...]

    def beside(self, tolerances: Sequence[int]) -> tuple[int, ...]:
        """Return the first phase's tolerances where the last one has these: none is smaller."""
        return tuple(
            max(_FIRST_FACTOR * last if share is None else share, last)
            for share, last in zip(self.shares, tolerances, strict=True)
        )


@dataclass(frozen=True, slots=True)
class Alarm:
    """One alarm, ready to run.

    Args:
        id: the alarm's name.
        feed: where its events come from.
        domain: its public groups: what is decided, recorded and charged.
        calendar: its windows, schedule included.
        where: row filter; ``None`` keeps all.
        aggregates: its statistics, at least one, in the order that the condition numbers them.
        condition: when a cell should ring; sensitivities with caps included.
        aim: max_fnr, max_fpr and the tolerance of every atom.
        first: what the tolerances of a first phase follow from.
        texts: every atom as SQL, in the order of the condition's formula.
        mechanism: operator name.
        grace_ms: lateness that still counts; the cut is window end + grace.
        publish_delay_ms: alarms leave this long after the cut, at the next tick.
        decide_timeout_ms: a window that lacks a partial this long after its cut is denied.
        max_age_ms: at catch-up, a window cut longer ago than this is denied.
        sql: the text it came from.
        fingerprint: hex digest of everything that changes its decisions.
        band: what is watched, where the condition says when a band is left; else ``None``.
        reference: where the references of the band are counted, window by window: those in ``band``
            are 0 then, and the condition is about the distance to them.
        false_alarms: how often it may fire falsely; ``None`` where that is not said.
        max_delay_ms: how long after its threshold was passed it may leave; ``None`` where that is
            not said. For plans only, like ``false_alarms``.
        episodes: how many a budget period has to carry; ``None`` where that is not said. For plans
            only.
        required_fnr: with what probability a true alarm may be missed, where its lock asks less of
            each query of a run; ``None`` where ``aim`` says it. For plans only.
        lifecycle: when it begins and ends, read from its decisions: moves none of them, and enters
            no fingerprint.
        open: keys of the configuration that were left to ``tocsin plan``; what stands here for them
            stands for nothing, and the alarm does not run.
        panes: id of the panes that its windows are decided from, where they are: counted,
            charged and settled as an alarm is, and no alarm; empty for others.
        readers: of panes, the alarms whose windows read them; empty for alarms.
        firsts: whether people count in the first step of their window alone that they are in, so
            that what its steps count adds up: of panes over cumulative windows.
        releases_counts: whether the noisy counts of its windows leave, too; of windows over panes.
        hold_ms: who fired is not asked in later windows that end within this time after the end of
            that one; 0 where everybody is asked in every window.
        share: unit ``user``: the part of the budget that is its own in every period; 0 without one.
        baseline: shape (cells,), float64: the aggregate in an ordinary window, in its own unit; for
            plans only, so that it moves no decision and enters no fingerprint.
        members: public groups within every group, that a quantifier counts: each has cells of
            its own that are counted, thresholds that they are compared with, and no answer.
    """

    id: str
    feed: Feed
    domain: Domain
    calendar: Calendar
    where: Where | None
    aggregates: tuple[AggregateSpec, ...]
    condition: Condition
    aim: Aim
    first: FirstTolerances
    texts: tuple[str, ...]
    mechanism: str
    grace_ms: int
    publish_delay_ms: int
    decide_timeout_ms: int
    max_age_ms: int
    sql: str
    fingerprint: str
    band: Band | None = None
    reference: ReferenceFeed | None = None
    share: Fraction = Fraction(0)
    baseline: NDArray[np.float64] | None = field(default=None, compare=False)
    false_alarms: FalseAlarmRate | None = None
    max_delay_ms: int | None = None
    episodes: int | None = None
    required_fnr: Fraction | None = None
    open: tuple[str, ...] = ()
    lifecycle: Lifecycle = field(default=EVERY_WINDOW, compare=False)
    panes: str = ""
    readers: tuple[str, ...] = ()
    firsts: bool = False
    releases_counts: bool = False
    hold_ms: int = 0
    members: Domain = ALONE

    @property
    def counted(self) -> Domain:
        """Its public cells: what statistics and thresholds are of, ``domain`` first."""
        return self.domain.times(self.members)

    @property
    def delay_ms(self) -> int:
        """Longest time from passing the threshold to leaving, of an alarm that is not missed.

        The next look is at most a step away, and waits for late events; ticks aside.
        """
        return self.calendar.wait_ms + self.grace_ms + self.publish_delay_ms

    @property
    def fires_too_early(self) -> bool:
        """Whether steps of a window may fire for what no longer holds at its end.

        A count below its threshold is below it in nearly every window that only begins.
        """
        formula = self.condition.formula
        rising = self.condition.monotone and formula.literals == formula.atoms
        return self.aim.looks > 1 and not rising

    @property
    def tolerance(self) -> str | dict[str, str]:
        """The tolerances in the fields' own units, by comparison where there are several.

        Exact decimal numbers, or fractions ``a/b`` where decimals do not end; ``0`` for a band.
        """
        if self.band is not None:
            return "0"
        written = self.by_comparison(self.aim.tolerances)
        if len(written) == 1:
            return decimal(*written.values())
        return {text: decimal(value) for text, value in written.items()}

    def at_severity(self, name: str) -> Alarm:
        """Return one of its severity levels as an alarm of its own; itself where it has no such."""
        level = next((each for each in self.aim.severities if each.name == name), None)
        if level is None:
            return self
        condition = level.condition(self.condition)
        return replace(self, condition=condition, aim=level.aim(self.aim))

    def by_comparison(self, tolerances: Sequence[int]) -> dict[str, Fraction]:
        """Return tolerances in the fields' own units, by the text of their comparison.

        Args:
            tolerances: per atom, in units of its statistic.
        """
        formula, atoms = self.condition.formula, self.condition.atoms
        return {
            text: tolerance * self.aggregates[atoms[name].statistic].per_unit
            for text, name, tolerance in zip(self.texts, formula.atoms, tolerances, strict=True)
        }
