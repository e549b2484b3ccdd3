"""Patterns of membership: whole numbers whose bit ``i`` says whether set ``i`` holds something.

Whoever looks for a row that the most, or the dearest, sets hold need not look at a pattern that
another one contains (Parallel Composition, Proposition 5: the maximum is reached on a set of
regions that no other one contains).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["maximal", "members_of"]


def maximal(patterns: Sequence[int], most: int) -> list[int]:
    """Return the places of the patterns that no other one contains, in order.

    Args:
        patterns: any; of equal ones the first is kept. For those of intervals, in their order,
            comparing neighbours finds almost all.
        most: where more than this are left after that, they stay: comparing them all with one
            another costs more than it saves.
    """
    line = _beside_no_larger(patterns)
    if len(line) > most:
        return line
    count = max((patterns[at].bit_length() for at in line), default=0)
    frequency = np.zeros(count)
    for at in line:
        frequency += members_of(patterns[at], count)
    kept: list[int] = []
    holding = [0] * count  # per set, which of the kept patterns have it
    for at in sorted(line, key=lambda at: (-patterns[at].bit_count(), at)):
        sets = np.flatnonzero(members_of(patterns[at], count))
        containing = (1 << len(kept)) - 1
        # The rarest set first: it leaves the fewest patterns that could contain this one.
        for each in sets[np.argsort(frequency[sets], kind="stable")].tolist():
            containing &= holding[each]
            if not containing:
                break
        if containing:
            continue
        for each in sets.tolist():
            holding[each] |= 1 << len(kept)
        kept.append(at)
    return sorted(kept)


def members_of(pattern: int, count: int) -> NDArray[np.bool_]:
    """Return which of ``count`` sets a pattern has, shape (count,)."""
    packed = np.frombuffer(pattern.to_bytes((count + 7) // 8, "little"), dtype=np.uint8)
    return np.unpackbits(packed, count=count, bitorder="little").view(np.bool_)


def _beside_no_larger(patterns: Sequence[int]) -> list[int]:
    line: list[int] = []
    for at, each in enumerate(patterns):
        if line and each & patterns[line[-1]] == each:
            continue
        while line and patterns[line[-1]] & each == patterns[line[-1]]:
            line.pop()
        line.append(at)
    return line
