"""Finite laws with exact masses, and their trade-off function by enumerating every test."""

from __future__ import annotations

from fractions import Fraction
from itertools import chain, combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence


def random_law(rng: random.Random, outcomes: int) -> list[Fraction]:
    """Return a law over some outcomes, a few of them impossible."""
    weights = [rng.choice([0, 1, 1, 2, 3, 5, 8]) for _ in range(outcomes)]
    weights[rng.randrange(outcomes)] += 1
    return [Fraction(weight, sum(weights)) for weight in weights]


def product_of(one: Sequence[Fraction], other: Sequence[Fraction]) -> list[Fraction]:
    """Return the law of two independent outcomes."""
    return [p * q for p in one for q in other]


def least_miss(
    null: Sequence[Fraction], other: Sequence[Fraction], alphas: Sequence[Fraction]
) -> list[Fraction]:
    """Return the least miss rate of each size: over all events, and coins between two of them."""
    places = range(len(null))
    events = chain.from_iterable(combinations(places, size) for size in range(len(null) + 1))
    points = {
        (sum((null[at] for at in event), Fraction(0)), 1 - sum(other[at] for at in event))
        for event in events
    }
    return [
        min(
            low + (high - low) * (alpha - left) / (right - left) if right > left else low
            for left, low in points
            for right, high in points
            if left <= alpha and (right > alpha or right == left)
        )
        for alpha in alphas
    ]
