"""How likely one cell rings by a formula: exact laws, from what a mechanism was planned with.

For plans and tests: what is computed here from a count is as private as the count. The recursion is
that of ``docs/research/proofs/detection.md``.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from accountant.units import UNITS_PER_EPSILON
from operators.conditions.formula import atom_of
from operators.conditions.syntax import fold
from operators.noise.mixtures import Answer, inside, intervals, ring_chance
from operators.single.adapter import steps_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from operators.conditions.formula import Formula
    from operators.formulas.literals import Reading, Share
    from operators.formulas.treewalk import Scale

    _State: TypeAlias = tuple[tuple[bool, bool], ...]

__all__ = ["walk_chances"]

_ONE: Final = float(1 << 64)


def walk_chances(
    formula: Formula,
    scales: Sequence[Scale],
    cell: int,
    statistics: NDArray[np.int64],
    levels: Sequence[int] | None = None,
) -> NDArray[np.float64] | None:
    """Return the law of a walk over the levels of one channel.

    Args:
        formula: over the literals of that channel.
        scales: one per channel; of several, none is known to be read first.
        cell: which cell.
        statistics: shape (statistics, n), int64.
        levels: those it reads while it needs them, rising, the last one among them; all of them by
            default.

    Returns:
        Shape (n,), or nothing where there are several channels.
    """
    if len(scales) > 1:
        return None
    (scale,) = scales
    read = range(len(scale.units)) if levels is None else levels
    rungs = _Rungs(formula, scale, cell)

    @cache  # the same for every place
    def answers(at: int, state: _State) -> list[Answer[_State]]:
        return [rungs.answer(read[at], *ends, state) for ends in rungs.intervals(read[at])]

    rates = [scale.units[level] / UNITS_PER_EPSILON for level in read]
    unknown = tuple((False, True) for _ in scale.share.readings)
    fresh = scale.chain is None
    steps = _channel_steps(scale.share, cell, statistics)
    found = [ring_chance(rates, at, answers, unknown, fresh=fresh) for at in steps.tolist()]
    return np.array(found, dtype=np.float64)


def _channel_steps(share: Share, cell: int, statistics: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the step counts of a channel in one cell, within +-2^60.

    Args:
        share: of the channel.
        cell: which cell.
        statistics: shape (statistics, n), int64.
    """
    channel = share.channel
    steps = steps_of(channel.test, cell, statistics[channel.statistic])
    far = np.int64(1 << 60)
    return np.clip(steps, -far, far)


class _Rungs:
    """The boundaries of one channel's literals in one cell, as answers of a walk."""

    def __init__(self, formula: Formula, scale: Scale, cell: int) -> None:
        self._formula, self._scale = formula, scale
        self._readings = scale.share.readings
        self._offsets = [int(reading.offsets[cell]) for reading in self._readings]

    def intervals(self, level: int) -> list[tuple[int, int]]:
        """Return on which values of the channel everything is decided alike."""
        cuts = []
        for at, rungs in enumerate(self._scale.rungs):
            low = -rungs.low[level]
            ends = (low, low + 1) if level == self._scale.last else (low, rungs.high[level])
            cuts += [_of_channel(self._readings[at], self._offsets[at], end) for end in ends]
        return intervals(cuts)

    def answer(self, level: int, start: int, stop: int, state: _State) -> Answer[_State]:
        """Return what a walk does on one of these intervals; state: (sure, possible) a literal."""
        value = inside(start, stop)
        after, coins = [], []
        for at, (sure, possible) in enumerate(state):
            own = _own(self._readings[at], self._offsets[at], value)
            rungs = self._scale.rungs[at]
            low = -rungs.low[level]
            rings, lost = own >= rungs.high[level], own < low
            if level == self._scale.last:
                rings, lost = own > low, own < low
                if own == low and possible and not sure:
                    coins.append((at, rungs.coin / _ONE))
            decided = sure or not possible
            after.append((sure, possible) if decided else (rings, not lost))
        known, hopeful = ([each[which] for each in after] for which in (0, 1))
        if level < self._scale.last and self._true(known) != self._true(hopeful):
            return Answer(start, stop, None, tuple(after))
        chance = 0.0
        for drops in product((False, True), repeat=len(coins)):
            weight, held = 1.0, list(hopeful)
            for (at, drop), drops_it in zip(coins, drops, strict=True):
                held[at] = not drops_it
                weight *= drop if drops_it else 1 - drop
            chance += weight * self._true(held)
        return Answer(start, stop, chance, tuple(after))

    def _true(self, held: Sequence[bool]) -> bool:
        """Return the formula's truth from that of the channel's literals."""
        names = (reading.literal for reading in self._readings)
        holds = dict(zip(names, held, strict=True))
        return bool(fold(self._formula.monotone, holds.__getitem__, all, any))


def _of_channel(reading: Reading, offset: int, end: int) -> int:
    """Return the first channel value beyond which a literal's own one passes ``end``."""
    return end - offset if reading.literal == atom_of(reading.literal) else -end - offset


def _own(reading: Reading, offset: int, value: int) -> int:
    own = value + offset
    return own if reading.literal == atom_of(reading.literal) else ~own
