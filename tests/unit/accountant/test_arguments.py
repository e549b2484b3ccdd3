"""Bad arguments of the whole public library end in a sentence and a hint, never deep inside.

A table of calls that work; then every argument of every call is replaced by what people pass by
mistake. A call may take it (a list where any sequence will do), or refuse it with one of the
project's errors. Nothing else may come out.
"""

from __future__ import annotations

import inspect
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import accountant
import operators
import operators.deciders as bands
import operators.panes as shared
import operators.svt as sparse
from accountant.arguments import sentence_of
from accountant.errors import ArgumentError, TocsinError
from accountant.loss import tradeoff
from operators.base import Promise
from operators.conditions.comparison import Comparison

if TYPE_CHECKING:
    from collections.abc import Callable

HALF, RATE = Fraction(1, 2), Fraction(1, 20)
NOISE = operators.SeededSource(1)
ATOM = operators.ThresholdAtom(statistic=0, thresholds=np.array([120, 120]))
CONDITION = operators.Condition(operators.Formula.parse("a"), {"a": ATOM}, (1,))
AIM = operators.Aim(max_fnr=RATE, tolerances=(9,))
TWO_PHASES = operators.Aim(RATE, (9,), first_tolerances=(40,))
TEST = operators.IntegerTest(Comparison.GE, np.array([120, 120]), 1)
PROMISE = Promise(RATE, 9)
COUNTS = np.array([[5, 900]])
PLAN = operators.SvtPlan.of_budget(3 * 10**12, alarms=2, monotone=True)
RUN = sparse.open_run(PLAN, NOISE)
TIGHT = bands.planned("tight", bands.Count(), HALF, 50)
BAND = operators.Band(TIGHT, np.array([205, 205]))
QUESTION = shared.PaneQuestion(TEST, PROMISE, panes=4)
PANES = shared.Panes.planned([QUESTION])
SUM = shared.LaplaceSum(HALF, 4)
WALK = shared.LaplaceWalk(HALF, 4)
WINDOW = accountant.WindowKey(20, "b", 10)
COST = accountant.UniformCost(7, 1)


def case(
    call: Callable[..., Any], /, **arguments: Any
) -> tuple[Callable[..., Any], dict[str, Any]]:
    """Return a call that works, with all its arguments by name."""
    return call, arguments


TABLE = [
    case(operators.Aim, max_fnr=RATE, tolerances=(9,), max_fpr=RATE),
    case(operators.Band, references=np.array([1]), decider=TIGHT),
    case(operators.Condition, formula=CONDITION.formula, atoms={"a": ATOM}, sensitivities=(1,)),
    case(operators.Condition.single, test=TEST),
    case(CONDITION.truth, statistics=COUNTS),
    case(operators.Formula.parse, text="a AND b"),
    case(operators.IntegerTest, comparison=Comparison.GE, thresholds=np.array([1]), sensitivity=1),
    case(TEST.truth, statistics=COUNTS[0]),
    case(TEST.quantise, statistics=COUNTS[0]),
    case(TEST.steps, tolerance=9),
    case(operators.Promise, max_fnr=RATE, tolerance=9, max_fpr=RATE),
    case(operators.SeededSource, seed=1),
    case(NOISE.bernoulli, thresholds=np.zeros(2, dtype=np.uint64)),
    case(NOISE.certified, p=operators.CertifiedProbability.exp_neg(HALF), n=2),
    case(NOISE.discrete_laplace, t=HALF, n=2),
    case(NOISE.geometric, t=HALF, n=2),
    case(NOISE.uint64, n=2),
    case(operators.SvtPlan, open_units=5, alarm_units=5, alarms=2),
    case(operators.SvtPlan.of_budget, units=3 * 10**12, alarms=2),
    case(operators.ThresholdAtom, statistic=0, thresholds=np.array([1])),
    case(operators.Tslm.planned, test=TEST, promise=PROMISE),
    case(operators.Tslm.planned(TEST, PROMISE).decide, statistics=COUNTS[0], noise=NOISE),
    case(operators.Nlm.planned, test=TEST, promise=PROMISE),
    case(operators.Ppwlm.planned, test=TEST, promise=PROMISE),
    case(operators.score_of, condition=CONDITION, tolerances=(9,)),
    case(operators.Probe.planned, condition=CONDITION, aim=TWO_PHASES, fresh=HALF),
    case(operators.ProbeEnt.planned, condition=CONDITION, aim=TWO_PHASES),
    case(operators.Svt.planned, condition=CONDITION, aim=AIM),
    case(operators.create, mechanism="tslm", condition=CONDITION, aim=AIM),
    case(operators.price, mechanism="tslm", condition=CONDITION, aim=AIM),
    case(operators.exp_neg_bounds, t=HALF, bits=64),
    case(
        operators.svt_correction,
        query_noise=sparse.Exponential(1),
        threshold_noise=sparse.Laplace(2),
        negatives=20,
        tolerance=1,
        method="analytic",
    ),
    case(operators.theoretical_limit, steps=19, alpha=RATE, beta=RATE),
    case(sparse.accuracy, plan=PLAN, negatives=20, beta=0.05),
    case(sparse.ask, plan=PLAN, state=RUN, steps=np.array([-9, 9]), noise=NOISE, window=0),
    case(sparse.integer_correction, plan=PLAN, negatives=20),
    case(sparse.open_run, plan=PLAN, noise=NOISE),
    case(sparse.optimal_split, alarms=2, monotone=True, noise="exp"),
    case(sparse.Exponential, scale=1.0),
    case(sparse.RunState.from_bytes, stored=RUN.to_bytes()),
    case(bands.Count, events=1),
    case(bands.Sum, low=0, high=9, events=1),
    case(bands.Quantile, share=HALF, domain=range(9), events=1),
    case(bands.Average, low=0, high=9, events=1, scale=10),
    case(bands.Relative, share=HALF),
    case(bands.half_widths, tau=5, references=np.array([205, 205])),
    case(bands.choose, kind=bands.Count(), epsilon=HALF, tau=50, delta=RATE),
    case(bands.planned, name="tight", kind=bands.Count(), epsilon=HALF, tau=50),
    case(bands.tau_min, name="tight", kind=bands.Count(), epsilon=HALF, delta=RATE),
    case(bands.units_min, epsilon=HALF, delta=RATE, kind=bands.Quantile(HALF, range(9))),
    case(bands.exponential_threshold, epsilon=HALF, delta=RATE),
    case(TIGHT.decide, statistics=COUNTS, references=np.array([205, 205]), noise=NOISE),
    case(shared.PaneQuestion, test=TEST, promise=PROMISE, panes=4, step=1, looks=2),
    case(shared.Panes.planned, questions=[QUESTION], tree=shared.Tree(branching=2, levels=2)),
    case(PANES.release, statistics=COUNTS, noise=NOISE),
    case(PANES.decide, question=0, noisy=COUNTS),
    case(PANES.chances, question=0, steps=COUNTS[0]),
    case(PANES.errors, question=0),
    case(shared.LaplaceSum, rate=HALF, terms=4),
    case(SUM.tail, at=4),
    case(SUM.tails, at=COUNTS[0]),
    case(shared.LaplaceWalk, rate=HALF, terms=4),
    case(WALK.tail, at=4),
    case(WALK.tails, at=COUNTS[0]),
    case(shared.Tree, branching=2, levels=2),
    case(shared.Tree(2, 2).cover, first=0, panes=4),
    case(shared.Tree(2, 2).most_nodes, panes=4, step=1),
    case(shared.alternatives, questions=[QUESTION], counted=1, period=4),
    case(accountant.Contribution, predicates_per_window=1, events_per_cell=1),
    case(accountant.LevelCosts.of, units=np.array([1, 2])),
    case(accountant.LevelCosts.uniform, units=1, cells=2),
    case(accountant.LevelCosts.decode, text=accountant.LevelCosts.uniform(1, 2).encode()),
    case(accountant.UniformCost, units=1, cells=2),
    case(accountant.WindowKey, end_ms=2, query="b", start_ms=1),
    case(accountant.Charge, key=WINDOW, cost=COST, cells_per_unit=1, periods=(0,)),
    case(accountant.to_loss_units, epsilon=HALF),
    case(accountant.floor_loss_units, epsilon=HALF),
    case(accountant.from_loss_units, units=1),
    case(accountant.min_entropy, epsilons=[0, 1], priors=[1, 2], node_limit=100),
    case(
        accountant.maximum_overlap,
        regions=[accountant.Region.where(day={"mon"})],
        weights=[1],
        composition="sum",
    ),
    case(tradeoff.TradeOff, corners=tradeoff.pure(1).corners),
    case(tradeoff.TradeOff.of_laws, null=[HALF, HALF], other=[0, 1]),
    case(tradeoff.pure(1).__call__, alpha=HALF),
    case(tradeoff.pure(1).at_least, other=tradeoff.pure(2)),
    case(tradeoff.pure(1).delta, epsilon=0.5),
    case(tradeoff.pure(1).epsilon, delta=RATE),
    case(tradeoff.pure(1).divergence, slope=HALF),
    case(tradeoff.approximate, epsilon=HALF, delta=1e-6),
    case(tradeoff.pure, epsilon=HALF),
    case(tradeoff.gaussian, mu=HALF, pieces=8),
    case(tradeoff.laplace, epsilon=HALF, pieces=8),
    case(tradeoff.discrete_laplace, rate=HALF, steps=2),
    case(tradeoff.lower_envelope, curves=[tradeoff.pure(1)]),
    case(tradeoff.tensor, curves=[tradeoff.pure(1)], pieces=8),
    case(tradeoff.tensor_power, curve=tradeoff.pure(1), times=2, pieces=8),
    case(
        tradeoff.overlapping,
        regions=[accountant.Region.where(day={"mon"})],
        curves=[tradeoff.pure(1)],
        pieces=8,
    ),
    case(
        accountant.average_l1_error,
        overlap=accountant.maximum_overlap([accountant.Region.everything()]),
        queries=1,
        budget=HALF,
        noise="laplace",
        weights=[1],
    ),
    case(accountant.worst_row, charges=[], node_limit=100),
    case(operators.rounded_normal, mu=HALF, n=2, noise=NOISE),
    case(
        operators.create("decider", CONDITION, AIM, band=BAND).decide,
        statistics=COUNTS,
        noise=NOISE,
    ),
]
CALLS = {call.__qualname__: (call, arguments) for call, arguments in TABLE} | {
    "Dppwlm.planned": case(operators.Dppwlm.planned, test=TEST, promise=PROMISE),
    **{
        f"decide: {name}": case(
            operators.create(name, CONDITION, TWO_PHASES, experimental=True).decide,
            statistics=COUNTS,
            noise=NOISE,
        )
        for name in (*operators.MECHANISMS, "nlm")
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
    decide = operators.create("tslm", CONDITION, AIM).decide
    cases = (
        (lambda: decide([[5, 900]], NOISE), "`statistics` is a numpy array of int64", "np.int64"),  # type: ignore[arg-type]  # the mistake
        (lambda: decide(COUNTS * 1.0, NOISE), "not an array of float64", "np.int64"),
        (lambda: operators.Aim(0.05, (9,)), "`max_fnr` is an exact number", "Fraction(1, 20)"),  # type: ignore[arg-type]  # the mistake
        (
            lambda: decide(COUNTS, np.random.default_rng(1)),  # type: ignore[arg-type]  # the mistake
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
    assert len(CALLS) == len(TABLE) + len(operators.MECHANISMS) + 2, "two calls have one name"


def test_who_tells_a_refusal_in_other_words_leaves_its_hint_out():
    """One message has one hint; other errors are told whole."""
    refused = ArgumentError("a share lies in (0, 1)", hint="write Fraction(1, 2)")
    assert sentence_of(refused) == "a share lies in (0, 1)"
    assert sentence_of(ValueError("too large")) == "too large"
