"""Bad arguments of the whole public library end in a sentence and a hint, never deep inside.

A table of calls that work; then every argument of every call is replaced by what people pass by
mistake. A call may take it (a list where any sequence will do), or refuse it with one of the
project's errors. Nothing else may come out.
"""

from __future__ import annotations

import inspect
from fractions import Fraction

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


def case(call, /, **arguments):
    """Return a call that works, with all its arguments by name."""
    return call, arguments


TABLE = [
    case(Aim, max_fnr=RATE, tolerances=(9,), max_fpr=RATE),
    case(Band, references=np.array([1]), decider=TIGHT),
    case(Condition, formula=CONDITION.formula, atoms={"a": ATOM}, sensitivities=(1,)),
    case(Condition.single, test=TEST),
    case(CONDITION.truth, statistics=COUNTS),
    case(Formula.parse, text="a AND b"),
    case(IntegerTest, comparison=Comparison.GE, thresholds=np.array([1]), sensitivity=1),
    case(TEST.truth, statistics=COUNTS[0]),
    case(TEST.quantise, statistics=COUNTS[0]),
    case(TEST.steps, tolerance=9),
    case(Promise, max_fnr=RATE, tolerance=9, max_fpr=RATE),
    case(SeededSource, seed=1),
    case(NOISE.bernoulli, thresholds=np.zeros(2, dtype=np.uint64)),
    case(NOISE.certified, p=CertifiedProbability.exp_neg(HALF), n=2),
    case(NOISE.discrete_laplace, t=HALF, n=2),
    case(NOISE.geometric, t=HALF, n=2),
    case(NOISE.uint64, n=2),
    case(SvtPlan, open_units=5, alarm_units=5, alarms=2),
    case(SvtPlan.of_budget, units=3 * 10**12, alarms=2),
    case(ThresholdAtom, statistic=0, thresholds=np.array([1])),
    case(Tslm.planned, test=TEST, promise=PROMISE),
    case(Tslm.planned(TEST, PROMISE).decide, statistics=COUNTS[0], noise=NOISE),
    case(Nlm.planned, test=TEST, promise=PROMISE),
    case(Ppwlm.planned, test=TEST, promise=PROMISE),
    case(score_of, condition=CONDITION, tolerances=(9,)),
    case(Probe.planned, condition=CONDITION, aim=TWO_PHASES, fresh=HALF),
    case(ProbeEnt.planned, condition=CONDITION, aim=TWO_PHASES),
    case(Svt.planned, condition=CONDITION, aim=AIM),
    case(create, mechanism="tslm", condition=CONDITION, aim=AIM),
    case(price, mechanism="tslm", condition=CONDITION, aim=AIM),
    case(exp_neg_bounds, t=HALF, bits=64),
    case(
        svt_correction,
        query_noise=Exponential(1),
        threshold_noise=Laplace(2),
        negatives=20,
        tolerance=1,
        method="analytic",
    ),
    case(theoretical_limit, steps=19, alpha=RATE, beta=RATE),
    case(accuracy, plan=PLAN, negatives=20, beta=0.05),
    case(ask, plan=PLAN, state=RUN, steps=np.array([-9, 9]), noise=NOISE, window=0),
    case(integer_correction, plan=PLAN, negatives=20),
    case(open_run, plan=PLAN, noise=NOISE),
    case(optimal_split, alarms=2, monotone=True, noise="exp"),
    case(Exponential, scale=1.0),
    case(RunState.from_bytes, stored=RUN.to_bytes()),
    case(Count, events=1),
    case(Sum, low=0, high=9, events=1),
    case(Quantile, share=HALF, domain=range(9), events=1),
    case(Average, low=0, high=9, events=1, scale=10),
    case(Relative, share=HALF),
    case(half_widths, tau=5, references=np.array([205, 205])),
    case(choose, kind=Count(), epsilon=HALF, tau=50, delta=RATE),
    case(planned, name="tight", kind=Count(), epsilon=HALF, tau=50),
    case(tau_min, name="tight", kind=Count(), epsilon=HALF, delta=RATE),
    case(units_min, epsilon=HALF, delta=RATE, kind=Quantile(HALF, range(9))),
    case(exponential_threshold, epsilon=HALF, delta=RATE),
    case(TIGHT.decide, statistics=COUNTS, references=np.array([205, 205]), noise=NOISE),
    case(PaneQuestion, test=TEST, promise=PROMISE, panes=4, step=1, looks=2),
    case(Panes.planned, questions=[QUESTION], tree=Tree(branching=2, levels=2)),
    case(PANES.release, statistics=COUNTS, noise=NOISE),
    case(PANES.decide, question=0, noisy=COUNTS),
    case(PANES.chances, question=0, steps=COUNTS[0]),
    case(PANES.errors, question=0),
    case(LaplaceSum, rate=HALF, terms=4),
    case(SUM.tail, at=4),
    case(SUM.tails, at=COUNTS[0]),
    case(LaplaceWalk, rate=HALF, terms=4),
    case(WALK.tail, at=4),
    case(WALK.tails, at=COUNTS[0]),
    case(Tree, branching=2, levels=2),
    case(Tree(2, 2).cover, first=0, panes=4),
    case(Tree(2, 2).most_nodes, panes=4, step=1),
    case(alternatives, questions=[QUESTION], counted=1, period=4),
    case(Contribution, predicates_per_window=1, events_per_cell=1),
    case(LevelCosts.of, units=np.array([1, 2])),
    case(LevelCosts.uniform, units=1, cells=2),
    case(LevelCosts.decode, text=LevelCosts.uniform(1, 2).encode()),
    case(UniformCost, units=1, cells=2),
    case(WindowKey, end_ms=2, query="b", start_ms=1),
    case(Charge, key=WINDOW, cost=COST, cells_per_unit=1, periods=(0,)),
    case(to_loss_units, epsilon=HALF),
    case(floor_loss_units, epsilon=HALF),
    case(from_loss_units, units=1),
    case(min_entropy, epsilons=[0, 1], priors=[1, 2], node_limit=100),
    case(
        maximum_overlap,
        regions=[Region.where(day={"mon"})],
        weights=[1],
        composition="sum",
    ),
    case(TradeOff, corners=pure(1).corners),
    case(TradeOff.of_laws, null=[HALF, HALF], other=[0, 1]),
    case(pure(1).__call__, alpha=HALF),
    case(pure(1).at_least, other=pure(2)),
    case(pure(1).delta, epsilon=0.5),
    case(pure(1).epsilon, delta=RATE),
    case(pure(1).divergence, slope=HALF),
    case(approximate, epsilon=HALF, delta=1e-6),
    case(pure, epsilon=HALF),
    case(gaussian, mu=HALF, pieces=8),
    case(laplace, epsilon=HALF, pieces=8),
    case(discrete_laplace, rate=HALF, steps=2),
    case(lower_envelope, curves=[pure(1)]),
    case(tensor, curves=[pure(1)], pieces=8),
    case(tensor_power, curve=pure(1), times=2, pieces=8),
    case(
        overlapping,
        regions=[Region.where(day={"mon"})],
        curves=[pure(1)],
        pieces=8,
    ),
    case(
        average_l1_error,
        overlap=maximum_overlap([Region.everything()]),
        queries=1,
        budget=HALF,
        noise="laplace",
        weights=[1],
    ),
    case(worst_row, charges=[], node_limit=100),
    case(rounded_normal, mu=HALF, n=2, noise=NOISE),
    case(
        create("decider", CONDITION, AIM, band=BAND).decide,
        statistics=COUNTS,
        noise=NOISE,
    ),
]
CALLS = {call.__qualname__: (call, arguments) for call, arguments in TABLE} | {
    "Dppwlm.planned": case(Dppwlm.planned, test=TEST, promise=PROMISE),
    **{
        f"decide: {name}": case(
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
    called, arguments = CALLS[call]
    called(**arguments)


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("call", CALLS)
def test_a_bad_argument_is_refused_in_a_sentence(call, wrong):
    """Whichever argument it is: taken, or refused with the project's own error and a remedy."""
    called, arguments = CALLS[call]
    for name in arguments:
        said, hint = "", "where it is taken"
        try:
            called(**{**arguments, name: WRONG[wrong]})
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
