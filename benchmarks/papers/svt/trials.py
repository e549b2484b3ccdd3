"""Runs of a sparse vector technique that selects the top c of a list, and how well they did.

A run shuffles the items, draws rho once and asks them in that order; a negative goes to the end of
the queue; it ends with the c-th positive. Given rho, the questions to one item are independent, so
the traversal at which it first rings is geometric: that is drawn, and the first c items by it (by
their places in the queue within a traversal) are those of the run, whatever the cap on traversals.
The law is that of asking one by one, which a test compares, at a cost that no cap raises.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.papers.svt.methods import tail

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from benchmarks.papers.svt.data import Scores
    from benchmarks.papers.svt.methods import Method

CAPS: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
"""Traversals after which a run ends."""


def run(data: Scores, method: Method, runs: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Run a method many times.

    Args:
        data: what to select from.
        method: how.
        runs: how often.
        rng: of the noise and of the order.

    Returns:
        NCR, the normalised cumulative rank, at each of ``CAPS``, shape (runs, caps).
    """
    places = np.zeros((runs, data.alarms), dtype=np.int64)
    rounds = np.full((runs, data.alarms), np.inf)
    for at, first in enumerate(firsts(data, method, runs, rng)):
        found = selected(first, data.alarms, rng)
        places[at, : found.size], rounds[at, : found.size] = found, first[found]
    return _scored(data, places, np.stack([rounds <= cap for cap in CAPS]))


def best_possible(
    data: Scores, scale: float, runs: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Rank all items by their scores with exponential noise, and return the first c.

    Args:
        data: what to select from.
        scale: of the noise, in records.
        runs: how often.
        rng: of the noise.

    Returns:
        The same at each of ``CAPS``.
    """
    noisy = data.scores + rng.exponential(scale, (runs, data.items))
    places = np.argsort(-noisy, axis=1)[:, : data.alarms]
    return _scored(data, places, np.ones((len(CAPS), runs, data.alarms), dtype=np.bool_))


def firsts(
    data: Scores, method: Method, runs: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the traversal at which each item rings first, were there no c; shape (runs, items)."""
    noise = _threshold_noise(method, runs, rng)
    below = data.threshold - data.scores + method.correction
    rings = tail(method.query, method.query_scale, below + noise[:, None])
    with np.errstate(divide="ignore", over="ignore"):
        waits = np.floor(-rng.standard_exponential(rings.shape) / np.log1p(-rings))
    return np.where(rings > 0, 1 + waits, np.inf)


def selected(
    first: NDArray[np.float64], alarms: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return the items of one run in the order in which they ring, at most ``alarms``.

    Args:
        first: the traversal at which each would ring, shape (items,).
        alarms: c.
        rng: of the order within a traversal.

    Returns:
        Shape (positives,), int64; those of the traversals up to the last of ``CAPS``.
    """
    ever = np.flatnonzero(first <= CAPS[-1])
    order = np.lexsort((rng.random(ever.size), first[ever]))
    return np.asarray(ever[order[:alarms]], dtype=np.int64)


def _scored(
    data: Scores, places: NDArray[np.int64], rang: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Score selections: ``places`` (runs, c), ``rang`` (caps, runs, c) says which of them count."""
    c = data.alarms
    worth = np.zeros(data.items)
    worth[:c] = np.arange(c, 0, -1) * (data.scores[:c] >= data.threshold)
    ranks = (worth[places] * rang).sum(axis=2) / (c * (c + 1) / 2)
    return np.asarray(ranks.T)


def _threshold_noise(method: Method, runs: int, rng: np.random.Generator) -> NDArray[np.float64]:
    if method.threshold == "gau":
        return rng.normal(0, method.threshold_scale, runs)
    stop = -np.expm1(-1 / method.threshold_scale)
    two = rng.geometric(stop, (2, runs)).astype(np.float64)
    return np.asarray(two[0] - two[1])
