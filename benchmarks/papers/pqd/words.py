"""Numbers that the report on DP-PQD puts into words."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.papers.pqd.printed import laplace_error
from benchmarks.papers.pqd.study import DELTA
from operators.deciders import Sum, choose, levels_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.papers.pqd.data import Kind
    from benchmarks.papers.pqd.study import Case, Point, Results

_LEAST_EXPECTED = 10.0
_SAME = 1e-9
_RISE = 0.01
_SHARE = 0.95


def points_of(
    found: Results,
    kind: Kind | None = None,
    *,
    copies: int | None = None,
    inside: bool | None = None,
) -> list[Point]:
    """Return the points of some queries.

    Args:
        found: what was measured.
        kind: of the queries; all by default.
        copies: of which table; both by default.
        inside: whether q(D) lies within the band; either by default.
    """
    return [
        point
        for times, curves in found.items()
        for curve in curves.values()
        for point in (*curve.by_tau, *curve.by_epsilon)
        if kind in {None, curve.case.query.kind}
        and copies in {None, times}
        and inside in {None, point.inside}
    ]


def mean_wrong(points: Sequence[Point], name: str) -> float:
    """Return a decider's mean error; NaN over no points."""
    return float(np.mean([point.wrong[name] for point in points])) if points else math.nan


def better(points: Sequence[Point], one: str, other: str) -> int:
    """Return at how many points one decider's exact error is less than another's."""
    return sum(point.law[one] < point.law[other] - _SAME for point in points)


def rising(found: Results, kind: Kind, name: str) -> tuple[int, int]:
    """Return how many curves have an exact error that rises somewhere, and how many there are."""
    rises = [
        any(after.law[name] > before.law[name] + _RISE for before, after in pairwise(points))
        for curves in found.values()
        for curve in curves.values()
        for points in (curve.by_tau, curve.by_epsilon)
        if curve.case.query.kind == kind
    ]
    return sum(rises), len(rises)


def effective_errors(found: Results) -> tuple[int, float]:
    """Return in how many cases Definition 3.4 promises something, and the largest error there."""
    errors = [
        point.law[name]
        for point in points_of(found)
        for name, least in point.effective.items()
        if point.tau >= least and (not point.distance or point.distance >= 2 * point.tau)
    ]
    return len(errors), max(errors, default=math.nan)


def near_ends(found: Results) -> tuple[int, int]:
    """Return at how many points an effective decider is wrong with probability above one half.

    Returns:
        How many, and of how many.
    """
    errors = [
        point.law[name]
        for point in points_of(found)
        for name, least in point.effective.items()
        if point.tau >= least
    ]
    return sum(error > 0.5 for error in errors), len(errors)


def real_noise(found: Results) -> float:
    """Return how far Proposition 4.2, over real noise, is from the law of ``lm`` on counts."""
    return max(
        abs(laplace_error(point.distance, point.tau, point.epsilon) - point.law["lm"])
        for point in points_of(found, "count")
    )


def far_from_law(found: Results, runs: int) -> tuple[int, int, float]:
    """Compare measured errors with their laws.

    Args:
        found: what was measured.
        runs: behind every error.

    Returns:
        How many have enough runs, how many of these lie more than two standard errors off, and how
        many standard errors the farthest one does.
    """
    scores = []
    for point in points_of(found):
        for name, law in point.law.items():
            if not math.isnan(law) and runs * min(law, 1 - law) >= _LEAST_EXPECTED:
                error = math.sqrt(law * (1 - law) / runs)
                scores.append(abs(point.wrong[name] - law) / error)
    return len(scores), sum(score > 2 for score in scores), max(scores, default=0.0)


def shortfall(case: Case, tau: int) -> tuple[float, float]:
    """Return how far a sum lies above the band's lower end, and what its cap takes off it.

    The cap is the least power of two that 95% of the rows do not pass; both in parts of the sum.

    Raises:
        TypeError: a query that sums nothing up.
    """
    if not isinstance(case.kind, Sum):
        raise TypeError("only a sum has a cap")
    wanted = _SHARE * case.values.size
    levels = levels_of(case.kind)
    cap = next((t for t in levels if np.count_nonzero(case.values <= t) >= wanted), levels[-1])
    kept = case.copies * int(np.minimum(case.values, cap).sum())
    margin = case.answer - (case.reference - tau)
    return margin / case.answer, 1 - kept / case.answer


def chosen(found: Results) -> Counter[str]:
    """Return which decider ``decider: auto`` takes, over all points."""
    return Counter(
        choose(
            curve.case.kind,
            point.epsilon,
            point.tau,
            DELTA,
            largest=max(1, curve.case.largest) if isinstance(curve.case.kind, Sum) else None,
        ).decider
        for curves in found.values()
        for curve in curves.values()
        for point in (*curve.by_tau, *curve.by_epsilon)
    )
