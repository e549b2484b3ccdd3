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

BETA = Fraction(1, 20)
FIRST = Fraction(1, 100_000)
ROUNDS, PARTS = 4, 3
RUNS = 100
FACTORS = {"H": Fraction(1), "M": Fraction(4, 5), "L": Fraction(3, 5)}
TOLERANCES = (1, 2, 5, 10, 15, 20, 25, 30)

Results: TypeAlias = "dict[str, dict[str, Measured]]"
"""What was measured, by setting and mechanism."""

Planner: TypeAlias = "Callable[[Cells, int], Callable[[], Outcome]]"
"""Of cells and a tolerance in sensitivities: decides all cells once."""


def by_query(
    data: Mapping[str, Events], runs: int = RUNS, *, queries: Sequence[Query] = QUERIES
) -> Results:
    """Return what Figures 6 and 7 show: by query and threshold, then by mechanism."""
    found: Results = {}
    for query in queries:
        for level, factor in FACTORS.items():
            if query.data in data:
                cells = query.cells(data[query.data], factor)
                found[f"{query.name} {level}"] = measured(cells, 1, runs)
    return found


def by_tolerance(
    events: Events, runs: int = RUNS, *, tolerances: Sequence[int] = TOLERANCES
) -> Results:
    """Return what Figure 8 shows, on taxis by busy zone with low thresholds: by u, by mechanism."""
    cells = _varied(events)
    return {str(tolerance): measured(cells, tolerance, runs) for tolerance in tolerances}


def measured(
    cells: Cells, tolerance: int, runs: int, planners: Mapping[str, Planner] | None = None
) -> dict[str, Measured]:
    """Return what each mechanism costs and gets wrong on the same cells.

    Args:
        cells: statistics and thresholds.
        tolerance: u, in sensitivities.
        runs: of each mechanism.
        planners: by name; ``MECHANISMS`` where ``None``.
    """
    far = cells.distances <= -2 * tolerance
    return {
        name: measure(planner(cells, tolerance), cells.truth, runs, far=far)
        for name, planner in (MECHANISMS if planners is None else planners).items()
    }


def mechanisms(beta: Fraction) -> dict[str, Planner]:
    """Return ours, the walk through all levels of DPPWLM's grid, and the paper's as printed.

    Args:
        beta: largest rate of misses.
    """
    steps = progressive(FIRST, ROUNDS, beta)
    return {
        "NLM": _ours(Nlm.planned, beta),
        "TSLM": _ours(Tslm.planned, beta),
        **{name: steps[name] for name in ("PPWLM", "DPPWLM", "full walk")},
        "TSLM, printed": _printed(lambda u: OriginalTslm(u, float(beta))),
        **{name: steps[name] for name in ("PPWLM, printed", "DPPWLM, printed")},
    }


def progressive(first: Fraction, rounds: int, beta: Fraction = BETA) -> dict[str, Planner]:
    """Return the mechanisms of several steps, ours and as printed.

    Args:
        first: epsilon_1.
        rounds: m.
        beta: largest rate of misses.
    """

    def walk(parts: int) -> Planner:
        grid = Grid(first, rounds, parts)
        return _ours(lambda test, promise: Ppwlm.planned(test, promise, grid=grid), beta)

    def choosing(test: IntegerTest, promise: Promise) -> Dppwlm:
        return Dppwlm.planned(test, promise, grid=Grid(first, rounds, PARTS))

    def original(parts: int) -> Planner:
        return _printed(lambda u: OriginalProgressive(u, float(beta), float(first), rounds, parts))

    return {
        "PPWLM": walk(1),
        "DPPWLM": _ours(choosing, beta),
        "full walk": walk(PARTS),
        "PPWLM, printed": original(0),
        "DPPWLM, printed": original(PARTS),
    }


def _varied(events: Events) -> Cells:
    """Return the cells of the query that the paper varies parameters on."""
    query = next(query for query in QUERIES if query.name == "taxi 34")
    return query.cells(events, FACTORS["L"])


def _ours(
    planned: Callable[[IntegerTest, Promise], Nlm | Tslm | Ppwlm | Dppwlm], beta: Fraction
) -> Planner:
    def planner(cells: Cells, tolerance: int) -> Callable[[], Outcome]:
        operator = planned(cells.test, Promise(beta, tolerance * cells.sensitivity))
        noise = NoiseSource()
        return lambda: outcome(operator.decide(cells.statistics, noise))

    return planner


def _printed(made: Callable[[int], OriginalTslm | OriginalProgressive]) -> Planner:
    def planner(cells: Cells, tolerance: int) -> Callable[[], Outcome]:
        original, rng = made(tolerance), np.random.default_rng()
        return lambda: Outcome.of(*original.decide(cells.distances, rng))

    return planner


MECHANISMS: Final[Mapping[str, Planner]] = mechanisms(BETA)
"""All of them at the paper's beta."""
