"""The bounds that costs put on an adversary's posterior, level by level.

Source: MIDE, Lemma 7, and what it comes to for general priors. Proof and rounding:
``docs/research/proofs/minentropy.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "ROUNDING",
    "Box",
    "Floats",
    "Ints",
    "box_of",
    "entropy_term",
    "raised",
    "total",
]

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

ROUNDING = 2.0**-49
"""More than one operation's relative rounding error."""


@dataclass(frozen=True, slots=True)
class Box:
    """The bounds on the posterior, per level: of cost, or of cost and prior.

    Args:
        counts: predicates, as floats.
        low: lower bound of a predicate's probability.
        room: upper less lower bound, at most ``slack``: a single predicate cannot take more.
        low_term: entropy term -p ln p at the lower bound.
        gain: entropy term at the upper bound less that at the lower.
        slack: what all lower bounds leave of 1.
        base: entropy terms of all lower bounds together.
        mass_error: bound on what rounding moves of the total probability.
        margin: bound on what that and the evaluation change of the min-entropy.
    """

    counts: Floats
    low: Floats
    room: Floats
    low_term: Floats
    gain: Floats
    slack: float
    base: float
    mass_error: float
    margin: float


def box_of(levels: Floats, counts: Ints, priors: Floats) -> Box:
    """Return the bounds of predicates whose costs are on some levels.

    They are ``priors exp(-eps) / sum(priors exp(eps))`` and ``priors exp(eps) / sum(priors
    exp(-eps))``: those of Lemma 7 where the priors are equal.

    Args:
        levels: costs, shape (m,).
        counts: predicates on each, none 0, shape (m,).
        priors: of one predicate on each, above 0, in any scale, shape (m,).
    """
    sizes = counts.astype(np.float64)
    log_k = math.log(total(sizes))
    log_prior = np.log(priors) - _log_sum(sizes, np.log(priors))
    rarest = -float(log_prior.min())
    # The search adds up m numbers one after the other.
    mass_error = ROUNDING * (log_k + 2 * rarest + 8 + len(levels) / 8)
    log_up = _log_sum(sizes, log_prior + levels)
    log_down = _log_sum(sizes, log_prior - levels)
    log_low = log_prior - levels - log_up
    low = np.exp(log_low)
    low_term = -low * log_low
    slack = math.fsum([1.0, *(-sizes * low).tolist()])
    high = np.exp(np.minimum(log_prior + levels - log_down, 1.0))
    room = np.clip(high - low, 0.0, max(slack, 0.0))
    return Box(
        counts=sizes,
        low=low,
        room=room,
        low_term=low_term,
        gain=entropy_term(low + room) - low_term,
        slack=slack,
        base=total(sizes * low_term),
        mass_error=mass_error,
        margin=2 * mass_error * (2 * log_k + rarest + 4 - 2 * math.log(mass_error)),
    )


def _log_sum(sizes: Floats, logs: Floats) -> float:
    """Return the logarithm of a sum of exponentials, taken relative to the largest."""
    largest = float(logs.max())
    return largest + math.log(total(sizes * np.exp(logs - largest)))


def total(values: Floats) -> float:
    """Return a sum, rounded once."""
    return math.fsum(values.tolist())


def entropy_term(probability: Floats) -> Floats:
    """Return -p ln p, 0 at 0."""
    return np.asarray(-probability * np.log(np.where(probability > 0, probability, 1.0)))


def raised(box: Box, level: Ints | int, amount: Floats | float) -> Floats:
    """Return what so much more than the lower bound adds to a predicate's entropy term."""
    return np.asarray(entropy_term(box.low[level] + amount) - box.low_term[level])
