"""The queries of the reproduction, with the papers' thresholds as far as their rules apply here.

MIDE takes, per group, a share (1, 0.8, 0.6: high, medium, low) of the largest count of an
earlier span, or of a building's capacity. Capacities are not known here, so the first rule serves
everywhere. ProBE takes one threshold per sub-query "using the Z-score outlier detection method"
without saying over which values or with which score: mean plus three standard deviations of the
cells of the same earlier span, here. A value range, of which ProBE's tolerances are percentages, is
0 to that span's largest cell, rounded up to 1, 2 or 5 times a power of ten.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.papers.data import day
from benchmarks.papers.tally import Aggregate, Span, busiest, tally
from operators.conditions.atoms import IntegerTest
from operators.conditions.comparison import Comparison

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from benchmarks.papers.data import Events

BUSIEST = 34
"""Both papers merge taxi zones into 34 regions, by a rule they don't print: the busiest 34 here."""


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """What a mechanism of a single test decides: ``statistic > threshold``, per cell.

    Args:
        statistics: shape (cells,), int64.
        thresholds: shape (cells,), int64.
        sensitivity: D.
    """

    statistics: NDArray[np.int64]
    thresholds: NDArray[np.int64]
    sensitivity: int

    @property
    def test(self) -> IntegerTest:
        """The integer test of all cells."""
        return IntegerTest(Comparison.GT, self.thresholds, self.sensitivity)

    @property
    def truth(self) -> NDArray[np.bool_]:
        """Which cells should ring."""
        return self.statistics > self.thresholds

    @property
    def distances(self) -> NDArray[np.float64]:
        """How far each cell lies from its threshold, in sensitivities."""
        return (self.statistics - self.thresholds) / self.sensitivity


@dataclass(frozen=True, slots=True)
class Query:
    """One query of MIDE's figures.

    Args:
        name: as in the figures.
        what: in words.
        data: name of the data set.
        aggregate: what is counted.
        reference: where each group's maximum is taken.
        span: what is decided.
        busiest: how many groups with the largest totals of the reference are kept; 0 for all.
    """

    name: str
    what: str
    data: str
    aggregate: Aggregate
    reference: Span
    span: Span
    busiest: int = 0

    def cells(self, events: Events, factor: Fraction) -> Cells:
        """Return statistics and thresholds: the factor times each group's highest, rounded down."""
        before = tally(events, self.aggregate, self.reference)
        counted = tally(events, self.aggregate, self.span)
        if self.busiest:
            kept = busiest(before, self.busiest)
            before, counted = before[:, kept], counted[:, kept]
        highest = before.max(axis=0) * factor.numerator // factor.denominator
        thresholds = np.broadcast_to(highest, counted.shape)
        return Cells(counted.ravel(), thresholds.ravel(), self.aggregate.sensitivity)


@dataclass(frozen=True, slots=True)
class SubQuery:
    """One sub-query of ProBE's figures.

    Args:
        what: in words.
        aggregate: what is counted.
    """

    what: str
    aggregate: Aggregate


@dataclass(frozen=True, slots=True)
class Workload:
    """Six sub-queries over the same cells of one data set.

    Args:
        data: name of the data set.
        what: the cells, in words.
        reference: where thresholds and ranges come from.
        span: what is decided.
        subqueries: six of them, a to f in the formulas.
        busiest: as of a query; by the first sub-query.
    """

    data: str
    what: str
    reference: Span
    span: Span
    subqueries: tuple[SubQuery, ...]
    busiest: int = 0

    def columns(self, events: Events) -> Columns:
        """Return statistics, thresholds and ranges of all sub-queries."""
        before = [tally(events, each.aggregate, self.reference) for each in self.subqueries]
        counted = [tally(events, each.aggregate, self.span) for each in self.subqueries]
        if self.busiest:
            kept = busiest(before[0], self.busiest)
            before = [each[:, kept] for each in before]
            counted = [each[:, kept] for each in counted]
        return Columns(
            statistics=np.stack([each.ravel() for each in counted]),
            thresholds=tuple(int(each.mean() + 3 * each.std()) for each in before),
            ranges=tuple(round_range(int(each.max())) for each in before),
            sensitivities=tuple(each.aggregate.sensitivity for each in self.subqueries),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """The sub-queries of a workload, counted.

    Args:
        statistics: shape (sub-queries, cells), int64.
        thresholds: c of each; it holds where ``s > c``.
        ranges: declared largest value of each.
        sensitivities: D of each.
    """

    statistics: NDArray[np.int64]
    thresholds: tuple[int, ...]
    ranges: tuple[int, ...]
    sensitivities: tuple[int, ...]


def round_range(largest: int) -> int:
    """Return the least of 1, 2 or 5 times a power of ten that is no less."""
    power = 1
    while 5 * power < largest:
        power *= 10
    return next(factor * power for factor in (1, 2, 5) if factor * power >= largest)


_TAXI_BEFORE = Span(day(2022, 1, 1), day(2022, 1, 15))
_TAXI = Span(day(2022, 1, 15), day(2022, 1, 29))
_RETAIL_BEFORE = Span(day(2011, 9, 1), day(2011, 11, 1))
_RETAIL = Span(day(2011, 11, 1), day(2011, 11, 15))
_OPEN = (7, 22)
_BADGES_FROM, _BADGES_UNTIL = day(2016, 5, 31), day(2016, 6, 14)
_BADGES_MIDDLE = day(2016, 6, 7)
_TUESDAY, _SATURDAY = day(2016, 6, 7), day(2016, 6, 11)

QUERIES = (
    Query(
        "badges Tue",
        "people seen, by zone and hour from 7 to 22, on Tuesday 7 June 2016",
        "badges",
        Aggregate("distinct"),
        Span(_BADGES_FROM, _BADGES_MIDDLE, _OPEN),
        Span(_TUESDAY, _TUESDAY + 1, _OPEN),
    ),
    Query(
        "badges Sat",
        "the same on Saturday 11 June 2016",
        "badges",
        Aggregate("distinct"),
        Span(_BADGES_FROM, _BADGES_MIDDLE, _OPEN),
        Span(_SATURDAY, _SATURDAY + 1, _OPEN),
    ),
    Query(
        "taxi 34",
        "pickups by zone and day, 15 to 28 January 2022, in the 34 zones busiest until the 14th",
        "taxi",
        Aggregate(),
        _TAXI_BEFORE,
        _TAXI,
        busiest=BUSIEST,
    ),
    Query("taxi all", "the same in all 263 zones", "taxi", Aggregate(), _TAXI_BEFORE, _TAXI),
    Query(
        "taxi miles",
        "sum of distances in the 34 zones; clip 0 to 20 miles, resolution 0.01",
        "taxi",
        Aggregate("sum", "miles", per_one=100, clip=2_000),
        _TAXI_BEFORE,
        _TAXI,
        busiest=BUSIEST,
    ),
    Query(
        "retail lines",
        "invoice lines by country and day, 1 to 14 November 2011",
        "retail",
        Aggregate(),
        _RETAIL_BEFORE,
        _RETAIL,
    ),
    Query(
        "retail items",
        "sum of quantities, the same cells; clip 0 to 100",
        "retail",
        Aggregate("sum", "quantity", clip=100),
        _RETAIL_BEFORE,
        _RETAIL,
    ),
    Query(
        "retail price",
        "sum of unit prices, the same cells; clip 0 to 20 pounds, resolution 0.01",
        "retail",
        Aggregate("sum", "price", per_one=100, clip=2_000),
        _RETAIL_BEFORE,
        _RETAIL,
    ),
)
"""MIDE's queries on the data at hand, and sums beside its counts."""

SUBQUERIES = (
    Workload(
        "taxi",
        "34 zones by day, 15 to 28 January 2022",
        _TAXI_BEFORE,
        _TAXI,
        (
            SubQuery("pickups", Aggregate()),
            SubQuery("of 2 miles or more", Aggregate(where=lambda e: e.columns["miles"] >= 2)),
            SubQuery("to another borough", Aggregate(where=lambda e: e.columns["leaves_borough"])),
            SubQuery(
                "of 15 minutes or more", Aggregate(where=lambda e: e.columns["minutes"] >= 15)
            ),
            SubQuery("from 7 to 19", Aggregate(where=lambda e: (e.hour >= 7) & (e.hour < 19))),
            SubQuery("of 5 miles or more", Aggregate(where=lambda e: e.columns["miles"] >= 5)),
        ),
        busiest=BUSIEST,
    ),
    Workload(
        "retail",
        "38 countries by day, 1 to 14 November 2011",
        _RETAIL_BEFORE,
        _RETAIL,
        (
            SubQuery("invoice lines", Aggregate()),
            SubQuery("of 10 items or more", Aggregate(where=lambda e: e.columns["quantity"] >= 10)),
            SubQuery("customers", Aggregate("distinct")),
            SubQuery("returns", Aggregate(where=lambda e: e.columns["quantity"] < 0)),
            SubQuery("at 5 pounds or more", Aggregate(where=lambda e: e.columns["price"] >= 5)),
            SubQuery("items, clip 0 to 100", Aggregate("sum", "quantity", clip=100)),
        ),
    ),
    Workload(
        "badges",
        "20 zones by day, 7 to 13 June 2016",
        Span(_BADGES_FROM, _BADGES_MIDDLE),
        Span(_BADGES_MIDDLE, _BADGES_UNTIL),
        (
            SubQuery("readings", Aggregate()),
            SubQuery("people", Aggregate("distinct")),
            SubQuery("readings before 9", Aggregate(where=lambda e: e.hour < 9)),
            SubQuery("readings from 12 to 14", Aggregate(where=lambda e: e.hour // 2 == 6)),
            SubQuery("people after 17", Aggregate("distinct", where=lambda e: e.hour >= 17)),
            SubQuery("readings after 20", Aggregate(where=lambda e: e.hour >= 20)),
        ),
    ),
)
"""ProBE's workloads on the data at hand: counts with different filters over the same cells."""

COMBINATIONS = (
    "a",
    "a OR b",
    "a OR (b AND c)",
    "a OR (b AND c) OR d",
    "a OR (b AND c) OR (d AND e)",
    "a OR (b AND c) OR (d AND e) OR f",
)
"""Combinations of 1 to 6 sub-queries; ProBE draws its own at random and doesn't print them."""
