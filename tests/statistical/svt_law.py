"""The exact law of a run of sparse-vector questions, and of broken ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from accountant.units import UNITS_PER_EPSILON, to_loss_units
from operators.svt.terms import SvtPlan
from tests.statistical.enumeration import Floats, laplace_masses
from tests.support.exact import excess, transcripts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tests.support.exact import Law, Said

REACH = 400  # what is cut off of any threshold noise below is under exp(-120)
AT = np.arange(-REACH, REACH + 1)
Steps = tuple[Any, ...]


def geometric(rate: float) -> Floats:
    """Return the masses of one-sided noise on ``AT``."""
    return np.where(AT < 0, 0.0, -np.expm1(-rate) * np.exp(-rate * np.abs(AT)))


def exponential(rate: float, correction: int = 0) -> Callable[[int], Floats]:
    """Return how likely a step count rings, by the threshold's noise, with geometric noise."""
    return lambda step: np.exp(-rate * np.maximum(AT + correction - step, 0))


@dataclass(frozen=True, eq=False)
class Run:
    """A run as the enumeration sees it; a sound one, or a broken twin.

    Args:
        plan: what it is charged, and how often it asks.
        threshold: masses of the threshold's noise on ``AT``.
        ring: how likely a step count rings, by the threshold's noise.
        crashes: the threshold is redrawn after every question.
        released: numbers that an alarm publishes, and how likely it does, by the noise.
    """

    plan: SvtPlan
    threshold: Floats
    ring: Callable[[int], Floats]
    crashes: bool = False
    released: Callable[[int], Mapping[int, Floats]] | None = None

    def charge(self, said: Said) -> float:
        """Return what a transcript is charged."""
        rung = sum(answer for _, answer, *_ in said)  # type: ignore[misc]  # as ``answers`` has it
        return (self.plan.open_units + rung * self.plan.alarm_units) / UNITS_PER_EPSILON

    def answers(self, cell: Any, step: int) -> dict[Any, Any]:
        """Return what may be said of a cell: its name, whether it rings, and what is released."""
        rings = self.ring(step)
        found = {(cell, False): 1 - rings, (cell, True): rings}
        if self.released:
            del found[cell, True]
            found |= {(cell, True, number): law for number, law in self.released(step).items()}
        if self.crashes:
            return {said: partial(self._redrawn, likely) for said, likely in found.items()}
        return found

    def _redrawn(self, likely, mass):
        return float(mass @ likely) * self.threshold


def run_of(plan: SvtPlan, **twin: Any) -> Run:
    """Return the run that a plan is for, but for what a twin does otherwise."""
    opening, asking = float(plan.threshold_rate), float(plan.query_rate)
    threshold = geometric(opening) if plan.one_sided else laplace_masses(Fraction(opening), REACH)
    sound = {"threshold": threshold, "ring": exponential(asking, plan.correction)}
    return Run(plan, **(sound | twin))


def terms(
    alarms: int = 2,
    *,
    opening: Fraction = Fraction(7, 10),
    alarm: Fraction = Fraction(1, 2),
    one_sided: bool = True,
    **more: Any,
) -> SvtPlan:
    """Return terms of a run with losses that a float resolves."""
    units = {"open_units": to_loss_units(opening), "alarm_units": to_loss_units(alarm)}
    return SvtPlan(**units, alarms=alarms, one_sided=one_sided, **more)


@cache
def law(run: Run, steps: Steps) -> Law:
    """Return the probability of every transcript of (cell, answer), with what is released.

    Args:
        run: that asks, cell by cell in every round.
        steps: step count per cell.
    """

    def turn(said):
        left, rang = [*said], set[int]()
        for cell in [*range(len(steps))] * run.plan.questions:
            if len(rang) == run.plan.alarms:
                return {}
            if cell in rang:
                continue
            if not left:
                return run.answers(cell, steps[cell])
            if left.pop(0)[1]:  # type: ignore[index]  # as ``answers`` has it
                rang.add(cell)
        return {}

    return transcripts(run.threshold, turn)


def at_once(plan: SvtPlan, questions: int | None = None) -> Run:
    """Return the run that asks all questions about a cell as one, which rings if any does."""
    run, times = run_of(plan), plan.questions if questions is None else questions
    once = replace(plan, questions=1)
    return run_of(once, ring=lambda step: 1 - (1 - run.ring(step)) ** times)


def moved(steps: Sequence[int], moves: Sequence[int]) -> Steps:
    """Return the step counts of a neighbour."""
    return tuple(map(sum, zip(steps, moves, strict=True)))


def run_loss(plan: SvtPlan, moves: Sequence[int]) -> float:
    """Return the largest loss of a run of questions whose scores a neighbour moves so."""
    run, found = run_of(plan), 0.0
    for scores in product(range(-plan.correction - 3, 3), repeat=len(moves)):
        found = max(found, excess(law(run, scores), law(run, moved(scores, moves))))
    return found


def missed_given(plan: SvtPlan, quiet: Sequence[int], rung: Sequence[int] = ()) -> float:
    """Return the misses at the threshold, given what was answered of cells with such steps."""
    run = run_of(plan)
    weights = run.threshold.copy()
    for step in quiet:
        weights *= 1 - run.ring(step)
    for step in rung:
        weights *= run.ring(step)
    return float(weights @ (1 - run.ring(0)) ** plan.questions / weights.sum())
