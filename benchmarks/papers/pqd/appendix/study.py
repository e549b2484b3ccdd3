"""Exact errors of all deciders on all queries of the appendix, around every synthetic copy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmarks.papers.pqd.appendix.queries import QUERIES
from benchmarks.papers.pqd.appendix.tables import COPIES
from benchmarks.papers.pqd.study import EPSILON, EPSILONS, SHARE, SHARES, Case, Curve, exact
from operators.deciders import Count, Sum

if TYPE_CHECKING:
    from benchmarks.papers.pqd.appendix.privbayes import References
    from benchmarks.papers.pqd.data import Table
    from benchmarks.papers.pqd.study import Point, Results

__all__ = ["margin", "matched", "measured"]


def measured(name: str, table: Table, references: References) -> Results:
    """Compute every decider's error on every query, at every tolerance and every budget.

    Args:
        name: of the table.
        table: its rows, once each.
        references: what its synthetic copies answer.

    Returns:
        By number of the synthetic copy, from 1, and query; without medians of nothing.
    """
    found: Results = {}
    asked = {
        query.name: (query, query.values(table), query.answer(table)) for query in QUERIES[name]
    }
    for number, answers in enumerate(references.answers, 1):
        found[number] = {}
        for each, (query, values, once) in asked.items():
            reference = answers[each]
            if reference is None:
                continue
            answer = once * (1 if query.kind == "median" else COPIES[name])
            found[number][each] = _curve(Case(query, values, answer, reference, COPIES[name]))
    return found


def matched(found: Results) -> Results:
    """Return the counts of the first copy again, each around its own q(D), as of a perfect copy."""
    cases = (curve.case for curve in found[1].values() if curve.case.query.kind == "count")
    return {
        1: {
            case.query.name: _curve(
                Case(case.query, case.values, case.answer, case.answer, case.copies)
            )
            for case in cases
        }
    }


def _curve(case: Case) -> Curve:
    return Curve(
        case,
        by_tau=[exact(case, share, EPSILON) for share in SHARES],
        by_epsilon=[exact(case, SHARE, epsilon) for epsilon in EPSILONS],
    )


def margin(case: Case, point: Point) -> float:
    """Return how far the answer lies within its band, in scales of noise; below 0: beyond it.

    Of counts and sums the distance to the nearer end, by epsilon over the sensitivity. Of a median
    the rows by which it would have to move: those short of half of them beyond the band's fuller
    side, by epsilon.
    """
    if isinstance(kind := case.kind, Count | Sum):
        return (point.tau - point.distance) * float(point.epsilon) / kind.sensitivity
    low, high = case.reference - point.tau, case.reference + point.tau
    fuller = max(np.count_nonzero(case.values <= low), np.count_nonzero(case.values >= high))
    return case.copies * (case.values.size / 2 - float(fuller)) * float(point.epsilon)
