"""PPWLM and DPPWLM by exact dynamic programming over the chain; broken variants are caught.

Misses: the worst walk that any rule could choose, from what it reads, passes a boundary with
probability at most ``max_fnr``. Loss: for up to three cells, every outcome with its costs.
"""

import math
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest

from operators.base import Promise
from operators.conditions.atoms import IntegerTest
from operators.conditions.comparison import Comparison
from operators.noise.gradual import GradualNoise
from operators.noise.source import KeyedNoise
from operators.single.ladder import Grid, Ladder
from operators.single.progressive import Dppwlm, Ppwlm
from tests.statistical.chain_law import (
    Side,
    ever_passed,
    finer_given_coarser,
    laplace,
    worst_walk,
)
from tests.statistical.enumeration import ints
from tests.statistical.svt_law import moved
from tests.support.formulas import BETA

COARSE = Grid(first=Fraction(1, 6))
FINE = Grid(first=Fraction(1, 6), refinement=3)
SLACK = 1e-12
PROMISES = [
    (COARSE, 3, BETA, BETA),
    (COARSE, 2, BETA, BETA),
    (COARSE, 1, BETA, BETA),
    (COARSE, 7, Fraction(1, 100), Fraction(1, 5)),
    (FINE, 3, BETA, BETA),
    (FINE, 6, Fraction(1, 10), Fraction(1, 50)),
]


@cache
def ladder(grid=COARSE, steps=3, beta=BETA, alpha=BETA):
    """Plan the levels for k = ``steps``."""
    return Ladder.planned(steps, alpha, beta, grid)


def below(of):
    """Return the boundaries that a true alarm must not pass."""
    rates = tuple(map(float, of.below.levels))
    return Side(rates, of.low, of.high, float(of.below.drop))


def above(of):
    """Return the mirrored boundaries that noise at s' = -k must not pass."""
    rates = tuple(map(float, of.below.levels))
    saved = tuple(shift + 1 - of.steps for shift in of.low)
    return Side(rates, of.above.shifts, saved, float(of.above.drop))


def marginal_shift(t, share):
    """Return the least shift that discrete Laplace noise passes with at most ``share``."""
    return max(0, math.ceil(-math.log(share * (1 + math.exp(-t))) / t - 1e-12) - 1)


@pytest.mark.parametrize(("grid", "steps", "beta", "alpha"), PROMISES)
def test_worst_walk_keeps_the_promise(grid, steps, beta, alpha):
    """No walk misses s = c + 1, c + 2 or c + 10, or rings at c - 2u, more often than promised."""
    of = ladder(grid, steps, beta, alpha)
    misses = worst_walk(below(of), (0, 1, 9))
    assert misses[0] >= misses[1] >= misses[2]
    assert misses[0] <= float(beta) + SLACK
    assert worst_walk(above(of))[0] <= float(alpha) + SLACK
    assert misses[0] > float(beta) * 0.8  # the bound is used, not merely kept


@pytest.mark.parametrize(("grid", "steps", "beta", "alpha"), PROMISES)
def test_recursion_meets_the_lattice(grid, steps, beta, alpha):
    """The certified recursion equals pushing the law over a lattice, and never lies below it."""
    of = ladder(grid, steps, beta, alpha)
    for side, found in ((below(of), of.below), (above(of), of.above)):
        assert ever_passed(side) == pytest.approx(list(map(float, found.spent)), abs=1e-13)
    assert sum(of.below.spent) <= beta
    assert sum(of.above.spent) <= alpha


def test_cutoff_from_the_same_noise_is_caught():
    """Half of beta for each of two phases, the second level chosen from the noise: FNR .077."""
    rates = (0.05, *np.geomspace(0.065, 2, 20).tolist())
    shifts = tuple(marginal_shift(t, float(BETA) / 2) for t in rates)
    lattice = np.arange(-600, 601)
    onward = np.zeros(lattice.size)
    for t, shift in zip(rates[1:], shifts[1:], strict=True):
        law = finer_given_coarser(rates[0], t, lattice)
        onward = np.maximum(onward, law @ (lattice < -shift))
    passed = laplace(rates[0], lattice) @ np.where(lattice < -shifts[0], 1, onward)
    assert passed == pytest.approx(0.077, abs=5e-4)


def test_half_of_beta_at_every_level_is_caught():
    """The same on the mechanism's own grid, for walks of any length."""
    of = ladder(FINE)
    rates = tuple(map(float, of.below.levels))
    shifts = tuple(marginal_shift(t, float(BETA) / 2) for t in rates)
    assert worst_walk(replace(below(of), shifts=shifts))[0] > 0.1


def test_shares_handed_on_are_caught():
    """MIDE's beta r / m for a step that skips r - 1 levels: a walk passes it 11% too often."""
    of = ladder(FINE)
    rates = tuple(map(float, of.below.levels))
    share = float(BETA) / len(rates)

    def handed_on(at, to):
        return marginal_shift(rates[to], share * (to - at))

    side = replace(below(of), drop=0.0)
    assert worst_walk(side, handed_on=handed_on)[0] > 0.055


@pytest.mark.parametrize("grid", [COARSE, FINE], ids=["4 levels", "10 levels"])
def test_boundaries_one_step_short_are_caught(grid):
    """An off-by-one in the comparison, ``x <= -low`` for ``x < -low``."""
    side = below(ladder(grid))
    shifts = tuple(shift - 1 for shift in side.shifts)
    assert worst_walk(replace(side, shifts=shifts))[0] > 0.1


def test_dropping_the_undecided_is_caught():
    """A last level that drops what it cannot tell, as if it were a level like the others."""
    of = ladder(COARSE, 7)
    side = below(of)
    assert worst_walk(replace(side, shifts=(*side.shifts[:-1], -of.low[-1])))[0] > 0.5


# Loss ---------------------------------------------------------------------------------------

SMALL = Grid(first=Fraction(2, 5), rounds=2, refinement=2, finest_share=Fraction(1, 10))
VALUES = range(-220, 221)
STATISTICS = range(-5, 3)


@cache
def dppwlm(of):
    """Return the mechanism of a ladder."""
    test = IntegerTest(Comparison.GT, np.zeros(1, int), 1)
    return replace(Dppwlm.planned(test, Promise(BETA, 1)), ladder=of)


def one_cell(of, statistic):
    """Return the law of the first value x read, and of (fired and stopped) given x and the choice.

    Args:
        of: three levels.
        statistic: s'.

    Returns:
        Masses over ``VALUES``, and per next level an array (lattice, 4): dropped or fired at the
        middle level, dropped or fired at the last.
    """
    values = np.array(VALUES)
    first, middle, last = (units / 1e12 for units in of.units)
    mass = laplace(first, values - statistic)
    ends = (values > -of.low[2]) + (1 - float(of.below.drop)) * (values == -of.low[2])
    finer = {
        (a, b): finer_given_coarser(a, b, values - statistic)
        for a, b in ((first, middle), (first, last), (middle, last))
    }
    rung = finer[middle, last] @ ends
    lost, rings = values < -of.low[1], values >= of.high[1]
    on = ~(lost | rings)
    at_middle = np.stack([lost, rings, on * (1 - rung), on * rung], axis=1).astype(np.float64)
    direct = finer[first, last] @ ends
    none = np.zeros_like(direct)
    return mass, {
        1: finer[first, middle] @ at_middle,
        2: np.stack([none, none, 1 - direct, direct], axis=1),
    }


def jumpy(_level, read, _counts):
    """Choose the next level by the parity of what was read: any rule must be sound."""
    return 1 + int(read.sum()) % 2


@cache
def choices(of, rule, undecided, decided):
    """Return the level chosen after the first, for every tuple of undecided values."""
    counts = ints([decided, 0, 0])
    values = range(-of.low[0], of.high[0])
    chosen = np.zeros((len(values),) * undecided, int)
    for at in product(range(len(values)), repeat=undecided):
        if list(at) == sorted(at):
            read = ints([values[i] for i in at])
            level = rule(0, read, counts)
            for i in set(product(at, repeat=undecided)):
                if sorted(i) == list(at):
                    chosen[i] = level
    return chosen


@cache
def outcomes(of, rule, statistics):
    """Return the joint law of what every cell answers and pays, shape (6,) * cells.

    Per cell: dropped or fired at level 0, at level 1, at level 2.
    """
    cells = len(statistics)
    law = np.zeros((6,) * cells)
    laws = [one_cell(of, s) for s in statistics]
    values = np.array(VALUES)
    inside = (values >= -of.low[0]) & (values < of.high[0])
    for open_cells in product((False, True), repeat=cells):
        undecided = sum(open_cells)
        chosen = choices(of, rule, undecided, cells - undecided) if undecided else None
        for level in (1, 2) if undecided else (1,):
            part = np.ones(()) if chosen is None else (chosen == level).astype(np.float64)
            for (mass, following), is_open in zip(laws, open_cells, strict=True):
                own = np.zeros((int(inside.sum()) if is_open else 1, 6))
                if is_open:
                    own[:, 2:] = mass[inside, None] * following[level][inside]
                    part = np.tensordot(part, own, axes=(0, 0))  # its axis goes to the end
                else:
                    own[0, :2] = mass[values < -of.low[0]].sum(), mass[values >= of.high[0]].sum()
                    part = np.multiply.outer(part, own[0])
            law += part
    return law


def excess_loss(of, rule, cells, charged):
    """Return how far the loss of some outcome exceeds what the cells that move are charged.

    The first cell moves, alone or with the second of two.
    """
    worst = -math.inf
    for others in product((-3, -1, 0), repeat=cells - 1):
        for moves in product((0, 1), repeat=cells - 1) if cells < 3 else [(0, 0)]:
            beside = moved(others, moves)
            paid = charged.reshape(6, *[1] * (cells - 1)) + any(moves) * charged
            for s in STATISTICS[:-1]:
                one, other = outcomes(of, rule, (s, *others)), outcomes(of, rule, (s + 1, *beside))
                assert one.sum() == pytest.approx(1, abs=1e-9)
                worst = max(worst, float((np.abs(np.log(one / other)) - paid).max()))
    return worst


def charges(of):
    """Return epsilon per outcome of a cell."""
    return np.repeat(np.array(of.units) / 1e12, 2)


@pytest.mark.parametrize("cells", [1, 2, 3])
@pytest.mark.parametrize("mechanism", ["dppwlm", "any"])
def test_no_outcome_loses_more_than_it_is_charged(mechanism, cells):
    """Answers and costs of up to three cells together, the walk chosen from all of them.

    One of them moves, or two: of a person who is in both.
    """
    of = ladder(SMALL)
    rule = jumpy if mechanism == "any" else dppwlm(of).following
    assert excess_loss(of, rule, cells, charges(of)) < 1e-9


def test_charging_the_level_before_is_caught():
    """A cell that pays for the level it left rather than the one where it stopped."""
    of = ladder(SMALL)
    units = (of.units[0], of.units[0], of.units[1])
    assert excess_loss(of, jumpy, 2, np.repeat(np.array(units) / 1e12, 2)) > 0.1


@pytest.mark.parametrize("cells", [1, 2, 3, 7])
@pytest.mark.parametrize("mechanism", ["ppwlm", "dppwlm"])
def test_what_was_not_read_has_no_influence(mechanism, cells):
    """Levels skipped or finer than the stop: redrawn, they change no answer and no cost."""
    of = ladder(FINE)
    rng = np.random.default_rng(cells)
    reads = []

    def following(level, read, counts):
        assert counts.sum() + read.size == cells
        nxt = level + 1 if mechanism == "ppwlm" else dppwlm(of).following(level, read, counts)
        reads.append(nxt)
        return nxt

    for _ in range(30):
        steps = rng.integers(-12, 8, cells)
        values = GradualNoise(of.below.levels).draw(KeyedNoise(rng.bytes(8)), cells) + steps
        drops = rng.integers(0, 2, cells).astype(np.bool_)
        reads.clear()
        fired, stopped = of.walk(values, drops, following)
        visited = np.isin(np.arange(len(of.units)), [0, *reads])
        unread = ~visited[:, None] | (np.arange(len(of.units))[:, None] > stopped[None, :])
        values[unread] = rng.integers(-50, 50, np.count_nonzero(unread))
        drops ^= stopped < len(of.units) - 1  # the coin is read at the last level only
        again = of.walk(values, drops, following)
        assert np.array_equal(fired, again[0])
        assert np.array_equal(stopped, again[1])


@pytest.mark.parametrize("mechanism", [Ppwlm, Dppwlm])
def test_frequencies_keep_the_promise(mechanism):
    """100,000 cells at c + 1 and at c - 2u: misses and false alarms within five deviations."""
    cells = 100_000
    test = IntegerTest(Comparison.GT, np.full(cells, 100), 1)
    operator = mechanism.planned(test, Promise(BETA, 2))
    noise = KeyedNoise(b"progressive")
    bound = cells * float(BETA) + 5 * math.sqrt(cells * float(BETA))
    true = operator.decide(np.full(cells, 101), noise)
    false = operator.decide(np.full(cells, 96), noise)
    assert np.count_nonzero(~true.fired) < bound
    assert np.count_nonzero(false.fired) < bound
    assert true.cost.worst_units <= operator.ladder.units[-1]
