"""A synthetic copy of Adult: noisy pairwise marginals along a fixed tree, sampled.

It plays the part of PrivBayes in DP-PQD's section 7: a differentially private generator that the
deciders know nothing of. The tree was fixed from the meaning of the attributes, so it costs no
privacy; like PrivBayes's network it takes attributes for independent that are not.

One row adds one to one cell of each marginal: with discrete Laplace noise of rate epsilon over the
number of marginals on every cell, the marginals together are epsilon-DP (rows added or removed).
All that follows is post-processing: every noisy marginal is projected onto the tables without
negative cells whose total is that of the smallest marginal, and rows are drawn from the root down.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.papers.pqd.data import AGES, CATEGORIES, CLIPS, Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from operators.noise.source import NoiseSource

EPSILON: Final = Fraction(1)
"""The generator's own budget, apart from the deciders'."""

TREE: Final = (
    ("marital", "relationship"),
    ("marital", "age"),
    ("marital", "education"),
    ("relationship", "sex"),
    ("relationship", "race"),
    ("race", "country"),
    ("race", "fnlwgt"),
    ("education", "workclass"),
    ("education", "salary"),
    ("salary", "capgain"),
)
"""Pairs whose joint table is measured, parents before children; the first parent is the root."""

_BINS: Final[Mapping[str, NDArray[np.int64]]] = {
    "age": np.arange(AGES[0], AGES[1] + 2),
    "fnlwgt": np.arange(0, CLIPS["fnlwgt"] + 1, 100_000),
    "capgain": np.array([0, *(1 << power for power in range(17)), CLIPS["capgain"] + 1]),
}
"""Edges of half-open bins; a number is drawn evenly from its bin."""


@dataclass(frozen=True, slots=True, eq=False)
class _Pair:
    """One measured marginal.

    Args:
        parent: attribute of its rows.
        child: attribute of its columns.
        counts: noisy, shape (parent's values, child's values), int64.
    """

    parent: str
    child: str
    counts: NDArray[np.int64]


def synthetic(table: Table, noise: NoiseSource, seed: int, *, epsilon: Fraction = EPSILON) -> Table:
    """Return a synthetic copy, with about as many rows.

    Guarantee: epsilon-DP under adding or removing one row, if ``noise`` is the operating system's;
    a known key makes the copy repeatable and protects nobody.

    Args:
        table: the private rows.
        noise: for the marginals.
        seed: of the rows drawn from them, which is post-processing.
        epsilon: budget of all marginals together, > 0.

    Returns:
        Rows with the attributes of :data:`TREE`.
    """
    sizes = {name: len(table.names[name]) for name in CATEGORIES}
    sizes |= {name: len(edges) - 1 for name, edges in _BINS.items()}
    pairs = []
    for parent, child in TREE:
        shape = sizes[parent], sizes[child]
        cell = _codes(table, parent) * sizes[child] + _codes(table, child)
        counts = np.bincount(cell, minlength=shape[0] * shape[1])
        counts = counts + noise.discrete_laplace(epsilon / len(TREE), counts.size)
        pairs.append(_Pair(parent, child, counts.reshape(shape)))
    smallest = min(pairs, key=lambda each: each.counts.size)
    return _sampled(table, pairs, max(1, int(smallest.counts.sum())), np.random.default_rng(seed))


def _sampled(table: Table, pairs: list[_Pair], rows: int, rng: np.random.Generator) -> Table:
    codes: dict[str, NDArray[np.int64]] = {}
    for pair in pairs:
        joint = _projected(pair.counts, rows)
        if not codes:
            codes[pair.parent] = _drawn(joint.sum(axis=1), rows, rng)
        given = codes[pair.parent]
        drawn = np.empty(rows, dtype=np.int64)
        for value in range(len(joint)):
            at = np.flatnonzero(given == value)
            drawn[at] = _drawn(joint[value], at.size, rng)
        codes[pair.child] = drawn
    columns = {name: codes[name] for name in CATEGORIES}
    for name, edges in _BINS.items():
        low, high = edges[codes[name]], edges[codes[name] + 1]
        columns[name] = rng.integers(low, high)
    return Table(table.names, columns)


def _codes(table: Table, name: str) -> NDArray[np.int64]:
    """Return the values of an attribute as positions; numbers outside its bins go to the ends."""
    if name not in _BINS:
        return table.columns[name]
    edges = _BINS[name]
    found = np.searchsorted(edges, table.columns[name], side="right") - 1
    return np.clip(found, 0, len(edges) - 2)


def _projected(counts: NDArray[np.int64], total: int) -> NDArray[np.float64]:
    """Return the nearest table without negative cells and with this total > 0 (least squares)."""
    falling = np.sort(counts.ravel())[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, falling.size + 1)
    shift = excess[np.flatnonzero(falling > excess)[-1]]
    return np.asarray(np.maximum(counts - shift, 0.0), dtype=np.float64)


def _drawn(weights: NDArray[np.float64], count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    total = weights.sum()
    chances = weights / total if total > 0 else np.full(weights.size, 1 / weights.size)
    return rng.choice(weights.size, size=count, p=chances)
