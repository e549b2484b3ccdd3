"""Which level a walk reads next: the one whose expected costs leave most min-entropy.

Source: MIDE, Algorithms 3 and 4.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.costs.minentropy import min_entropy_levels
from operators.single.batched import Decisions, repeated

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from operators.conditions.atoms import IntegerTest
    from operators.noise.source import NoiseSource
    from operators.single.ladder import Ladder

__all__ = ["level_of_most_entropy", "levels_of_most_entropy", "walk_by_entropy"]

_NODES: Final = 1000  # of the min-entropy search: the bracket is closed to a few per cent anyway


def walk_by_entropy(
    ladder: Ladder, test: IntegerTest, statistics: NDArray[np.int64], noise: NoiseSource
) -> Decisions:
    """Decide as :meth:`Ladder.walk`, every window going on to the level of its most min-entropy.

    Args:
        ladder: levels and boundaries.
        test: of one window's cells.
        statistics: shape (windows, cells), int64.
        noise: the cryptographic source.
    """
    windows, cells = statistics.shape
    steps = repeated(test, windows).quantise(statistics.reshape(-1))
    drawn, coins = ladder.noisy(steps, noise)
    values, drops = drawn.reshape(-1, windows, cells), coins.reshape(windows, cells)
    last = len(ladder.units) - 1
    fired = np.zeros((windows, cells), dtype=np.bool_)
    stopped = np.full((windows, cells), last, dtype=np.intp)
    undecided = np.ones((windows, cells), dtype=np.bool_)
    counts = np.zeros((windows, last + 1), dtype=np.int64)
    following = np.zeros(windows, dtype=np.intp)
    for level in range(last):
        going = np.flatnonzero(following == level)
        if not going.size:
            continue
        read, waiting = values[level, going], undecided[going]
        rings = waiting & (read >= ladder.high[level])
        settled = rings | (waiting & (read < -ladder.low[level]))
        fired[going] |= rings
        stopped[going] = np.where(settled, level, stopped[going])
        counts[going, level] = np.count_nonzero(settled, axis=1)
        undecided[going] = waiting = waiting & ~settled
        some = waiting.any(axis=1)
        following[going[~some]] = last
        going, read, waiting = going[some], read[some], waiting[some]
        levels = range(level + 1, last + 1)
        following[going] = levels_of_most_entropy(
            ladder.costs,
            counts[going],
            np.count_nonzero(waiting, axis=1),
            levels,
            np.stack([ladder.likely_left(level, to, read, waiting) for to in levels], axis=1),
        )
    rings = ladder.rings_at_last(values[last], drops)
    return Decisions(fired | (undecided & rings), np.array(ladder.units, dtype=np.int64)[stopped])


def level_of_most_entropy(
    epsilons: tuple[float, ...],
    counts: NDArray[np.int64],
    waiting: int,
    levels: range,
    still_waiting: Callable[[int], float],
) -> int:
    """Return the level to read next: the largest expected min-entropy, the coarser on a tie.

    What is still undecided there is taken to go on to the last level.

    Args:
        epsilons: of every level.
        counts: cells that have stopped at each, shape (levels,).
        waiting: cells that are undecided.
        levels: those to choose from, up to the last.
        still_waiting: how many of them are expected to be undecided at a level.

    Source: MIDE, Algorithm 4.
    """
    best, chosen = -math.inf, levels[-1]
    for level in levels:
        left = round(still_waiting(level))
        expected = counts.tolist()
        expected[level] += waiting - left
        expected[-1] += left
        entropy = _expected_entropy(epsilons, tuple(expected))
        if entropy > best:
            best, chosen = entropy, level
    return chosen


def levels_of_most_entropy(
    epsilons: tuple[float, ...],
    counts: NDArray[np.int64],
    waiting: NDArray[np.int64],
    levels: range,
    still_waiting: NDArray[np.float64],
) -> NDArray[np.intp]:
    """Return every window's :func:`level_of_most_entropy`.

    Args:
        epsilons: of every level.
        counts: cells that have stopped at each, shape (windows, levels).
        waiting: cells that are undecided, shape (windows,).
        levels: those to choose from, up to the last.
        still_waiting: how many of them are expected to be undecided at each of those, shape
            (windows, len(levels)).
    """
    left = np.rint(still_waiting).astype(np.int64)
    rows = np.concatenate([counts, waiting[:, None], left], axis=1)
    chosen: dict[bytes, int] = {}  # windows in which little happens ask for the same
    found = np.empty(len(rows), dtype=np.intp)
    for at, row in enumerate(rows):
        key = row.tobytes()
        if key not in chosen:
            likely = dict(zip(levels, left[at].tolist(), strict=True))
            chosen[key] = level_of_most_entropy(
                epsilons, counts[at], int(waiting[at]), levels, likely.__getitem__
            )
        found[at] = chosen[key]
    return found


@lru_cache(maxsize=4096)
def _expected_entropy(levels: tuple[float, ...], counts: tuple[int, ...]) -> float:
    """Return the min-entropy that costs would leave, to a few per cent.

    Remembered: windows in which little happens ask for the same one again and again.
    """
    return min_entropy_levels(levels, counts, node_limit=_NODES).value
