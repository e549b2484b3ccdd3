"""Numbers that the report on DP-PQD's appendix puts into words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from benchmarks.papers.pqd.appendix.study import margin
from benchmarks.papers.pqd.words import better, mean_wrong, points_of, rising

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.papers.pqd.data import Kind
    from benchmarks.papers.pqd.study import Case, Point, Results

__all__ = [
    "Duel",
    "beyond_ends",
    "by_support",
    "duel",
    "far_and_wrong",
    "narrow_sums",
    "one_effective",
    "overflowing",
    "pairs_of",
    "risen",
    "stuck",
]

_LARGEST_EXPONENT: Final = 709
_OFTEN: Final = 0.25
_NEARLY: Final = 0.9


@dataclass(frozen=True, slots=True)
class Duel:
    """At how many points one decider is wrong less often than another, and the other way round.

    Args:
        points: how many were looked at.
        won: by the first.
        lost: by it.
    """

    points: int
    won: int
    lost: int

    def __str__(self) -> str:
        """Return both numbers, and what they are of."""
        return f"{self.won} to {self.lost} of {self.points}"


def duel(points: list[Point], one: str, other: str) -> Duel:
    """Compare two deciders by their exact errors."""
    return Duel(len(points), better(points, one, other), better(points, other, one))


def pairs_of(found: Results, kind: Kind) -> Iterator[tuple[Case, Point]]:
    """Yield every point of a kind of queries with its case."""
    for curves in found.values():
        for curve in curves.values():
            if curve.case.query.kind == kind:
                for point in (*curve.by_tau, *curve.by_epsilon):
                    yield curve.case, point


def risen(found: Results, kind: Kind, name: str) -> str:
    """Return how many curves of a decider rise somewhere, and of how many."""
    some, every = rising(found, kind, name)
    return f"{some} of {every}"


def far_and_wrong(found: Results, kind: Kind, name: str, scales: float) -> tuple[int, int]:
    """Return at how many points a decider is wrong a quarter of the time, and how many are near.

    Args:
        found: what was measured.
        kind: of the queries.
        name: of the decider.
        scales: of noise, up to which an answer is near an end of its band.
    """
    wrong = [(case, point) for case, point in pairs_of(found, kind) if point.law[name] > _OFTEN]
    near = sum(abs(margin(case, point)) <= scales for case, point in wrong)
    return len(wrong), near


def narrow_sums(found: Results, part: float) -> list[Point]:
    """Return the points within the band of sums whose largest row is below a part of the bound."""
    return [
        point
        for case, point in pairs_of(found, "sum")
        if point.inside and case.largest <= part * case.bound
    ]


def one_effective(found: Results, kind: Kind, one: str, other: str) -> tuple[int, int]:
    """Return at how many points one of two deciders is effective alone, and at how many both are.

    Args:
        found: what was measured.
        kind: of the queries.
        one: decider.
        other: decider.
    """
    verdicts = [
        [point.tau >= point.effective[name] for name in (one, other)]
        for _, point in pairs_of(found, kind)
    ]
    return sum(a != b for a, b in verdicts), sum(a and b for a, b in verdicts)


def overflowing(found: Results) -> list[Point]:
    """Return the points of counts at which e^(epsilon tau) leaves a float."""
    points = points_of(found, "count")
    return [point for point in points if point.tau * float(point.epsilon) > _LARGEST_EXPONENT]


def stuck(found: Results, name: str) -> tuple[int, int]:
    """Return for how many medians a decider is wrong nine times in ten at every budget."""
    curves = [
        curve
        for each in found.values()
        for curve in each.values()
        if curve.case.query.kind == "median"
    ]
    always = (all(point.law[name] > _NEARLY for point in curve.by_epsilon) for curve in curves)
    return sum(always), len(curves)


def by_support(found: Results, name: str, rows: int) -> tuple[float, float]:
    """Return a decider's mean error on medians of fewer rows, copies included, and of more."""
    few: list[Point] = []
    many: list[Point] = []
    for case, point in pairs_of(found, "median"):
        (few if case.copies * case.values.size < rows else many).append(point)
    return mean_wrong(few, name), mean_wrong(many, name)


def beyond_ends(found: Results, name: str) -> tuple[float, float]:
    """Return a decider's mean error on sums below the band's lower end, and above its upper one."""
    beyond = [(case, point) for case, point in pairs_of(found, "sum") if not point.inside]
    below = [point for case, point in beyond if case.answer < case.reference]
    above = [point for case, point in beyond if case.answer > case.reference]
    return mean_wrong(below, name), mean_wrong(above, name)
