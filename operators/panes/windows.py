"""Windows over shared panes, as a configuration names them: the operator and its descriptor.

An alarm asks one question of its windows; what other alarms need of the same panes is in its aim.
Proof: ``docs/research/proofs/panes.md``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.costs.charges import UniformCost
from accountant.errors import ArgumentError
from accountant.units import to_loss_units
from operators.base import Decision
from operators.descriptors import CONDITION_KEYS, FOR_FORMULAS, Maker, Mechanism
from operators.panes.law import LaplaceSum
from operators.panes.looks import first_rings
from operators.panes.mechanism import Panes
from operators.panes.pricing import PaneQuestion
from operators.single.adapter import check_statistics, least_loss, only_test, promise_of, steps_of
from operators.single.batched import repeated
from operators.single.converted import converted_plan
from operators.single.severity import SEVERITIES, crossed, nested, steps_apart

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from operators.base import Plan
    from operators.conditions.condition import Aim, Condition
    from operators.noise.source import NoiseSource

__all__ = ["PANES", "PaneWindows"]


@dataclass(frozen=True, slots=True, eq=False)
class PaneWindows:
    """The windows of one alarm over panes, and the panes themselves.

    Guarantee: that of :class:`operators.panes.mechanism.Panes`, for one draw of every pane.

    Args:
        condition: of one literal.
        panes: planned for that literal's test; its first question is the alarm's, and with severity
            levels, its first ones are theirs.
        plan: loss of one pane and cell, whatever windows read it; as ``mu^2 / 2`` where a Gaussian
            budget pays.
        levels: how many questions are severity levels, or 1.
    """

    condition: Condition
    panes: Panes
    plan: Plan
    levels: int = 1

    @classmethod
    def planned(cls, condition: Condition, aim: Aim) -> PaneWindows:
        """Plan for windows of ``aim.panes`` panes, at no less than ``aim.pane_units``.

        These are units of epsilon, whichever budget pays: noise follows from them.

        Raises:
            ConfigError: several comparisons, a promise that cannot be kept, more noises in a sum
                than are planned for, or noise wider than is drawn.
        """
        asked = _questions(condition, aim)
        panes = Panes.planned(asked, least=aim.pane_units)
        plan = panes.plan
        if aim.gaussian:
            limit = SEVERITIES.price(condition, aim).limit if aim.severities else None
            plan = converted_plan(plan, limit or least_loss(condition, aim))
        return cls(condition, panes, plan, len(aim.severities) or 1)

    @property
    def most(self) -> int:
        """Panes of a window at most."""
        return self.panes.questions[0].panes

    @property
    def looks(self) -> int:
        """How often a window is looked at."""
        return self.panes.questions[0].looks

    def release(self, statistics: NDArray[np.int64], noise: NoiseSource) -> NDArray[np.int64]:
        """Return the noisy counts of one pane; see :meth:`operators.base.PaneOperator.release`."""
        check_statistics(self.condition, statistics)
        (noisy,) = self.panes.release(statistics[self._row][None], noise)
        return np.asarray(noisy)

    def reached(self, noisy: Iterable[NDArray[np.int64]]) -> NDArray[np.int64]:
        """Return how many levels ring; see :meth:`operators.base.PaneOperator.reached`."""
        *before, last = self._seen(noisy)
        return np.where(np.any(before, axis=0), 0, last)

    def release_many(self, statistics: NDArray[np.int64], noise: NoiseSource) -> NDArray[np.int64]:
        """Return the noisy counts of many panes, each as :meth:`release` gives it: to try out.

        Args:
            statistics: shape (panes, statistics, cells), int64.
            noise: the cryptographic source.

        Returns:
            Shape (panes, cells), int64.
        """
        return self.panes.release(statistics[:, self._row], noise)

    def reached_many(self, noisy: NDArray[np.int64], windows: Sequence[range]) -> NDArray[np.int64]:
        """Return how many levels of many windows ring, each as :meth:`reached` says: to try out.

        Args:
            noisy: shape (panes, cells), int64.
            windows: the rows of ``noisy`` that each is made of, at least one window.

        Returns:
            Shape (windows, cells), int64.

        Raises:
            ValueError: more panes than a window has.
        """
        if max(map(len, windows)) > self.most:
            raise ArgumentError(
                "a window has at most as many panes as its question needs",
                hint="give every window as a range of rows of the noisy panes",
            )
        # The running sum may wrap, and no difference of two of them is wrong by that: a window's
        # own sum fits into int64.
        running = np.zeros((len(noisy) + 1, noisy.shape[1]), dtype=np.int64)
        np.cumsum(noisy, axis=0, out=running[1:])
        sums = running[[each.stop for each in windows]] - running[[each.start for each in windows]]
        return self._passed(sums)

    def decide(self, statistics: NDArray[np.int64], noise: NoiseSource) -> Decision:
        """Decide one window with fresh noise for each of its panes: to try an alarm out.

        Its law is that of a released window; what is released is decided by :meth:`reached`. The
        cost is that of one pane.
        """
        check_statistics(self.condition, statistics)
        panes = np.zeros((self.most, self.condition.cells), dtype=np.int64)
        panes[0] = statistics[self._row]  # their sum is all that is read
        units = to_loss_units(self.plan.epsilon)
        noisy, cost = self.panes.release(panes, noise), UniformCost(units, self.condition.cells)
        reached = np.maximum.reduce(list(self._seen(noisy)))
        return Decision(reached > 0, cost, reached)

    def chances(self, cell: int, statistics: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the law of one cell; see :meth:`operators.base.Operator.chances`."""
        return np.asarray(self.severities(cell, statistics)[0])

    def severities(self, cell: int, statistics: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how likely each level or a higher one rings, shape (levels, n)."""
        seen = statistics[self._row]
        return nested(
            [
                self.panes.chances(level, steps_of(question.undivided, cell, seen))
                for level, question in enumerate(self._asked)
            ]
        )

    def first_rings(self, cell: int, statistics: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how likely each look is the first that rings, shape (looks,), by floats.

        Args:
            cell: which one.
            statistics: shape (statistics, looks), int64: what they are at every look.
        """
        beyond = steps_of(self._asked[0].undivided, cell, statistics[self._row])
        return first_rings(float(self.panes.rate), self._between, -self.panes.shifts[0] - beyond)

    @property
    def errors(self) -> tuple[Fraction, Fraction]:
        """Certified upper bounds of the worst miss and the worst false alarm of a window."""
        misses, false = zip(*map(self.panes.errors, range(len(self.panes.questions))), strict=True)
        return max(misses), max(false)

    def deviation(self, panes: int) -> float:
        """Return how noisy a sum is; see :meth:`operators.base.PaneOperator.deviation`."""
        return LaplaceSum(self.panes.rate, panes).deviation

    def _passed(self, sums: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the highest level whose threshold noisy sums pass, from 1, by (windows, cells)."""
        found = np.zeros(sums.shape, dtype=np.int64)
        for level, question in enumerate(self._asked):
            steps = repeated(question.undivided, len(sums)).quantise(sums.reshape(-1))
            found[steps.reshape(sums.shape) >= -self.panes.shifts[level]] = level + 1
        return found

    def _seen(self, noisy: Iterable[NDArray[np.int64]]) -> Iterator[NDArray[np.int64]]:
        """Yield how many levels every look at a window, or at its first steps, finds passed."""
        total = np.zeros((1, self.condition.cells), dtype=np.int64)
        panes = 0
        for panes, each in enumerate(noisy, 1):
            total += each
            if panes % self._between == 0:
                yield self._passed(total)[0]
        if not 0 < panes <= self.most or (self.looks > 1 and panes % self._between):
            raise ArgumentError(
                "a window has its panes, or those of its first steps",
                hint="give the noisy counts of each of them once, in order",
            )
        if panes % self._between:
            yield self._passed(total)[0]

    @property
    def _between(self) -> int:
        """Panes from one look to the next."""
        return self.most // self.looks

    @property
    def _asked(self) -> tuple[PaneQuestion, ...]:
        """What is asked for the alarm, level by level."""
        return self.panes.questions[: self.levels]

    @property
    def _row(self) -> int:
        """Which statistic the test reads."""
        return self.condition.atoms[self.condition.formula.atoms[0]].statistic


def _questions(condition: Condition, aim: Aim) -> list[PaneQuestion]:
    """Return what an alarm asks of its windows, its levels first."""
    test, _ = only_test(condition, "panes takes one comparison", FOR_FORMULAS)
    if not aim.severities:
        return [PaneQuestion(test, promise_of(aim), aim.panes, looks=aim.looks)]
    steps_apart(aim, 1)  # levels that are not in order are refused
    found = []
    for low, high, promise in sorted(crossed(aim), key=lambda each: each[0] < each[1]):
        level = aim.severities[high]
        apart = int((level.distances - aim.severities[low].distances).min())
        wide = replace(promise, tolerance=promise.tolerance + apart // 2)
        own = level.condition(condition).test(condition.formula.literals[0])
        found.append(PaneQuestion(own, wide, aim.panes))
    return found


_WINDOWS: Final = Maker(PaneWindows.planned)

PANES: Final = Mechanism(
    name="panes",
    releases="which predicates ring, of every window over the panes; noisy counts where asked for",
    proof="panes",
    decides="windows from noisy pieces of time",
    pays="each piece once",
    keys=(*CONDITION_KEYS, "release"),
    refuses={
        "hold": (
            "mechanism: panes has no hold, because its windows cost nothing",
            "write resolve_after: 3 to keep the alarm firing, or mechanism: tslm",
        ),
    },
    conditions=_WINDOWS,
    early=_WINDOWS,
    severities=_WINDOWS,
    converted=_WINDOWS,
    panes=PaneWindows.planned,
    definition=lambda _condition, aim: {"panes": aim.panes, "pane_units": aim.pane_units},
    colours=("#0f766e", "#4cc4b8"),
)
