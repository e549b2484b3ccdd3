"""What deciders cost in time, and what a threshold correction by FFT is worth."""

from __future__ import annotations

import time
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.papers.pqd.data import QUERIES
from benchmarks.papers.pqd.study import DECIDERS, EPSILON, PRINTED, SHARE, Case
from benchmarks.papers.svt.exact import Pair
from operators import svt_correction
from operators.deciders import planned
from operators.noise.source import NoiseSource
from operators.svt import Exponential, Gaussian, Gumbel, Laplace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from benchmarks.papers.pqd.data import Kind, Query, Table
    from operators.deciders import Decider
    from operators.svt.correction import Noise

__all__ = [
    "NEGATIVES",
    "TOLERANCES",
    "Correction",
    "Timing",
    "corrected",
    "timed",
]

NEGATIVES: Final = (20, 200, 2_000)
"""Negatives expected before a positive; 200 are those of 10,000 items and 50 positives."""

TOLERANCES: Final = (0.0, 3.0)
"""Error tolerances, in scales of the question's noise."""

_CELLS: Final = 1_000
_REPEATS: Final = 21


@dataclass(frozen=True, slots=True)
class Timing:
    """One decider on one query over two million rows.

    Args:
        kind: of the query.
        name: of the decider.
        statistics: how many it reads.
        count_ms: to filter the rows and add its statistics up.
        plan_ms: to plan it.
        decide_ms: to decide one cell from its statistics.
        cells_ms: to decide a thousand cells at once.
    """

    kind: Kind
    name: str
    statistics: int
    count_ms: float
    plan_ms: float
    decide_ms: float
    cells_ms: float


@dataclass(frozen=True, slots=True)
class Correction:
    """The best threshold correction of one pair of noises.

    Args:
        query: law of a question's noise.
        threshold: law of the threshold's noise.
        negatives: k.
        tolerance: a, in scales of the threshold's noise.
        analytic: r by the closed form, ``None`` where there is none.
        fft: r by convolution; ``None`` where the transform cannot see it.
        analytic_ms: time of the first.
        fft_ms: time of the second.
        chances: of all k + 1 answers being right: with the analytic r, with that by FFT, with the
            mean of the question's noise, and without correction.
    """

    query: str
    threshold: str
    negatives: int
    tolerance: float
    analytic: float | None
    fft: float | None
    analytic_ms: float
    fft_ms: float
    chances: tuple[float, float, float, float]


def timed(rows: Table, copy: Table) -> list[Timing]:
    """Time every decider on the query of each kind with the most rows.

    Args:
        rows: the private rows, all of them.
        copy: their synthetic copy.
    """
    found = []
    for kind, names in DECIDERS.items():
        query = max((each for each in QUERIES if each.kind == kind), key=lambda q: _size(q, rows))
        for name in (each for each in names if not each.endswith(PRINTED)):
            case = Case.of(query, rows, copy)
            began = time.perf_counter()
            decider = planned(name, case.kind, EPSILON, case.tau(SHARE))
            ready = time.perf_counter()
            case.values = query.values(rows)
            column = case.column(decider)
            added = time.perf_counter()
            one, many = (_decided_ms(decider, column, case.reference, n) for n in (1, _CELLS))
            spent = 1e3 * (added - ready), 1e3 * (ready - began)
            found.append(Timing(kind, name, len(column), *spent, one, many))
    return found


def corrected(negatives: Sequence[int] = NEGATIVES) -> list[Correction]:
    """Find the corrections of all pairs of noises, with and without a tolerance.

    Both noises have the scale 1, or the question's is ten times the threshold's, as for many
    alarms.

    Args:
        negatives: values of k.
    """
    found = []
    questions = (Exponential(1.0), Exponential(10.0), Laplace(1.0), Gumbel(1.0), Gaussian(1.0))
    for question in questions:
        threshold = Gaussian(1.0) if isinstance(question, Gaussian) else Laplace(1.0)
        for k in negatives:
            found += [_correction(question, threshold, k, a * question.scale) for a in TOLERANCES]
    return found


def _correction(query: Noise, threshold: Noise, k: int, tolerance: float) -> Correction:
    analytic, analytic_ms = None, float("nan")
    if isinstance(query, Exponential):
        analytic = svt_correction(query, threshold, k, tolerance)
        analytic_ms = _middle_ms(lambda: svt_correction(query, threshold, k, tolerance))
    began = time.perf_counter()
    try:
        fft = svt_correction(query, threshold, k, tolerance, "fft")
    except ValueError:  # an optimum too far out for the transform
        fft = None
    fft_ms = 1e3 * (time.perf_counter() - began)
    pair = Pair(query, threshold)
    corrections = (analytic, fft, pair.mean, 0.0)
    chances = [float("nan") if r is None else pair.apart(r, k, tolerance) for r in corrections]
    return Correction(
        query=_label(query),
        threshold=_label(threshold),
        negatives=k,
        tolerance=tolerance,
        analytic=analytic,
        fft=fft,
        analytic_ms=analytic_ms,
        fft_ms=fft_ms,
        chances=(chances[0], chances[1], chances[2], chances[3]),
    )


def _decided_ms(decider: Decider, column: NDArray[np.int64], reference: int, cells: int) -> float:
    statistics = np.repeat(column[:, np.newaxis], cells, axis=1)
    references = np.full(cells, reference, dtype=np.int64)
    noise = NoiseSource()
    return _middle_ms(lambda: decider.decide(statistics, references, noise))


def _label(noise: Noise) -> str:
    return f"{type(noise).__name__}({noise.scale:g})"


def _size(query: Query, rows: Table) -> int:
    return int(query.values(rows).size)


def _middle_ms(call: Callable[[], object], repeats: int = _REPEATS) -> float:
    """Return the median time of a call, after one that is not counted."""
    call()
    taken = []
    for _ in range(repeats):
        began = time.perf_counter()
        call()
        taken.append(time.perf_counter() - began)
    return 1e3 * median(taken)
