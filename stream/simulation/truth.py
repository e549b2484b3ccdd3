"""Which cells should fire, and which may, by exact statistics: private."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from operators.conditions.formula import atom_of
from operators.conditions.score import quorate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from operators.conditions.condition import Aim, Condition

__all__ = ["first_held", "may_fire", "must_fire"]


def may_fire(condition: Condition, aim: Aim, statistics: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return in which cells an alarm is not false: the condition, every literal granted 2u.

    The condition as written, where false alarms are promised up to the threshold. As private as
    the statistics.

    Args:
        condition: of the alarm.
        aim: whose tolerances are granted.
        statistics: shape (statistics, ..., cells), int64.

    Returns:
        Shape (..., answers), bool.
    """
    grant = 2 if aim.promise == "misses" else 0
    return _holds(condition, [grant * each for each in aim.tolerances], statistics)


def must_fire(condition: Condition, aim: Aim, statistics: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return in which cells not firing is a miss: where what is decided of the condition holds.

    Where it holds with every literal moved against it by 2u, if false alarms are promised up to the
    threshold. Private as the statistics are.

    Args:
        condition: of the alarm.
        aim: whose tolerances may be moved by.
        statistics: shape (statistics, ..., cells), int64.

    Returns:
        Shape (..., answers), bool.
    """
    grant = 0 if aim.promise == "misses" else -2
    condition = quorate(condition, aim)
    return _holds(condition, [grant * each for each in aim.tolerances], statistics)


def first_held(holds: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the first step at which a condition held, or as many as there are steps.

    Args:
        holds: shape (windows, looks, cells).

    Returns:
        Shape (windows, cells), int64.
    """
    first = np.where(holds.any(axis=1), holds.argmax(axis=1), holds.shape[1])
    return np.asarray(first, np.int64)


def _holds(
    condition: Condition, grants: Sequence[int], statistics: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return where a condition holds, every literal granted that of its atom."""
    granted = dict(zip(condition.formula.atoms, grants, strict=True))
    holds: dict[str, NDArray[np.bool_]] = {}
    for literal in condition.formula.literals:
        name = atom_of(literal)
        atom = condition.atoms[name]
        values = statistics[atom.statistic]
        if literal == name:
            holds[literal] = values >= _moved(atom.thresholds, -granted[name])
        else:
            holds[literal] = values < _moved(atom.thresholds, granted[name])
    return condition.collected(condition.formula.evaluate_literals(holds))


def _moved(thresholds: NDArray[np.int64], by: int) -> NDArray[np.int64]:
    """Return thresholds moved by a whole number (2^63 - 1 at most), clamped to int64."""
    ends = np.iinfo(np.int64)
    by = max(-ends.max, min(by, ends.max))
    if by < 0:
        return np.maximum(thresholds, ends.min - by) + np.int64(by)
    return np.minimum(thresholds, ends.max - by) + np.int64(by)
