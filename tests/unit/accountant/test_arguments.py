"""Bad arguments of the whole public library end in a sentence and a hint, never deep inside.

A table of calls that work; then every argument of every call is replaced by what people pass by
mistake. A call may take it (a list where any sequence will do), or refuse it with one of the
project's errors. Nothing else may come out.
"""

from __future__ import annotations

import inspect
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

import accountant
import operators
import operators.deciders as bands
import operators.panes as shared
import operators.svt as sparse
from accountant import (
    Charge,
    Contribution,
    LevelCosts,
    Region,
    UniformCost,
    WindowKey,
    average_l1_error,
    floor_loss_units,
    from_loss_units,
    maximum_overlap,
    min_entropy,
    to_loss_units,
    worst_row,
)
from accountant.arguments import sentence_of
from accountant.errors import ArgumentError, TocsinError
from accountant.loss.tradeoff import (
    TradeOff,
    approximate,
    discrete_laplace,
    gaussian,
    laplace,
    lower_envelope,
    overlapping,
    pure,
    tensor,
    tensor_power,
)
from operators import (
    MECHANISMS,
    Aim,
    Band,
    CertifiedProbability,
    Condition,
    Dppwlm,
    Formula,
    IntegerTest,
    Nlm,
    Ppwlm,
    Probe,
    ProbeEnt,
    Promise,
    SeededSource,
    Svt,
    SvtPlan,
    ThresholdAtom,
    Tslm,
    create,
    exp_neg_bounds,
    price,
    rounded_normal,
    score_of,
    svt_correction,
    theoretical_limit,
)
from operators.conditions.comparison import Comparison
from operators.deciders import (
    Average,
    Count,
    Quantile,
    Relative,
    Sum,
    choose,
    exponential_threshold,
    half_widths,
    planned,
    tau_min,
    units_min,
)
from operators.panes import LaplaceSum, LaplaceWalk, PaneQuestion, Panes, Tree, alternatives
from operators.svt import (
    Exponential,
    Laplace,
    RunState,
    accuracy,
    ask,
    integer_correction,
    open_run,
    optimal_split,
)

HALF, RATE = Fraction(1, 2), Fraction(1, 20)
NOISE = SeededSource(1)
ATOM = ThresholdAtom(statistic=0, thresholds=np.array([120, 120]))
CONDITION = Condition(Formula.parse("a"), {"a": ATOM}, (1,))
AIM = Aim(max_fnr=RATE, tolerances=(9,))
TWO_PHASES = Aim(RATE, (9,), first_tolerances=(40,))
TEST = IntegerTest(Comparison.GE, np.array([120, 120]), 1)
PROMISE = Promise(RATE, 9)
COUNTS = np.array([[5, 900]])
PLAN = SvtPlan.of_budget(3 * 10**12, alarms=2, monotone=True)
RUN = open_run(PLAN, NOISE)
TIGHT = planned("tight", Count(), HALF, 50)
BAND = Band(TIGHT, np.array([205, 205]))
QUESTION = PaneQuestion(TEST, PROMISE, panes=4)
PANES = Panes.planned([QUESTION])
SUM = LaplaceSum(HALF, 4)
WALK = LaplaceWalk(HALF, 4)
WINDOW = WindowKey(20, "b", 10)
COST = UniformCost(7, 1)


TABLE = [  # calls that work, with all their arguments by name
    partial(Aim, max_fnr=RATE, tolerances=(9,), max_fpr=RATE),
    partial(Band, references=np.array([1]), decider=TIGHT),
    partial(Condition, formula=CONDITION.formula, atoms={"a": ATOM}, sensitivities=(1,)),
    partial(Condition.single, test=TEST),
    partial(CONDITION.truth, statistics=COUNTS),
    partial(Formula.parse, text="a AND b"),
    partial(IntegerTest, comparison=Comparison.GE, thresholds=np.array([1]), sensitivity=1),
    partial(TEST.truth, statistics=COUNTS[0]),
    partial(TEST.quantise, statistics=COUNTS[0]),
    partial(TEST.steps, tolerance=9),
    partial(Promise, max_fnr=RATE, tolerance=9, max_fpr=RATE),
    partial(SeededSource, seed=1),
    partial(NOISE.bernoulli, thresholds=np.zeros(2, dtype=np.uint64)),
    partial(NOISE.certified, p=CertifiedProbability.exp_neg(HALF), n=2),
    partial(NOISE.discrete_laplace, t=HALF, n=2),
    partial(NOISE.geometric, t=HALF, n=2),
    partial(NOISE.uint64, n=2),
    partial(SvtPlan, open_units=5, alarm_units=5, alarms=2),
    partial(SvtPlan.of_budget, units=3 * 10**12, alarms=2),
    partial(ThresholdAtom, statistic=0, thresholds=np.array([1])),
    partial(Tslm.planned, test=TEST, promise=PROMISE),
    partial(Tslm.planned(TEST, PROMISE).decide, statistics=COUNTS[0], noise=NOISE),
    partial(Nlm.planned, test=TEST, promise=PROMISE),
    partial(Ppwlm.planned, test=TEST, promise=PROMISE),
    partial(score_of, condition=CONDITION, tolerances=(9,)),
    partial(Probe.planned, condition=CONDITION, aim=TWO_PHASES, fresh=HALF),
    partial(ProbeEnt.planned, condition=CONDITION, aim=TWO_PHASES),
    partial(Svt.planned, condition=CONDITION, aim=AIM),
    partial(create, mechanism="tslm", condition=CONDITION, aim=AIM),
    partial(price, mechanism="tslm", condition=CONDITION, aim=AIM),
    partial(exp_neg_bounds, t=HALF, bits=64),
    partial(
        svt_correction,
        query_noise=Exponential(1),
        threshold_noise=Laplace(2),
        negatives=20,
        tolerance=1,
        method="analytic",
    ),
    partial(theoretical_limit, steps=19, alpha=RATE, beta=RATE),
    partial(accuracy, plan=PLAN, negatives=20, beta=0.05),
    partial(ask, plan=PLAN, state=RUN, steps=np.array([-9, 9]), noise=NOISE, window=0),
    partial(integer_correction, plan=PLAN, negatives=20),
    partial(open_run, plan=PLAN, noise=NOISE),
    partial(optimal_split, alarms=2, monotone=True, noise="exp"),
    partial(Exponential, scale=1.0),
    partial(RunState.from_bytes, stored=RUN.to_bytes()),
    partial(Count, events=1),
    partial(Sum, low=0, high=9, events=1),
    partial(Quantile, share=HALF, domain=range(9), events=1),
    partial(Average, low=0, high=9, events=1, scale=10),
    partial(Relative, share=HALF),
    partial(half_widths, tau=5, references=np.array([205, 205])),
    partial(choose, kind=Count(), epsilon=HALF, tau=50, delta=RATE),
    partial(planned, name="tight", kind=Count(), epsilon=HALF, tau=50),
    partial(tau_min, name="tight", kind=Count(), epsilon=HALF, delta=RATE),
    partial(units_min, epsilon=HALF, delta=RATE, kind=Quantile(HALF, range(9))),
    partial(exponential_threshold, epsilon=HALF, delta=RATE),
    partial(TIGHT.decide, statistics=COUNTS, references=np.array([205, 205]), noise=NOISE),
    partial(PaneQuestion, test=TEST, promise=PROMISE, panes=4, step=1, looks=2),
    partial(Panes.planned, questions=[QUESTION], tree=Tree(branching=2, levels=2)),
    partial(PANES.release, statistics=COUNTS, noise=NOISE),
    partial(PANES.decide, question=0, noisy=COUNTS),
    partial(PANES.chances, question=0, steps=COUNTS[0]),
    partial(PANES.errors, question=0),
    partial(LaplaceSum, rate=HALF, terms=4),
    partial(SUM.tail, at=4),
    partial(SUM.tails, at=COUNTS[0]),
    partial(LaplaceWalk, rate=HALF, terms=4),
    partial(WALK.tail, at=4),
    partial(WALK.tails, at=COUNTS[0]),
    partial(Tree, branching=2, levels=2),
    partial(Tree(2, 2).cover, first=0, panes=4),
    partial(Tree(2, 2).most_nodes, panes=4, step=1),
    partial(alternatives, questions=[QUESTION], counted=1, period=4),
    partial(Contribution, predicates_per_window=1, events_per_cell=1),
    partial(LevelCosts.of, units=np.array([1, 2])),
    partial(LevelCosts.uniform, units=1, cells=2),
    partial(LevelCosts.decode, text=LevelCosts.uniform(1, 2).encode()),
    partial(UniformCost, units=1, cells=2),
    partial(WindowKey, end_ms=2, query="b", start_ms=1),
    partial(Charge, key=WINDOW, cost=COST, cells_per_unit=1, periods=(0,)),
    partial(to_loss_units, epsilon=HALF),
    partial(floor_loss_units, epsilon=HALF),
    partial(from_loss_units, units=1),
    partial(min_entropy, epsilons=[0, 1], priors=[1, 2], node_limit=100),
    partial(
        maximum_overlap,
        regions=[Region.where(day={"mon"})],
        weights=[1],
        composition="sum",
    ),
    partial(TradeOff, corners=pure(1).corners),
    partial(TradeOff.of_laws, null=[HALF, HALF], other=[0, 1]),
    partial(pure(1).__call__, alpha=HALF),
    partial(pure(1).at_least, other=pure(2)),
    partial(pure(1).delta, epsilon=0.5),
    partial(pure(1).epsilon, delta=RATE),
    partial(pure(1).divergence, slope=HALF),
    partial(approximate, epsilon=HALF, delta=1e-6),
    partial(pure, epsilon=HALF),
    partial(gaussian, mu=HALF, pieces=8),
    partial(laplace, epsilon=HALF, pieces=8),
    partial(discrete_laplace, rate=HALF, steps=2),
    partial(lower_envelope, curves=[pure(1)]),
    partial(tensor, curves=[pure(1)], pieces=8),
    partial(tensor_power, curve=pure(1), times=2, pieces=8),
    partial(
        overlapping,
        regions=[Region.where(day={"mon"})],
        curves=[pure(1)],
        pieces=8,
    ),
    partial(
        average_l1_error,
        overlap=maximum_overlap([Region.everything()]),
        queries=1,
        budget=HALF,
        noise="laplace",
        weights=[1],
    ),
    partial(worst_row, charges=[], node_limit=100),
    partial(rounded_normal, mu=HALF, n=2, noise=NOISE),
    partial(
        create("decider", CONDITION, AIM, band=BAND).decide,
        statistics=COUNTS,
        noise=NOISE,
    ),
]
CALLS = {call.func.__qualname__: call for call in TABLE} | {
    "Dppwlm.planned": partial(Dppwlm.planned, test=TEST, promise=PROMISE),
    **{
        f"decide: {name}": partial(
            create(name, CONDITION, TWO_PHASES, experimental=True).decide,
            statistics=COUNTS,
            noise=NOISE,
        )
        for name in (*MECHANISMS, "nlm")
    },
}

WRONG = {
    "list": [5, 900],
    "float": 0.5,
    "nan": float("nan"),
    "negative": -7,
    "text": "many",
    "none": None,
    "floats": np.array([[0.5, 2.0]]),
    "another shape": np.zeros((3, 3), dtype=np.int64),
    "empty": np.zeros(0, dtype=np.int64),
    "generator": np.random.default_rng(1),
    "mapping": {"a": 1},
    "complex": 1j,
}


@pytest.mark.parametrize("call", CALLS)
def test_the_calls_of_the_table_work(call):
    """Otherwise a refusal would say nothing."""
    CALLS[call]()


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("call", CALLS)
def test_a_bad_argument_is_refused_in_a_sentence(call, wrong):
    """Whichever argument it is: taken, or refused with the project's own error and a remedy."""
    for name in CALLS[call].keywords:
        said, hint = "", "where it is taken"
        try:
            CALLS[call](**{name: WRONG[wrong]})
        except TocsinError as error:
            said = error.message
            hint = error.hint or ("" if isinstance(error, ArgumentError) else hint)
        except Exception as error:  # noqa: BLE001  # whatever else comes out is what this looks for
            pytest.fail(f"{call}({name}={wrong}): {type(error).__name__}: {error}")
        assert not said.endswith("."), name
        assert hint, f"{name}: {said}"


def test_what_is_said_names_argument_and_remedy_and_no_value():
    """The three things that were reported: a list, a float, and numpy's generator."""
    decide = create("tslm", CONDITION, AIM).decide
    cases = (
        (lambda: decide([[5, 900]], NOISE), "`statistics` is a numpy array of int64", "np.int64"),
        (lambda: decide(COUNTS * 1.0, NOISE), "not an array of float64", "np.int64"),
        (lambda: Aim(0.05, (9,)), "`max_fnr` is an exact number", "Fraction(1, 20)"),
        (
            lambda: decide(COUNTS, np.random.default_rng(1)),
            "`noise` is a NoiseSource, not a Generator",
            "operators.NoiseSource()",
        ),
    )
    for call, sentence, hint in cases:
        with pytest.raises(ArgumentError) as caught:
            call()
        assert sentence in caught.value.message
        assert hint in caught.value.hint
        assert "900" not in str(caught.value)


def test_the_table_has_every_public_function():
    """A function that is exported is tried: the packages' own lists are compared with the table."""
    exported = {
        name
        for package in (accountant, operators, sparse, bands, shared)
        for name in package.__all__
        if inspect.isfunction(getattr(package, name))
    }
    untried = {
        "effective_from",  # of deciders that are made above
        "kept_from",
        "levels_of",
        "utility_gain",  # of an overlap
    }
    assert exported - set(CALLS) == untried
    assert len(CALLS) == len(TABLE) + len(MECHANISMS) + 2, "two calls have one name"


def test_who_tells_a_refusal_in_other_words_leaves_its_hint_out():
    """One message has one hint; other errors are told whole."""
    refused = ArgumentError("a share lies in (0, 1)", hint="write Fraction(1, 2)")
    assert sentence_of(refused) == "a share lies in (0, 1)"
    assert sentence_of(ValueError("too large")) == "too large"
