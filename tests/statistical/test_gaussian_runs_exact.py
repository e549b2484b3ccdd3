"""What a Gaussian filter lets through: whole transcripts of two neighbours, with and without runs.

Windows are chosen by what rang before, and all of it is exact but for runs. A run answers in
several windows, and others are charged in between. All that the ledger knows of it is the guarantee
that ``accountant.costs.runs`` states: with n alarms so far it has lost at most what it cost to open
and n alarms. So beside sparse vectors there are runs here that have nothing but that guarantee, and
lose all of it. Broken ways to charge are caught by the same sum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property
from itertools import permutations, product
from typing import TYPE_CHECKING

import numpy as np
import pytest

from accountant.budget.filter import UserFilter
from accountant.budget.standings import Standing
from accountant.costs.charges import Charge, UniformCost, WindowKey
from accountant.costs.runs import RunTerms
from accountant.loss.gaussian import delta_bounds
from accountant.loss.overlap import Held
from accountant.records import Answer
from accountant.regions.shapes import ANYWHERE
from accountant.units import UNITS_PER_EPSILON, from_loss_units, to_loss_units
from operators.base import Promise
from operators.conditions.atoms import IntegerTest
from operators.conditions.comparison import Comparison
from operators.single import gaussian
from operators.single.pure import gaussian_units
from operators.svt.mechanism import Svt
from operators.svt.terms import SvtPlan
from tests.statistical.enumeration import exp_bounds, ints
from tests.statistical.svt_law import run_of
from tests.statistical.test_gaussian_exact import planned
from tests.statistical.test_tslm_exact import fires
from tests.support.exact import excess, transcripts
from tests.support.normal import MARGIN
from tests.support.svt import aim, condition

if TYPE_CHECKING:
    from operators.single.tslm import Tslm

THRESHOLD = 100
EPSILONS = [Fraction(each, 4) for each in (0, 1, 2, 3, 4, 6, 8, 12, 16)]
ROUNDING = 1e-9
"""What floats may be off by; what is to be found is a thousand times more."""


# A run tells its losses and alarms, the masses of its hidden states as it opens, on a stream or its
# neighbour, and how likely every state gives each answer; alarms begin with ``!``.


@dataclass(frozen=True)
class Sparse:
    """A sparse vector with a one-sided threshold, as it is released."""

    plan: SvtPlan
    steps: tuple[int, ...]
    moved: tuple[int, ...]

    @property
    def open_eps(self):
        """Loss of the threshold."""
        return from_loss_units(self.plan.open_units)

    @property
    def alarm_eps(self):
        """Loss of an alarm."""
        return from_loss_units(self.plan.alarm_units)

    @property
    def alarms(self):
        """How many it has."""
        return self.plan.alarms

    def opened(self, _neighbour):
        """Return the threshold's masses."""
        return run_of(self.plan).threshold

    def answers(self, asked, neighbour):
        """Compare a step count with every threshold."""
        rings = run_of(self.plan).ring(self.steps[asked] + neighbour * self.moved[asked])
        return {"!": rings, ".": 1 - rings}


@dataclass(frozen=True)
class Worst:
    """Randomised response, drawn as the run opens and told by which cell rings last of all.

    All alarms before that ring whatever the data are: a prefix with fewer loses nothing.
    """

    alarms: int
    open_eps: Fraction
    alarm_eps: Fraction

    def opened(self, neighbour):
        """Return the masses of the two answers."""
        whole = float(self.open_eps + self.alarms * self.alarm_eps)
        likely = 1 / (1 + math.exp(-whole))
        return np.array([likely, 1 - likely][:: 1 - 2 * neighbour])

    def answers(self, asked, _neighbour):
        """Ring without a reason, and at last for one."""
        if asked < self.alarms - 1:
            return {"!": np.ones(2)}
        return {"!a": np.array([1.0, 0.0]), "!b": np.array([0.0, 1.0])}


@dataclass(frozen=True)
class Seldom:
    """One question whose alarm is rare and loses all, and whose silence loses the opening alone."""

    open_eps: Fraction
    alarm_eps: Fraction
    alarms: int = 1

    def opened(self, _neighbour):
        """Hide nothing."""
        return np.ones(1)

    def answers(self, asked, neighbour):
        """Ring e^W times as often on the neighbour, and are silent e^open less often there."""
        if asked:
            return {".": np.ones(1)}
        quiet, whole = math.exp(-self.open_eps), math.exp(self.open_eps + self.alarm_eps)
        chance = (1 - quiet) / (whole - quiet) * (whole if neighbour else 1)
        return {"!": np.array([chance]), ".": np.array([1 - chance])}


def whole_of(run, alarms=None):
    """Return the loss of a run with so many alarms, or all of them."""
    if run is None:
        return Fraction(0)
    return run.open_eps + (run.alarms if alarms is None else alarms) * run.alarm_eps


@dataclass(frozen=True)
class Audit:
    """Every transcript of a run and windows of their own, and its probability on two neighbours.

    Args:
        run: how it answers, if there is one.
        order: ``r`` for a window of the run, ``w`` for one of a tslm: dear after an alarm.
        wall: in loss units.
        dear: decides after an alarm.
        cheap: decides otherwise.
    """

    run: object
    order: str
    wall: int
    dear: Tslm
    cheap: Tslm

    def charged(self, tslm):
        """Return what a window is charged."""
        return tslm.units

    def held(self, opens, rung, rings):
        """Return what a window of the run reserves and what it is settled at, in loss units.

        Args:
            opens: whether the run opens with it.
            rung: alarms of the run before it.
            rings: its own.
        """
        terms = self.terms
        reserved = terms.worst_units if opens else (terms.alarms - rung) * terms.alarm_units
        return reserved, terms.open_units * opens + rings * terms.alarm_units

    @property
    def terms(self):
        """What the run is charged."""
        return RunTerms(gaussian_units(whole_of(self.run)), 1, getattr(self.run, "alarms", 1))

    @cached_property
    def laws(self):
        """Return transcripts, refusals included, with their probabilities on both streams."""
        return [self._law(neighbour) for neighbour in (0, 1)]

    def _law(self, neighbour):
        """Return the law of transcripts of what every window said and was settled at."""

        def turn(said):
            if len(said) == len(self.order):
                return {}
            text, charged = "".join(each for each, _ in said), [paid for _, paid in said]
            place = self.order[len(said)]
            inside = [
                each
                for at, (each, _) in zip(self.order, said, strict=False)
                if at == "r" and each not in "-x"
            ]
            rung = "".join(inside).count("!")
            if place == "r" and rung == self.run.alarms:
                return {("-", 0): 1}
            tslm = self.dear if "!" in text[-2 if self.run else -1 :] else self.cheap
            reserved = self.charged(tslm)
            if place == "r":
                reserved, _ = self.held(not inside, rung, 0)
            if not self.grants(charged, reserved):
                return {("x", 0): 1}
            if place == "r":
                return {
                    (each, self.held(not inside, rung, each.count("!"))[1]): likely
                    for each, likely in self.run.answers(len(inside), neighbour).items()
                }
            chance = fires(tslm, THRESHOLD + neighbour)
            chance = float(chance) if self.run else chance
            return {("!", reserved): chance, (".", reserved): 1 - chance}

        return transcripts(self.run.opened(neighbour) if self.run else Fraction(1), turn)

    def grants(self, charged, units):
        """Ask the real filter for the next window, after what the others were settled at."""
        judge = UserFilter(self.wall, {}, {})
        for at, one in enumerate(charged):
            judge.hold(Standing(Held(10 * at, 10 * at + 10, one), False, (0,), "crowd"))
        at = len(charged)
        key = WindowKey(10 * at + 10, "crowd", 10 * at)
        asked = Charge(key, UniformCost(units, 1), 1, periods=(0,))
        return judge.answer(asked, ANYWHERE) is Answer.RESERVED

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


class Halved(Audit):
    """Broken twin: a quarter of every window is charged."""

    def charged(self, tslm):
        """Return too little."""
        return tslm.units // 4


class Linear(Audit):
    """Broken twin: what adds up is mu^4, as if small losses hardly counted."""

    def charged(self, tslm):
        """Return too little of what is small."""
        return tslm.units**2 // UNITS_PER_EPSILON


class Squared(Audit):
    """Broken twin: a pure loss is charged as the mu of the same number."""

    @property
    def terms(self):
        """Return too little: epsilon^2 / 2."""
        assert self.run
        return RunTerms(to_loss_units(whole_of(self.run) ** 2 / 2), 1, self.run.alarms)


class AlarmByAlarm(Audit):
    """Broken twin: the opening is converted, and then each alarm by itself."""

    @property
    def terms(self):
        """Return parts that add up to less than the whole."""
        assert self.run
        opening, each = gaussian_units(self.run.open_eps), gaussian_units(self.run.alarm_eps)
        return RunTerms(opening, each, self.run.alarms)


class Refunded(Audit):
    """Broken twin: what the alarms so far come to is converted, and the rest given back."""

    def held(self, opens, rung, rings):
        """Reserve up to the whole, and settle at what was lost."""

        def after(alarms):
            return gaussian_units(whole_of(self.run, alarms))

        before = 0 if opens else after(rung)
        return after(getattr(self.run, "alarms", 0)) - before, after(rung + rings) - before


@cache
def coin(units):
    """Return the decision over one step whose price is about so many loss units."""
    mu = math.sqrt(2 * units / UNITS_PER_EPSILON)
    rate = Fraction(math.erfc(mu / 2 / math.sqrt(2)) / 2).limit_denominator(10**6)
    test = IntegerTest(Comparison.GT, ints([THRESHOLD]), 1)
    return gaussian.planned(test, Promise(rate, 0, rate))


HALF = Fraction(1, 2)
SPARSE = SvtPlan(UNITS_PER_EPSILON, UNITS_PER_EPSILON, 2, monotone=True, one_sided=True)
RUNS = {
    "sparse": Sparse(SPARSE, (-1, 1, 0, -2), (1, 1, 0, 0)),
    "sparse, found at once": Sparse(SPARSE, (1, -1, -1, 0), (1, 1, 1, 1)),
    "worst": Worst(3, HALF, HALF),
    "worst of one": Worst(1, HALF, HALF),
    "seldom": Seldom(Fraction(3, 5), Fraction(7, 5)),
}
ORDERS = {"windows": "w" * 8, "worst of one": "rww", "seldom": "rww"}


def audit_of(kind, name):
    """Return an audit whose wall holds the run, as it is charged, and some windows beside it."""
    dear, cheap = coin(UNITS_PER_EPSILON // 2), coin(UNITS_PER_EPSILON // 4)
    made = kind(RUNS.get(name), ORDERS.get(name, "rwrwrwwr"), 0, dear, cheap)
    if made.run is None:  # five or six of the eight windows
        dear, cheap = planned(1, 1), planned(1, 2)
        return replace(made, wall=2 * dear.units + 3 * cheap.units, dear=dear, cheap=cheap)
    whole = made.terms.worst_units
    if name == "seldom":  # nothing but the run, and what silence would give back
        left = coin((whole - gaussian_units(made.run.open_eps)) * 999 // 1000)
        return replace(made, wall=whole, dear=left, cheap=left)
    beside = 0 if name == "worst of one" else 2 * cheap.units + dear.units
    return replace(made, wall=whole + beside)


@pytest.mark.parametrize("name", ["windows", *RUNS])
def test_neighbours_are_told_apart_no_better_than_the_wall_allows(name):
    """Over all transcripts and all events, whatever was asked in between and refused."""
    audit = audit_of(Audit, name)
    assert audit.excess(audit.wall) <= (ROUNDING if audit.run else MARGIN)
    if not audit.run:
        assert {("x", 0) in said for said in audit.laws[0]} == {True, False}


@pytest.mark.parametrize("name", RUNS)
def test_runs_keep_the_guarantee_that_the_ledger_knows(name):
    """Alone, along every prefix: no transcript loses more than its opening and its alarms."""
    run = RUNS[name]

    def law(neighbour, most):
        def turn(said):
            spent = "".join(said).count("!") == run.alarms
            return {} if spent or len(said) == most else run.answers(len(said), neighbour)

        return transcripts(run.opened(neighbour), turn)

    def charge(said):
        return float(whole_of(run, "".join(said).count("!")))

    assert max(excess(law(0, most), law(1, most), charge) for most in range(5)) <= ROUNDING


@pytest.mark.parametrize(
    ("twin", "name"),
    [
        (Halved, "windows"),
        (Linear, "windows"),
        (Squared, "worst of one"),
        (AlarmByAlarm, "worst"),
        (Refunded, "seldom"),
    ],
)
def test_filters_that_charge_too_little_are_caught(twin, name):
    """The same sums find them, and find nothing of the same run as it is charged."""
    audit = audit_of(twin, name)
    assert audit.excess(audit.wall) > 1e-3


@pytest.mark.parametrize(("name", "share"), [("worst of one", "19/20"), ("windows", "5/8")])
def test_much_of_what_the_wall_allows_is_used(name, share):
    """With less of it, something is found."""
    audit = audit_of(Audit, name)
    assert audit.excess(math.floor(audit.wall * Fraction(share))) > MARGIN


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
