"""ProBE's Figure 10: conjunctions of averages, mechanism by mechanism.

``AVG(x) > c`` is decided as the sum of ``x - c``, the reduction of ``stream.config.alarms``: the
larger distance from c to an end of the clip is what one event moves it by. The paper does not say
what an average's sensitivity is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.papers.probe import study as probe
from benchmarks.papers.probe.study import Case
from benchmarks.papers.regime.crowds import resampled
from benchmarks.papers.regime.study import TIMES
from benchmarks.papers.tally import Aggregate, busiest, tally
from benchmarks.papers.trials import measure
from benchmarks.papers.workloads import SUBQUERIES, Columns, round_range
from operators.conditions.comparison import Comparison
from operators.conditions.condition import Aim
from operators.registry import price
from stream.config.alarms import reduction

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from benchmarks.papers.data import Events
    from benchmarks.papers.tally import Span
    from benchmarks.papers.trials import Measured

DEVIATIONS: Final = 1
"""Thresholds are the mean and this many standard deviations of the cells' averages, before."""
MECHANISMS: Final = (
    "naive",
    "score",
    "ProBE",
    "ProBE, fresh",
    "ProBE-Ent",
    "naive, printed",
)
"""The paper's three, one noise for the whole condition, ProBE closest to its own algorithm, and
naive as printed."""


@dataclass(frozen=True, slots=True)
class Mean:
    """One average.

    Args:
        what: in words.
        total: the sum that it is of; its filter is the average's.
    """

    what: str
    total: Aggregate

    @property
    def many(self) -> Aggregate:
        """What it is divided by."""
        return Aggregate(where=self.total.where)


def _afternoon(events: Events) -> NDArray[np.bool_]:
    return np.asarray(events.hour >= 12)


def _by_day(events: Events) -> NDArray[np.bool_]:
    return np.asarray((events.hour >= 7) & (events.hour < 19))


_PRICE, _VALUE = Aggregate("sum", "price", 100, 2_000), Aggregate("sum", "value", 100, 10_000)
_ITEMS = Aggregate("sum", "quantity", clip=100)
_MILES, _MINUTES = Aggregate("sum", "miles", 100, 2_000), Aggregate("sum", "minutes", clip=60)

AVERAGES: Final[Mapping[str, tuple[Mean, ...]]] = {
    "retail": (
        Mean("price of a line", _PRICE),
        Mean("value of a line", _VALUE),
        Mean("price, from 12 o'clock", replace(_PRICE, where=_afternoon)),
        Mean("value, from 12 o'clock", replace(_VALUE, where=_afternoon)),
        Mean("items of a line", _ITEMS),
        Mean("items, from 12 o'clock", replace(_ITEMS, where=_afternoon)),
    ),
    "taxi": (
        Mean("miles", _MILES),
        Mean("minutes", _MINUTES),
        Mean("miles, from 7 to 19", replace(_MILES, where=_by_day)),
        Mean("minutes, from 7 to 19", replace(_MINUTES, where=_by_day)),
        Mean(
            "miles to another borough", replace(_MILES, where=lambda e: e.columns["leaves_borough"])
        ),
        Mean(
            "minutes of 2 miles or more", replace(_MINUTES, where=lambda e: e.columns["miles"] >= 2)
        ),
    ),
}
"""Six averages per data set, over the cells of the counts of Figure 6: a to f in the formulas."""


@dataclass(frozen=True, slots=True, eq=False)
class Averaged:
    """One average, counted.

    Args:
        centred: sum of ``x - c`` per cell, shape (cells,), int64.
        counted: its events, shape (cells,), int64.
        threshold: c, in granules.
        clip: upper end in granules; the lower one is 0.
        typical: median number of events of the cells before that had any.
        moved: D, by which one event moves the centred sum.
    """

    centred: NDArray[np.int64]
    counted: NDArray[np.int64]
    threshold: int
    clip: int
    typical: int
    moved: int


@dataclass(frozen=True, slots=True, eq=False)
class Averages:
    """The averages of a data set, counted.

    Args:
        columns: as centred sums, which are decided where ``s > 0``.
        every: one by one.
    """

    columns: Columns
    every: tuple[Averaged, ...]


def averages_of(name: str, events: Events) -> Averages:
    """Return the averages of a data set, with thresholds and ranges from the span before.

    A range, of which tolerances are percentages, is that of the average times the number of events
    of a typical cell: a tolerance is of the sum.
    """
    workload = next(each for each in SUBQUERIES if each.data == name)
    if name == "retail":
        value = events.columns["price"] * events.columns["quantity"]
        events = replace(events, columns={**events.columns, "value": value})
    kept = np.arange(events.groups)
    if workload.busiest:
        kept = busiest(tally(events, Aggregate(), workload.reference), workload.busiest)
    found = [
        _averaged(each, events, workload.reference, workload.span, kept) for each in AVERAGES[name]
    ]
    return Averages(
        Columns(
            statistics=np.stack([each.centred for each in found]),
            thresholds=(0,) * len(found),
            ranges=tuple(round_range(each.clip * each.typical) for each in found),
            sensitivities=tuple(each.moved for each in found),
        ),
        tuple(found),
    )


def _averaged(
    mean: Mean, events: Events, before: Span, span: Span, kept: NDArray[np.int64]
) -> Averaged:
    total, many = (tally(events, each, before)[:, kept] for each in (mean.total, mean.many))
    held = many > 0
    of_cells = total[held] / many[held]
    threshold = int(of_cells.mean() + DEVIATIONS * of_cells.std())
    (bound,) = reduction.reduce(
        reduction.Aggregate(reduction.Function.AVG, 0, mean.total.clip),
        Comparison.GT,
        [Fraction(threshold)],
    ).leaves()
    if bound.negated or int(bound.thresholds[0]) != 1:
        raise ValueError("an average above c is a centred sum above 0")
    summed, counted = (
        tally(events, each, span)[:, kept].ravel() for each in (mean.total, mean.many)
    )
    return Averaged(
        centred=summed - threshold * counted,
        counted=counted,
        threshold=threshold,
        clip=mean.total.clip,
        typical=int(np.median(many[held])),
        moved=bound.weights.largest,
    )


def scenes(data: Mapping[str, Events]) -> dict[str, Averages]:
    """Return the averages of the data sets there are, and of the taxis made many, by name.

    Resampling is seeded: what is measured is the mechanisms, on the same events.
    """
    found = {name: averages_of(name, data[name]) for name in AVERAGES if name in data}
    if "taxi" in data:
        many = resampled(data["taxi"], TIMES, np.random.default_rng(2020))
        found[f"taxi, {TIMES} times"] = averages_of("taxi", many)
    return found


def by_size(
    found: Mapping[str, Averages], runs: int, *, sizes: Sequence[int] = probe.SIZES
) -> dict[str, probe.Results]:
    """Return what Figure 10 shows: by scene, by number of averages in a conjunction.

    Args:
        found: the averages.
        runs: of each mechanism on each conjunction.
        sizes: numbers of averages.
    """
    return {
        name: {str(size): _measured(each, size, runs) for size in sizes}
        for name, each in found.items()
    }


def naive_epsilon(columns: Columns, at: int) -> float:
    """Return what naive pays for one sub-query by itself: its tolerance decides, and no noise."""
    case = Case(columns, "abcdef"[at])
    tolerances = case.tolerances(case.naive_percent)
    return float(price("tslm", case.condition, Aim(case.max_fnr, tolerances)).epsilon)


def one_event_epsilon(percent: int) -> float:
    """Return what an average costs naive, as printed, if its sensitivity is its whole range.

    That is by how much an event moves the average of a cell that has one event, or none: ln(1/(2
    beta)) D/u, u a percentage of the range and D all of it.
    """
    return math.log(1 / (2 * float(probe.MAX_FNR))) * 100 / percent


def _measured(found: Averages, size: int, runs: int) -> dict[str, Measured]:
    case = Case(found.columns, probe.FORMULAS["conjunction"][size - 1])
    statistics = found.columns.statistics
    truth = case.condition.truth(statistics)
    widths = [2 * each + 1 for each in case.tolerances(probe.last_percent(case))]
    far = np.logical_or.reduce(
        [each <= -width for each, width in zip(statistics[:size], widths, strict=True)]
    )
    makers = {name: probe.MECHANISMS[name](case) for name in MECHANISMS}
    return {
        name: measure(decide, truth, runs, far=np.asarray(far)) for name, decide in makers.items()
    }
