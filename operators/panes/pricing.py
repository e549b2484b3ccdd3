"""The least rate at which a sum of noises keeps a promise, and where its threshold lies then."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from accountant.arguments import WHOLE, expect
from accountant.errors import ArgumentError, ConfigError
from accountant.units import from_loss_units
from operators.panes.law import LaplaceSum, LaplaceWalk
from operators.search import least
from operators.single.tslm import error_rates, room_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from operators.base import Promise
    from operators.conditions.atoms import IntegerTest

__all__ = ["MOST_TERMS", "PaneQuestion", "least_units", "shift_at"]

MOST_TERMS: Final = 600
"""Most noises in one sum that are planned for."""

_Within: TypeAlias = "Callable[[LaplaceSum | LaplaceWalk, Fraction], Callable[[int], bool]]"
_COARSE: Final = 1 << 20  # loss units: the first search goes by floats, in steps of this


@dataclass(frozen=True, slots=True, eq=False)
class PaneQuestion:
    """What is asked of every window of one kind: ``statistic <comparison> threshold``, per cell.

    Args:
        test: of the window's statistic, the sum over its panes; its ``sensitivity`` is how far one
            neighbour moves the statistic of *one pane* and cell, caps on the pane included.
        promise: per cell, about the sum of what the panes count.
        panes: in a window, at most.
        looks: how often a window is looked at while it fills, evenly, the last time at its end: it
            fires at the first look that passes, or not at all. False alarms are then those of all
            looks together, of a window in which all that is counted comes at once.

    Raises:
        ConfigError: a promise that cannot be kept or is met by guessing, or that spans too many
            steps.
        ValueError: fewer than one pane, or looks that do not divide the panes.
    """

    test: IntegerTest
    promise: Promise
    panes: int
    looks: int = 1

    def __post_init__(self) -> None:
        """Check the parts."""
        room_of(self.test, self.promise)
        expect(WHOLE, panes=self.panes, looks=self.looks)
        if self.panes < 1:
            raise ArgumentError("a window has at least one pane", hint="write panes=1 or more")
        if self.looks < 1 or self.panes % self.looks:
            raise ArgumentError(
                "`panes` is not a multiple of `looks`",
                hint="write looks=1, or a number that divides panes",
            )

    def false_law(self, rate: Fraction) -> LaplaceSum | LaplaceWalk:
        """Return the law of the noise that makes a window fire for nothing.

        Between looks there may be panes, at which nobody looks: to look there as well errs on the
        safe side.

        Args:
            rate: of the noise of a pane.
        """
        return (LaplaceSum if self.looks == 1 else LaplaceWalk)(rate, self.panes)

    @property
    def undivided(self) -> IntegerTest:
        """The test of a window's noisy sum, whose distance to the threshold is not divided."""
        return replace(self.test, sensitivity=1)


def least_units(question: PaneQuestion) -> int:
    """Return the least whole loss units per pane and cell that keep the promise.

    Both errors fall as the noise narrows (``docs/research/proofs/panes.md``), so bisection finds
    the least; floats only say where to look.

    Raises:
        ConfigError: more panes than ``MOST_TERMS``.
    """
    if question.panes > MOST_TERMS:
        raise ConfigError(
            f"a window has {question.panes:,} panes; the limit is {MOST_TERMS:,}",
            hint="write longer steps, so that panes are longer",
        )
    promise, sensitivity = question.promise, question.test.sensitivity
    alpha, beta = error_rates(promise)
    width, early = 2 * promise.tolerance + 1, question.looks > 1
    return _least_units(question.panes, width, alpha, beta, sensitivity, early=early)


def shift_at(question: PaneQuestion, units: int) -> int:
    """Return the least whole h with ``P[S >= h + 1] <= max_fnr``, certified.

    Args:
        question: of windows.
        units: loss of one pane and cell.
    """
    _, beta = error_rates(question.promise)
    law = LaplaceSum(from_loss_units(units) / question.test.sensitivity, question.panes)
    return least(_within(law, beta), 0, question.promise.tolerance + 1) - 1


@lru_cache(maxsize=4096)
def _least_units(
    terms: int, width: int, alpha: Fraction, beta: Fraction, sensitivity: int, *, early: bool
) -> int:
    middle = (width + 1) // 2
    last_units, last_missed = 1, 1  # misses move with the width of the noise

    def kept(units: int, within: _Within) -> bool:
        nonlocal last_units, last_missed
        rate = from_loss_units(units) / sensitivity
        law = LaplaceSum(rate, terms)
        if alpha == beta and not early:  # of all places for the threshold the middle one is best
            return within(law, beta)(middle)
        missed = least(within(law, beta), 0, max(last_missed * last_units // units, 1))
        last_units, last_missed = units, missed
        rises = LaplaceWalk(rate, terms) if early else law
        return missed <= width and within(rises, alpha)(width + 1 - missed)

    coarse = least(lambda times: kept(times * _COARSE, _nearly_within), 0, 1)
    near = least(lambda units: kept(units, _nearly_within), 0, coarse * _COARSE)
    return least(lambda units: kept(units, _within), 0, near)


def _within(law: LaplaceSum | LaplaceWalk, rate: Fraction) -> Callable[[int], bool]:
    """Return whether ``P[S >= j]`` is certainly within a rate, as a question about j > 0."""
    return lambda j: law.tail(j)[1] <= rate


def _nearly_within(law: LaplaceSum | LaplaceWalk, rate: Fraction) -> Callable[[int], bool]:
    log_rate = math.log(rate)
    return lambda j: math.log(max(law.tails(np.array([j]))[0], 1e-300)) <= log_rate
