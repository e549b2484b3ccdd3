"""Gaussian budgets by exact enumeration, then by frequencies; broken twins must be caught.

Two coins are mu-GDP exactly if their quantiles are at most mu apart, so that a table is checked
entry by entry against another computation of the normal law. What the filter lets through is
checked as a whole: every transcript of adaptively chosen windows, of a stream and its neighbour.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import pairwise, product
from typing import TYPE_CHECKING

import numpy as np
import pytest

from accountant.budget.filter import UserFilter
from accountant.budget.standings import Standing
from accountant.costs.charges import Charge, UniformCost, WindowKey
from accountant.errors import ConfigError
from accountant.loss.gaussian import Gaussian, delta_bounds, mu_of
from accountant.loss.overlap import Held
from accountant.records import Answer
from accountant.regions.shapes import ANYWHERE
from accountant.units import UNITS_PER_EPSILON
from operators.base import Promise
from operators.conditions.atoms import IntegerTest
from operators.conditions.comparison import Comparison
from operators.noise.source import KeyedNoise
from operators.single import gaussian
from operators.single.tslm import Tslm
from tests.statistical.enumeration import ONE, bernoulli_chi_square, exp_bounds, ints
from tests.support.normal import MARGIN, normal, quantile

if TYPE_CHECKING:
    from collections.abc import Iterator

THRESHOLD = 100
PAPER = Fraction(1, 20)
CASES = [
    pytest.param(*case, id="D{}-u{}-beta{}-alpha{}".format(*case).replace("/", "_"))
    for case in (
        (1, 20, PAPER, None),
        (1, 1, Fraction(1, 100), Fraction(1, 5)),
        (7, 50, Fraction(1, 10), Fraction(1, 1000)),
        (100, 5, PAPER, None),
        (1, 0, Fraction(1, 10**12), Fraction(1, 10**12)),
        (1, 60, PAPER, Fraction(1, 10**9)),
    )
]


def planned(
    sensitivity: int, tolerance: int, beta: Fraction = PAPER, alpha: Fraction | None = None
) -> Tslm:
    """Plan one cell with threshold 100 under a Gaussian budget."""
    thresholds = ints([THRESHOLD])
    test = IntegerTest(Comparison.GT, thresholds, sensitivity)
    return gaussian.planned(test, Promise(beta, tolerance, alpha))


def apart(low: int, high: int) -> Fraction:
    """Return how far the quantiles of two entries are apart."""
    return quantile(Fraction(high, ONE)) - quantile(Fraction(low, ONE))


def too_far_apart(tslm: Tslm, units: int) -> int:
    """Count neighbouring entries that are not mu-GDP; ``units`` are mu^2 / 2, in loss units."""
    mu = mu_of(units) + Fraction(1, 2**85)  # more than a quantile here is off by
    return sum(apart(*pair) > mu for pair in pairwise(tslm.probabilities.tolist()))


def fires(tslm: Tslm, statistic: int) -> Fraction:
    """Return P[fire | s] exactly."""
    return Fraction(int(tslm.law(ints([statistic]))[0]), ONE)


@pytest.mark.parametrize(("sensitivity", "tolerance", "beta", "alpha"), CASES)
def test_neighbouring_entries_are_as_private_as_is_charged(
    sensitivity: int, tolerance: int, beta: Fraction, alpha: Fraction | None
) -> None:
    """Every pair of the table, and one per cent less is too little."""
    tslm = planned(sensitivity, tolerance, beta, alpha)
    assert not too_far_apart(tslm, tslm.units)
    assert too_far_apart(tslm, tslm.units * 99 // 100)
    assert (np.diff(tslm.probabilities.astype(object)) > 0).all()
    assert int(tslm.probabilities[0]) > 0
    # What is one step apart is what neighbouring statistics are: D units, at most.
    statistics = np.arange(THRESHOLD - 3 * sensitivity, THRESHOLD + 3 * sensitivity, dtype=np.int64)
    test = replace(tslm.test, thresholds=np.full(statistics.size, THRESHOLD, dtype=np.int64))
    moved = test.quantise(statistics + sensitivity) - test.quantise(statistics)
    assert abs(moved).max() == 1


@pytest.mark.parametrize(("sensitivity", "tolerance", "beta", "alpha"), CASES)
def test_promise_holds_exactly(
    sensitivity: int, tolerance: int, beta: Fraction, alpha: Fraction | None
) -> None:
    """Misses at the first true value and alarms at the first forbidden one stay within bounds."""
    tslm = planned(sensitivity, tolerance, beta, alpha)
    assert 1 - fires(tslm, THRESHOLD + 1) <= beta
    assert fires(tslm, THRESHOLD + 1 - 2 * tolerance - 1) <= (beta if alpha is None else alpha)


@pytest.mark.parametrize(("sensitivity", "tolerance", "beta", "alpha"), CASES)
def test_charge_is_about_the_theoretical_minimum(
    sensitivity: int, tolerance: int, beta: Fraction, alpha: Fraction | None
) -> None:
    """No mu-GDP mechanism takes fewer units from 1 - beta to alpha; here 1 in 1,000 more."""
    tslm = planned(sensitivity, tolerance, beta, alpha)
    steps = tslm.test.steps(tolerance)
    least = (quantile(1 - beta) - quantile(beta if alpha is None else alpha)) / steps
    assert least**2 / 2 <= tslm.plan.epsilon < least**2 / 2 * Fraction(1001, 1000)
    assert tslm.plan.limit == pytest.approx(float(least**2 / 2))
    assert tslm.plan.epsilon == Fraction(tslm.units, UNITS_PER_EPSILON)


def test_a_rate_near_one_and_a_coarse_promise_are_planned() -> None:
    """Neither takes the quantile's float for more than it is, nor a table without an end."""
    near = Promise(Fraction(1, 10**12), 9, 1 - Fraction(2, 10**12))
    thresholds = ints([THRESHOLD])
    plan = gaussian.priced(IntegerTest(Comparison.GT, thresholds, 1), near)
    assert 1 <= plan.ratio < 10
    table, lowest = gaussian.Grid(Fraction(0), Fraction(1, 10**6)).table()
    assert (lowest, table.size) == (-20_000, 40_001)


def test_broken_tables_are_caught() -> None:
    """Rounded down for once, read at another sensitivity, or made for pure losses."""
    tslm = planned(1, 20)
    once = tslm.probabilities.copy()
    once[3:] += np.uint64(1 << 44)
    assert too_far_apart(replace(tslm, probabilities=once), tslm.units)
    doubled = replace(tslm, probabilities=tslm.probabilities[::2])
    assert too_far_apart(doubled, tslm.units)
    pure = Tslm.planned(tslm.test, Promise(PAPER, 20))
    assert too_far_apart(pure, tslm.units)


def test_the_table_ends_where_no_entry_is_close_enough() -> None:
    """Beyond both ends it is constant, and a step further on would cost more than is charged."""
    tslm = planned(1, 20)
    assert normal(quantile(Fraction(int(tslm.probabilities[0]), ONE))) < Fraction(1, 10**13)
    ends = [fires(tslm, far) * ONE for far in (-(10**6), 10**6)]
    assert ends == tslm.probabilities[[0, -1]].tolist()


def test_frequencies_follow_the_law() -> None:
    """A hundred thousand draws at five distances; a law half a step aside is told apart."""
    tslm = planned(1, 5)
    statistics = ints([88, 94, 97, 100, 103])
    cells = np.repeat(statistics, 20_000)
    wide = replace(
        tslm, test=replace(tslm.test, thresholds=np.full(cells.size, THRESHOLD, dtype=np.int64))
    )
    fired = wide.decide(cells, KeyedNoise(bytes(32))).fired.reshape(5, -1).sum(axis=1)
    law = np.array([float(fires(tslm, int(one))) for one in statistics])
    beside = np.array([float(fires(tslm, int(one) + 1)) for one in statistics])
    assert bernoulli_chi_square(fired, 20_000, law) > 1e-6
    assert bernoulli_chi_square(fired, 20_000, beside) < 1e-6


def test_too_many_steps_are_refused() -> None:
    """Each entry takes a tail of the normal law."""
    with pytest.raises(ConfigError, match="under a Gaussian promise"):
        planned(1, 3_000)


@pytest.mark.parametrize(("windows", "pays"), [(15, 1.25), (96, 2.89), (1440, 8.68)])
def test_what_a_gaussian_budget_saves_at_the_same_tolerance(windows: int, pays: float) -> None:
    """Times less epsilon than pure losses come to, at tolerance 20 and a delta of 1e-6."""
    test = IntegerTest(Comparison.GE, ints([100]), 1)
    promise = Promise(PAPER, 20)
    pure = windows * Tslm.priced(test, promise).epsilon
    rho = windows * gaussian.priced(test, promise).epsilon
    spent = Gaussian(Fraction(20), Fraction(1, 10**6)).epsilon_of(int(rho * UNITS_PER_EPSILON))
    assert float(pure) / spent == pytest.approx(pays, rel=0.01)


# --- two neighbours, through the filter

WINDOWS = 8
EPSILONS = (Fraction(0), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4))


@dataclass(frozen=True)
class Audit:
    """Every transcript of windows that are chosen by what rang before, and their probabilities.

    Args:
        dear: decides after an alarm.
        cheap: decides otherwise.
        wall: in loss units.
    """

    dear: Tslm
    cheap: Tslm
    wall: int

    def charged(self, tslm: Tslm) -> int:
        """Return what a window is charged."""
        return tslm.units

    def transcripts(self, count: int) -> Iterator[tuple[str, Fraction]]:
        """Yield transcripts, refusals included, with their probabilities at a count."""
        for rang in product((False, True), repeat=WINDOWS):
            judge, text, chance = UserFilter(self.wall, {}, {}), "", Fraction(1)
            for at, alarm in enumerate(rang):
                tslm = self.dear if text.endswith("!") else self.cheap
                key = WindowKey(10 * at + 10, "crowd", 10 * at)
                asked = Charge(key, UniformCost(self.charged(tslm), 1), 1, periods=(0,))
                if judge.answer(asked, ANYWHERE) is not Answer.RESERVED:
                    if alarm:  # a refused window says nothing: it is counted once
                        chance = Fraction(0)
                    text += "x"
                    continue
                held = Held(key.start_ms, key.end_ms, self.charged(tslm))
                judge.hold(Standing(held, False, (0,), "crowd"))
                p = _fires(tslm, count)
                chance *= p if alarm else 1 - p
                text += "!" if alarm else "."
            if chance:
                yield text, chance

    def excess(self, gaussian_wall: int) -> int:
        """Count epsilons at which some event is likelier than the wall's promise allows."""
        here, there = dict(self.transcripts(THRESHOLD)), dict(self.transcripts(THRESHOLD + 1))
        assert sum(here.values()) == sum(there.values()) == 1
        found = 0
        for epsilon, (p, q) in product(EPSILONS, ((here, there), (there, here))):
            grown = exp_bounds(epsilon)[1]
            delta = sum(max(chance - grown * q[text], Fraction(0)) for text, chance in p.items())
            found += delta > delta_bounds(epsilon, gaussian_wall)[1] + MARGIN
        return found


class Halved(Audit):
    """Broken twin: a quarter of every window is charged."""

    def charged(self, tslm: Tslm) -> int:
        """Return too little."""
        return tslm.units // 4


class Linear(Audit):
    """Broken twin: what adds up is mu^4, as if small losses hardly counted."""

    def charged(self, tslm: Tslm) -> int:
        """Return too little of what is small."""
        return tslm.units**2 // UNITS_PER_EPSILON


@cache
def _fires(tslm: Tslm, count: int) -> Fraction:
    return fires(tslm, count)


def audit_of(kind: type[Audit]) -> Audit:
    """Return an audit whose wall holds five or six of the eight windows."""
    dear, cheap = planned(1, 1), planned(1, 2)
    return kind(dear, cheap, 2 * dear.units + 3 * cheap.units)


def test_neighbours_are_told_apart_no_better_than_the_wall_allows() -> None:
    """Exactly, over all transcripts and all events, whatever was chosen by what was seen."""
    audit = audit_of(Audit)
    assert {"x" in text for text, _ in audit.transcripts(THRESHOLD)} == {True, False}
    assert not audit.excess(audit.wall)
    # Much of what the wall allows is used: with less of it, something is found.
    assert audit.excess(audit.wall * 5 // 8)


@pytest.mark.parametrize("twin", [Halved, Linear])
def test_filters_that_charge_too_little_are_caught(twin: type[Audit]) -> None:
    """The same audit of the same laws finds them."""
    audit = audit_of(twin)
    assert audit.excess(audit.wall)
