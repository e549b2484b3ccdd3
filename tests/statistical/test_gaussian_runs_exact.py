"""What a Gaussian filter lets through: whole transcripts of two neighbours, with and without runs.

Windows are chosen by what rang before, and all of it is exact but for runs. A run answers in
several windows, and others are charged in between. All that the ledger knows of it is the guarantee
that ``accountant.costs.runs`` states: with n alarms so far it has lost at most what it cost to open
and n alarms. So there are runs here that have nothing but that guarantee, and lose all of it.
Broken ways to charge are caught by the same sum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property, partial
from itertools import permutations, product
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np
import pytest

from accountant.costs.runs import RunTerms
from accountant.loss.gaussian import delta_bounds
from accountant.units import UNITS_PER_EPSILON, from_loss_units, to_loss_units
from operators.base import Promise
from operators.conditions.atoms import IntegerTest
from operators.conditions.comparison import Comparison
from operators.single import gaussian
from operators.single.pure import gaussian_units
from operators.svt.mechanism import Svt
from tests.statistical.enumeration import exp_bounds, ints
from tests.statistical.filter_law import Served
from tests.statistical.test_gaussian_exact import planned
from tests.statistical.test_tslm_exact import fires
from tests.support.exact import transcripts
from tests.support.normal import MARGIN
from tests.support.svt import aim, condition

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from operators.single.tslm import Tslm
    from tests.statistical.enumeration import Floats

HALF = Fraction(1, 2)
THRESHOLD = 100
EPSILONS = [Fraction(each, 4) for each in (0, 1, 2, 3, 4, 6, 8, 12, 16)]
ROUNDING = 1e-9
"""What floats may be off by; what is to be found is a thousand times more."""


@dataclass(frozen=True)
class Run:
    """Something that answers in several windows.

    Args:
        open_eps: loss of opening it.
        alarm_eps: loss of an alarm.
        alarms: how many it has.
        masses: of its hidden states as it opens, on a stream and on its neighbour.
        answers: how likely every state gives each answer to a question, on either; alarms begin
            with ``!``.
    """

    open_eps: Fraction
    alarm_eps: Fraction
    alarms: int
    masses: Sequence[Floats]
    answers: Callable[[int, int], dict[str, Floats]]

    def loss(self, alarms=None):
        """Return what it loses with so many alarms, or all of them."""
        return self.open_eps + (self.alarms if alarms is None else alarms) * self.alarm_eps


def worst(alarms):
    """Return randomised response, drawn as the run opens and told by which cell rings last of all.

    All alarms before that ring whatever the data are: a prefix with fewer loses nothing.
    """
    likely = 1 / (1 + math.exp(-(1 + alarms) / 2))
    both = np.array([likely, 1 - likely])

    def answers(asked, _neighbour):
        if asked < alarms - 1:
            return {"!": np.ones(2)}
        return {"!a": np.array([1.0, 0.0]), "!b": np.array([0.0, 1.0])}

    return Run(HALF, HALF, alarms, [both, both[::-1]], answers)


def seldom(open_eps, alarm_eps):
    """Return one question whose alarm is rare and loses all, and whose silence loses the opening.

    It rings e^W times as often on the neighbour, and is silent e^open less often there.
    """
    quiet, whole = math.exp(-open_eps), math.exp(open_eps + alarm_eps)

    def answers(asked, neighbour):
        chance = np.array([(1 - quiet) / (whole - quiet) * (whole if neighbour else 1)])
        return {".": np.ones(1)} if asked else {"!": chance, ".": 1 - chance}

    return Run(open_eps, alarm_eps, 1, [np.ones(1)] * 2, answers)


def by_terms(opening, each, alarms):
    """Return what a window of a run reserves and what it is settled at, in loss units.

    Of whether the run opens with it, the run's alarms before it, and its own.
    """
    terms = RunTerms(opening, each, alarms)

    def held(opens, rung, rings):
        reserved = terms.worst_units if opens else (alarms - rung) * each
        return reserved, opening * opens + rings * each

    return held


def charged(run):
    """Charge a run as a Gaussian budget does."""
    return by_terms(gaussian_units(run.loss()), 1, run.alarms)


def squared(run):
    """Broken twin: a pure loss is charged as the mu of the same number, epsilon^2 / 2."""
    return by_terms(to_loss_units(run.loss() ** 2 / 2), 1, run.alarms)


def alarm_by_alarm(run):
    """Broken twin: the opening is converted, and then each alarm by itself."""
    return by_terms(gaussian_units(run.open_eps), gaussian_units(run.alarm_eps), run.alarms)


def refunded(run):
    """Broken twin: what the alarms so far come to is converted, and the rest given back."""

    def held(opens, rung, rings):
        before = 0 if opens else gaussian_units(run.loss(rung))
        reserved, settled = (gaussian_units(run.loss(at)) for at in (run.alarms, rung + rings))
        return reserved - before, settled - before

    return held


@dataclass(frozen=True)
class Audit:
    """Every transcript of a run and windows of their own, and its probability on two neighbours.

    Args:
        run: how it answers, if there is one.
        order: ``r`` for a window of the run, ``w`` for one of a tslm: dear after an alarm.
        wall: in loss units.
        dear: decides after an alarm.
        cheap: decides otherwise.
        held: what windows of the run reserve and are settled at.
        units: what a window of a tslm is charged.
    """

    run: Run | None
    order: str
    wall: int
    dear: Tslm
    cheap: Tslm
    held: Callable[[bool, int, int], tuple[int, int]] | None = None
    units: Callable[[Tslm], int] = attrgetter("units")

    @cached_property
    def laws(self):
        """Return transcripts, refusals included, with their probabilities on both streams."""
        masses = self.run.masses if self.run else [Fraction(1)] * 2
        return [
            transcripts(mass, partial(self._turn, neighbour=at)) for at, mass in enumerate(masses)
        ]

    def _turn(self, said, neighbour):
        """Return what the next window may say and be settled at, and how likely it does."""
        if len(said) == len(self.order):
            return {}
        of_run = self.order[len(said)] == "r"
        inside = [
            each
            for at, (each, _) in zip(self.order, said, strict=False)
            if at == "r" and each not in "-x"
        ]
        rung = "".join(inside).count("!")
        if of_run and rung == self.run.alarms:
            return {("-", 0): 1}
        recent = "".join(each for each, _ in said)[-2 if self.run else -1 :]
        tslm = self.dear if "!" in recent else self.cheap
        held = partial(self.held, not inside, rung) if of_run else None
        reserved = held(0)[0] if of_run else self.units(tslm)
        served = Served(self.wall)
        for _, paid in said:
            served.place += 10
            served.end("crowd", paid)
        if not served.grants("crowd", reserved):
            return {("x", 0): 1}
        if of_run:
            answers = self.run.answers(len(inside), neighbour)
            return {(each, held(each.count("!"))[1]): likely for each, likely in answers.items()}
        chance = fires(tslm, THRESHOLD + neighbour)
        chance = float(chance) if self.run else chance
        return {("!", reserved): chance, (".", reserved): 1 - chance}

    def excess(self, wall):
        """Return by how much some event is likelier than a wall's promise allows, at most."""
        for law in self.laws:
            assert abs(sum(law.values()) - 1) <= (ROUNDING if self.run else 0)
        most = []
        for epsilon, (one, other) in product(EPSILONS, permutations(self.laws)):
            grown = exp_bounds(epsilon)[1]
            delta = sum(max(mass - grown * other[said], 0) for said, mass in one.items())
            most.append(delta - delta_bounds(epsilon, wall)[1])
        return max(most)


@cache
def coin(units):
    """Return the decision over one step whose price is about so many loss units."""
    mu = math.sqrt(2 * units / UNITS_PER_EPSILON)
    rate = Fraction(math.erfc(mu / 2 / math.sqrt(2)) / 2).limit_denominator(10**6)
    test = IntegerTest(Comparison.GT, ints([THRESHOLD]), 1)
    return gaussian.planned(test, Promise(rate, 0, rate))


RUNS = {
    "worst": worst(3),
    "worst of one": worst(1),
    "seldom": seldom(Fraction(3, 5), Fraction(7, 5)),
}
ORDERS = {"worst of one": "rww", "seldom": "rww"}


def audit_of(name, terms=charged, **twin):
    """Return an audit whose wall holds the run, as it is charged, and some windows beside it."""
    if name == "windows":  # five or six of the eight
        dear, cheap = planned(1, 1), planned(1, 2)
        return Audit(None, "w" * 8, 2 * dear.units + 3 * cheap.units, dear, cheap, **twin)
    run, dear, cheap = RUNS[name], coin(UNITS_PER_EPSILON // 2), coin(UNITS_PER_EPSILON // 4)
    held = terms(run)
    wall, _ = held(True, 0, 0)
    if name == "seldom":  # nothing but the run, and what silence would give back
        dear = cheap = coin((wall - gaussian_units(run.open_eps)) * 999 // 1000)
    elif name != "worst of one":
        wall += 2 * cheap.units + dear.units
    return Audit(run, ORDERS.get(name, "rwrwrwwr"), wall, dear, cheap, held)


@pytest.mark.parametrize("name", ["windows", *RUNS])
def test_neighbours_are_told_apart_no_better_than_the_wall_allows(name):
    """Over all transcripts and all events, whatever was asked in between and refused."""
    audit = audit_of(name)
    assert audit.excess(audit.wall) <= (ROUNDING if audit.run else MARGIN)
    if not audit.run:
        assert {("x", 0) in said for said in audit.laws[0]} == {True, False}


TWINS = {
    "a quarter of every window is charged": ("windows", {"units": lambda of: of.units // 4}),
    "what adds up is mu^4, as if small losses hardly counted": (
        "windows",
        {"units": lambda of: of.units**2 // UNITS_PER_EPSILON},
    ),
    "squared": ("worst of one", {"terms": squared}),
    "alarm by alarm": ("worst", {"terms": alarm_by_alarm}),
    "refunded": ("seldom", {"terms": refunded}),
}


@pytest.mark.parametrize("twin", TWINS)
def test_filters_that_charge_too_little_are_caught(twin):
    """The same sums find them, and find nothing of the same run as it is charged."""
    name, changes = TWINS[twin]
    audit = audit_of(name, **changes)
    assert audit.excess(audit.wall) > 1e-3


def test_a_planned_run_is_charged_as_audited():
    """The operator's own terms are those of the audit, under a Gaussian promise and no other."""
    pure, paid = (
        Svt.planned(condition(), replace(aim(alarms=3), gaussian=each)) for each in (False, True)
    )
    assert paid.terms == pure.terms
    whole = gaussian_units(from_loss_units(pure.run_terms.worst_units))
    assert paid.run_terms == RunTerms(whole, 1, 3)
    assert to_loss_units(paid.plan.epsilon) == paid.run_terms.worst_units
    assert [paid.cost_units(opens, rung) for opens, rung in ((True, 0), (False, 3))] == [whole, 3]
