"""Windows over shared noisy panes, enumerated: every noise, every window, exact rationals.

The noise of a pane is a discrete Laplace of rational q. What is compared is the probability of an
outcome *and* of noisy panes inside a box, for two neighbouring inputs: the same box for both, so
that the ratio of the two is bounded exactly where it is for the whole law.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from decimal import Decimal, localcontext
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from operators.base import Promise
from operators.conditions.atoms import IntegerTest
from operators.conditions.comparison import Comparison
from operators.panes import PaneQuestion
from tests.statistical.enumeration import GivenNoise, ints
from tests.support.svt import RATE

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence
    from fractions import Fraction

    from operators.panes import Panes
    from tests.statistical.enumeration import Ints

    Law = Mapping[Hashable, Fraction]


BOX = range(-6, 10)
CELLS = len(BOX) ** 3


def asked(
    panes: int,
    tolerance: int = 2,
    *,
    threshold: int = 3,
    comparison: Comparison = Comparison.GT,
    sensitivity: int = 1,
    cells: int = CELLS,
    max_fpr: Fraction | None = None,
    **more: int,
) -> PaneQuestion:
    """Return a question of one threshold."""
    test = IntegerTest(comparison, np.full(cells, threshold), sensitivity)
    return PaneQuestion(test, Promise(RATE, tolerance, max_fpr), panes, **more)


@dataclass(frozen=True)
class Window:
    """One question about some panes.

    Args:
        question: its number.
        panes: which of them make up the window.
    """

    question: int
    panes: tuple[int, ...]


def decided(
    panes: Panes,
    windows: tuple[Window, ...],
    counts: tuple[int, ...],
    q: Fraction,
    box: range,
    *,
    released: bool = False,
) -> Law:
    """Return the law of all decisions together, by the code under test, noisy panes in ``box``.

    Every vector of noises is one cell, so that one release decides them all.

    Args:
        panes: whose questions have one threshold, repeated for every vector.
        windows: whose decisions are the outcome, in order.
        counts: of every pane.
        q: of the noise.
        box: values of every noisy pane.
        released: whether the noisy panes are part of the outcome.
    """
    values = ints(list(product(box, repeat=len(counts)))).T
    statistics = np.repeat(ints(counts)[:, None], values.shape[1], axis=1)
    noise = GivenNoise((values - statistics).ravel())
    noisy = panes.release(statistics, noise)
    assert noise.rates == [panes.rate]
    fired = [panes.decide(each.question, noisy[list(each.panes)]) for each in windows]
    outcomes = zip(*(each.tolist() for each in fired), strict=True)
    if released:
        outcomes = zip(outcomes, map(tuple, noisy.T.tolist()), strict=True)
    return law_in_box(outcomes, values, counts, q)


def law_in_box(
    outcomes: Iterable[Hashable], noisy: Ints, counts: Sequence[int], q: Fraction
) -> Law:
    """Return the law of outcomes, one for every column of noisy panes."""
    far = np.abs(noisy - ints(counts)[:, None]).sum(axis=0).tolist()
    seen = defaultdict(Counter)
    for outcome, weight in zip(outcomes, far, strict=True):
        seen[outcome][weight] += 1
    each = ((1 - q) / (1 + q)) ** len(counts)
    return {
        outcome: each * sum(many * q**weight for weight, many in found.items())
        for outcome, found in seen.items()
    }


def exact_tail(epsilon: Fraction, terms: int, at: int) -> Decimal:
    """Return P[S >= at], from the difference of two negative binomials, in 60 digits."""
    with localcontext() as context:
        context.prec = 60
        q = (-(Decimal(epsilon.numerator) / Decimal(epsilon.denominator))).exp()
        masses = [(1 - q) ** terms]
        while len(masses) < 4 * terms or masses[-1] > Decimal("1e-45"):
            k = len(masses)
            masses.append(masses[-1] * q * (terms - 1 + k) / k)
        beyond = [Decimal(0)]
        for each in reversed(masses):
            beyond.append(beyond[-1] + each)
        beyond.reverse()
        return sum(
            (each * beyond[k + at] for k, each in enumerate(masses) if k + at < len(beyond)),
            start=Decimal(0),
        )
