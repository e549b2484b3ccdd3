"""DP-PQD's Figures 5 to 10: how often each decider is wrong, by tolerance and by budget.

Parameters are the paper's: tau is 0.2%, 0.8%, 3.2%, 12.8% or 51.2% of the reference, epsilon
0.0625 to 1, 3.2% and 0.25 where the other one varies, 100 runs; R2T's error probability is 0.05 and
SVT's share of rows 0.95, the deciders' own defaults.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from benchmarks.papers.pqd.data import CLIPS, DOMAINS, QUERIES
from benchmarks.papers.pqd.laws import printed_race, printed_sparse, within
from benchmarks.papers.pqd.originals import Band, Truncated, median_law, race, sparse
from operators.deciders import (
    Count,
    Quantile,
    Sum,
    planned,
    tau_min,
)
from operators.noise.source import NoiseSource

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from benchmarks.papers.pqd.data import Kind, Query, Table
    from operators.deciders import Decider, Statistic

RUNS: Final = 100
SHARES: Final = tuple(Fraction(each, 1000) for each in (2, 8, 32, 128, 512))
"""Tolerances as shares of the reference."""
EPSILONS: Final = tuple(Fraction(1, 1 << power) for power in (4, 3, 2, 1, 0))
SHARE, EPSILON = SHARES[2], EPSILONS[2]
DELTA: Final = Fraction(1, 20)
"""Error probability of the effectiveness thresholds."""
COPIES: Final = (1, 64)
"""Adult itself, and with every row 64 times: 2.1 million rows, as many as the paper's tables."""

_KNOWN: Final = ("lm", "em", "r2t", "tight")
_HALF: Final = Fraction(1, 2)

DECIDERS: Final[Mapping[Kind, tuple[str, ...]]] = {
    "count": ("lm", "em", "tight"),
    "sum": ("lm", "r2t", "svt", "tight", "r2t, printed", "svt, printed"),
    "median": ("em", "hist", "tight", "em, printed"),
}
"""The paper's deciders as this library has them, its own ``tight``, and three as printed."""
PRINTED: Final = ", printed"


@dataclass(frozen=True, slots=True)
class Point:
    """All deciders of one query at one tolerance and budget.

    Args:
        share: the tolerance as a share of the reference.
        epsilon: the budget.
        tau: the tolerance in whole units.
        distance: between the answer and the reference.
        wrong: share of runs with the wrong answer, by decider; of :func:`exact`, as ``law``.
        law: the exact probability of it, by decider.
        effective: from which tau on each decider is effective at :data:`DELTA`, where known.
    """

    share: Fraction
    epsilon: Fraction
    tau: int
    distance: int
    wrong: Mapping[str, float]
    law: Mapping[str, float]
    effective: Mapping[str, float]

    @property
    def inside(self) -> bool:
        """Whether the answer lies within the band."""
        return self.distance < self.tau


@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """How often a decider is run, and on what randomness.

    Args:
        runs: how often.
        noise: of this library's deciders.
        rng: of the printed ones.
    """

    runs: int = RUNS
    noise: NoiseSource = field(default_factory=NoiseSource)
    rng: np.random.Generator = field(default_factory=np.random.default_rng)


@dataclass(eq=False)
class Case:
    """One query over the private rows, each of them there several times, and its reference.

    Args:
        query: the query.
        values: of the rows that count, shape (rows,), int64, clipped to the public range.
        answer: over the private rows.
        reference: public.
        copies: how often each private row is there.
    """

    query: Query
    values: NDArray[np.int64]
    answer: int
    reference: int
    copies: int
    _totals: dict[Statistic, int] = field(default_factory=dict)

    @classmethod
    def of(cls, query: Query, private: Table, copy: Table, copies: int = 1) -> Case:
        """Return a query's case.

        Args:
            query: the query.
            private: the rows.
            copy: a synthetic copy of all of them, for the reference.
            copies: how often each private row is there.
        """
        answer = query.answer(private) * (1 if query.kind == "median" else copies)
        reference = answer if query.matched else query.answer(copy)
        return cls(query, query.values(private), answer, reference, copies)

    @property
    def kind(self) -> Count | Sum | Quantile:
        """What the deciders are planned for."""
        if self.query.kind == "count":
            return Count()
        if self.query.kind == "sum":
            return Sum(0, self.bound)
        return Quantile(_HALF, DOMAINS[self.query.column])

    @property
    def largest(self) -> int:
        """The largest value of a row that counts: the paper's downward sensitivity DS."""
        return int(self.values.max(initial=0))

    @property
    def bound(self) -> int:
        """The public bound of one row's share in a sum: the paper's global sensitivity GS."""
        return CLIPS[self.query.column]

    @cached_property
    def truncated(self) -> Truncated:
        """What the printed deciders of a sum read."""
        return Truncated.of(self.values, self.bound, self.copies)

    def tau(self, share: Fraction) -> int:
        """Return a share of the reference, rounded up: the same question over whole numbers."""
        return max(1, math.ceil(share * abs(self.reference)))

    def column(self, decider: Decider) -> NDArray[np.int64]:
        """Return the statistics that a decider reads, shape (statistics,), int64.

        Every statistic is a sum over rows, so that copies of the rows multiply it.
        """
        for each in decider.statistics:
            if each not in self._totals:
                self._totals[each] = self.copies * each.total(self.values, self.reference)
        return np.array([self._totals[each] for each in decider.statistics], dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Curve:
    """One query.

    Args:
        case: the query and its answers.
        by_tau: epsilon fixed, one point per share.
        by_epsilon: tau fixed, one point per budget.
    """

    case: Case
    by_tau: Sequence[Point]
    by_epsilon: Sequence[Point]


Results: TypeAlias = "dict[int, dict[str, Curve]]"
"""What was measured, by how often each row is there (or by synthetic copy) and query."""


def measured(
    private: Table,
    synthetic: Mapping[int, Table],
    runs: int = RUNS,
    *,
    queries: Sequence[Query] = QUERIES,
) -> Results:
    """Run every decider on every query, at every tolerance and every budget.

    Args:
        private: the rows.
        synthetic: per number of times that each row is there, a copy of all of them.
        runs: of each decider.
        queries: which.
    """
    draws = Draws(runs)
    found: Results = {}
    for times, copy in synthetic.items():
        found[times] = {}
        for query in queries:
            case = Case.of(query, private, copy, times)
            by_tau = [point(case, share, EPSILON, draws) for share in SHARES]
            by_epsilon = [point(case, SHARE, epsilon, draws) for epsilon in EPSILONS]
            found[times][query.name] = Curve(case, by_tau, by_epsilon)
    return found


def point(case: Case, share: Fraction, epsilon: Fraction, draws: Draws) -> Point:
    """Run all deciders of one query at one tolerance and budget; the runs are the cells."""
    found = exact(case, share, epsilon)
    references = np.full(draws.runs, case.reference, dtype=np.int64)
    wrong = {}
    for name in DECIDERS[case.query.kind]:
        if name.endswith(PRINTED):
            answers = _printed(name, case, Band(case.reference, found.tau, float(epsilon)), draws)
        else:
            decider = planned(name, case.kind, epsilon, found.tau)
            column = case.column(decider)[:, np.newaxis]
            answers = decider.decide(np.repeat(column, draws.runs, axis=1), references, draws.noise)
        wrong[name] = float(np.mean(answers != found.inside))
    return replace(found, wrong=wrong)


def exact(case: Case, share: Fraction, epsilon: Fraction) -> Point:
    """Compute how often all deciders of one query are wrong; nothing is drawn."""
    tau = case.tau(share)
    distance = abs(case.answer - case.reference)
    references = np.array([case.reference], dtype=np.int64)
    law = {}
    for name in DECIDERS[case.query.kind]:
        if name.endswith(PRINTED):
            chance = _printed_law(name, case, Band(case.reference, tau, float(epsilon)))
        else:
            decider = planned(name, case.kind, epsilon, tau)
            column = case.column(decider)[:, np.newaxis]
            chance = within(decider, column, references, distance)
        error = 1 - chance if distance < tau else chance
        law[name] = min(1.0, max(0.0, error))  # sums of floats may pass either by a rounding
    return Point(share, epsilon, tau, distance, law, law, thresholds(case, epsilon))


def thresholds(case: Case, epsilon: Fraction) -> dict[str, float]:
    """Return from which tau on each decider is effective at :data:`DELTA`, where that is known.

    Those of a sum take the largest value present, which is private: for the figures only.
    """
    kind = case.kind
    if isinstance(kind, Quantile):
        return {}
    largest = max(1, case.largest)
    names = (name for name in DECIDERS[case.query.kind] if name in _KNOWN)
    return {name: tau_min(name, kind, epsilon, DELTA, largest=largest) for name in names}


def _printed(name: str, case: Case, band: Band, draws: Draws) -> NDArray[np.bool_]:
    """Return the answers of a printed decider."""
    if case.query.kind == "median":
        return draws.rng.random(draws.runs) < _printed_law(name, case, band)
    decide = race if name.startswith("r2t") else sparse
    return decide(case.truncated, band, draws.runs, draws.rng)


def _printed_law(name: str, case: Case, band: Band) -> float:
    """Return the probability of "within" of a printed decider."""
    if case.query.kind == "median":
        return median_law(case.values, case.copies, DOMAINS[case.query.column], band)
    law = printed_race if name.startswith("r2t") else printed_sparse
    return law(case.truncated, band)
