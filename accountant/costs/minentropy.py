"""Min-entropy of predicate-wise costs: the least uncertainty an adversary can be left with.

An adversary who knows nothing but the output guesses which of k predicates a record satisfies. A
predicate of cost ``eps_i`` confines the posterior probability ``p_i`` to ``[l_i, u_i]``, with
``l_i = exp(-eps_i) / sum(exp(eps))`` and ``u_i = exp(eps_i) / sum(exp(-eps))``. The min-entropy is
the minimum of ``-sum(p ln p)`` over these bounds and ``sum(p) = 1``: ln k where every cost is zero,
near zero where the adversary may be sure. An adversary who knows more beforehand is described by a
prior per predicate: both bounds are then weighted by it.

Guarantee: ``lower`` and ``upper`` enclose the exact value, floating point included, also where the
search stops at its node limit. Proof: ``docs/research/proofs/minentropy.md``.

Source: MIDE, Lemma 7, Definition 6 and Theorem 11. The lower bound printed in its section 5, with
exp(-eps) in the denominator, is a misprint.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import SupportsFloat

import numpy as np

from accountant.arguments import WHOLE, expect
from accountant.costs.posteriors import Floats, Ints, box_of, entropy_term, total
from accountant.costs.vertices import VertexSearch
from accountant.errors import ArgumentError

__all__ = ["MinEntropy", "min_entropy", "min_entropy_levels"]

NODE_LIMIT = 200_000
_RAREST = 1e-100
_ALL_CERTAIN = 1e4  # beyond it exp(-eps) underflows and a posterior may be 1 anyway


@dataclass(frozen=True, slots=True)
class MinEntropy:
    """Min-entropy of k predicates, in nats.

    Args:
        value: entropy of the most certain posterior found.
        lower: proven lower bound, rounded down.
        upper: proven upper bound, rounded up; ``lower <= exact <= upper``.
        predicates: k.
        most: what there is without any output: ln k, or the entropy of the priors.
        nodes: states the search generated after the first bracket; 0 where that closed it.
    """

    value: float
    lower: float
    upper: float
    predicates: int
    most: float
    nodes: int

    @property
    def normalised(self) -> float:
        """The value as a share of the most there can be; 1.0 for a single predicate.

        With one predicate there is nothing to guess and nothing that a cost could give away, so it
        reads as all of its uncertainty kept.
        """
        return min(1.0, self.value / self.most) if self.most > 0 else 1.0


def min_entropy(
    epsilons: Iterable[SupportsFloat],
    *,
    priors: Iterable[SupportsFloat] | None = None,
    node_limit: int = NODE_LIMIT,
) -> MinEntropy:
    """Return the min-entropy of a list of costs.

    Args:
        epsilons: cost of each predicate, shape (k,), k >= 1: non-negative ints, floats or
            Fractions, in any order.
        priors: how likely each predicate is to an adversary before any output, shape (k,), not
            negative, in any scale; all the same if left out. One of prior 0 stays at 0 and is not
            counted.
        node_limit: see ``min_entropy_levels``; a level is a pair of cost and prior.

    Returns:
        The value with its bracket, in nats. Time O(k log k) to sort, then as
        ``min_entropy_levels``.

    Raises:
        ValueError: no costs, more than one dimension, or a cost that is negative, NaN, infinite or
            no number; priors of another shape, out of range, or further apart than 1e100.

    Source: MIDE, Definition 6, and Lemma 7 with a prior per predicate.
    """
    expect(WHOLE, node_limit=node_limit)
    costs = _costs(epsilons)
    weights = np.ones_like(costs) if priors is None else _weights(priors, len(costs))
    likely = weights > 0
    # As complex numbers, pairs of a cost and a prior have an order.
    pairs, counts = np.unique(costs[likely] + 1j * weights[likely], return_counts=True)
    levels, each = pairs.real, pairs.imag
    return _solved(levels, counts, each, node_limit)


def min_entropy_levels(
    levels: Iterable[SupportsFloat], counts: Iterable[int], *, node_limit: int = NODE_LIMIT
) -> MinEntropy:
    """Return the min-entropy of costs given as levels and how many predicates stand at each.

    Args:
        levels: costs as in ``min_entropy``, shape (m,); a level may be given twice.
        counts: predicates per level, whole numbers >= 0, shape (m,), not all zero.
        node_limit: states the search may generate, times the levels that each state looks at, so
            that it bounds time; reaching it leaves the bracket open, never wrong. The same input
            always generates the same states.

    Returns:
        The value with its bracket, in nats. The first bracket takes O(m log m).

    Raises:
        ValueError: as ``min_entropy``; counts that are negative, not whole, all zero, or of
            another shape than the levels; a negative ``node_limit``.

    Source: MIDE, Definition 6.
    """
    costs = _costs(levels)
    sizes = np.asarray(counts if isinstance(counts, (np.ndarray, Sequence)) else list(counts))
    if sizes.dtype.kind not in "iu" or sizes.shape != costs.shape:
        raise ArgumentError("counts are whole numbers, one per level")
    if (sizes < 0).any() or not 0 < sum(sizes.tolist()) < 2**53:
        raise ArgumentError("counts are not negative, and there is at least one predicate")
    distinct, where = np.unique(costs, return_inverse=True)
    merged = np.bincount(where, weights=sizes).astype(np.int64)
    met = merged > 0
    return _solved(distinct[met], merged[met], np.ones(met.sum()), node_limit)


def _costs(values: Iterable[SupportsFloat]) -> Floats:
    """Return costs as floats, those without effect beyond ``_ALL_CERTAIN`` lowered to it."""
    return np.minimum(_floats(values, "costs", huge=_ALL_CERTAIN), _ALL_CERTAIN)


def _weights(values: Iterable[SupportsFloat], predicates: int) -> Floats:
    """Return priors as floats, the largest 1."""
    weights = _floats(values, "priors", huge=math.inf)
    if len(weights) != predicates:
        raise ArgumentError("priors are as many as costs", hint="write [0.5, 0.3, 0.2]")
    most = float(weights.max())
    if most < sys.float_info.min or (weights[weights > 0] / most < _RAREST).any():
        raise ArgumentError(
            "priors are not all zero, and none is less than 1e-100 of another",
            hint="write 0 for a predicate that is out of the question",
        )
    return weights / most


def _floats(values: Iterable[SupportsFloat], what: str, *, huge: float) -> Floats:
    """Return finite numbers from 0 up as floats; ``huge`` for those beyond all floats."""
    if not hasattr(values, "__iter__"):
        values = ()
    given = np.asarray(values if isinstance(values, np.ndarray | Sequence) else list(values))
    numbers = given.astype(np.float64) if given.dtype.kind in "iuf" else np.zeros(0)
    if given.dtype.kind == "O":
        numbers = np.array([_float(value, huge) for value in given.ravel()])
    fits = given.ndim == 1 and len(numbers) > 0
    if not (fits and (np.isfinite(numbers) & (numbers >= 0)).all()):
        raise ArgumentError(
            f"{what} are finite numbers, not negative, in a flat list of at least one",
            hint="write a flat list, such as [0.5, 1]",
        )
    return numbers


def _float(value: object, huge: float) -> float:
    """Return one number; NaN, which is refused, for what is none."""
    try:
        return math.nan if isinstance(value, str | bytes) else float(value)  # type: ignore[arg-type]  # whatever float() refuses is none
    except OverflowError:
        return huge if value > 0 else -huge  # type: ignore[operator]  # a huge int or ratio
    except TypeError:
        return math.nan


def _solved(levels: Floats, counts: Ints, priors: Floats, node_limit: int) -> MinEntropy:
    if node_limit < 0:
        raise ArgumentError(
            "a node limit is not negative",
            hint="write node_limit=0 for bounds alone, or leave it out",
        )
    predicates = int(counts.sum())
    box = box_of(levels, counts, priors)
    lowest = highest = box.base
    nodes = 0
    if box.slack > box.mass_error:
        search = VertexSearch(box)
        search.run(node_limit // len(levels))
        lowest, highest = search.proven, search.best
        nodes = search.nodes
    most = math.log(predicates)
    ceiling = math.nextafter(most, math.inf)
    if priors.min() < priors.max():
        most = total(counts * entropy_term(priors / total(counts * priors)))
    return MinEntropy(
        value=min(max(highest, 0.0), most),
        lower=max(lowest - box.margin, 0.0),
        upper=min(highest + box.margin, ceiling),
        predicates=predicates,
        most=most,
        nodes=nodes,
    )
