"""Gradual release by exact dynamic programming, then by frequencies; broken twins are caught."""

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations, pairwise, product

import numpy as np
import pytest

from accountant.units import from_loss_units
from operators.noise.gradual import GradualNoise, stay_probability
from operators.noise.source import KeyedNoise
from operators.single.ladder import Ladder
from tests.statistical.chain_law import (
    DIGITS,
    continuous_coin,
    decimal,
    laplace,
    marginals,
    worst_loss,
)
from tests.statistical.enumeration import bernoulli_chi_square, laplace_masses, p_value
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
    """Pushed from the finest level down, no neighbours are further apart than the rate."""
    assert excess(levels, our_coin) < TINY


@pytest.mark.parametrize("levels", GRIDS, ids=str)
def test_every_level_is_discrete_laplace(levels):
    """Every marginal meets its closed form to 40 digits."""
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


def joint_losses(levels, *, fresh, box=5):
    """Return the worst excess of every transcript of every walk, over its last level's rate.

    The joint law of the values read comes from the order of drawing, finest first; levels that are
    not read are summed over. With ``fresh``, every level has noise of its own.
    """
    lattice = np.arange(-40, 41)
    apart = lattice[None, :] - lattice[:, None]
    rates = [float(t) for t in levels]
    steps = []  # steps[j][fine value, coarse value]
    for coarse, fine in pairwise(levels):
        stay = float(our_coin(coarse, fine))
        steps.append((1 - stay) * laplace(float(coarse), apart) + stay * (apart == 0))
    worst = []
    for size in range(1, len(levels) + 1):
        for walk in combinations(range(len(levels)), size):
            inner = slice(40 - box, 41 + box)
            law = laplace(rates[-1], lattice)
            for at in reversed(range(walk[-1], len(steps))):
                law = law @ steps[at]
            law = laplace(rates[walk[-1]], lattice) if fresh else law
            # Outputs s + noise for s = 0 and s = 1, the finest value read first.
            both = [law[40 - box - s : 41 + box - s] for s in (0, 1)]
            for finer, coarser in pairwise(reversed(walk)):
                kernel = np.eye(lattice.size)
                for at in reversed(range(coarser, finer)):
                    kernel = kernel @ steps[at]
                for s in (0, 1):
                    own = laplace(rates[coarser], lattice[inner] - s)
                    following = np.tile(own, (2 * box + 1, 1)) if fresh else kernel[inner, inner]
                    both[s] = both[s][..., None] * following
            ratios = np.abs(np.log(both[0] / both[1]))
            worst.append(float(ratios.max()) - rates[walk[-1]])
    return worst


def test_every_transcript_of_every_walk_pays_the_last_level_read():
    """All values in a box, all subsets of three levels: the loss is the finest rate read."""
    assert max(joint_losses(tuple(map(Fraction, ("1", "1.7", "3"))), fresh=False)) < 1e-9


def test_fresh_noise_is_caught():
    """Independent noise per level, charged as if it were one, loses the sum."""
    assert max(joint_losses(tuple(map(Fraction, ("1", "1.7", "3"))), fresh=True)) > 2


def p_values(chains, levels, coin):
    """Compare marginals, coins, steps and the independence of step and value with the law."""
    found = [
        p_value(values, laplace_masses(t, int(40 / t)))
        for values, t in zip(chains, levels, strict=True)
    ]
    for at, (coarse, fine) in enumerate(pairwise(levels)):
        moved = chains[at] != chains[at + 1]
        stay = float(coin(coarse, fine)) + (1 - float(coin(coarse, fine))) * float(
            np.tanh(float(coarse) / 2)
        )
        for sign in (-1, 0, 1):  # the step does not depend on where it starts
            here = np.sign(chains[at + 1]) == sign
            count = np.array([np.count_nonzero(~moved & here)])
            probability = np.array([stay])
            found.append(bernoulli_chi_square(count, int(here.sum()), probability))
    return found


def test_frequencies_follow_the_chain():
    """Marginals and steps of 400,000 chains agree; the coin of continuous noise is refused.

    So is a coarser level of the wrong rate: the test has power.
    """
    levels = GRIDS[0]
    chains = GradualNoise(levels).draw(KeyedNoise(b"gradual"), 400_000)
    assert min(p_values(chains, levels, our_coin)) > 1e-4
    assert min(p_values(chains, levels, continuous_coin)) < 1e-9
    assert min(p_values(chains, (Fraction(21, 100), *levels[1:]), our_coin)) < 1e-9


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
