"""What every operator looks like from outside.

Mechanisms plan operators from configuration alone (their worst-case loss is known before any data
is read), which then decide windows. An operator does no I/O, reads no clock and holds no state
between windows: what a run hands on to its next window, the caller keeps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

from accountant.arguments import EXACT, INTEGERS, WHOLE, expect, or_none
from operators.conditions.atoms import freeze
from operators.conditions.widths import half_widths

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from accountant.costs.charges import CellCosts
    from accountant.costs.runs import RunAfter, RunTerms, StoredRun
    from operators.conditions.weights import Statistic
    from operators.conditions.widths import HalfWidth
    from operators.noise.source import NoiseSource

__all__ = [
    "Band",
    "Decider",
    "Decision",
    "Endurance",
    "Operator",
    "PaneOperator",
    "Plan",
    "Promise",
    "RunOperator",
    "RunOutlook",
    "RunStep",
]


@dataclass(frozen=True, slots=True)
class Promise:
    """What the analyst asked for, per cell, about the bounded statistic of decided windows.

    Args:
        max_fnr: most probable miss of a true alarm, in (0, 1).
        tolerance: MIDE's ``u``, half the uncertain region, in units of the statistic (>= 0): from
            ``c + 1`` on an alarm is due, at ``c - 2u`` and below one is false.
        max_fpr: most probable false alarm beyond the tolerance; ``None`` means as ``max_fnr``.
        steps: k of a score, from "must fire" down to "must not fire".
    """

    max_fnr: Fraction
    tolerance: int
    max_fpr: Fraction | None = None
    steps: int | None = None

    def __post_init__(self) -> None:
        """Check what the parts are; mechanisms say what they can keep."""
        expect(EXACT, max_fnr=self.max_fnr)
        expect(or_none(EXACT), max_fpr=self.max_fpr)
        expect(WHOLE, tolerance=self.tolerance)
        expect(or_none(WHOLE), steps=self.steps)


@dataclass(frozen=True, slots=True)
class Plan:
    """The worst case of one window, known before data is read.

    Args:
        mechanism: its name as in the configuration.
        epsilon: loss of one cell at worst; a whole number of loss units. Where a Gaussian budget
            pays, of ``mu^2 / 2``, as is the limit.
        limit: the least that any mechanism can pay for the same promise. Without ``max_fpr``, any
            that keeps ``max_fnr`` as false-alarm rate, too.
    """

    mechanism: str
    epsilon: Fraction
    limit: float

    @property
    def ratio(self) -> float:
        """How many times the theoretical minimum is paid; infinite where that is nothing."""
        return float(self.epsilon) / self.limit if self.limit else math.inf


@dataclass(frozen=True, slots=True)
class Decision:
    """The outcome of one window.

    Args:
        fired: shape (cells,), bool: which cells ring.
        cost: realised loss per cell, never above the plan's; ex post, where cells differ.
        reached: shape (cells,), int64: how many severity levels ring, where there are any.
    """

    fired: NDArray[np.bool_]
    cost: CellCosts
    reached: NDArray[np.int64] | None = None


class Operator(Protocol):
    """A mechanism, configured for one query."""

    @property
    def plan(self) -> Plan:
        """Worst-case loss per cell, from configuration alone."""
        ...

    def decide(self, statistics: NDArray[np.int64], noise: NoiseSource) -> Decision:
        """Decide every cell of one window: shape (cells,) decisions and the cost of each.

        Args:
            statistics: shape (statistics, cells), int64: the exact integer statistics of every
                cell, in the order of the condition.
            noise: the cryptographic source; drawn from once per cell or more.

        Raises:
            ValueError: statistics of another shape or type.
        """
        ...

    def chances(self, cell: int, statistics: NDArray[np.int64]) -> NDArray[np.float64] | None:
        """Return how likely one cell rings, alone in its window or, in a run, as its first.

        Shape (n,), never released, for its ``statistics``, shape (statistics, n), or of all members
        of an answer (statistics, n, members); ``None`` where no exact law is known.
        """
        ...


@dataclass(frozen=True, slots=True, eq=False)
class RunStep:
    """The outcome of one window of a run.

    Args:
        fired: shape (cells,), bool: which cells ring.
        late: window and cell of alarms of earlier windows, asked again with this one.
        unanswered: how many cells got no answer, as the run was spent; may be published.
        units: what the window cost, in loss units: costs of windows add up to the run's exactly.
        after: where the run stands now: to be stored before any of the answers leaves.
    """

    fired: NDArray[np.bool_]
    late: tuple[tuple[int, int], ...]
    unanswered: int
    units: int
    after: RunAfter


@dataclass(frozen=True, slots=True)
class RunOutlook:
    """What a run does, from configuration alone; distances in steps of the statistic.

    Args:
        alarms: how many it rings before it is spent.
        threshold_scale: of the run's own noise.
        question_scale: of the noise of a question.
        correction: added to the threshold; may be negative.
        questions: how often a cell is asked, at most.
    """

    alarms: int
    threshold_scale: Fraction
    question_scale: Fraction
    correction: int
    questions: int


@dataclass(frozen=True, slots=True)
class Endurance:
    """What quiet cells leave of a run, from configuration alone.

    Args:
        rings: alarms that quiet cells are expected to take, of one run.
        unlimited: how many they would take if it had no end of them.
        spent: probability that they take all before the last question.
        missed: probability that the one cell at its threshold, asked last of all, does not ring:
            since its question fails, or since it is not asked any more.
    """

    rings: float
    unlimited: float
    spent: float
    missed: float


class RunOperator(Operator, Protocol):
    """A mechanism whose windows share runs: each goes on from where the one before it stopped."""

    @property
    def run_terms(self) -> RunTerms:
        """What every run costs."""
        ...

    @property
    def outlook(self) -> RunOutlook:
        """What every run does."""
        ...

    def endurance(self, statistics: NDArray[np.int64], windows: int, taken: int = 0) -> Endurance:
        """Return what is left of a run whose cells are alike in all windows.

        Args:
            statistics: shape (statistics, cells), int64, of every window.
            windows: in the run, at least one.
            taken: alarms that other cells take for certain, fewer than there are.
        """
        ...

    def missed_in_silence(self, asked: int, *, beyond: bool = False) -> float:
        """Return how likely a cell at its threshold is missed, given that a run was silent so far.

        Args:
            asked: questions of the run so far, none of which rang.
            beyond: all were of cells beyond their tolerances; just below thresholds is worse.
        """
        ...

    def asked_last(self, cell: int, statistics: NDArray[np.int64]) -> float:
        """Return how likely a cell rings in the first window of a run, asked after all others.

        The least over all orders in which a window's cells may be asked, never released;
        :meth:`chances` is the most.

        Args:
            cell: which one.
            statistics: shape (statistics, cells), int64, of the window.
        """
        ...

    def go_on(
        self,
        statistics: NDArray[np.int64],
        before: StoredRun | None,
        noise: NoiseSource,
        *,
        window: int,
        held: NDArray[np.bool_] | None = None,
    ) -> RunStep:
        """Decide the cells of one window within a run: called in order; a state goes on once.

        Args:
            statistics: shape (statistics, cells), int64.
            before: the run as the window before left it; ``None`` opens one.
            noise: the cryptographic source.
            window: what names this window where a cell of it is asked again later.
            held: shape (cells,), bool: those that are not asked; ``None`` for none.

        Raises:
            LedgerCorruptError: what was stored is no state of a run.
            ValueError: statistics of another shape or type, or a run on other terms.
        """
        ...


class PaneOperator(Operator, Protocol):
    """A mechanism whose windows are decided from noisy panes that they share."""

    def release(self, statistics: NDArray[np.int64], noise: NoiseSource) -> NDArray[np.int64]:
        """Return the noisy counts of one pane, shape (cells,): at most once stored for each.

        Args:
            statistics: shape (1, cells), int64: what the pane counts.
            noise: the cryptographic source.

        Raises:
            ValueError: statistics of another shape or type.
        """
        ...

    def reached(self, noisy: Iterable[NDArray[np.int64]]) -> NDArray[np.int64]:
        """Return how many severity levels (of an alarm without, one) of a window's cells ring.

        Shape (cells,), from ``noisy`` as released of each of its panes, in order: free. A
        ValueError says that there is no pane, too many, or one of another shape or type.
        """
        ...

    def first_rings(self, cell: int, statistics: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how likely each look at a window is the first that rings, shape (looks,).

        Args:
            cell: which one.
            statistics: shape (statistics, looks), int64: what they are at every look.
        """
        ...

    @property
    def errors(self) -> tuple[Fraction, Fraction]:
        """Certified upper bounds of the worst miss and the worst false alarm of a window."""
        ...

    def deviation(self, panes: int) -> float:
        """Return the standard deviation of the noise in a sum of panes, in the statistic's steps.

        Args:
            panes: how many are added up, at least one.
        """
        ...


class Decider(Protocol):
    """What answers ``ABS(aggregate - reference) < tau`` for every cell."""

    @property
    def name(self) -> str:
        """Its name in the configuration."""
        ...

    @property
    def epsilon(self) -> Fraction:
        """Loss of one cell, as written."""
        ...

    @property
    def tau(self) -> HalfWidth:
        """Half-width of the band, in units of the aggregate, or its share of the reference."""
        ...

    @property
    def units(self) -> int:
        """Loss of one cell, in loss units, rounded up."""
        ...

    @property
    def definition(self) -> Mapping[str, str]:
        """What answers depend on beyond name, epsilon and tau, for the fingerprint."""
        ...

    @property
    def statistics(self) -> tuple[Statistic, ...]:
        """The rows that :meth:`decide` reads, in order."""
        ...

    def decide(
        self, statistics: NDArray[np.int64], references: NDArray[np.int64], noise: NoiseSource
    ) -> NDArray[np.bool_]:
        """Decide every cell of one window.

        Args:
            statistics: shape (statistics, cells), int64, the rows of :attr:`statistics`.
            references: shape (cells,), int64: public, less than 2^60 from zero.
            noise: the cryptographic source.

        Returns:
            Shape (cells,), bool: whether the aggregate is within the band.

        Raises:
            ValueError: arrays of another shape or type, or a reference too far out.
        """
        ...

    def chances(
        self, statistics: NDArray[np.int64], references: NDArray[np.int64]
    ) -> NDArray[np.float64] | None:
        """Return P["outside"] for what :meth:`decide` gets; ``None`` where no law is known."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Band:
    """What an alarm watches that rings when its aggregate leaves a band around a reference.

    Args:
        decider: answers "within"; reads the first of the query's statistics, in order.
        references: shape (cells,), int64, public, in units of the aggregate; made read-only.
        unit: what one unit of the aggregate is in the field's own, for whoever shows it.
    """

    decider: Decider
    references: NDArray[np.int64]
    unit: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        """Freeze the references."""
        expect(INTEGERS, references=self.references)
        expect(EXACT, unit=self.unit)
        freeze(self, "references")

    @property
    def half_widths(self) -> NDArray[np.int64]:
        """How far every cell's band reaches from its reference, shape (cells,), at least 1."""
        return half_widths(self.decider.tau, self.references)
