"""PPWLM and DPPWLM by exact dynamic programming over the chain; broken variants are caught.

Misses: the worst walk that any rule could choose, from what it reads, passes a boundary with
probability at most ``max_fnr``. Loss: for up to three cells, every outcome with its costs.
"""

import math
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from operators.base import Promise
from operators.conditions.atoms import IntegerTest
from operators.conditions.comparison import Comparison
from operators.noise.gradual import GradualNoise
from operators.noise.source import KeyedNoise
from operators.single.ladder import Grid, Ladder
from operators.single.progressive import Dppwlm
from tests.statistical.chain_law import (
    Side,
    ever_passed,
    finer_given_coarser,
    laplace,
    marginal_shift,
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


@pytest.mark.parametrize(("grid", "steps", "beta", "alpha"), PROMISES)
def test_worst_walk_keeps_the_promise(grid, steps, beta, alpha):
    """No walk misses s = c + 1, c + 2 or c + 10, or rings at c - 2u, more often than promised."""
    of = ladder(grid, steps, beta, alpha)
    misses = [worst_walk(below(of).from_start(steps)) for steps in (0, 1, 9)]
    assert misses[0] >= misses[1] >= misses[2]
    assert misses[0] <= float(beta) + SLACK
    assert worst_walk(above(of)) <= float(alpha) + SLACK
    assert misses[0] > float(beta) * 0.8  # the bound is used, not merely kept


@pytest.mark.parametrize(("grid", "steps", "beta", "alpha"), PROMISES)
def test_recursion_meets_the_lattice(grid, steps, beta, alpha):
    """The certified recursion equals pushing the law over a lattice, and never lies below it."""
    of = ladder(grid, steps, beta, alpha)
    for side, found in ((below(of), of.below), (above(of), of.above)):
        assert ever_passed(side) == pytest.approx(list(map(float, found.spent)), abs=1e-13)
    assert sum(of.below.spent) <= beta
    assert sum(of.above.spent) <= alpha


def test_half_of_beta_at_every_level_is_caught():
    """Half of beta for each level, the next one chosen from the noise: walks pass it too often."""
    of = ladder(FINE)
    rates = tuple(map(float, of.below.levels))
    shifts = tuple(marginal_shift(t, float(BETA) / 2) for t in rates)
    assert worst_walk(replace(below(of), shifts=shifts)) > 0.1


def test_shares_handed_on_are_caught():
    """MIDE's beta r / m for a step that skips r - 1 levels: a walk passes it 11% too often."""
    of = ladder(FINE)
    rates = tuple(map(float, of.below.levels))
    share = float(BETA) / len(rates)

    def handed_on(at, to):
        return marginal_shift(rates[to], share * (to - at))

    side = replace(below(of), drop=0.0)
    assert worst_walk(side, handed_on) > 0.055


@pytest.mark.parametrize("grid", [COARSE, FINE], ids=["4 levels", "10 levels"])
def test_boundaries_one_step_short_are_caught(grid):
    """An off-by-one in the comparison, ``x <= -low`` for ``x < -low``."""
    side = below(ladder(grid))
    shifts = tuple(shift - 1 for shift in side.shifts)
    assert worst_walk(replace(side, shifts=shifts)) > 0.1


def test_dropping_the_undecided_is_caught():
    """A last level that drops what it cannot tell, as if it were a level like the others."""
    of = ladder(COARSE, 7)
    side = below(of)
    assert worst_walk(replace(side, shifts=(*side.shifts[:-1], -of.low[-1]))) > 0.5


# Loss ---------------------------------------------------------------------------------------

SMALL = Grid(first=Fraction(2, 5), rounds=2, refinement=2, finest_share=Fraction(1, 10))
VALUES = range(-220, 221)
STATISTICS = range(-5, 3)


@cache
def dppwlm(of):
    """Return the mechanism of a ladder."""
    test = IntegerTest(Comparison.GT, np.zeros(1, int), 1)
    return replace(Dppwlm.planned(test, Promise(BETA, 1)), ladder=of)


@cache
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

    def finer(coarse, fine, answers):
        return finer_given_coarser(coarse, fine, values - statistic) @ np.stack(answers, axis=1)

    fires = (values > -of.low[2]) + (1 - float(of.below.drop)) * (values == -of.low[2])
    ends = [1 - fires, fires]
    lost, rings = values < -of.low[1], values >= of.high[1]
    later = finer(middle, last, ends) * ~(lost | rings)[:, None]
    direct = finer(first, last, ends)
    return laplace(first, values - statistic), {
        1: finer(first, middle, [lost, rings, *later.T]),
        2: np.hstack([np.zeros_like(direct), direct]),
    }


def jumpy(_level, read, _counts):
    """Choose the next level by the parity of what was read: any rule must be sound."""
    return 1 + int(read.sum()) % 2


@cache
def choices(of, rule, undecided, decided):
    """Return the level chosen after the first, for every tuple of undecided values."""
    values, counts = range(-of.low[0], of.high[0]), ints([decided, 0, 0])
    chosen = {
        at: rule(0, ints(at), counts) for at in combinations_with_replacement(values, undecided)
    }
    every = [chosen[tuple(sorted(at))] for at in product(values, repeat=undecided)]
    return np.array(every).reshape((len(values),) * undecided)


@cache
def outcomes(of, rule, statistics):
    """Return the joint law of what every cell answers and pays, shape (6,) * cells.

    Per cell: dropped or fired at level 0, at level 1, at level 2.
    """
    cells, values = len(statistics), np.array(VALUES)
    law = np.zeros((6,) * cells)
    inside = (values >= -of.low[0]) & (values < of.high[0])
    laws = [one_cell(of, s) for s in statistics]
    for open_cells in product((False, True), repeat=cells):
        undecided = sum(open_cells)
        chosen = choices(of, rule, undecided, cells - undecided) if undecided else np.ones((), int)
        for level in np.unique(chosen):
            part = (chosen == level).astype(np.float64)
            for (mass, following), is_open in zip(laws, open_cells, strict=True):
                if is_open:
                    own = np.zeros((int(inside.sum()), 6))
                    own[:, 2:] = mass[inside, None] * following[level][inside]
                    part = np.tensordot(part, own, axes=(0, 0))  # its axis goes to the end
                else:
                    ends = mass[values < -of.low[0]].sum(), mass[values >= of.high[0]].sum()
                    part = np.multiply.outer(part, [*ends, 0, 0, 0, 0])
            law += part
    return law


def excess_loss(of, rule, cells, charged):
    """Return how far the loss of some outcome exceeds what the cells that move are charged.

    The first cell moves, alone or with the second of two.
    """
    worst = -math.inf
    near = (-3, -1, 0) if cells < 3 else (-3, 0)
    for others, s in product(product(near, repeat=cells - 1), STATISTICS[:-1]):
        for moves in product((0, 1), repeat=cells - 1) if cells < 3 else [(0, 0)]:
            paid = charged.reshape(6, *[1] * (cells - 1)) + any(moves) * charged
            one = outcomes(of, rule, (s, *others))
            other = outcomes(of, rule, (s + 1, *moved(others, moves)))
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
    of, rng, reads = ladder(FINE), np.random.default_rng(cells), []
    levels = np.arange(len(of.units))[:, None]

    def following(level, read, counts):
        assert counts.sum() + read.size == cells
        nxt = level + 1 if mechanism == "ppwlm" else dppwlm(of).following(level, read, counts)
        reads.append(nxt)
        return nxt

    for _ in range(30):
        steps = rng.integers(-12, 8, cells)
        values = GradualNoise(of.below.levels).draw(KeyedNoise(rng.bytes(8)), cells) + steps
        drops = rng.integers(0, 2, cells).astype(np.bool_)
        reads[:] = [0]
        before = of.walk(values, drops, following)
        unread = ~np.isin(levels, reads) | (levels > before[1])
        values[unread] = rng.integers(-50, 50, np.count_nonzero(unread))
        drops ^= before[1] < levels[-1]  # the coin is read at the last level only
        assert np.array_equal(before, of.walk(values, drops, following))
