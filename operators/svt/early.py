"""Early alarms by sparse vector: one run per window and cell, asked at every step until it rings.

A window's cell has a noisy threshold of its own, drawn when the window is opened and forgotten when
it ends. Looks without a ring are free, so a cell of a window costs ``open_units + alarm_units``,
however many looks there are; more looks only ask for less noise, as each may ring by mistake. Where
an event counts alike in all steps after its own (``Condition.steady``), it pays the dearer of the
two and never both: it makes the ring likelier and all that is quiet before it rarer, or neither.
Proof: ``docs/research/proofs/early.md``, which rests on ``docs/research/proofs/svt.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.costs.runs import RunTerms
from accountant.units import from_loss_units
from operators.base import Plan
from operators.descriptors import Maker
from operators.single.adapter import asked, least_loss
from operators.single.converted import converted_plan
from operators.single.looks import EarlyAlarms
from operators.single.tslm import room_of
from operators.svt.planning import planned_terms
from operators.svt.terms import log_at_least, threshold_law

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from operators.conditions.condition import Aim, Condition
    from operators.conditions.score import Score
    from operators.noise.source import NoiseSource
    from operators.svt.terms import SvtPlan

__all__ = ["EARLY_RUNS", "RunLooks", "early_terms"]

_FARTHEST: Final = 1 << 60  # three of them still add up within int64


@dataclass(frozen=True, slots=True, eq=False)
class RunLooks:
    """Looks that share, per cell, one noisy threshold.

    Args:
        score: of the condition.
        terms: of every cell's run: one alarm, as many questions as looks.
    """

    score: Score
    terms: SvtPlan

    def open(self, cells: int, noise: NoiseSource) -> NDArray[np.int64]:
        """Draw every cell's threshold noise; see :meth:`operators.single.looks.Looker.open`."""
        return np.minimum(noise.geometric(self.terms.threshold_rate, cells), _FARTHEST)

    def look(
        self, statistics: NDArray[np.int64], shared: NDArray[np.int64], noise: NoiseSource
    ) -> NDArray[np.bool_]:
        """Ask every cell once; see :meth:`operators.single.looks.Looker.look`.

        Cells that have rung are asked as well, and what they answer is dropped.
        """
        return np.asarray(self.look_many(statistics[None], shared, noise)[0])

    def look_many(
        self, statistics: NDArray[np.int64], shared: NDArray[np.int64], noise: NoiseSource
    ) -> NDArray[np.bool_]:
        """Ask every cell of every window once; see ``Looker.look_many``."""
        scores = self.score.read(statistics)
        steps = np.clip(scores.reshape(-1), -_FARTHEST, _FARTHEST)
        drawn = np.minimum(noise.geometric(self.terms.query_rate, steps.size), _FARTHEST)
        rings: NDArray[np.bool_] = steps + drawn >= shared + self.terms.correction
        return rings.reshape(scores.shape)

    def first_rings(self, cell: int, statistics: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the law of the first ring; see ``Looker.first_rings``.

        One sum over the threshold's noise, which all looks share.
        """
        noise, masses = threshold_law(self.terms)
        found = []
        for step in self.score.of(cell, statistics).tolist():
            rings = np.exp(log_at_least(self.terms, noise + (self.terms.correction - step)))
            found.append(float(masses @ rings))
            masses = masses * (1 - rings)
        return np.array(found, np.float64)

    def by_last(self, cell: int, statistics: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the chance that one of the looks rings; see ``Looker.by_last``."""
        return self.terms.first_rings(self.score.of(cell, statistics))


def early_terms(condition: Condition, aim: Aim) -> SvtPlan:
    """Return the terms of the cheapest run per cell that keeps the promise of a window.

    The last look misses with probability at most ``max_fnr``, and each of the looks rings by
    mistake with probability at most ``max_fpr / looks``.

    Args:
        condition: when a cell should ring; what ``condition.monotone`` says is believed.
        aim: what the analyst asked for.

    Raises:
        ConfigError: a promise that cannot be kept, is met by guessing or spans too many steps.
    """
    score, promise = asked(condition, aim)
    return planned_terms(
        *room_of(score.test, promise),
        alarms=1,
        questions=aim.looks,
        monotone=condition.monotone,
        either=_pays_either(condition),
    )


def _pays_either(condition: Condition) -> bool:
    """Whether an event pays for the threshold or for the ring, and never for both.

    A property of one plain count: the score of several, or of several cells, may be moved by an
    event at one look, and no more at the next.
    """
    one = len(condition.formula.literals) == condition.members == 1
    return one and condition.steady and condition.monotone


def _planned(condition: Condition, aim: Aim) -> EarlyAlarms:
    terms = early_terms(condition, aim)
    # One alarm more than cells: a run whose cells have all rung is still the window's.
    kept = RunTerms(terms.open_units, terms.alarm_units, condition.answers + 1)
    looker = RunLooks(asked(condition, aim)[0], terms)
    return EarlyAlarms(condition, _priced(condition, aim), kept, aim.looks, looker)


def _priced(condition: Condition, aim: Aim) -> Plan:
    terms = early_terms(condition, aim)
    units = terms.epsilon_units
    if _pays_either(condition):
        units = max(terms.open_units, terms.alarm_units)
    limit = least_loss(condition, aim)
    plan = Plan(mechanism="svt", epsilon=from_loss_units(units), limit=limit)
    return converted_plan(plan, limit) if aim.gaussian else plan


EARLY_RUNS: Final = Maker(_planned, _priced)
"""How a sparse vector looks at windows while they fill."""
