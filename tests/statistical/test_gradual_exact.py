"""Gradual release by exact dynamic programming; broken twins are caught."""

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations, pairwise, product

import numpy as np
import pytest

from accountant.units import from_loss_units
from operators.noise.gradual import GradualNoise, stay_probability
from operators.single.ladder import Ladder
from tests.statistical.chain_law import (
    DIGITS,
    continuous_coin,
    decimal,
    laplace,
    marginals,
    worst_loss,
)
from tests.statistical.enumeration import GivenNoise
from tests.statistical.test_progressive_exact import BETA, COARSE

GRIDS = [
    tuple(map(Fraction, levels))
    for levels in (
        ("1/5", "2/5", "4/5", "8/5"),
        ("0.3", "0.31", "3"),
        ("1/4", "6"),
        ("1", "1.5", "2", "4"),
        ("2",),
    )
]
GRIDS.append(tuple(map(from_loss_units, Ladder.planned(3, BETA, BETA, COARSE).units)))
"""Those that cells stop at: every value that is read there loses its level's rate."""
REACH, WITHIN = 900, 150
TINY = Decimal("1e-40")


def our_coin(coarse, fine):
    """Return the coin that the code tosses, to 2^-220."""
    return Fraction(stay_probability(coarse, fine).floor(220), 1 << 220)


def excess(levels, coin):
    """Return by how much the loss at some level exceeds its charge, in proportion."""
    laws = marginals(levels, coin, REACH)
    losses = (worst_loss(law, WITHIN) / decimal(t) for law, t in zip(laws, levels, strict=True))
    return max(losses) - 1


@pytest.mark.parametrize("levels", GRIDS, ids=str)
def test_loss_at_every_level_is_its_rate(levels):
    """Pushed from the finest level down, every marginal is the discrete Laplace to 40 digits.

    So no neighbours are further apart than the rate.
    """
    assert excess(levels, our_coin) < TINY
    with localcontext() as context:
        context.prec = DIGITS
        for law, t in zip(marginals(levels, our_coin, REACH), levels, strict=True):
            q = (-decimal(t)).exp()
            for at in range(-WITHIN, WITHIN + 1):
                exact = (1 - q) / (1 + q) * q ** abs(at)
                assert abs(law[REACH + at] / exact - 1) < TINY


def test_continuous_coin_is_caught():
    """The coin of continuous noise stays put too often and loses up to 9% more than charged."""
    excesses = [float(excess(levels, continuous_coin)) for levels in GRIDS if len(levels) > 1]
    assert min(excesses) > 1e-3
    pairs = [(Fraction(a, 4), Fraction(b, 4)) for a, b in combinations((2, 6, 10, 16), 2)]
    assert max(float(excess(pair, continuous_coin)) for pair in pairs) > 0.07


def test_wrong_coins_are_caught():
    """So are a coin that is one per mille off and one that forgets the factor of both q."""

    def forgetful(coarse, fine):
        a, b = (1 - (-decimal(t)).exp() for t in (coarse, fine))
        return Fraction(a / b) ** 2

    assert excess(GRIDS[0], lambda a, b: our_coin(a, b) * Fraction(1001, 1000)) > TINY
    assert excess(GRIDS[0], forgetful) > TINY


THREE = tuple(map(Fraction, ("1", "1.7", "3")))


def joint_losses(*, fresh):
    """Return the worst excess of every transcript of every walk, over its last level's rate.

    The joint law of the three values comes from the order of drawing, finest first; those that are
    not read are summed over. With ``fresh``, every level has noise of its own.
    """
    reach, box = 40, 5
    lattice = np.arange(-reach, reach + 1)
    rates = [float(t) for t in THREE]
    if fresh:
        joint = np.einsum("c,m,f->cmf", *(laplace(rate, lattice) for rate in rates))
    else:
        apart = lattice[None, :] - lattice[:, None]
        stays = [float(our_coin(*pair)) for pair in pairwise(THREE)]
        steps = [
            (1 - stay) * laplace(rate, apart) + stay * (apart == 0)
            for rate, stay in zip(rates, stays, strict=False)
        ]
        joint = np.einsum("cm,mf,f->cmf", *steps, laplace(rates[-1], lattice))
    worst = []
    for read in (at for size in (1, 2, 3) for at in combinations(range(3), size)):
        law = joint.sum(axis=tuple({0, 1, 2}.difference(read)))
        here, there = (  # outputs s + noise for s = 0 and s = 1
            law[(slice(reach - box - s, reach + box + 1 - s),) * law.ndim] for s in (0, 1)
        )
        worst.append(float(np.abs(np.log(here / there)).max()) - rates[read[-1]])
    return worst


def test_every_transcript_of_every_walk_pays_the_last_level_read():
    """All values in a box, all subsets of three levels: the loss is the finest rate read.

    Independent noise per level, charged as if it were one, loses the sum.
    """
    assert max(joint_losses(fresh=False)) < 1e-9
    assert max(joint_losses(fresh=True)) > 2


class Tossed(GivenNoise):
    """Hands out chosen coins as well, and notes their probabilities."""

    def __init__(self, coins, *drawn):
        """Keep both, in the order of draws."""
        super().__init__(*drawn)
        self.coins, self.chances = list(coins), []

    def certified(self, p, n):
        """Return the next coins."""
        self.chances.append(p.floor(64))
        return self.coins.pop(0)[:n]


def test_chains_are_drawn_from_the_finest_level_up():
    """Whatever coins say: each is of the law, and a step at the coarser rate follows where not."""
    levels = GRIDS[0]
    stays = np.array([*product((True, False), repeat=3)]).T
    finest, steps = np.arange(8), (10, 100, 1000)
    moved = [np.full(np.count_nonzero(~row), step) for row, step in zip(stays, steps, strict=True)]
    noise = Tossed(stays, finest, *moved)
    drawn = GradualNoise(levels).draw(noise, 8)
    added = [finest, *(~stays * np.array(steps)[:, None])]
    assert (drawn == np.cumsum(added, axis=0)[::-1]).all()
    assert noise.rates == [*levels[::-1]]
    coins = [stay_probability(*pair).floor(64) for pair in pairwise(levels)]
    assert noise.chances == coins[::-1]


def test_coin_is_certified_over_many_rates():
    """Its first 64 bits meet sinh(t/2)^2 ratios computed with 60 digits."""
    rates = [Fraction(r) for r in ("1e-12", "1e-5", "0.01", "0.5", "1", "2.5", "9", "30")]
    with localcontext() as context:
        context.prec = 90
        for coarse, fine in product(rates, rates):
            if coarse >= fine:
                continue
            a, b = ((decimal(t) / 2).exp() - (-decimal(t) / 2).exp() for t in (coarse, fine))
            exact = (a / b) ** 2
            floor = stay_probability(coarse, fine).floor(64)
            assert floor <= exact * 2**64 < floor + 1
