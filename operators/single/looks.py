"""Early alarms: a window that is looked at while it fills, whose cells ring once.

What all looks at a window have in common, whatever decides them: a cell that has rung is done, and
a step is decided only after all steps before it. Then what leaves is, per cell, the number of the
first look that rang, or none. Two ways to look are priced for a whole window: the naive one (each
look a decision of its own, ``EachLook``), and one sparse-vector run per window and cell
(``operators.svt.early``). Proof: ``docs/research/proofs/early.md``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

import numpy as np

from accountant.arguments import WHOLE, expect
from accountant.costs.charges import UniformCost
from accountant.costs.runs import RunAfter, RunTerms
from accountant.errors import ArgumentError
from accountant.units import to_loss_units
from operators.base import Decision, Plan, RunStep
from operators.descriptors import Maker
from operators.single.adapter import check_statistics, least_loss, promise_of
from operators.single.batched import decide_many
from operators.single.lookstate import LookState
from operators.single.tslm import error_rates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from accountant.costs.runs import StoredRun
    from operators.base import Operator
    from operators.conditions.condition import Aim, Condition
    from operators.noise.source import NoiseSource

__all__ = ["EachLook", "EarlyAlarms", "Looker", "each_look"]


class Looker(Protocol):
    """What one look at all cells of a window does."""

    def open(self, cells: int, noise: NoiseSource) -> NDArray[np.int64]:
        """Draw what the looks at one window share: shape (cells,), int64, or (0,) for nothing."""
        ...

    def look(
        self, statistics: NDArray[np.int64], shared: NDArray[np.int64], noise: NoiseSource
    ) -> NDArray[np.bool_]:
        """Return which cells ring at one look, shape (cells,).

        Args:
            statistics: shape (statistics, cells), int64.
            shared: what :meth:`open` drew for this window.
            noise: the cryptographic source.
        """
        ...

    def look_many(
        self, statistics: NDArray[np.int64], shared: NDArray[np.int64], noise: NoiseSource
    ) -> NDArray[np.bool_]:
        """Return which cells of many windows ring at one look at each: to try alarms out.

        Args:
            statistics: shape (windows, statistics, cells), int64.
            shared: what :meth:`open` drew for as many cells as all windows have together.
            noise: the cryptographic source.

        Returns:
            Shape (windows, cells), bool.
        """
        ...

    def first_rings(self, cell: int, statistics: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how likely each look is the first that rings, shape (looks,).

        Args:
            cell: which one.
            statistics: shape (statistics, looks), int64: what they are at every look.
        """
        ...

    def by_last(self, cell: int, statistics: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how likely a cell rings by the last look, whose value all looks see.

        Args:
            cell: which one.
            statistics: shape (statistics, n), int64: what its statistics may be.
        """
        ...


@dataclass(frozen=True, slots=True, eq=False)
class EarlyAlarms:
    """Early alarms of one condition: looks by ``looker``, each cell rings at most once a window.

    Guarantee: per cell, neighbouring streams of statistics (every look's at most one sensitivity
    apart) give every outcome (the look that rang first, or none) with probabilities within a factor
    exp(epsilon), over all looks at a window together. A cell whose condition holds at the window's
    end has rung by then with probability at least ``1 - max_fnr``; one that is at no look above its
    tolerance rings with probability at most ``max_fpr``. Both refer to the bounded statistic of a
    window all of whose steps are decided.

    Args:
        condition: when a cell should ring.
        plan: loss of a whole window; its limit is that of one decision at the window's end.
        terms: what the ledger keeps of the looks at a window.
        looks: steps of a window.
        looker: what one look does.
    """

    condition: Condition
    plan: Plan
    terms: RunTerms
    looks: int
    looker: Looker

    @property
    def run_terms(self) -> RunTerms:
        """What the ledger keeps of the looks at one window."""
        return self.terms

    def continues(self, before: StoredRun | None, number: int) -> bool:
        """Whether a step can be decided: it opens its window, or follows the last one decided.

        Steps are numbered through: step ``number`` is look ``number % looks`` of its window.

        Args:
            before: what the newest step left.
            number: of the step.

        Raises:
            LedgerCorruptError: what was stored is no state of such looks.
        """
        expect(WHOLE, number=number)
        if number % self.looks == 0:
            return True
        return before is not None and LookState.from_bytes(before.state).number == number - 1

    def go_on(
        self,
        statistics: NDArray[np.int64],
        before: StoredRun | None,
        noise: NoiseSource,
        *,
        window: int,
        held: NDArray[np.bool_] | None = None,
    ) -> RunStep:
        """Look at every cell of a window that has not rung; it costs what the whole window does.

        Args:
            statistics: shape (statistics, cells), int64, from the window's start to the step's end.
            before: what the newest step left. A state goes on once.
            noise: the cryptographic source.
            window: number of the step.
            held: shape (cells,), bool: those that neither this step nor a later one of its window
                asks; what this step adds to them is read by nobody, and costs nothing.

        Raises:
            LedgerCorruptError: what was stored is no state of such looks.
            ValueError: statistics of another shape or type, or a step that cannot be decided.
        """
        check_statistics(self.condition, statistics)
        if not self.continues(before, window):
            raise ArgumentError("a step follows the step before it, or opens its window")
        opens = window % self.looks == 0
        running = None if opens else before
        if running is None:
            state, left = self._opened(window, noise), self.terms.alarms
        else:
            state, left = LookState.from_bytes(running.state), running.left
        done = state.rung if held is None else state.rung | held
        fired = self.looker.look(statistics, state.shared, noise) & ~done
        state = LookState(window, done | fired, state.shared)
        rung = int(np.count_nonzero(fired))
        return RunStep(
            fired=fired,
            late=(),
            unanswered=0,
            units=to_loss_units(self.plan.epsilon),
            after=RunAfter(
                state.to_bytes(),
                left - rung,
                rung,
                running,
                self.terms,
                ended=before if opens else None,
            ),
        )

    def decide(self, statistics: NDArray[np.int64], noise: NoiseSource) -> Decision:
        """Decide one window that stands as it will end from its first look on.

        Args:
            statistics: shape (statistics, cells), int64.
            noise: the cryptographic source.

        Raises:
            ValueError: statistics of another shape or type.
        """
        check_statistics(self.condition, statistics)
        shared = self._opened(0, noise).shared
        fired = np.zeros(self.condition.answers, dtype=np.bool_)
        for _ in range(self.looks):
            fired |= self.looker.look(statistics, shared, noise)
        units = to_loss_units(self.plan.epsilon)
        return Decision(fired=fired, cost=UniformCost(units=units, cells=self.condition.answers))

    def first_looks(self, statistics: NDArray[np.int64], noise: NoiseSource) -> NDArray[np.int64]:
        """Look at many windows from end to end: to try alarms out.

        What is released is decided by :meth:`go_on`; with the same noise every cell of every window
        rings at the same look (``tests/unit/operators/single/test_looks.py``).

        Args:
            statistics: shape (windows, looks, statistics, cells), int64.
            noise: the cryptographic source.

        Returns:
            Shape (windows, cells), int64: which look rang first, from 0; ``looks`` where none did.

        Raises:
            ValueError: statistics of another shape or type, or another number of looks.
        """
        windows, looks = statistics.shape[:2]
        if looks != self.looks:
            raise ArgumentError("a window is tried with all its looks")
        check_statistics(self.condition, statistics[0, 0])
        shared = self.looker.open(windows * self.condition.answers, noise)
        first = np.full((windows, self.condition.answers), looks, dtype=np.int64)
        for look in range(looks):
            fired = self.looker.look_many(statistics[:, look], shared, noise)
            first[fired & (first == looks)] = look
        return first

    def chances(self, cell: int, statistics: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how likely a cell rings that has its last value from the first look on.

        The most, for that last value, where the statistic only grows. See
        :meth:`operators.base.Operator.chances`.
        """
        return self.looker.by_last(cell, statistics)

    def first_rings(self, cell: int, statistics: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how likely each look is the first that rings; the rest is that none does.

        Args:
            cell: which one.
            statistics: shape (statistics, looks), int64: what they are at every look.
        """
        return self.looker.first_rings(cell, statistics)

    def _opened(self, number: int, noise: NoiseSource) -> LookState:
        cells = self.condition.answers
        return LookState(number, np.zeros(cells, np.bool_), self.looker.open(cells, noise))


@dataclass(frozen=True, slots=True, eq=False)
class EachLook:
    """Looks that are decisions of their own: nothing is shared, and every look is paid for.

    Args:
        operator: decides one look.
        looks: steps of a window.
    """

    operator: Operator
    looks: int

    def open(self, _cells: int, _noise: NoiseSource) -> NDArray[np.int64]:
        """Return nothing: see :meth:`Looker.open`."""
        return np.empty(0, dtype=np.int64)

    def look(
        self, statistics: NDArray[np.int64], _shared: NDArray[np.int64], noise: NoiseSource
    ) -> NDArray[np.bool_]:
        """Decide all cells; see :meth:`Looker.look`."""
        return self.operator.decide(statistics, noise).fired

    def look_many(
        self, statistics: NDArray[np.int64], _shared: NDArray[np.int64], noise: NoiseSource
    ) -> NDArray[np.bool_]:
        """Decide all windows; see :meth:`Looker.look_many`."""
        return decide_many(self.operator, statistics, noise).fired

    def first_rings(self, cell: int, statistics: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the law of the first ring; see :meth:`Looker.first_rings`."""
        once = self._once(cell, statistics)
        before = np.concatenate([[1.0], np.cumprod(1 - once)[:-1]])
        return np.asarray(once * before, np.float64)

    def _once(self, cell: int, statistics: NDArray[np.int64]) -> NDArray[np.float64]:
        once = self.operator.chances(cell, statistics)
        if once is None:
            raise ArgumentError("early alarms are made of decisions whose law is known")
        return once

    def by_last(self, cell: int, statistics: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the chance that one of the looks rings; see :meth:`Looker.by_last`."""
        once = self._once(cell, statistics)
        return np.asarray(-np.expm1(self.looks * np.log1p(-np.minimum(once, 1 - 1e-16))))


def each_look(pure: Maker, gaussian: Maker) -> Maker:
    """Return how a mechanism of single windows looks at one while it fills: each time anew.

    Guarantee: the looks compose, so an event pays ``looks`` times what one decision costs, in
    epsilon as in ``mu^2 / 2``. False alarms of a window are shared out evenly to its looks.

    Args:
        pure: of operators whose loss is the same whatever they decide.
        gaussian: of those that a Gaussian budget pays.
    """

    def maker_for(aim: Aim) -> Maker:
        return gaussian if aim.gaussian else pure

    def planned(condition: Condition, aim: Aim) -> EarlyAlarms:
        operator = maker_for(aim).planned(condition, _of_one_look(aim))
        plan = _of_window(operator.plan, condition, aim)
        # The ledger's terms have no free alarm: the least unit stands for it, and nothing is paid
        # by these terms, as every step is charged for its whole window.
        terms = RunTerms(max(1, to_loss_units(plan.epsilon) - 1), 1, condition.answers + 1)
        return EarlyAlarms(condition, plan, terms, aim.looks, EachLook(operator, aim.looks))

    def priced(condition: Condition, aim: Aim) -> Plan:
        once = maker_for(aim).price(condition, _of_one_look(aim))
        return _of_window(once, condition, aim)

    return Maker(planned, priced)


def _of_one_look(aim: Aim) -> Aim:
    alpha, _ = error_rates(promise_of(aim))
    return replace(aim, max_fpr=Fraction(alpha) / aim.looks, looks=1)


def _of_window(once: Plan, condition: Condition, aim: Aim) -> Plan:
    return replace(once, epsilon=once.epsilon * aim.looks, limit=least_loss(condition, aim))
