"""One noise per pane and cell, shared by every window: an event pays once, whatever is asked.

What a pane counts is released once, with exact discrete Laplace noise. Whatever is computed from
noisy panes is free: windows of any length, several thresholds, any combination. Proof:
``docs/research/proofs/panes.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.arguments import INTEGERS, NATURAL, expect, instance_of, several
from accountant.costs.charges import UniformCost
from accountant.errors import ArgumentError, ConfigError
from accountant.units import from_loss_units
from operators.base import Plan
from operators.noise.source import SOURCE
from operators.panes.law import LaplaceSum
from operators.panes.pricing import PaneQuestion, least_units, shift_at
from operators.single.tslm import error_rates, theoretical_limit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from operators.noise.source import NoiseSource

__all__ = ["Panes"]

_FAR: Final = 1 << 52  # what a pane says ends here: the sum of any window's panes fits int64
_FARTHER: Final = 1 << 62  # noise ends here, from where no count leads back below ``_FAR``
_SLOWEST: Final = Fraction(1, 1 << 40)  # rate of the widest noise that is drawn


@dataclass(frozen=True, slots=True, eq=False)
class Panes:
    """The noisy statistics of panes, and the questions that windows ask of them.

    Guarantee: let two neighbouring inputs differ in the statistic of one pane and cell, by at most
    ``sensitivity``. Then everything that is ever computed from the noisy panes, all windows and
    questions together, has probabilities within a factor exp(epsilon), exactly. A neighbour that
    differs in several panes or cells loses that for each. It holds for one draw per pane and cell:
    who draws again for the same pane pays again. A cell of a window whose test is true is missed
    with probability at most the question's ``max_fnr``; one that is ``2 tolerance + 1`` or more
    below the first true value (for ``s > c``: at ``c - 2u`` and below) fires with probability at
    most its ``max_fpr``.

    Args:
        questions: of windows over the same panes.
        plan: loss of one pane and cell. Its limit is what any mechanism pays at least to keep the
            dearest promise for one window.
        units: the plan's epsilon in loss units.
        shifts: per question, how far below its threshold the noisy sum still fires.
    """

    questions: tuple[PaneQuestion, ...]
    plan: Plan
    units: int
    shifts: tuple[int, ...]

    @classmethod
    def planned(cls, questions: Sequence[PaneQuestion], *, least: int = 0) -> Panes:
        """Find the least whole number of loss units that keeps every promise.

        Args:
            questions: at least one; of the same cells and the same sensitivity.
            least: no fewer loss units than this, as other questions need them.

        Raises:
            ConfigError: more noises in a sum than are planned for, or noise wider than is drawn.
            ValueError: no question, or questions of other cells or of another sensitivity.
        """
        expect(several(instance_of(PaneQuestion)), questions=questions)
        expect(NATURAL, least=least)
        _check_alike(questions)
        units = max(least, *map(least_units, questions))
        epsilon = from_loss_units(units)
        if epsilon / questions[0].test.sensitivity < _SLOWEST:
            raise ConfigError(
                "the noise of a pane would be too wide",
                hint="declare a coarser resolution for the summed field",
            )
        shifts = tuple(shift_at(each, units) for each in questions)
        limit = max(map(_limit, questions))
        plan = Plan(mechanism="panes", epsilon=epsilon, limit=limit)
        return cls(tuple(questions), plan, units, shifts)

    @property
    def sensitivity(self) -> int:
        """How far one neighbour moves the statistic of one pane and cell."""
        return self.questions[0].test.sensitivity

    @property
    def rate(self) -> Fraction:
        """The rate of the noise, per unit of the statistic."""
        return self.plan.epsilon / self.sensitivity

    @property
    def cost(self) -> UniformCost:
        """What one pane costs, whether or not any window reads it."""
        return UniformCost(units=self.units, cells=self.questions[0].test.cells)

    def release(self, statistics: NDArray[np.int64], noise: NoiseSource) -> NDArray[np.int64]:
        """Return noisy panes, each cell with noise of its own.

        Called once for every pane, when it is complete: for :attr:`cost`. What comes back is stored
        with its charge before anything computed from it leaves; it is drawn again only if nothing
        has left.

        Args:
            statistics: shape (panes, cells), int64; what lies beyond 2^52 counts as 2^52.
            noise: the cryptographic source.

        Returns:
            Shape (panes, cells), int64.

        Raises:
            ValueError: statistics of another shape or type.
        """
        expect(SOURCE, noise=noise)
        self._check(statistics)
        drawn = noise.discrete_laplace(self.rate, statistics.size).reshape(statistics.shape)
        near = np.clip(statistics, -_FAR, _FAR)
        # What comes out depends on their sum alone, also where that is more than int64 holds.
        return np.clip(near + np.clip(drawn, -_FARTHER, _FARTHER), -_FAR, _FAR)

    def decide(self, question: int, noisy: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which cells of a window fire, from its noisy panes alone; free, and no draw.

        Args:
            question: which of :attr:`questions`.
            noisy: shape (panes, cells), int64: what was released of the panes of the window.

        Returns:
            Shape (cells,), bool.

        Raises:
            ValueError: no such question, more panes than it has, or panes of another shape or type.
        """
        asked, shift = self._asked(question)
        self._check(noisy)
        if noisy.shape[0] > asked.panes:
            raise ArgumentError(
                "a window has at most as many panes as its question needs",
                hint="give the noisy panes of the window, one row for each",
            )
        return asked.undivided.quantise(noisy.sum(axis=0, dtype=np.int64)) >= -shift

    def chances(self, question: int, steps: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how likely a cell fires, of a window with all its noises, as a float.

        Of a window that is looked at in steps: one that ends as it is from its first look on.

        Args:
            question: which of :attr:`questions`.
            steps: shape (n,), int64: how far the window's statistic is beyond the first value for
                which the test is true; negative where it is false.

        Returns:
            Shape (n,): right but for the rounding of floats; never released.

        Raises:
            ValueError: no such question, or steps of another type.
        """
        asked, shift = self._asked(question)
        expect(INTEGERS, steps=steps)
        return asked.false_law(self.rate).tails(-shift - np.clip(steps, -_FAR, _FAR))

    def errors(self, question: int) -> tuple[Fraction, Fraction]:
        """Return certified upper bounds of a question's worst miss and false alarm.

        Args:
            question: which of :attr:`questions`.

        Raises:
            ValueError: no such question.
        """
        asked, shift = self._asked(question)
        nearest = 2 * asked.promise.tolerance + 1 - shift
        missed = LaplaceSum(self.rate, asked.panes).tail(shift + 1)[1]
        return missed, asked.false_law(self.rate).tail(nearest)[1]

    def _asked(self, question: int) -> tuple[PaneQuestion, int]:
        expect(NATURAL, question=question)
        if question >= len(self.questions):
            raise ArgumentError(
                "`question` is out of range",
                hint="questions are numbered from 0 in the order they were planned",
            )
        return self.questions[question], self.shifts[question]

    def _check(self, panes: NDArray[np.int64]) -> None:
        expect(INTEGERS, panes=panes)
        if panes.ndim != 2 or panes.shape[1] != self.questions[0].test.cells:
            raise ArgumentError(
                "panes are int64, one row for each and one column per cell",
                hint="pass an array of shape (panes, cells): counts.astype(np.int64)",
            )


def _check_alike(questions: Sequence[PaneQuestion]) -> None:
    if not questions:
        raise ArgumentError(
            "panes answer at least one question", hint="plan them for one or more questions"
        )
    kinds = {(each.test.cells, each.test.sensitivity) for each in questions}
    if len(kinds) > 1:
        raise ArgumentError(
            "questions of the same panes have the same cells and sensitivity",
            hint="plan other panes for other cells",
        )
    if any((abs(each.test.thresholds.astype(object)) > _FAR).any() for each in questions):
        raise ArgumentError(
            "thresholds of panes lie within 2^52 of zero", hint="count in larger units"
        )


def _limit(question: PaneQuestion) -> float:
    promise = question.promise
    return theoretical_limit(question.test.steps(promise.tolerance), *error_rates(promise))
