"""The least entropy over all vertices of the posterior's bounds, by looking at every one."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from functools import cache
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Counts = NDArray[np.int64]


def bounds(epsilons: Floats, priors: Floats | float = 1.0) -> tuple[Floats, Floats]:
    """Bounds on the posterior: Lemma 7, and with priors what the page on min-entropy derives."""
    down, up = priors * np.exp(-epsilons), priors * np.exp(epsilons)
    return down / up.sum(), up / down.sum()


def term(p: Floats) -> Floats:
    """Return -p ln p, 0 at 0."""
    return np.where(p > 0, -p * np.log(np.where(p > 0, p, 1.0)), 0.0)


def over_vertices(low: Floats, high: Floats, counts: Counts | None = None) -> float:
    """Least entropy over all vertices: so many of each level at the upper bound, one the fraction.

    Args:
        low: lower bound of a predicate's probability, by level.
        high: the upper one.
        counts: predicates on each level; one each if left out.
    """
    if counts is None:
        counts = np.ones(len(low), dtype=np.int64)
    raised = np.indices(tuple(counts + 1)).reshape(len(counts), -1).T
    room, lowest = high - low, term(low)
    rest = 1 - counts @ low - raised @ room
    value = raised @ term(high) + (counts - raised) @ lowest
    best = math.inf
    for one in range(len(low)):
        fits = (raised[:, one] < counts[one]) & (rest > -1e-14) & (rest < room[one] + 1e-14)
        more = term(low[one] + np.maximum(rest[fits], 0.0)) - lowest[one]
        best = min(best, float((value[fits] + more).min(initial=math.inf)))
    return best


def in_decimals(epsilons: Sequence[float], priors: Sequence[float] | None = None) -> Decimal:
    """Least entropy over all vertices to 50 digits or more, of the floats as they are."""
    with localcontext() as context:
        # The smallest bounds are exp(-2000): the sum of all must still be told from 1.
        context.prec = 50 + int(max(epsilons) * 2 / math.log(10))
        costs = [Decimal(float(one)) for one in epsilons]
        weights = [Decimal(float(one)) for one in priors or [1.0] * len(costs)]
        pairs = list(zip(weights, costs, strict=True))
        up = [weight * cost.exp() for weight, cost in pairs]
        down = [weight * (-cost).exp() for weight, cost in pairs]
        low, high = [one / sum(up) for one in down], [one / sum(down) for one in up]

        @cache
        def entropy(p):
            return -p * p.ln() if p > 0 else Decimal(0)

        tiny = Decimal(10) ** (8 - context.prec)
        ends = list(zip(low, high, strict=True))
        return min(
            entropy(p) + sum(map(entropy, others))
            for one, (least, most) in enumerate(ends)
            for others in product(*ends[:one], *ends[one + 1 :])
            if least - tiny <= (p := Decimal(1) - sum(others)) <= most + tiny
        )
