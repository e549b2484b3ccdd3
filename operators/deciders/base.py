"""What deciders are asked about, and what all of them check.

A decider answers, per cell, whether a private aggregate lies less than ``tau`` away from a public
reference. It is planned from configuration alone, needs a few integer statistics of every cell, and
releases one bit for each.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Final, Generic, Self, TypeAlias, TypeVar

import numpy as np

from accountant.arguments import EXACT, INTEGERS, WHOLE, expect, instance_of
from accountant.errors import ArgumentError, ConfigError
from accountant.units import to_loss_units
from operators.conditions.weights import Statistic, Weight
from operators.conditions.widths import Relative

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from operators.conditions.widths import HalfWidth

__all__ = [
    "FARTHEST",
    "LARGEST_COUNT",
    "MOST_POINTS",
    "SLOWEST_RATE",
    "Average",
    "Count",
    "Kind",
    "PlannedBand",
    "Quantile",
    "Sum",
    "check_epsilon",
    "check_inputs",
    "check_plan",
    "check_rate",
    "counted_up_to",
    "counts",
    "deviations",
    "margin",
]

FARTHEST: Final = 1 << 61
"""Statistics are clamped to this far from zero; references and tau must lie well within."""
LARGEST_COUNT: Final = 1 << 36
"""Counts are clamped to this: it moves no two values of *one* count further apart.

What is computed from several counts clamps disjoint ones (:func:`margin`): a total and its part,
clamped apart, would not move together any more.
"""
MOST_POINTS: Final = 1 << 16
"""Most points of a public domain that a quantile is looked for in."""
SLOWEST_RATE: Final = Fraction(1, 1 << 40)
"""Least rate per unit that noise is drawn at."""
_FINEST_SHARE: Final = 10_000
_MOST_EPSILON: Final = 10**9


@dataclass(frozen=True, slots=True)
class Count:
    """A number of events.

    Args:
        events: most events of one privacy unit in a cell (1 for unit ``event``).
    """

    events: int = 1

    def __post_init__(self) -> None:
        """Check the cap."""
        _check_cap(self.events)

    @property
    def sensitivity(self) -> int:
        """How far one privacy unit moves the aggregate."""
        return self.events


@dataclass(frozen=True, slots=True)
class Sum:
    """A sum of values in whole granules.

    Args:
        low: least value of an event, in granules; values are clipped to it.
        high: greatest value of an event; ``low <= high``, not both zero.
        events: most events of one privacy unit in a cell.
    """

    low: int
    high: int
    events: int = 1

    def __post_init__(self) -> None:
        """Check the clip and the cap."""
        expect(WHOLE, low=self.low, high=self.high)
        _check_cap(self.events)
        if self.low > self.high or self.low == self.high == 0:
            raise ArgumentError(
                "a sum needs low <= high, not both zero",
                hint="write the ends of the clip, in steps of the resolution: Sum(0, 100)",
            )
        if self.sensitivity >= FARTHEST:
            raise ArgumentError("the sensitivity of a sum leaves int64")

    @property
    def sensitivity(self) -> int:
        """How far one privacy unit moves the aggregate, in granules."""
        return self.events * max(abs(self.low), abs(self.high))


@dataclass(frozen=True, slots=True)
class Quantile:
    """The least value that at least ``share`` of a cell's events do not exceed.

    For one half it is the ceil(n/2)-th smallest: the median of DP-PQD, section 6. A cell without
    events has none, and counts as outside every band.

    Args:
        share: in (0, 1), with a denominator of at most 10,000.
        domain: the public values, increasing; events are clipped into it.
        events: most events of one privacy unit in a cell.
    """

    share: Fraction
    domain: range
    events: int = 1

    def __post_init__(self) -> None:
        """Check the share, the domain and the cap."""
        expect(EXACT, share=self.share)
        expect(instance_of(range), domain=self.domain)
        _check_cap(self.events)
        if not 0 < self.share < 1 or self.share.denominator > _FINEST_SHARE:
            raise ArgumentError(
                "the quantile is not between 0 and 1 with a denominator up to 10,000",
                hint="write Fraction(1, 2) for the median",
            )
        if not self.domain or self.domain.step < 1:
            raise ArgumentError("the domain of a quantile is an increasing range, not empty")
        if max(abs(self.domain[0]), abs(self.domain[-1])) >= FARTHEST:
            raise ArgumentError("the domain of a quantile leaves int64")

    @property
    def sensitivity(self) -> int:
        """How far one privacy unit moves ``a #(x > c) - (b - a) #(x <= c)``, share = a / b."""
        a, b = self.share.numerator, self.share.denominator
        return self.events * max(a, b - a)


@dataclass(frozen=True, slots=True)
class Average:
    """The mean of values, in granules over ``scale``.

    A cell without events has none, and counts as outside every band.

    Args:
        low: least value of an event, in granules; values are clipped to it.
        high: greatest value of an event; ``low < high``.
        events: most events of one privacy unit in a cell.
        scale: one resolution is so many units of the aggregate, in which references and half-widths
            are given.
    """

    low: int
    high: int
    events: int = 1
    scale: int = 1

    def __post_init__(self) -> None:
        """Check the clip, the cap and the scale."""
        expect(WHOLE, low=self.low, high=self.high, scale=self.scale)
        _check_cap(self.events)
        if self.low >= self.high:
            raise ArgumentError(
                "a mean needs low < high",
                hint="write the ends of the clip, in steps of the resolution: Average(0, 100)",
            )
        if self.scale < 1:
            raise ArgumentError("a scale is a whole number, at least 1", hint="write scale=1000")
        if self.scale * max(abs(self.low), abs(self.high)) >= FARTHEST // self.events:
            raise ArgumentError("the values of a mean leave int64")

    @property
    def centre(self) -> int:
        """The middle of the clip, in units of the aggregate, rounded down."""
        return self.scale * (self.low + self.high) // 2

    @property
    def farthest(self) -> int:
        """How far a value lies from :attr:`centre` at most, in units of the aggregate."""
        return self.scale * self.high - self.centre


Kind: TypeAlias = Count | Sum | Quantile | Average
"""The aggregate that is compared with its reference."""

K = TypeVar("K", Count, Sum, Quantile, Average, Count | Sum, Kind)


@dataclass(frozen=True, slots=True)
class PlannedBand(Generic[K]):
    """What every decider is planned from.

    Args:
        kind: the aggregate.
        epsilon: exact loss.
        tau: half-width of the band, in units of the aggregate, at least 1; or a share of every
            cell's reference.
    """

    name: ClassVar[str]
    decides: ClassVar[tuple[type, ...]]
    """The kinds of aggregates that it takes."""

    kind: K
    epsilon: Fraction
    tau: HalfWidth

    @classmethod
    def planned(cls, kind: Kind, epsilon: Fraction, tau: HalfWidth) -> Self:
        """Plan the decider.

        Args:
            kind: the aggregate.
            epsilon: exact loss.
            tau: half-width of the band.

        Raises:
            ConfigError: an aggregate it does not take, no epsilon or tau, noise too wide to be
                drawn, or too large a domain.
        """
        check_plan(cls.name, kind, cls.decides, epsilon, tau)
        return cls(kind, epsilon, tau)  # type: ignore[arg-type]  # checked

    def chances(
        self, _statistics: NDArray[np.int64], _references: NDArray[np.int64]
    ) -> NDArray[np.float64] | None:
        """Return P["outside"] of every cell; nothing, where no law is written down.

        See :meth:`operators.base.Decider.chances`.
        """
        return None

    @property
    def units(self) -> int:
        """``epsilon`` in loss units, rounded up."""
        return to_loss_units(self.epsilon)

    @property
    def definition(self) -> Mapping[str, str]:
        """Nothing more."""
        return {}


def check_plan(
    name: str, kind: Kind, allowed: tuple[type, ...], epsilon: Fraction, tau: HalfWidth
) -> None:
    """Check what a decider is planned from.

    Raises:
        ConfigError: an aggregate that the decider does not decide, an epsilon out of range, or a
            tau that is not positive.
    """
    if not isinstance(kind, allowed):
        raise ConfigError(
            f"decider {name} does not support {type(kind).__name__.upper()}",
            hint="write decider: auto",
        )
    check_epsilon(epsilon)
    if not isinstance(tau, Relative) and not 1 <= tau < FARTHEST // 2:
        raise ConfigError(
            "tau is not from 1 to 2^60 steps of the resolution",
            hint="write a tau of at least one step of the resolution",
        )


def check_epsilon(epsilon: Fraction) -> None:
    """Refuse an epsilon that is not positive, or that nothing is planned for.

    Raises:
        ConfigError: an epsilon of zero or less, below 2^-40, or above 10^9.
    """
    hint = 'write epsilon: "0.1"'
    if epsilon <= 0:
        raise ConfigError("the epsilon of a decider is not positive", hint=hint)
    if not SLOWEST_RATE <= epsilon <= _MOST_EPSILON:
        raise ConfigError("the epsilon of a decider is not from 2^-40 to 10^9", hint=hint)


def check_rate(rate: Fraction) -> None:
    """Refuse noise too wide to be drawn.

    Raises:
        ConfigError: a rate below 2^-40 per unit of the statistic.
    """
    if rate < SLOWEST_RATE:
        raise ConfigError(
            "the noise of this decider would span more than 2^40 steps of the resolution",
            hint="declare a coarser resolution for the summed field, or a larger epsilon",
        )


def check_inputs(statistics: NDArray[np.int64], references: NDArray[np.int64], rows: int) -> None:
    """Refuse arrays of another shape or type than planned for.

    Raises:
        ValueError: such arrays, or a reference 2^60 or more from zero.
    """
    expect(INTEGERS, statistics=statistics, references=references)
    if references.ndim != 1 or references.dtype != np.int64:
        raise ArgumentError(
            "references are int64, one per cell",
            hint="write np.array([205, 180]), one for every column of `statistics`",
        )
    if statistics.shape != (rows, references.size) or statistics.dtype != np.int64:
        raise ArgumentError(
            f"statistics are int64 of shape ({rows}, cells)",
            hint=f"give a column for every reference, and {rows} row(s)",
        )
    far = np.int64(FARTHEST // 2)
    if ((references >= far) | (references <= -far)).any():
        raise ArgumentError("references lie less than 2^60 from zero")


def counted_up_to(bound: int, events: int, *, relative: bool = False) -> Statistic:
    """Return the number of events whose value is ``bound`` at most.

    Args:
        bound: in granules.
        events: most events of one privacy unit in a cell.
        relative: whether the cell's reference is added to ``bound``.
    """
    return Statistic(Weight.RANK, None, bound, relative, above=0, not_above=1, sensitivity=events)


def deviations(
    aggregate: NDArray[np.int64], references: NDArray[np.int64] | np.int64
) -> NDArray[np.int64]:
    """Return ``aggregate - reference``; neighbours stay at most the sensitivity apart.

    Aggregates are clamped to 2^61 first, which is monotone and beyond every band.
    """
    return np.clip(aggregate, -FARTHEST, FARTHEST) - references


def counts(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return counts clamped to [0, 2^36], so that small multiples of them fit int64.

    For counts that are each used by themselves, or get noise of their own: the *difference* of two
    clamped counts can move further than that of the counts; see :func:`margin`.
    """
    return np.clip(rows, 0, LARGEST_COUNT)


def margin(total: NDArray[np.int64], part: NDArray[np.int64], share: Fraction) -> NDArray[np.int64]:
    """Return ``a total - b part``, share = a / b; neighbours stay events max(a, b - a) apart.

    It is ``a rest - (b - a) part`` with rest = total - part. These two count disjoint events and
    are clamped to 2^36 one by one, so an event moves one of them, by one at most, at any size.

    Args:
        total: events, any shape, int64.
        part: some of them, of a shape that broadcasts with ``total``.
        share: in (0, 1), with a denominator of at most 10,000.
    """
    part = np.maximum(part, 0)
    rest = np.maximum(total, 0) - part  # both are non-negative: int64 is not left
    a, b = share.numerator, share.denominator
    found: NDArray[np.int64] = a * counts(rest) - (b - a) * counts(part)
    return found


def _check_cap(events: int) -> None:
    expect(WHOLE, events=events)
    if not 1 <= events < 1 << 20:
        raise ArgumentError(
            "`events` is not a whole number from 1 to 2^20 - 1",
            hint="write events=1, or Contribution.events_per_cell",
        )
