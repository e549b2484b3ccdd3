"""Draws of early alarms: whole windows, each looked at step by step.

What is true of a cell is told by its own course: whether, and since which look, its condition held
in truth. A ring before that look is false, whatever comes later.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from accountant.units import to_loss_units
from operators.single.abreast import decide_many
from stream.simulation.draws.held import Holding
from stream.simulation.draws.tally import Tally
from stream.simulation.draws.truth import may_ring, must_ring

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from operators.base import Operator
    from operators.conditions.condition import Aim, Condition
    from operators.noise.source import NoiseSource
    from operators.single.looks import EarlyAlarms

__all__ = ["first_held", "tally_of_looks"]


def tally_of_looks(
    operator: Operator,
    condition: Condition,
    aim: Aim,
    statistics: NDArray[np.int64],
    noise: NoiseSource,
    *,
    runs: int,
    reached: int,
    since: NDArray[np.intp] | None = None,
) -> Tally:
    """Decide whole windows many times, and tally what came of it.

    Args:
        operator: early alarms, or what decides a window once, at its end.
        condition: of the alarm.
        aim: whose tolerances are granted.
        statistics: shape (windows, looks, statistics, cells), int64.
        noise: the cryptographic source.
        runs: draws of every window.
        reached: cells of a window that one privacy unit reaches.
        since: of an alarm with a hold, whose windows these are, all of them: as ``holds_since``.
    """
    looks = statistics.shape[1]
    rows = statistics.transpose(2, 0, 1, 3)
    held = np.repeat(first_held(must_ring(condition, aim, rows)), runs, axis=0)
    granted = np.repeat(may_ring(condition, aim, rows).any(axis=1), runs, axis=0)
    rang = _first_rings(operator, aim, np.repeat(statistics, runs, axis=0), noise)
    tally, spared = Tally(), np.zeros(rang.shape, dtype=np.bool_)
    if since is not None:  # windows share no noise: whom a hold spares may be drawn and forgotten
        drawn = Holding(since, (rang < looks).reshape(len(statistics), runs, -1))
        spared = drawn.drop_held().reshape(rang.shape)
        rang, held = np.where(spared, looks, rang), np.where(spared, looks, held)
    tally.count(rang < looks, true=held < looks, granted=granted, held=spared)
    tally.delays.count(rang, held, looks)
    units = np.where(spared, 0, to_loss_units(operator.plan.epsilon))
    tally.charge(units, reached)
    return tally


def first_held(holds: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the first look at which a condition held, or as many as there are looks.

    Args:
        holds: shape (windows, looks, cells).

    Returns:
        Shape (windows, cells), int64.
    """
    first = np.where(holds.any(axis=1), holds.argmax(axis=1), holds.shape[1])
    return np.asarray(first, np.int64)


def _first_rings(
    operator: Operator, aim: Aim, statistics: NDArray[np.int64], noise: NoiseSource
) -> NDArray[np.int64]:
    """Return which look at each window rang first, from 0; as many as there are for none.

    Args:
        operator: of early alarms, where the aim has several looks; else it decides the last one.
        aim: what it was planned for.
        statistics: shape (windows, looks, statistics, cells), int64.
        noise: the cryptographic source.

    Returns:
        Shape (windows, cells), int64.
    """
    if aim.looks > 1:
        return cast("EarlyAlarms", operator).first_looks(statistics, noise)
    looks = statistics.shape[1]
    fired = decide_many(operator, statistics[:, -1], noise).fired
    return np.asarray(np.where(fired, looks - 1, looks), np.int64)
