"""Bad arguments of the whole public library end in a sentence and a hint, never deep inside.

A table of calls that work; then every argument of every call is replaced by what people pass by
mistake. A call may take it (a list where any sequence will do), or refuse it with one of the
project's errors. Nothing else may come out.
"""

from __future__ import annotations

import inspect
from fractions import Fraction
from functools import partial
from itertools import product

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
from operators.panes import LaplaceSum, LaplaceWalk, PaneQuestion, Panes
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
DECIDE = create("tslm", CONDITION, AIM).decide


TABLE = [  # calls that work, with all their arguments
    partial(Aim, RATE, (9,), RATE),
    partial(Band, references=np.array([1]), decider=TIGHT),
    partial(Condition, CONDITION.formula, {"a": ATOM}, (1,)),
    partial(Condition.single, TEST),
    partial(CONDITION.truth, COUNTS),
    partial(Formula.parse, "a AND b"),
    partial(IntegerTest, Comparison.GE, np.array([1]), 1),
    partial(TEST.truth, COUNTS[0]),
    partial(TEST.quantise, COUNTS[0]),
    partial(TEST.steps, 9),
    partial(Promise, RATE, 9, RATE),
    partial(SeededSource, 1),
    partial(NOISE.bernoulli, np.zeros(2, dtype=np.uint64)),
    partial(NOISE.certified, CertifiedProbability.exp_neg(HALF), 2),
    partial(NOISE.discrete_laplace, HALF, 2),
    partial(NOISE.geometric, HALF, 2),
    partial(NOISE.uint64, 2),
    partial(SvtPlan, 5, 5, 2),
    partial(SvtPlan.of_budget, 3 * 10**12, 2),
    partial(ThresholdAtom, 0, np.array([1])),
    partial(Tslm.planned, TEST, PROMISE),
    partial(Tslm.planned(TEST, PROMISE).decide, COUNTS[0], NOISE),
    partial(Nlm.planned, TEST, PROMISE),
    partial(Ppwlm.planned, TEST, PROMISE),
    partial(score_of, CONDITION, (9,)),
    partial(Probe.planned, CONDITION, TWO_PHASES, fresh=HALF),
    partial(ProbeEnt.planned, CONDITION, TWO_PHASES),
    partial(Svt.planned, CONDITION, AIM),
    partial(create, "tslm", CONDITION, AIM),
    partial(price, "tslm", CONDITION, AIM),
    partial(exp_neg_bounds, HALF, 64),
    partial(svt_correction, Exponential(1), Laplace(2), 20, 1, "analytic"),
    partial(theoretical_limit, 19, RATE, RATE),
    partial(accuracy, PLAN, 20, 0.05),
    partial(ask, PLAN, RUN, np.array([-9, 9]), NOISE, window=0),
    partial(integer_correction, PLAN, 20),
    partial(open_run, PLAN, NOISE),
    partial(optimal_split, 2, monotone=True, noise="exp"),
    partial(Exponential, 1.0),
    partial(RunState.from_bytes, RUN.to_bytes()),
    partial(Count, 1),
    partial(Sum, 0, 9, 1),
    partial(Quantile, HALF, range(9), 1),
    partial(Average, 0, 9, 1, 10),
    partial(Relative, HALF),
    partial(half_widths, 5, np.array([205, 205])),
    partial(choose, Count(), HALF, 50, RATE),
    partial(planned, "tight", Count(), HALF, 50),
    partial(tau_min, "tight", Count(), HALF, RATE),
    partial(units_min, HALF, RATE, Quantile(HALF, range(9))),
    partial(exponential_threshold, HALF, RATE),
    partial(TIGHT.decide, COUNTS, np.array([205, 205]), NOISE),
    partial(PaneQuestion, TEST, PROMISE, 4, 2),
    partial(Panes.planned, [QUESTION]),
    partial(PANES.release, COUNTS, NOISE),
    partial(PANES.decide, 0, COUNTS),
    partial(PANES.chances, 0, COUNTS[0]),
    partial(PANES.errors, 0),
    partial(LaplaceSum, HALF, 4),
    partial(SUM.tail, 4),
    partial(SUM.tails, COUNTS[0]),
    partial(LaplaceWalk, HALF, 4),
    partial(WALK.tail, 4),
    partial(WALK.tails, COUNTS[0]),
    partial(Contribution, 1, 1),
    partial(LevelCosts.of, np.array([1, 2])),
    partial(LevelCosts.uniform, 1, 2),
    partial(LevelCosts.decode, LevelCosts.uniform(1, 2).encode()),
    partial(UniformCost, 1, 2),
    partial(WindowKey, 2, "b", 1),
    partial(Charge, WINDOW, COST, 1, (0,)),
    partial(to_loss_units, HALF),
    partial(floor_loss_units, HALF),
    partial(from_loss_units, 1),
    partial(min_entropy, [0, 1], priors=[1, 2], node_limit=100),
    partial(maximum_overlap, [Region.where(day={"mon"})], [1], composition="sum"),
    partial(TradeOff, pure(1).corners),
    partial(TradeOff.of_laws, [HALF, HALF], [0, 1]),
    partial(pure(1).__call__, HALF),
    partial(pure(1).at_least, pure(2)),
    partial(pure(1).delta, 0.5),
    partial(pure(1).epsilon, RATE),
    partial(pure(1).divergence, HALF),
    partial(approximate, HALF, 1e-6),
    partial(pure, HALF),
    partial(gaussian, HALF, 8),
    partial(laplace, HALF, 8),
    partial(discrete_laplace, HALF, 2),
    partial(lower_envelope, [pure(1)]),
    partial(tensor, [pure(1)], 8),
    partial(tensor_power, pure(1), 2, 8),
    partial(overlapping, [Region.where(day={"mon"})], [pure(1)], 8),
    partial(
        average_l1_error,
        maximum_overlap([Region.everything()]),
        1,
        HALF,
        noise="laplace",
        weights=[1],
    ),
    partial(worst_row, [], node_limit=100),
    partial(create("decider", CONDITION, AIM, band=BAND).decide, COUNTS, NOISE),
]
CALLS = {call.func.__qualname__: call for call in TABLE} | {
    "Dppwlm.planned": partial(Dppwlm.planned, TEST, PROMISE),
    **{
        f"decide: {name}": partial(
            create(name, CONDITION, TWO_PHASES, experimental=True).decide, COUNTS, NOISE
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


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_bad_argument_is_refused_in_a_sentence(call):
    """Whichever argument of a call that works it is: taken, or refused with error and remedy."""
    call()
    given = inspect.signature(call.func).bind(*call.args, **call.keywords).arguments
    for name, (wrong, value) in product(given, WRONG.items()):
        said, hint = "", "where it is taken"
        try:
            call.func(**{**given, name: value})
        except TocsinError as error:
            said = error.message
            hint = error.hint or ("" if isinstance(error, ArgumentError) else hint)
        except Exception as error:  # noqa: BLE001  # whatever else comes out is what this looks for
            pytest.fail(f"{name}={wrong}: {type(error).__name__}: {error}")
        assert not said.endswith("."), name
        assert hint, f"{name}={wrong}: {said}"


@pytest.mark.parametrize(
    ("call", "sentence", "hint"),
    [
        (lambda: DECIDE([[5, 900]], NOISE), "`statistics` is a numpy array of int64", "np.int64"),
        (lambda: DECIDE(COUNTS * 1.0, NOISE), "not an array of float64", "np.int64"),
        (lambda: Aim(0.05, (9,)), "`max_fnr` is an exact number", "Fraction(1, 20)"),
        (
            lambda: DECIDE(COUNTS, np.random.default_rng(1)),
            "`noise` is a NoiseSource, not a Generator",
            "operators.NoiseSource()",
        ),
    ],
)
def test_what_is_said_names_argument_and_remedy_and_no_value(call, sentence, hint):
    """The three things that were reported: a list, a float, and numpy's generator."""
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
