"""Mechanisms for formulas and their registry: plans, skipping, costs, refusals and speed."""

from __future__ import annotations

import math
import random
import time
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import operators.formulas.probe
import operators.formulas.probe_ent
import operators.formulas.treewalk
import operators.formulas.tslm
from accountant.costs.levels import MOST_LEVELS, LevelCosts
from accountant.errors import ConfigError
from operators.base import Plan, Promise
from operators.conditions.atoms import IntegerTest
from operators.conditions.comparison import Comparison
from operators.conditions.condition import Aim, Condition, Refine, Rule, ThresholdAtom
from operators.conditions.formula import Formula, atom_of
from operators.formulas.literals import apportioned, formula_limit, least_common_rate
from operators.formulas.probe import Probe
from operators.formulas.probe_ent import ProbeEnt
from operators.formulas.treewalk import Walk, rounded_costs, still_open
from operators.formulas.tslm import SharedTslm
from operators.noise.likely import likely_inside, likely_inside_afresh
from operators.noise.source import KeyedNoise
from operators.registry import MECHANISMS, create, price
from operators.single.adapter import Single
from operators.single.nlm import Nlm
from operators.single.progressive import Dppwlm, Ppwlm
from operators.single.tslm import Tslm, theoretical_limit
from tests.support.tree import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from operators.single.adapter import CellOperator

BETA = Fraction(1, 20)
FORMULAS = ("tslm", "probe", "probe-ent")


def condition(
    text: str, cells: int = 1, *, statistics: tuple[int, ...] = (), sensitivity: int = 1
) -> Condition:
    """Return a condition with all thresholds at 100, each atom on a statistic of its own."""
    formula = Formula.parse(text)
    where = statistics or tuple(range(len(formula.atoms)))
    atoms = {
        name: ThresholdAtom(at, np.full(cells, 100, dtype=np.int64))
        for name, at in zip(formula.atoms, where, strict=True)
    }
    return Condition(formula, atoms, (sensitivity,) * (max(where) + 1))


def aim(atoms: int, tolerance: int = 5, **more: object) -> Aim:
    """Return an aim of one tolerance for all atoms, its first phase six times as wide."""
    plain = Aim(BETA, (tolerance,) * atoms, first_tolerances=(6 * tolerance,) * atoms)
    return replace(plain, **more)  # type: ignore[arg-type]  # fields of an aim


# Registry -----------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["a", "NOT a", "a AND a"])
@pytest.mark.parametrize("mechanism", ["tslm", "ppwlm", "dppwlm", "nlm"])
def test_one_literal_is_decided_as_before(mechanism: str, text: str) -> None:
    """The adapter has the plan, the answers and the costs of the operator of one test."""
    of = condition(text, 300, sensitivity=3)
    made = create(mechanism, of, aim(1), experimental=True)
    assert isinstance(made, Single)
    comparison = Comparison.LT if text.startswith("NOT") else Comparison.GE
    test = IntegerTest(comparison, np.full(300, 100, dtype=np.int64), 3)
    planners: dict[str, Callable[[IntegerTest, Promise], CellOperator]] = {
        "tslm": Tslm.planned,
        "ppwlm": Ppwlm.planned,
        "dppwlm": Dppwlm.planned,
        "nlm": Nlm.planned,
    }
    direct = planners[mechanism](test, Promise(BETA, 5))
    assert made.plan == direct.plan
    statistics = np.arange(300, dtype=np.int64)
    ours = made.decide(statistics[None, :], KeyedNoise(b"one"))
    theirs = direct.decide(statistics, KeyedNoise(b"one"))
    assert np.array_equal(ours.fired, theirs.fired)
    assert ours.cost == theirs.cost
    if mechanism != "nlm":
        assert price(mechanism, of, aim(1)) == direct.plan


@pytest.mark.parametrize("text", ["a", "NOT a", "a AND NOT b", "(a AND b) OR (NOT a AND c)"])
@pytest.mark.parametrize("mechanism", FORMULAS)
@pytest.mark.parametrize("more", [{}, {"max_fpr": Fraction(1, 10)}, {"refine": "fresh"}])
def test_price_is_the_plan(mechanism: str, text: str, more: dict[str, object]) -> None:
    """Pricing gives the plan of the operator, which is named as in the configuration."""
    of = condition(text)
    wanted = replace(aim(len(of.formula.atoms)), **more)  # type: ignore[arg-type]  # its fields
    plan = create(mechanism, of, wanted).plan
    assert price(mechanism, of, wanted) == plan
    assert plan.mechanism == mechanism
    assert plan.ratio > 1 - 1e-9
    assert (plan.epsilon * 10**12).denominator == 1


def test_a_single_literal_costs_what_dppwlm_costs() -> None:
    """ProBE-Ent on one literal has DPPWLM's last level."""
    of = condition("a")
    assert price("probe-ent", of, aim(1)).epsilon == price("dppwlm", of, aim(1)).epsilon


@pytest.mark.parametrize(
    ("mechanism", "text", "wanted", "words"),
    [
        ("laplace", "a", aim(1), "unknown mechanism"),
        ("nlm", "a", aim(1), "experiments"),
        ("ppwlm", "a AND b", aim(2), "combines several"),
        ("dppwlm", "a OR NOT a AND b", aim(2), "combines several"),
        ("probe", "a", aim(1, first_tolerances=()), "first phase"),
        ("tslm", "a AND b", aim(2, max_fnr=Fraction(0)), "max_fnr"),
        ("probe", "a AND b", aim(2, max_fnr=Fraction(3, 5)), "tossing a coin"),
        ("probe-ent", "a AND b", aim(2, tolerances=(1, -1)), "tolerance"),
        ("tslm", "a AND b", aim(2, tolerances=(50_000, 1)), "100001 steps"),
        ("probe", "a AND b", aim(2, first_tolerances=(5, -1)), "tolerance"),
    ],
)
def test_what_cannot_be_kept_is_refused(mechanism: str, text: str, wanted: Aim, words: str) -> None:
    """With what is wrong and a hint, from both functions."""
    for function in (create, price):
        with pytest.raises(ConfigError, match=words) as caught:
            function(mechanism, condition(text), wanted)
        assert caught.value.hint


def test_too_many_ways_to_be_true_is_a_configuration_error() -> None:
    """What the apportionment cannot list comes back with a hint."""
    pairs = [f"(a{i} OR b{i})" for i in range(7)]
    text = " AND ".join([*pairs, *(f"(NOT a{i} OR NOT b{i} OR c)" for i in range(7))])
    of = condition(text)
    with pytest.raises(ConfigError, match="ways") as caught:
        price("tslm", of, aim(15))
    assert "split" in caught.value.hint


@pytest.mark.parametrize("refine", get_args(Refine))
@pytest.mark.parametrize("mechanism", FORMULAS)
def test_rates_are_planned_for_down_to_a_millionth_of_a_millionth(
    mechanism: str, refine: Refine
) -> None:
    """What is refused is what the message says, whatever part of it one look may use."""
    of, least = condition("a AND b"), Fraction(1, 10**12)
    wanted = aim(2, max_fnr=least, max_fpr=least, refine=refine)
    assert price(mechanism, of, wanted).epsilon > 5
    with pytest.raises(ConfigError, match="max_fnr is finer than 1e-12"):
        price(mechanism, of, replace(wanted, max_fnr=least * Fraction(99, 100)))


@pytest.mark.long
def test_planning_many_ways_to_be_true_takes_seconds() -> None:
    """Thousands of prime implicants and both errors bounded: no rule is cheaper than *optimal*."""
    source = random.Random(5)
    names = [f"x{i}" for i in range(16)]
    clauses = [
        " OR ".join(("NOT " if source.random() < 0.5 else "") + x for x in source.sample(names, 5))
        for _ in range(12)
    ]
    of = condition(" AND ".join(f"({clause})" for clause in clauses))
    assert len(of.formula.prime_implicants()) > 5000
    steps = [(1, 5, 17, 60, 400)[at % 5] for at in range(16)]
    wanted = Aim(BETA, tuple(steps), BETA)
    started = time.process_time()
    best = price("tslm", of, wanted).epsilon
    assert time.process_time() - started < 60  # far less on a machine of its own
    assert best < Fraction(9, 10) * price("tslm", of, replace(wanted, apportion="probe")).epsilon


def test_an_aim_of_another_size_is_a_programming_error() -> None:
    """One tolerance per atom, and one first tolerance where they are needed."""
    with pytest.raises(ValueError, match="one tolerance"):
        create("tslm", condition("a AND b"), aim(1))
    with pytest.raises(ValueError, match="one first tolerance"):
        create("probe", condition("a AND b"), aim(2, first_tolerances=(9,)))


def test_distant_thresholds_of_one_statistic_are_refused() -> None:
    """Offsets that noisy values could not be added to."""
    formula = Formula.parse("a AND NOT b")
    atoms = {
        "a": ThresholdAtom(0, np.array([-(2**62)], dtype=np.int64)),
        "b": ThresholdAtom(0, np.array([2**62], dtype=np.int64)),
    }
    with pytest.raises(ConfigError, match="2\\^60"):
        create("tslm", Condition(formula, atoms, (1,)), aim(2))


def test_known_mechanisms() -> None:
    """The names that a configuration may use."""
    assert MECHANISMS == ("tslm", "ppwlm", "dppwlm", "probe", "probe-ent")


# Plans --------------------------------------------------------------------------------------


def test_a_shared_statistic_is_charged_once() -> None:
    """An interval on one statistic costs one channel, one on two statistics two."""
    once = price("tslm", condition("a AND NOT b", statistics=(0, 0)), aim(2))
    twice = price("tslm", condition("a AND NOT b"), aim(2))
    assert twice.epsilon == 2 * once.epsilon


def test_or_needs_no_split() -> None:
    """Six alternatives cost six times one; ProBE's rule costs 40% more or worse."""
    alone = price("tslm", condition("a"), aim(1)).epsilon
    six = condition("a OR b OR c OR d OR e OR f")
    optimal = price("tslm", six, aim(6)).epsilon
    assert float(optimal) == pytest.approx(6 * float(alone), abs=1e-10)
    assert optimal < Fraction(6, 10) * price("tslm", six, aim(6, apportion="probe")).epsilon


def test_levels_begin_at_the_first_tolerance() -> None:
    """ProBE's first level is the apportioned loss at u_0, its last the plan's share."""
    of, wanted = condition("a AND b"), aim(2)
    operator = Probe.planned(of, wanted)
    first = apportioned(of, wanted.widened(wanted.first_tolerances))
    assert [scale.units[0] for scale in operator.scales] == [share.units for share in first]
    assert [len(scale.units) for scale in operator.scales] == [4, 4]
    assert operator.plan.epsilon == Fraction(sum(s.units[-1] for s in operator.scales), 10**12)


@pytest.mark.parametrize("refine", get_args(Refine))
@pytest.mark.parametrize("rule", get_args(Rule))
@pytest.mark.parametrize("max_fpr", [None, BETA])
@pytest.mark.parametrize("tolerances", [(5, 5), (5, 0), (50, 2)])
def test_narrow_first_tolerances_leave_one_phase(
    refine: Refine, rule: Rule, max_fpr: Fraction | None, tolerances: tuple[int, int]
) -> None:
    """First tolerances no wider than the aim's: one level, for just the threshold shift's loss."""
    of = condition("a AND b")
    for firsts in (tolerances, (0, 0)):
        wanted = Aim(BETA, tolerances, max_fpr, rule, refine, firsts)
        operator = Probe.planned(of, wanted)
        assert [scale.last for scale in operator.scales] == [0, 0]
        assert operator.plan.epsilon == price("tslm", of, wanted).epsilon
    decision = operator.decide(np.array([[300], [10]], dtype=np.int64), KeyedNoise(b"one"))
    assert not decision.fired[0]


@pytest.mark.parametrize("refine", get_args(Refine))
def test_a_first_look_is_taken_where_it_is_much_wider(refine: Refine) -> None:
    """One phase until the first tolerance spans twice the steps; two dearer ones from there on."""
    of = condition("a AND b")
    once = price("tslm", of, aim(2)).epsilon
    for wider in (6, 8, 10):
        aimed = aim(2, first_tolerances=(wider, wider), refine=refine)
        assert price("probe", of, aimed).epsilon == once
    operator = Probe.planned(of, aim(2, first_tolerances=(11, 11), refine=refine))
    assert all(scale.charges[0] <= scale.units[-1] / 2 for scale in operator.scales)
    assert once < operator.plan.epsilon < 2 * once


@pytest.mark.long
@pytest.mark.parametrize("refine", get_args(Refine))
@pytest.mark.parametrize("max_fpr", [None, BETA, Fraction(1, 1000)])
def test_optimal_is_the_cheapest_rule(refine: Refine, max_fpr: Fraction | None) -> None:
    """In the worst case of one phase, two, and both beside each other."""
    for text, tolerances, firsts in (
        ("a AND b", (1, 0), (5, 0)),
        ("a AND b", (5, 0), (1000, 0)),
        ("a AND b", (2, 5), (5, 5)),
        ("a AND b", (5, 5), (500, 6)),
        ("a OR b", (0, 10), (0, 21)),
        ("(a AND b) OR c", (2, 50, 5), (40, 50, 100)),
    ):
        of = condition(text)
        wanted = Aim(BETA, tolerances, max_fpr, first_tolerances=firsts, refine=refine)
        for mechanism in FORMULAS:
            best = create(mechanism, of, wanted).plan
            assert best == price(mechanism, of, wanted)
            for rule in get_args(Rule):
                other = price(mechanism, of, replace(wanted, apportion=rule)).epsilon
                assert best.epsilon <= other + Fraction(len(of.channels), 10**12)


def test_a_channel_of_one_phase_has_both_halves_of_its_rates() -> None:
    """With fresh noise beside a channel of two phases: sums over both stay within max_fnr."""
    of = condition("a AND b")
    wanted = aim(2, first_tolerances=(500, 5), refine="fresh")
    twice, once = Probe.planned(of, wanted).scales
    assert (twice.last, once.last) == (3, 0)
    first, second, only = twice.first[0], twice.share.readings[0], once.share.readings[0]
    assert first.beta != second.beta
    assert BETA * Fraction(999, 1000) < first.beta + second.beta + only.beta <= BETA
    assert once.units[0] == least_common_rate((only,))[0]


def test_very_wide_first_tolerances_are_narrowed() -> None:
    """A first phase over more steps than are planned for begins at the most there are."""
    of = condition("a AND b", sensitivity=10)
    wide = Probe.planned(of, aim(2, first_tolerances=(10**9, 10**9)))
    most = Probe.planned(of, aim(2, first_tolerances=(499_999, 499_999)))
    assert [scale.units for scale in wide.scales] == [scale.units for scale in most.scales]


def test_fresh_noise_is_charged_for_both_phases() -> None:
    """The plan of ``refine: fresh`` adds the first level to the last."""
    operator = Probe.planned(condition("a"), aim(1, refine="fresh"))
    scale = operator.scales[0]
    assert scale.chain is None
    assert scale.charges[0] == scale.units[0]
    assert scale.charges[-1] == scale.units[0] + scale.units[-1]
    assert operator.plan.epsilon > price("probe", condition("a"), aim(1)).epsilon


def test_fresh_noise_never_decides_both_ways() -> None:
    """A wide tolerance on a rate that serves a narrow one: what is true is not false as well."""
    of = condition("a AND NOT b", 2000, statistics=(0, 0))
    wanted = aim(2, tolerances=(1, 200), first_tolerances=(4, 200), refine="fresh")
    operator = Probe.planned(of, wanted)
    for scale in operator.scales:
        for rungs in scale.rungs:
            assert all(-low < high for low, high in zip(rungs.low, rungs.high, strict=True))
    statistics = np.full((1, 2000), 120, dtype=np.int64)
    walk = Walk(of, operator.scales, statistics, KeyedNoise(b"both"))
    walk.read(0, 0)
    for one in of.formula.literals:
        assert not (walk._sure[one] & ~walk._possible[one]).any()


@pytest.mark.parametrize("refine", get_args(Refine))
def test_expected_open_cells_are_those_that_stay_open(refine: Refine) -> None:
    """Step counts equally likely over a wide span, as assumed: within 5% at every level."""
    cells = 60_000
    of = condition("a", cells)
    operator = Probe.planned(of, aim(1, max_fpr=BETA, first_tolerances=(60,), refine=refine))
    statistics = np.arange(cells, dtype=np.int64)[None, :] % 1500 - 650
    for candidate in range(1, operator.scales[0].last):
        walk = Walk(of, operator.scales, statistics, KeyedNoise(b"flat"))
        walk.read(0, 0)
        expected = walk.likely_open(0, 0, candidate)
        walk.read(0, candidate)
        assert walk.open_cells(0, 0) == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("likely", [likely_inside, likely_inside_afresh])
def test_likelihoods_agree_with_the_laws_summed_up(likely: Callable[..., object]) -> None:
    """The law of the finer value given the coarser one, by convolution of the noises."""
    coarse, fine, low, high = 0.3, 0.8, -4, 3
    z = np.arange(-150, 151)

    def law(t: float) -> NDArray[np.float64]:
        weights: NDArray[np.float64] = math.tanh(t / 2) * np.exp(-t * np.abs(z))
        return weights

    if likely is likely_inside_afresh:
        moved = np.convolve(law(coarse), law(fine), mode="same")
    else:
        stay = (math.sinh(coarse / 2) / math.sinh(fine / 2)) ** 2
        moved = stay * (z == 0) + (1 - stay) * law(coarse)
    read = np.arange(-20, 21, dtype=np.int64)
    expected = [moved[(z >= low - at) & (z < high - at)].sum() for at in read.tolist()]
    assert likely(coarse, fine, low, high, read) == pytest.approx(np.array(expected), abs=1e-12)


def test_fresh_estimate_goes_by_the_rates_of_its_first_look() -> None:
    """The first look's own half, apportioned for the first tolerances."""
    of = condition("a AND b")
    operator = Probe.planned(of, aim(2, first_tolerances=(500, 40), refine="fresh"))
    firsts = apportioned(of, aim(2, tolerances=(500, 40)), Fraction(1, 2))
    for scale, share in zip(operator.scales, firsts, strict=True):
        assert scale.first[0].beta == share.readings[0].beta / 2
        assert scale.first[0].beta != scale.share.readings[0].beta
    for scale in Probe.planned(of, aim(2)).scales:
        assert scale.first == scale.share.readings


@pytest.mark.parametrize("levels", range(1, 7))
def test_the_first_level_may_err_as_often_as_the_last(levels: int) -> None:
    """Two fifths each, the levels between them the rest; all of it, whatever their number."""
    shape = operators.formulas.probe._shape(levels)
    assert len(shape) == levels
    assert sum(shape) == 1
    if levels > 1:
        assert shape[-1] == Fraction(2, 5)
    if levels > 2:
        assert shape[0] == shape[-1]


def test_rate_serves_every_literal_of_a_channel() -> None:
    """The least common rate is the most demanding literal's."""
    of = condition("a AND NOT b", statistics=(0, 0))
    (share,) = apportioned(of, aim(2, tolerances=(1, 30)))
    units, cuts = least_common_rate(share.readings)
    alone = max(least_common_rate((each,))[0] for each in share.readings)
    assert len(cuts) == 2
    assert alone <= units <= alone + 3


def test_limit_is_what_the_most_demanding_literal_pays_alone() -> None:
    """For distinct statistics the smallest k counts; it is a lower bound on every plan."""
    of = condition("(a AND b) OR c")
    wanted = aim(3, tolerances=(9, 2, 5))
    assert formula_limit(of, wanted) == theoretical_limit(5, BETA, BETA)


def test_limit_leaves_out_literals_that_never_decide_alone() -> None:
    """``s >= 100 AND s >= 200`` is ``s >= 200``: the wider tolerance of the other is no bound."""
    formula = Formula.parse("a AND b")
    atoms = {
        "a": ThresholdAtom(0, np.array([100], dtype=np.int64)),
        "b": ThresholdAtom(0, np.array([200], dtype=np.int64)),
    }
    of = Condition(formula, atoms, (1,))
    assert formula_limit(of, aim(2, tolerances=(0, 7))) == theoretical_limit(15, BETA, BETA)


def test_a_condition_that_no_data_meet_has_no_limit() -> None:
    """``s >= 200 AND NOT s >= 100``: nothing need be paid, and the ratio says so."""
    formula = Formula.parse("a AND NOT b")
    atoms = {
        "a": ThresholdAtom(0, np.array([200], dtype=np.int64)),
        "b": ThresholdAtom(0, np.array([100], dtype=np.int64)),
    }
    plan = price("tslm", Condition(formula, atoms, (1,)), aim(2))
    assert plan.limit == 0
    assert plan.ratio == math.inf
    assert Plan("tslm", Fraction(3), 2.0).ratio == 1.5


# Deciding -----------------------------------------------------------------------------------


@pytest.mark.parametrize("refine", ["gradual", "fresh"])
@pytest.mark.parametrize("mechanism", FORMULAS)
def test_far_cells_are_decided_rightly(mechanism: str, refine: str) -> None:
    """Ends of int64 and anything far away: the formula's truth, whatever its shape."""
    ends = (np.iinfo(np.int64).min, -(10**9), 10**9, np.iinfo(np.int64).max)
    for text in ("(a AND b) OR c", "NOT (a AND b OR c)", "(a AND b) OR (NOT a AND c)"):
        statistics = np.array(list(product(ends, repeat=3)), dtype=np.int64).T
        of = condition(text, statistics.shape[1])
        operator = create(mechanism, of, aim(3, refine=refine))
        decision = operator.decide(np.ascontiguousarray(statistics), KeyedNoise(b"far"))
        assert np.array_equal(decision.fired, of.truth(statistics))


@pytest.mark.parametrize("mechanism", ["probe", "probe-ent"])
def test_settled_conjunctions_read_no_further(mechanism: str) -> None:
    """A cell that is far below in one operand pays next to nothing for the other."""
    cells = 200
    of = condition("a AND b", cells)
    operator = create(mechanism, of, aim(2))
    assert isinstance(operator, Probe | ProbeEnt)
    statistics = np.full((2, cells), 100, dtype=np.int64)
    statistics[0] = -10_000_000
    low = operator.decide(statistics, KeyedNoise(b"low")).cost.worst_units
    # The first level of the operand read first settles; ties go to the formula's order.
    assert low <= sum(scale.charges[0] for scale in operator.scales)
    if mechanism == "probe":
        assert low == operator.scales[0].charges[0]
    statistics[0] = 10_000_000
    high = operator.decide(statistics, KeyedNoise(b"high")).cost
    assert high.worst_units > 2 * low
    assert high.worst_units <= operator.scales[1].charges[-1] + operator.scales[0].charges[0]


def test_probe_reads_no_more_than_the_estimate_asks_for() -> None:
    """Many clear negatives allow a few open cells: phase two is not read; few don't: it is."""
    cells = 2000
    of = condition("a", cells)
    operator = Probe.planned(of, aim(1, max_fpr=Fraction(1, 10)))
    scale = operator.scales[0]
    statistics = np.full((1, cells), -1000, dtype=np.int64)
    statistics[0, :20] = 60  # well within u_0, far beyond u
    relaxed = operator.decide(statistics, KeyedNoise(b"few"))
    assert relaxed.cost == LevelCosts.uniform(scale.charges[0], cells)
    statistics[0, :1900] = 60
    strict = operator.decide(statistics, KeyedNoise(b"many"))
    assert strict.cost.worst_units > scale.charges[0]
    false_alarms = np.count_nonzero(strict.fired[:1900])
    assert false_alarms < 0.2 * 2000


def test_estimate_picks_the_coarsest_level_that_keeps_it() -> None:
    """The nearer open cells lie to the threshold, the finer; with no allowance, the last level."""
    cells = 5000
    of = condition("a", cells)
    levels = []
    for value, max_fpr in ((50, Fraction(1, 10)), (80, Fraction(1, 10)), (80, Fraction(1, 1000))):
        operator = Probe.planned(of, aim(1, max_fpr=max_fpr))
        statistics = np.full((1, cells), -1000, dtype=np.int64)
        statistics[0, :1000] = value
        walk = Walk(of, operator.scales, statistics, KeyedNoise(b"level"))
        walk.read(0, 0)
        levels.append(operator.refined(walk, 0))
    assert 0 < levels[0] < levels[1] < levels[2] == operator.scales[0].last


@pytest.mark.parametrize("value", [60, 80, 88])
def test_phase_two_goes_on_until_the_estimate_is_kept(value: int) -> None:
    """Cells crowded beyond the tolerance: false alarms end within max_fpr all the same."""
    cells = 5000
    of = condition("a", cells)
    operator = Probe.planned(of, aim(1, max_fpr=Fraction(1, 10)))
    statistics = np.full((1, cells), -1000, dtype=np.int64)
    statistics[0, :1000] = value
    decision = operator.decide(statistics, KeyedNoise(b"crowd"))
    assert np.count_nonzero(decision.fired) <= cells / 10


@pytest.mark.parametrize("mechanism", FORMULAS)
def test_costs_stay_within_the_plan(mechanism: str) -> None:
    """No cell pays more than the plan's epsilon, in any refine mode."""
    cells = 1000
    rng = np.random.default_rng(5)
    of = condition("(a AND NOT b) OR (b AND c)", cells, statistics=(0, 0, 1))
    statistics = rng.integers(70, 130, (2, cells), dtype=np.int64)
    for refine in ("gradual", "fresh"):
        operator = create(mechanism, of, aim(3, refine=refine))
        decision = operator.decide(statistics, KeyedNoise(b"costs"))
        assert decision.cost.cells == cells
        assert decision.cost.worst_units <= operator.plan.epsilon * 10**12
        assert decision.fired.shape == (cells,)


@pytest.mark.parametrize("mechanism", ["ppwlm", *FORMULAS])
@pytest.mark.parametrize("shape", [(2,), (2, 3), (3, 2), (1, 2)])
def test_statistics_of_another_shape_are_refused(mechanism: str, shape: tuple[int, ...]) -> None:
    """One row per statistic and one column per cell, int64."""
    text = "a" if mechanism == "ppwlm" else "a AND b"
    operator = create(mechanism, condition(text, 2), aim(1 if mechanism == "ppwlm" else 2))
    if shape == (1, 2) and mechanism == "ppwlm":
        shape = (2, 2)
    with pytest.raises(ValueError, match="int64"):
        operator.decide(np.zeros(shape, dtype=np.int64), KeyedNoise(b""))
    with pytest.raises(ValueError, match="int64"):
        operator.decide(np.zeros((2, 2)), KeyedNoise(b""))  # type: ignore[arg-type]  # float64


@pytest.mark.parametrize("mechanism", FORMULAS)
def test_a_hundred_thousand_cells_decide(mechanism: str) -> None:
    """Three channels, all cells close to their thresholds."""
    cells = 100_000
    of = condition("(a AND b) OR c", cells)
    operator = create(mechanism, of, aim(3, 10))
    statistics = np.full((3, cells), 95, dtype=np.int64)
    started = time.process_time()
    decision = operator.decide(statistics, KeyedNoise(b"quick"))
    assert time.process_time() - started < 60  # a guard: far less
    assert decision.cost.cells == cells


# Parts --------------------------------------------------------------------------------------


def states(formula: Formula) -> tuple[dict[str, NDArray[np.bool_]], dict[str, NDArray[np.bool_]]]:
    """Return every state of the literals: false, open or true, one cell each."""
    table = np.indices((3,) * len(formula.literals)).reshape(len(formula.literals), -1)
    sure = {one: row == 2 for one, row in zip(formula.literals, table, strict=True)}
    return sure, {one: row > 0 for one, row in zip(formula.literals, table, strict=True)}


def open_by_definition(formula: Formula, sure: dict[str, bool], open_: set[str]) -> set[str]:
    """Return the open literals whose value changes the answer for some value of the others."""
    found = set()
    for one in open_:
        rest = sorted(open_ - {one})
        for values in product((False, True), repeat=len(rest)):
            holds = {**sure, **dict(zip(rest, values, strict=True))}
            columns = {each: np.array([held, held]) for each, held in holds.items()}
            answers = formula.evaluate_literals({**columns, one: np.array([True, False])})
            if answers[0] != answers[1]:
                found.add(one)
                break
    return found


@pytest.mark.parametrize(
    "text",
    [
        "a",
        "a AND b",
        "NOT (a OR b AND NOT c)",
        "(a AND b) OR (NOT a AND c)",
        "(a OR b) AND (c OR d)",
    ],
)
def test_open_literals_are_those_that_can_change_the_answer(text: str) -> None:
    """Where each literal is written once: exactly, in every state of all literals."""
    formula = Formula.parse(text)
    sure, possible = states(formula)
    marks = still_open(formula, sure, possible)
    for cell in range(next(iter(sure.values())).size):
        true = {one: bool(sure[one][cell]) for one in formula.literals}
        undecided = {one for one in formula.literals if possible[one][cell] and not true[one]}
        expected = open_by_definition(formula, true, undecided)
        assert {one for one in formula.literals if marks[one][cell]} == expected


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_open_literals_never_leave_an_answer_undecided(seed: int) -> None:
    """Random formulas, literals repeated: none missing, and none open means settled."""
    source = random.Random(seed)

    def written(depth: int) -> str:
        if depth == 0 or source.random() < 0.3:
            return source.choice(["a", "b", "c", "NOT a", "NOT b"])
        parts = [written(depth - 1) for _ in range(source.randint(2, 3))]
        return f"({source.choice([' AND ', ' OR ']).join(parts)})"

    try:
        formula = Formula.parse(written(3))
    except ValueError:
        return
    sure, possible = states(formula)
    marks = still_open(formula, sure, possible)
    settled = formula.evaluate_literals(sure) == formula.evaluate_literals(possible)
    any_open = np.logical_or.reduce(list(marks.values()))
    assert np.array_equal(settled, ~any_open)
    for cell in source.sample(range(settled.size), min(15, settled.size)):
        true = {one: bool(sure[one][cell]) for one in formula.literals}
        undecided = {one for one in formula.literals if possible[one][cell] and not true[one]}
        expected = open_by_definition(formula, true, undecided)
        assert expected <= {one for one in formula.literals if marks[one][cell]}


def test_costs_of_many_values_are_rounded_up_to_fit() -> None:
    """More than 2^16 different sums: none falls, none exceeds the worst, and they fit."""
    costs = np.random.default_rng(1).integers(0, 10**13, 200_000)
    worst = int(costs.max())
    rounded = rounded_costs(costs, worst)
    assert (rounded >= costs).all()
    assert rounded.max() == worst
    assert np.unique(rounded).size <= MOST_LEVELS
    few = np.array([5, 7, 7], dtype=np.int64)
    assert np.array_equal(rounded_costs(few, 9), few)


def test_readings_are_the_literals_own_step_counts() -> None:
    """A channel's exact step counts give every literal's as its own test has them."""
    formula = Formula.parse("(a AND NOT b) OR (b AND NOT a)")
    thresholds = np.array([7, -3, 40], dtype=np.int64)
    atoms = {"a": ThresholdAtom(0, thresholds), "b": ThresholdAtom(0, thresholds + 30)}
    of = Condition(formula, atoms, (10,))
    (share,) = apportioned(of, aim(2))
    for value in range(-60, 80, 7):
        statistics = np.full((1, 3), value, dtype=np.int64)
        steps = share.channel.steps(statistics)
        for reading in share.readings:
            expected = of.test(reading.literal).quantise(statistics[0])
            assert np.array_equal(reading.own(steps), expected)
            chosen = np.array([2, 0])
            assert np.array_equal(reading.own(steps[chosen], chosen), expected[chosen])
            assert reading.steps == of.test(reading.literal).steps(5)
    assert {atom_of(each.literal) for each in share.readings} == {"a", "b"}


def test_shares_of_any_part_add_up_to_the_whole() -> None:
    """Minimising for a level of part of the rates leaves the literals the whole of them."""
    of = condition("a AND b AND c")
    for part in (Fraction(1), Fraction(1, 2), Fraction(1, 7)):
        readings = [share.readings[0] for share in apportioned(of, aim(3), part)]
        assert sum(each.beta for each in readings) <= BETA
        assert sum(each.beta for each in readings) > BETA * Fraction(999, 1000)


@pytest.mark.parametrize(
    "module",
    [
        operators.formulas.probe,
        operators.formulas.probe_ent,
        operators.formulas.treewalk,
        operators.formulas.tslm,
    ],
)
def test_proof_pages_exist(module: object) -> None:
    """The page that each module names is there."""
    text = str(module.__doc__)
    pages = [page for page in ("probe", "prime-implicants") if f"docs/proofs/{page}.md" in text]
    assert pages
    assert all((ROOT / f"docs/proofs/{page}.md").is_file() for page in pages)


def test_operators_are_exported() -> None:
    """The classes that the registry makes can be imported from the package."""
    assert {"Probe", "ProbeEnt", "SharedTslm", "Condition", "Aim"} <= set(operators.__all__)
    assert operators.SharedTslm is SharedTslm
