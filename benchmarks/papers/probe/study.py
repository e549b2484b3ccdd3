"""ProBE's Figures 6 to 9: conditions of several sub-queries, mechanism by mechanism.

Parameters are the paper's: beta = 0.05, alpha = 0.1, u_0 = 30% of each sub-query's range, u = 12%
of it for the naive baseline, m = 4, m_f = 3, epsilon_max = 5, 100 runs.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from itertools import repeat
from multiprocessing import get_context
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

import numpy as np

from benchmarks.papers.originals import OriginalTslm
from benchmarks.papers.trials import Measured, Outcome, measure, outcome
from benchmarks.papers.workloads import COMBINATIONS, SUBQUERIES, Columns
from operators.base import Promise
from operators.conditions.condition import Aim, Condition, ThresholdAtom
from operators.conditions.formula import Formula
from operators.formulas.probe import Probe
from operators.noise.source import NoiseSource
from operators.registry import create, price
from operators.single.tslm import Tslm

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from benchmarks.papers.data import Events
    from operators.base import Operator

MAX_FNR, MAX_FPR = Fraction(1, 20), Fraction(1, 10)
FIRST_PERCENT, NAIVE_PERCENT = 30, 12
LAST_PERCENTS = (1, 2, 3, 6, 12)
EPSILON_MAX = 5
BOUNDS = tuple(Fraction(thousandths, 1000) for thousandths in (25, 50, 75, 100, 125, 150))
NAIVE_PERCENTS = (5, 10, 15, 20, 25, 30)
SIZES = range(1, 7)
FORMULAS: Final[Mapping[str, tuple[str, ...]]] = {
    "conjunction": tuple(" AND ".join("abcdef"[:size]) for size in SIZES),
    "combination": COMBINATIONS,
    "disjunction": tuple(" OR ".join("abcdef"[:size]) for size in SIZES),
}
TREES = ("a OR (b AND c)", "(a OR b) AND (a OR c)", "a AND (b OR c)", "(a AND b) OR (a AND c)")
"""Figure 7: pairs of equivalent trees, the second of each with the first operator distributed."""

Results: TypeAlias = "dict[str, dict[str, Measured]]"
"""What was measured, by setting and mechanism."""

_Key = TypeVar("_Key", str, "tuple[str, str]")
_Maker: TypeAlias = "Callable[[Case], Callable[[], Outcome]]"


@dataclass(frozen=True, slots=True)
class Case:
    """One condition on one workload.

    Args:
        columns: the sub-queries, counted.
        formula: over a to f.
        max_fnr: beta.
        max_fpr: alpha.
        naive_percent: u of the naive baselines, in percent of each range.
    """

    columns: Columns
    formula: str
    max_fnr: Fraction = MAX_FNR
    max_fpr: Fraction = MAX_FPR
    naive_percent: int = NAIVE_PERCENT

    @property
    def condition(self) -> Condition:
        """The formula over the sub-queries' tests."""
        formula = Formula.parse(self.formula)
        cells = self.columns.statistics.shape[1]
        atoms = {
            name: ThresholdAtom(at, np.full(cells, self.columns.thresholds[at] + 1))
            for name, at in ((name, self.at(name)) for name in formula.atoms)
        }
        return Condition(formula, atoms, self.columns.sensitivities)

    @staticmethod
    def at(atom: str) -> int:
        """Return which sub-query an atom is."""
        return "abcdef".index(atom)

    def tolerances(self, percent: int) -> tuple[int, ...]:
        """Return this percentage of each atom's range, rounded up."""
        atoms = Formula.parse(self.formula).atoms
        return tuple(-(-percent * self.columns.ranges[self.at(name)] // 100) for name in atoms)

    def aim(self, percent: int) -> Aim:
        """Return what ProBE is asked for, with these last tolerances."""
        return Aim(
            max_fnr=self.max_fnr,
            max_fpr=self.max_fpr,
            tolerances=self.tolerances(percent),
            first_tolerances=self.tolerances(FIRST_PERCENT),
        )


def by_size(
    data: Mapping[str, Events], runs: int, *, sizes: Sequence[int] = SIZES, workers: int = 1
) -> dict[tuple[str, str], Results]:
    """Return what Figures 6 and 9 show: by data set and kind of formula, by number of sub-queries.

    Args:
        data: the data sets there are.
        runs: of each mechanism on each formula.
        sizes: numbers of sub-queries.
        workers: processes.
    """
    cases = {
        (workload.data, formulas[size - 1]): Case(columns, formulas[size - 1])
        for workload in SUBQUERIES
        if workload.data in data
        for columns in (workload.columns(data[workload.data]),)
        for formulas in FORMULAS.values()
        for size in sizes
    }
    found = _every(cases, runs, workers)
    return {
        (name, kind): {str(size): found[name, formulas[size - 1]] for size in sizes}
        for name in dict.fromkeys(name for name, _ in cases)
        for kind, formulas in FORMULAS.items()
    }


def by_naive_tolerance(events: Events, runs: int, *, workers: int = 1) -> Results:
    """Return what Figure 7 (a, b) shows, on retail: by the naive baselines' u in percent."""
    columns = _columns("retail", events)
    cases = {
        str(percent): Case(columns, TREES[0], naive_percent=percent) for percent in NAIVE_PERCENTS
    }
    return _every(cases, runs, workers)


def by_tree(events: Events, runs: int, *, workers: int = 1) -> Results:
    """Return what Figure 7 (c, d) shows, on retail: by formula."""
    columns = _columns("retail", events)
    return _every({formula: Case(columns, formula) for formula in TREES}, runs, workers)


def by_bound(events: Events, runs: int, *, workers: int = 1) -> tuple[Results, Results]:
    """Return what Figure 8 shows, on taxis, a disjunction of three: by beta, and by alpha."""
    columns = _columns("taxi", events)
    formula = FORMULAS["disjunction"][2]
    by_beta = {f"{float(each):g}": Case(columns, formula, max_fnr=each) for each in BOUNDS}
    by_alpha = {f"{float(each):g}": Case(columns, formula, max_fpr=each) for each in BOUNDS}
    return _every(by_beta, runs, workers), _every(by_alpha, runs, workers)


@lru_cache(maxsize=8)
def last_percent(case: Case) -> int:
    """Return the least last tolerance at which ProBE's worst case is within epsilon_max."""
    condition = case.condition
    for percent in LAST_PERCENTS[:-1]:
        plan = price("probe", condition, case.aim(percent))
        if plan.epsilon <= EPSILON_MAX:
            return percent
    return LAST_PERCENTS[-1]


def _columns(name: str, events: Events) -> Columns:
    return next(each for each in SUBQUERIES if each.data == name).columns(events)


def _every(cases: Mapping[_Key, Case], runs: int, workers: int) -> dict[_Key, dict[str, Measured]]:
    if workers == 1:
        return {key: _measured(case, runs) for key, case in cases.items()}
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        found = pool.map(_measured, cases.values(), repeat(runs))
        return dict(zip(cases, found, strict=True))


def _measured(case: Case, runs: int) -> dict[str, Measured]:
    truth = case.condition.truth(case.columns.statistics)
    return {name: measure(maker(case), truth, runs) for name, maker in MECHANISMS.items()}


def _to_the_last(name: str) -> _Maker:
    return lambda case: running(case, PLANNED[name](case.condition, case.aim(last_percent(case))))


def _naive(case: Case) -> Callable[[], Outcome]:
    """Each sub-query by itself, beta in equal parts over the sub-queries, results combined."""
    condition, noise = case.condition, NoiseSource()
    formula = condition.formula
    alone = {
        name: Tslm.planned(condition.test(name), Promise(case.max_fnr / len(formula.atoms), width))
        for name, width in zip(formula.atoms, case.tolerances(case.naive_percent), strict=True)
    }
    lost = np.full(condition.cells, float(sum(each.plan.epsilon for each in alone.values())))

    def run() -> Outcome:
        fired = {
            name: each.decide(case.columns.statistics[case.at(name)], noise).fired
            for name, each in alone.items()
        }
        return Outcome.of(formula.evaluate(fired), lost)

    return run


def running(case: Case, operator: Operator) -> Callable[[], Outcome]:
    """Return what decides all cells of a case once, by an operator of its condition."""
    noise = NoiseSource()
    return lambda: outcome(operator.decide(case.columns.statistics, noise))


def _naive_printed(case: Case) -> Callable[[], Outcome]:
    """Each sub-query by itself, beta in equal parts over what is written, results combined."""
    formula = Formula.parse(case.formula)
    written = sum(formula.occurrences)
    tolerances = dict(zip(formula.atoms, case.tolerances(case.naive_percent), strict=True))
    rng = np.random.default_rng()
    columns = case.columns

    def run() -> Outcome:
        fired = {}
        lost = np.zeros(columns.statistics.shape[1])
        for name in formula.atoms:
            at = case.at(name)
            tslm = OriginalTslm(
                tolerances[name] / columns.sensitivities[at], float(case.max_fnr) / written
            )
            distance = (columns.statistics[at] - columns.thresholds[at]) / columns.sensitivities[at]
            fired[name], paid = tslm.decide(distance, rng)
            lost += paid
        return Outcome.of(formula.evaluate(fired), lost)

    return run


PLANNED: Final[Mapping[str, Callable[[Condition, Aim], Operator]]] = {
    "score": partial(create, "tslm"),
    "score, DPPWLM": partial(create, "dppwlm"),
    "ProBE": partial(create, "probe"),
    "ProBE, fresh": partial(Probe.planned, fresh=Fraction(1, 2)),
    "ProBE-Ent": partial(create, "probe-ent"),
}
"""One noise for the whole condition, at once or level by level; ProBE by name, and as printed."""

MECHANISMS: Final[Mapping[str, _Maker]] = {
    "naive": _naive,
    **{name: _to_the_last(name) for name in PLANNED},
    "naive, printed": _naive_printed,
}
"""Naive baselines beside these."""
