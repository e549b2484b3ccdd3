"""Prime implicants and prime implicates: the least sets of literals that settle a formula."""

from __future__ import annotations

from functools import lru_cache, reduce
from operator import and_, or_
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from accountant.errors import ArgumentError
from operators.conditions.syntax import fold, leaves

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from operators.conditions.syntax import Node

__all__ = ["MOST_PRIMES", "conjoined", "disjoined", "primes", "truth_columns"]

MOST_PRIMES: Final = 1 << 14
"""Most prime implicants (or implicates) that are listed; C(16, 8) is 12,870."""

_MOST_TABULATED: Final = 20


@lru_cache(maxsize=64)
def primes(tree: Node, *, dual: bool) -> tuple[frozenset[str], ...]:
    """Return the prime implicants, or (the same with AND and OR swapped) the prime implicates.

    Args:
        tree: NOT at its leaves only.
        dual: whether implicates are asked for.

    Returns:
        By size, then by the order of first appearance.

    Raises:
        ValueError: more than ``MOST_PRIMES`` of them, or more than 20 literals.
    """
    literals = tuple(dict.fromkeys(leaves(tree)))
    fits = len(literals) <= _MOST_TABULATED
    if not fits or (masks := _tabulated(tree, literals, dual=dual)).size > MOST_PRIMES:
        raise ArgumentError(
            f"the formula has more than {_MOST_TABULATED} literals, or can become true, or false,"
            f" in more than {MOST_PRIMES} ways"
        )
    members = [[i for i in range(len(literals)) if mask >> i & 1] for mask in masks.tolist()]
    members.sort(key=lambda indices: (len(indices), indices))
    return tuple(frozenset(literals[i] for i in indices) for indices in members)


def truth_columns(names: Sequence[str]) -> tuple[dict[str, int], int]:
    """Return the truth table's columns, one bit per assignment, and that of "always true".

    In assignment number r, name i is true iff bit i of r is set.
    """
    rows = 1 << len(names)
    columns = {}
    for i, name in enumerate(names):
        # Bit r of column i is bit i of r: runs of 2^i zeros and 2^i ones.
        column, width = ((1 << (1 << i)) - 1) << (1 << i), 2 << i
        while width < rows:
            column |= column << width
            width *= 2
        columns[name] = column
    return columns, (1 << rows) - 1


def conjoined(parts: list[Any]) -> Any:
    """Return the conjunction of columns or arrays."""
    return reduce(and_, parts)


def disjoined(parts: list[Any]) -> Any:
    """Return the disjunction of columns or arrays."""
    return reduce(or_, parts)


def _tabulated(tree: Node, literals: Sequence[str], *, dual: bool) -> NDArray[np.uint64]:
    """Read the least true assignments off the truth table over the literals."""
    columns, full = truth_columns(literals)
    combine = (disjoined, conjoined) if dual else (conjoined, disjoined)
    table = fold(tree, columns.__getitem__, *combine)
    least = table
    for i, literal in enumerate(literals):  # still true without literal i: not least
        least &= full ^ (table << (1 << i) & columns[literal])
    packed = np.frombuffer(least.to_bytes(-(-full.bit_length() // 8), "little"), dtype=np.uint8)
    return np.flatnonzero(np.unpackbits(packed, bitorder="little")).astype(np.uint64)
