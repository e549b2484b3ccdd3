"""Laws of the noise chain, computed without the code under test: from its definition, on a lattice.

Decimals of 60 digits where a law is compared with its closed form, floats where a walk is searched.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from operators.single.ladder import Ladder
    from tests.statistical.enumeration import Floats, Ints

DIGITS = 60

Coin = Callable[[Fraction, Fraction], Fraction]


def continuous_coin(coarse: Fraction, fine: Fraction) -> Fraction:
    """Return the coin of continuous Laplace noise, wrong on integers."""
    return (coarse / fine) ** 2


def decimal(x: Fraction) -> Decimal:
    """Return x to the digits of the context."""
    return Decimal(x.numerator) / Decimal(x.denominator)


def blurred(law: Sequence[Decimal], t: Fraction) -> list[Decimal]:
    """Return a law on consecutive integers plus an independent DLap(t), cut to the same range."""
    q = (-decimal(t)).exp()
    norm = (1 - q) / (1 + q)
    forward, backward = list(law), list(law)
    for at in range(1, len(law)):
        forward[at] += q * forward[at - 1]
        backward[-1 - at] += q * backward[-at]
    return [norm * (a + b - x) for a, b, x in zip(forward, backward, law, strict=True)]


def marginals(levels: Sequence[Fraction], coin: Coin, reach: int) -> list[list[Decimal]]:
    """Return the law of the chain's value per level on -reach..reach, from the finest down.

    Args:
        levels: rates, coarsest first.
        coin: probability of staying put, of the coarse and the fine rate.
        reach: where the lattice ends; what is cut off is q_1^reach in size.
    """
    with localcontext() as context:
        context.prec = DIGITS
        point = [Decimal(0)] * (2 * reach + 1)
        point[reach] = Decimal(1)
        laws = [blurred(point, levels[-1])]
        for coarse, fine in zip(levels[-2::-1], levels[:0:-1], strict=True):
            stay = decimal(coin(coarse, fine))
            moved = blurred(laws[-1], coarse)
            laws.append([stay * a + (1 - stay) * b for a, b in zip(laws[-1], moved, strict=True)])
        return laws[::-1]


def worst_loss(law: Sequence[Decimal], within: int) -> Decimal:
    """Return the largest loss between neighbours, for outputs up to ``within`` from the middle."""
    with localcontext() as context:
        context.prec = DIGITS
        middle = len(law) // 2
        cut = law[middle - within : middle + within + 1]
        return max(abs((a / b).ln()) for a, b in pairwise(cut))


def laplace(t: float, distances: Ints) -> Floats:
    """Return P[DLap(t) = distance]."""
    return np.asarray(math.tanh(t / 2) * np.exp(-t * np.abs(distances)), dtype=np.float64)


def marginal_shift(t: float, share: float) -> int:
    """Return the least shift that discrete Laplace noise passes with at most ``share``."""
    return max(0, math.ceil(-math.log(share * (1 + math.exp(-t))) / t - 1e-12) - 1)


@dataclass(frozen=True)
class Side:
    """Boundaries of one side, as a walk of the noise alone sees them.

    Args:
        levels: rates, coarsest first.
        shifts: per level, the walk is lost at noise below -shift.
        saved: per level, it is saved at noise of at least this (the last level: never read).
        drop: probability of being lost at exactly -shift of the last level.
    """

    levels: tuple[float, ...]
    shifts: tuple[int, ...]
    saved: tuple[int, ...]
    drop: float = 0.0

    def from_start(self, steps: int) -> Side:
        """Return what a walk sees that begins so many steps away from being lost."""
        shifts, saved = np.array(self.shifts) + steps, np.array(self.saved) - steps
        return replace(self, shifts=tuple(shifts), saved=tuple(saved))


def lattice_of(side: Side) -> Ints:
    """Return where noise of the coarsest level falls but for 1e-15 of the time."""
    reach = math.ceil(34 / side.levels[0])
    return np.arange(-reach, reach + 1)


def finer_given_coarser(coarse: float, fine: float, lattice: Ints) -> Floats:
    """Return P[finer value (column) | coarser value (row)] of the exact chain.

    A step over several levels has the law of a single one, as the ratio of the characteristic
    functions of both ends does not know what lies between.
    """
    apart = lattice[None, :] - lattice[:, None]
    stay = (math.sinh(coarse / 2) / math.sinh(fine / 2)) ** 2
    kernel = (1 - stay) * laplace(coarse, apart) + stay * (apart == 0)
    ahead = laplace(fine, lattice)
    behind = laplace(coarse, lattice)
    joint = kernel * ahead[None, :]
    # Rows that no float can tell from impossible weigh nothing in any answer.
    return np.divide(joint, behind[:, None], out=np.zeros_like(joint), where=behind[:, None] > 0)


def ladder_law(of: Ladder, step: int, levels: Sequence[int] = ()) -> list[tuple[float, float]]:
    """Return how likely a cell rings, or falls silent, at each level that it reads (all of them).

    By sums over the noise itself, from the coarsest level down.
    """
    read, last = levels or range(len(of.units)), len(of.units) - 1
    rates, drop = tuple(map(float, of.below.levels)), float(of.below.drop)
    lattice = lattice_of(Side(rates, of.low, of.high, drop))
    mass, seen = laplace(rates[read[0]], lattice), lattice + step
    found = []
    for level, finer in zip(read, [*read[1:], last], strict=True):
        low = -of.low[level]
        if level == last:
            rings = (seen > low) + (seen == low) * (1 - drop)
            quiet = 1 - rings
        else:
            rings, quiet = seen >= of.high[level], (seen < low) * 1
        found.append((float(mass @ rings), float(mass @ quiet)))
        if level != last:
            undecided = mass * (1 - rings - quiet)
            mass = undecided @ finer_given_coarser(rates[level], rates[finer], lattice)
    return found


def worst_walk(side: Side, handed_on: Callable[[int, int], int] | None = None) -> float:
    """Return the probability that the most hostile walk is lost, by dynamic programming.

    The walk may begin at any level, sees the noise itself at every level it reads, and picks any
    finer level next. It ends where it is lost or saved, at the latest at the last level.

    Args:
        side: the boundaries.
        handed_on: shift of a level (second) when it is read right after another (first, -1 at the
            beginning); the side's own by default. A walk then begins at level 0.
    """
    lattice, last = lattice_of(side), len(side.levels) - 1

    def reading(at, to):
        shift = handed_on(at, to) if handed_on else side.shifts[to]
        lost, undecided = lattice < -shift, lattice < side.saved[to]
        if to == last:
            return lost + side.drop * (lattice == -shift)
        return np.where(lost, 1.0, undecided * onwards[to])

    onwards = {}
    for at in reversed(range(last)):
        ways = [
            finer_given_coarser(side.levels[at], side.levels[to], lattice) @ reading(at, to)
            for to in range(at + 1, last + 1)
        ]
        onwards[at] = np.max(ways, axis=0)
    first = range(1 if handed_on else last + 1)
    return max(float(laplace(side.levels[to], lattice) @ reading(-1, to)) for to in first)


def ever_passed(side: Side) -> list[float]:
    """Return per level the probability that it is passed and no finer one, finest first drawn."""
    lattice = lattice_of(side)
    apart = lattice[None, :] - lattice[:, None]
    law = laplace(side.levels[-1], lattice)
    passed = []
    for at in reversed(range(len(side.levels))):
        if passed:
            coarse, fine = side.levels[at], side.levels[at + 1]
            stay = (math.sinh(coarse / 2) / math.sinh(fine / 2)) ** 2
            law = stay * law + (1 - stay) * (laplace(coarse, apart) @ law)
        lost = (lattice < -side.shifts[at]).astype(np.float64)
        lost += (lattice == -side.shifts[at]) * (0.0 if passed else side.drop)
        passed.append(float(law @ lost))
        law = law * (1 - lost)
    return passed[::-1]
