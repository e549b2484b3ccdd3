"""MIDE's Figures 5, 6 and 8 and ProBE's Figure 6 with millions of events in the same windows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from benchmarks.papers.mide import study as mide
from benchmarks.papers.probe import study as probe
from benchmarks.papers.regime.crowds import repeated, resampled, spanned
from benchmarks.papers.trials import measure
from benchmarks.papers.workloads import QUERIES, SUBQUERIES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from benchmarks.papers.data import Events
    from benchmarks.papers.trials import Measured
    from benchmarks.papers.workloads import Cells

TIMES = 64
"""A month of green taxis has 60,000 pickups; the papers' yellow taxis some four million."""
TOLERANCES = (1, 10, 20, 50, 100, 150, 200)
LAST_PERCENTS = (1, 3, 6, 12)
SIZES: Final = (2, 4, 6)
_NAIVE_PERCENTS: Final = (30, 25, 20, 15, 12, 10, 6, 3)
_QUERIES: Final = ("badges Tue", "badges Sat", "taxi 34")

PROBES: Final = probe.PLANNED
"""What decides conditions: the score, ProBE and ProBE-Ent, by name."""

Results: TypeAlias = "dict[str, dict[str, Measured]]"


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """One of MIDE's queries on events made many.

    Args:
        name: of the query, with its threshold.
        how: ``repeated`` or ``resampled``.
        cells: statistics and thresholds.
    """

    name: str
    how: str
    cells: Cells


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """One of ProBE's conditions at one last tolerance.

    Args:
        data: name of the data set.
        kind: of the formula.
        size: number of sub-queries.
        times: how many times over the events are.
        last_percent: ProBE's last tolerance, in percent of each range.
        naive: at the paper's 12%.
        kept: naive at the widest tolerance tried whose measured FPR is within alpha.
        kept_percent: that tolerance; 0 if none.
        probes: by name.
    """

    data: str
    kind: str
    size: int
    times: int
    last_percent: int
    naive: Measured
    kept: Measured | None
    kept_percent: int
    probes: Mapping[str, Measured]


def grown(data: Mapping[str, Events], times: int = TIMES) -> dict[str, dict[str, Events]]:
    """Return the data sets, ``repeated`` and ``resampled``, by name.

    Resampling is seeded: what is measured is the mechanisms, on the same events.
    """
    rng = np.random.default_rng(2020)
    return {
        "repeated": {name: repeated(each, times) for name, each in data.items()},
        "resampled": {name: resampled(each, times, rng) for name, each in data.items()},
    }


def scenes(data: Mapping[str, Mapping[str, Events]]) -> Iterator[Scene]:
    """Yield MIDE's counts at high, medium and low thresholds, for each way of growing."""
    for how, events in data.items():
        for query in QUERIES:
            if query.name in _QUERIES and query.data in events:
                for level, factor in mide.FACTORS.items():
                    yield Scene(
                        f"{query.name} {level}", how, query.cells(events[query.data], factor)
                    )


def by_query(cases: Sequence[Scene], runs: int) -> Results:
    """Return what Figure 6 shows, by scene and mechanism."""
    return {f"{each.name}, {each.how}": mide.measured(each.cells, 1, runs) for each in cases}


def by_tolerance(scene: Scene, runs: int, tolerances: Sequence[int] = TOLERANCES) -> Results:
    """Return what Figure 8 shows: by u, by mechanism."""
    return {str(each): mide.measured(scene.cells, each, runs) for each in tolerances}


def by_last_tolerance(
    data: Mapping[str, Events],
    runs: int,
    times: Sequence[int] = (1, TIMES),
    *,
    sizes: Sequence[int] = SIZES,
    percents: Sequence[int] = LAST_PERCENTS,
) -> list[Trial]:
    """Return ProBE beside naive, with ever wider last tolerances.

    Args:
        data: the data sets there are.
        runs: of each mechanism on each formula.
        times: how many times over the events are taken.
        sizes: numbers of sub-queries.
        percents: ProBE's last tolerances.
    """
    found: list[Trial] = []
    rng = np.random.default_rng(2020)
    for workload in SUBQUERIES:
        if workload.data not in data:
            continue
        events = spanned(data[workload.data], workload.reference.first, workload.span.until)
        for many in times:
            if _too_long(workload.data, many):
                continue
            columns = workload.columns(events if many == 1 else resampled(events, many, rng))
            for kind, formulas in probe.FORMULAS.items():
                for size in sizes:
                    case = probe.Case(columns, formulas[size - 1])
                    about = (workload.data, kind, size, many)
                    found += _trials(about, case, runs, percents)
    return found


def _too_long(name: str, times: int) -> bool:
    """Say whether 12% of a range would have more steps than are planned for."""
    return name == "retail" and times > 1


def _trials(
    about: tuple[str, str, int, int], case: probe.Case, runs: int, percents: Sequence[int]
) -> Iterator[Trial]:
    truth = case.condition.truth(case.columns.statistics)

    def naive_at(percent: int) -> Measured:
        at = replace(case, naive_percent=percent)
        return measure(probe.MECHANISMS["naive"](at), truth, runs)

    naive = naive_at(probe.NAIVE_PERCENT)
    kept, kept_percent = None, 0
    for percent in _NAIVE_PERCENTS:
        tried = naive if percent == probe.NAIVE_PERCENT else naive_at(percent)
        if not tried.fpr > float(case.max_fpr):
            kept, kept_percent = tried, percent
            break
    for percent in percents:
        probes = {
            name: measure(
                probe.running(case, planned(case.condition, case.aim(percent))), truth, runs
            )
            for name, planned in PROBES.items()
        }
        yield Trial(*about, percent, naive, kept, kept_percent, probes)
