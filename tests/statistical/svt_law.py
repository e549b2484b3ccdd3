"""The exact law of a run of sparse-vector questions, and of broken ones."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Literal

import numpy as np

from accountant.units import UNITS_PER_EPSILON, to_loss_units
from operators.svt.terms import SvtPlan
from tests.statistical.enumeration import Floats, laplace_masses

if TYPE_CHECKING:
    from collections.abc import Callable

REACH = 400  # what is cut off of any threshold noise below is under exp(-120)
Steps = tuple[int, ...]
Answers = tuple[tuple[int, bool], ...]


@dataclass(frozen=True)
class Rules:
    """A run as the enumeration sees it; a sound one, or a broken twin."""

    open_eps: float
    alarm_eps: float
    alarms: int
    scale: float  # of the query noise's rate over alarm_eps
    questions: int = 1
    threshold: Literal["geometric", "laplace", "falling", "none"] = "laplace"
    query_noise: bool = True
    crashes: bool = False  # the threshold is redrawn after every question
    ring: Callable[[int], Floats] | None = None  # another law of questions, per threshold noise
    released: str = ""  # "value": s + v of an alarm; "gap": what it is above the noisy threshold

    def charge(self, rung: int) -> float:
        """Return what so many alarms are charged."""
        return self.open_eps + rung * self.alarm_eps


def rules_of(plan: SvtPlan) -> Rules:
    """Return the rules that a plan's run follows."""
    return Rules(
        open_eps=float(plan.threshold_rate),
        alarm_eps=plan.alarm_units / UNITS_PER_EPSILON,
        alarms=plan.alarms,
        scale=1.0 if plan.monotone else 0.5,
        questions=plan.questions,
        threshold="geometric" if plan.one_sided else "laplace",
    )


def terms(
    alarms: int = 2,
    *,
    monotone: bool = False,
    questions: int = 1,
    correction: int = 0,
    put_back: bool = False,
    one_sided: bool = True,
) -> SvtPlan:
    """Return terms of a run with losses that a float resolves."""
    return SvtPlan(
        open_units=to_loss_units(Fraction(7, 10)),
        alarm_units=to_loss_units(Fraction(1, 2)),
        alarms=alarms,
        monotone=monotone,
        questions=questions,
        correction=correction,
        put_back=put_back,
        one_sided=one_sided,
    )


@cache
def law(rules: Rules, steps: Steps, orders: tuple[Steps, ...] = ()) -> dict[Answers, float]:
    """Return the probability of every transcript.

    A transcript is a sequence of (cell, answer), with the released number where there is one.

    Args:
        rules: of the run.
        steps: step count per cell.
        orders: the order in which each round asks cells; by their numbers where there is none.
    """
    natural = tuple(range(len(steps)))
    weights = threshold_law(rules)
    found = defaultdict(float)

    def begin(turn: int, left: int, said: Answers, mass: Floats) -> None:
        rang = {cell for cell, answer in said if answer}
        order = orders[turn] if turn < len(orders) else natural
        waiting = tuple(cell for cell in order if cell not in rang)
        if turn == rules.questions or not left or not waiting:
            found[said] += float(mass.sum())
        else:
            go(turn, waiting, left, said, mass)

    def go(turn: int, waiting: Steps, left: int, said: Answers, mass: Floats) -> None:
        if not waiting or not left:
            begin(turn + 1, left, said, mass)
            return
        cell, rest = waiting[0], waiting[1:]
        quiet = mass * (1 - ring_law(rules, steps[cell]))
        if rules.crashes:
            quiet = quiet.sum() * weights
        go(turn, rest, left, (*said, (cell, False)), quiet)
        for number, law_of_number in alarms_of(rules, steps[cell]):
            kept = mass * law_of_number
            if rules.crashes:
                kept = kept.sum() * weights
            go(turn, rest, left - 1, (*said, (cell, True), *number), kept)

    begin(0, rules.alarms, (), weights)
    return dict(found)


AT = np.arange(-REACH, REACH + 1)


def threshold_law(rules: Rules) -> Floats:
    """Return the law of the threshold's noise on ``AT``."""
    rate = Fraction(rules.open_eps).limit_denominator(1000)
    if rules.threshold == "laplace":
        return laplace_masses(rate, REACH)
    if rules.threshold == "none":
        return np.asarray(AT == 0, dtype=np.float64)
    side = AT >= 0 if rules.threshold == "geometric" else AT <= 0
    return np.where(side, -math.expm1(-rate) * np.exp(-float(rate) * np.abs(AT)), 0.0)


def ring_law(rules: Rules, step: int) -> Floats:
    """Return the probability that a question rings, per threshold noise."""
    if rules.ring:
        return rules.ring(step)
    needed = AT - step
    if not rules.query_noise:
        return np.asarray(needed <= 0, dtype=np.float64)
    return np.exp(-rules.alarm_eps * rules.scale * np.maximum(needed, 0))


def alarms_of(rules: Rules, step: int) -> list[tuple[Answers, Floats]]:
    """Return the ways to ring, and the probability of each per threshold noise."""
    if not rules.released:
        return [((), ring_law(rules, step))]
    rate, needed = rules.alarm_eps * rules.scale, AT - step
    parts = []
    for number in range(-2, 8):
        drawn = number + needed if rules.released == "gap" else np.full_like(AT, number - step)
        fits = (drawn >= 0) & (drawn >= needed)
        one = np.where(fits, (1 - math.exp(-rate)) * np.exp(-rate * np.maximum(drawn, 0)), 0.0)
        parts.append((((number, True),), one))
    return parts
