"""MIDE's Figures 6 to 8: what a decision costs and gets wrong, mechanism by mechanism.

Parameters are the paper's: beta = 0.05, u = 1 (alpha in the paper; one clipped event for a sum),
epsilon_1 = 0.00001, m = 4, m_f = 3, 100 runs, high, medium and low thresholds.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from benchmarks.papers.originals import OriginalProgressive, OriginalTslm
from benchmarks.papers.trials import Measured, Outcome, measure, outcome
from benchmarks.papers.workloads import QUERIES, Cells, Query
from operators.base import Promise
from operators.noise.source import NoiseSource
from operators.single.ladder import Grid
from operators.single.nlm import Nlm
from operators.single.progressive import Dppwlm, Ppwlm
from operators.single.tslm import Tslm

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from benchmarks.papers.data import Events
    from operators.conditions.atoms import IntegerTest

__all__ = ["FACTORS", "MECHANISMS", "RUNS", "TOLERANCES", "Results", "by_query", "by_tolerance"]

BETA = Fraction(1, 20)
FIRST = Fraction(1, 100_000)
ROUNDS, PARTS = 4, 3
RUNS = 100
FACTORS = {"H": Fraction(1), "M": Fraction(4, 5), "L": Fraction(3, 5)}
TOLERANCES = (1, 2, 5, 10, 15, 20, 25, 30)

Results: TypeAlias = "dict[str, dict[str, Measured]]"
"""What was measured, by setting and mechanism."""

_Planner: TypeAlias = "Callable[[Cells, int], Callable[[], Outcome]]"


def by_query(
    data: Mapping[str, Events], runs: int = RUNS, *, queries: Sequence[Query] = QUERIES
) -> Results:
    """Return what Figures 6 and 7 show: by query and threshold, then by mechanism."""
    found: Results = {}
    for query in queries:
        for level, factor in FACTORS.items():
            if query.data in data:
                cells = query.cells(data[query.data], factor)
                found[f"{query.name} {level}"] = _measured(cells, 1, runs)
    return found


def by_tolerance(
    events: Events, runs: int = RUNS, *, tolerances: Sequence[int] = TOLERANCES
) -> Results:
    """Return what Figure 8 shows, on taxis by busy zone with low thresholds: by u, by mechanism."""
    query = next(query for query in QUERIES if query.name == "taxi 34")
    cells = query.cells(events, FACTORS["L"])
    return {str(tolerance): _measured(cells, tolerance, runs) for tolerance in tolerances}


def _measured(cells: Cells, tolerance: int, runs: int) -> dict[str, Measured]:
    far = cells.distances <= -2 * tolerance
    return {
        name: measure(planner(cells, tolerance), cells.truth, runs, far=far)
        for name, planner in MECHANISMS.items()
    }


def _ours(planned: Callable[[IntegerTest, Promise], Nlm | Tslm | Ppwlm | Dppwlm]) -> _Planner:
    def planner(cells: Cells, tolerance: int) -> Callable[[], Outcome]:
        operator = planned(cells.test, Promise(BETA, tolerance * cells.sensitivity))
        noise = NoiseSource()
        return lambda: outcome(operator.decide(cells.statistics, noise))

    return planner


def _printed(made: Callable[[int], OriginalTslm | OriginalProgressive]) -> _Planner:
    def planner(cells: Cells, tolerance: int) -> Callable[[], Outcome]:
        original, rng = made(tolerance), np.random.default_rng()
        return lambda: Outcome.of(*original.decide(cells.distances, rng))

    return planner


def _walk(parts: int) -> Callable[[IntegerTest, Promise], Ppwlm]:
    grid = Grid(FIRST, ROUNDS, parts)
    return lambda test, promise: Ppwlm.planned(test, promise, grid=grid)


def _choosing(test: IntegerTest, promise: Promise) -> Dppwlm:
    return Dppwlm.planned(test, promise, grid=Grid(FIRST, ROUNDS, PARTS))


def _original(parts: int) -> Callable[[int], OriginalProgressive]:
    return lambda u: OriginalProgressive(u, float(BETA), float(FIRST), ROUNDS, parts)


MECHANISMS: Final[Mapping[str, _Planner]] = {
    "NLM": _ours(Nlm.planned),
    "TSLM": _ours(Tslm.planned),
    "PPWLM": _ours(_walk(1)),
    "DPPWLM": _ours(_choosing),
    "full walk": _ours(_walk(PARTS)),
    "TSLM, printed": _printed(lambda u: OriginalTslm(u, float(BETA))),
    "PPWLM, printed": _printed(_original(0)),
    "DPPWLM, printed": _printed(_original(PARTS)),
}
"""Ours, the walk through all levels of DPPWLM's grid, and the algorithms as the paper has them."""
