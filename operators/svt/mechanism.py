"""SVT-Exp as a mechanism, with a one-sided threshold: pay for alarms, not for windows.

The operator of a query whose windows share runs of questions under one noisy threshold. Planned
like the mechanisms of single windows; decided through a run's state, which the caller keeps. Proof:
``docs/research/proofs/svt.md``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.costs.charges import UniformCost
from accountant.costs.runs import RunAfter, RunTerms
from accountant.errors import ArgumentError, ConfigError
from accountant.units import from_loss_units
from operators.base import Decision, Plan, RunOutlook, RunStep
from operators.descriptors import CONDITION_KEYS, Maker, Mechanism, check_asked
from operators.single.adapter import asked, check_statistics
from operators.single.gaussian import gaussian_limit
from operators.single.pure import gaussian_units
from operators.single.tslm import room_of, theoretical_limit
from operators.svt.early import EARLY_RUNS, early_terms
from operators.svt.endurance import asked_last, endurance, missed_in_silence
from operators.svt.planning import planned_terms
from operators.svt.run import RunState, ask, open_run
from operators.svt.silence import quiet_rate
from operators.svt.terms import MOST_ALARMS, MOST_QUESTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from accountant.costs.runs import StoredRun
    from operators.base import Endurance
    from operators.conditions.condition import Aim, Condition
    from operators.conditions.score import Score
    from operators.noise.source import NoiseSource
    from operators.svt.run import RunDecision
    from operators.svt.terms import SvtPlan

__all__ = ["SVT", "Svt"]


@dataclass(frozen=True, slots=True, eq=False)
class Svt:
    """Sparse vector with geometric noise on both sides, over any number of windows of one query.

    Guarantee: neighbouring streams move every step count of the run by at most one (all of them one
    way, where ``condition.monotone`` or ``condition.one_question``): then a run loses at most
    ``terms.cost_units`` of its alarms so far, for a unit in every cell of every window. That
    neighbours stay within one step is the condition's sensitivity; a budget period in which a
    unit's events would count anew must not be crossed by a run. As seen before the run is opened, a
    cell whose test is true is asked and missed with probability at most ``max_fnr``, and a question
    about one beyond the tolerance rings with probability at most ``max_fpr / questions``. Given
    what the run has shown since, either may be likelier: a run that is still there tends to have a
    high threshold. With ``max_fnr_in_silence`` that bounds a miss given silence of cells beyond the
    tolerance, of ``asked_in_silence`` questions at most.

    Args:
        score: of the condition.
        plan: loss of a whole run at worst; its limit is what one question alone would cost.
        terms: of every run.
        gaussian: whether a Gaussian budget pays: for the whole run, by its opening.

    Source: SVT-Exp, Algorithm 2 and Theorems 2 and 3, on integers and with one-sided noise on the
    threshold, which ``docs/research/proofs/svt.md`` shows to be as private as the paper's.
    """

    score: Score
    plan: Plan
    terms: SvtPlan
    gaussian: bool = False

    @property
    def condition(self) -> Condition:
        """When a cell should ring."""
        return self.score.condition

    @classmethod
    def planned(cls, condition: Condition, aim: Aim) -> Svt:
        """Find the cheapest run that keeps the promise: its split and its correction together.

        ``svt_correction``, which trades misses for fewer false alarms, is not asked, nor is
        ``optimal_split``, which knows no promise.

        Args:
            condition: when a cell should ring; what ``condition.monotone`` says is believed.
            aim: what the analyst asked for.

        Raises:
            ConfigError: alarms or questions out of range; a promise that cannot
                be kept, is met by guessing or spans too many steps.
        """
        check_asked(condition, aim)
        return cls._on(condition, aim, certified=True)

    @classmethod
    def sketched(cls, condition: Condition, aim: Aim) -> Svt:
        """Find the same run but for the rounding of floats, to search with.

        Args:
            condition: as :meth:`planned`.
            aim: as :meth:`planned`.

        Raises:
            ConfigError: as :meth:`planned`.
        """
        return cls._on(condition, aim, certified=False)

    @classmethod
    def _on(cls, condition: Condition, aim: Aim, *, certified: bool) -> Svt:
        _check_counts(aim)
        score, promise = asked(condition, aim)
        steps, alpha, beta = room_of(score.test, promise)
        planned = partial(
            planned_terms,
            steps,
            beta=beta,
            alarms=aim.alarms,
            questions=aim.questions,
            monotone=condition.monotone or condition.one_question,
            put_back=aim.put_back,
        )
        if aim.max_fnr_in_silence is not None:
            alpha = quiet_rate(
                partial(planned, certified=False),
                steps,
                alpha=alpha,
                beta=beta,
                limit=aim.max_fnr_in_silence,
                asked=aim.asked_in_silence,
            )
        terms = planned(alpha=alpha, certified=certified)
        epsilon = from_loss_units(_charged(terms, gaussian=aim.gaussian).worst_units)
        least = gaussian_limit if aim.gaussian else theoretical_limit
        limit = least(steps, alpha / aim.questions, beta)
        plan = Plan(mechanism=SVT.name, epsilon=epsilon, limit=limit)
        return cls(score, plan, terms, aim.gaussian)

    @property
    def run_terms(self) -> RunTerms:
        """What every run is charged."""
        return _charged(self.terms, gaussian=self.gaussian)

    @property
    def outlook(self) -> RunOutlook:
        """What every run does."""
        terms = self.terms
        return RunOutlook(
            alarms=terms.alarms,
            threshold_scale=1 / terms.threshold_rate,
            question_scale=1 / terms.query_rate,
            correction=terms.correction,
            questions=terms.questions,
        )

    def endurance(self, statistics: NDArray[np.int64], windows: int, taken: int = 0) -> Endurance:
        """Return what quiet cells leave of a run; see :meth:`RunOperator.endurance`."""
        check_statistics(self.condition, statistics)
        left = replace(self.terms, alarms=self.terms.alarms - taken)
        return endurance(left, self._steps(statistics), windows)

    def missed_in_silence(self, asked: int, *, beyond: bool = False) -> float:
        """Return what silence leaves; see :meth:`RunOperator.missed_in_silence`."""
        return missed_in_silence(self.terms, self.score.steps if beyond else 1, asked)

    def asked_last(self, cell: int, statistics: NDArray[np.int64]) -> float:
        """Return how likely a cell rings in the worst order; see :meth:`RunOperator.asked_last`."""
        check_statistics(self.condition, statistics)
        return asked_last(self.terms, self._steps(statistics), cell)

    def go_on(
        self,
        statistics: NDArray[np.int64],
        before: StoredRun | None,
        noise: NoiseSource,
        *,
        window: int,
        held: NDArray[np.bool_] | None = None,
    ) -> RunStep:
        """Decide every cell of one window within a run; see :meth:`RunOperator.go_on`."""
        state = self.open(noise) if before is None else RunState.from_bytes(before.state)
        asked = self.ask(statistics, state, noise, window, held)
        left = asked.state
        return RunStep(
            fired=asked.fired,
            late=asked.late,
            unanswered=int(np.count_nonzero(~asked.answered)),
            units=self.cost_units(before is None, asked.rung),
            after=RunAfter(left.to_bytes(), left.left, asked.rung, before, self.run_terms),
        )

    def open(self, noise: NoiseSource) -> RunState:
        """Open a run: draw its threshold's noise, which costs ``terms.open_units``.

        Args:
            noise: the cryptographic source.
        """
        return open_run(self.terms, noise)

    def ask(
        self,
        statistics: NDArray[np.int64],
        state: RunState,
        noise: NoiseSource,
        window: int = 0,
        held: NDArray[np.bool_] | None = None,
    ) -> RunDecision:
        """Ask every cell of one window, in random order, until the run is spent.

        Args:
            statistics: shape (statistics, cells), int64.
            state: where the run stands; a state goes on once.
            noise: the cryptographic source.
            window: what names this window where a cell of it is asked again later.
            held: as :func:`operators.svt.run.ask` has it.

        Returns:
            The answers; its state is stored before any of them leaves, in one transaction.

        Raises:
            ValueError: statistics of another shape or type, or a state of a run on other terms.
        """
        check_statistics(self.condition, statistics)
        return ask(self.terms, state, self._steps(statistics), noise, window=window, held=held)

    def cost_units(self, opening: bool, rung: int) -> int:
        """Return what a window cost, in loss units: costs of windows add up to the run's exactly.

        Args:
            opening: whether it opened the run.
            rung: alarms of its decision (``RunDecision.rung``).

        Raises:
            ValueError: fewer alarms than none, or more than the run has.
        """
        charged = self.run_terms
        if not 0 <= rung <= charged.alarms:
            raise ArgumentError("`rung` is not from 0 to the alarms of the SVT run")
        return charged.open_units * opening + rung * charged.alarm_units

    def _steps(self, statistics: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the step count of every cell, shape (cells,), int64."""
        return self.score.read(statistics)

    def decide(self, statistics: NDArray[np.int64], noise: NoiseSource) -> Decision:
        """Decide one window by a run of its own, for the cost of a whole run.

        Args:
            statistics: shape (statistics, cells), int64.
            noise: the cryptographic source.

        Raises:
            ValueError: statistics of another shape or type.
        """
        asked = self.ask(statistics, self.open(noise), noise)
        cost = UniformCost(units=self.run_terms.worst_units, cells=self.condition.answers)
        return Decision(fired=asked.fired, cost=cost)

    def chances(self, cell: int, statistics: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how likely a fresh run rings for a cell, all others far below their thresholds.

        As often as it is asked, with the window or, put back, with later ones. See
        :meth:`operators.base.Operator.chances`.
        """
        return self.terms.first_rings(self.score.of(cell, statistics))


def _charged(terms: SvtPlan, *, gaussian: bool) -> RunTerms:
    """Return what the ledger charges for a run.

    Under a Gaussian promise that is, as the run opens, the price of all that it can lose: a loss
    that depends on what was drawn does not add up in ``mu^2 / 2``. The ledger knows no alarm that
    is free: each is a loss unit on top of the price.
    """
    if not gaussian:
        return RunTerms(terms.open_units, terms.alarm_units, terms.alarms)
    return RunTerms(gaussian_units(from_loss_units(terms.epsilon_units)), 1, terms.alarms)


def _check_counts(aim: Aim) -> None:
    if not 1 <= aim.alarms <= MOST_ALARMS:
        raise ConfigError(
            f"max_alarms is not from 1 to {MOST_ALARMS:,}",
            hint="write max_alarms: 10",
        )
    if not 1 <= aim.questions <= MOST_QUESTIONS:
        raise ConfigError(
            f"repeat is not from 1 to {MOST_QUESTIONS:,}",
            hint="write repeat: 1",
        )


def _definition(condition: Condition, aim: Aim) -> Mapping[str, object]:
    early = aim.looks > 1
    terms = early_terms(condition, aim) if early else Svt.planned(condition, aim).terms
    return {
        # A run's state fits the terms it was opened on, and no others.
        "terms": [terms.open_units, terms.alarm_units, terms.correction],
        "alarms": terms.alarms,
        "questions": terms.questions,
        "put_back": aim.put_back,
        "monotone": terms.monotone,
    }


_RUN_OF_ITS_OWN: Final = Maker(Svt.planned)

SVT: Final = Mechanism(
    name="svt",
    releases="which predicates ring, and how many were not asked as the run was spent",
    proof="svt",
    decides="a run of windows under one noisy threshold",
    pays="opening the run, and each alarm",
    keys=(
        *CONDITION_KEYS,
        "max_alarms",
        "repeat",
        "repeat_in",
        "max_fnr_given_no_alarm",
        "hold",
    ),
    conditions=_RUN_OF_ITS_OWN,
    converted=_RUN_OF_ITS_OWN,
    run=Svt.planned,
    early=EARLY_RUNS,
    sketch=Svt.sketched,
    definition=_definition,
    quantifies=True,
)
