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
GAUSSIAN = operators.Aim(RATE, (9,), gaussian=True)
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
CHARGE = accountant.Charge(WINDOW, COST, 1, periods=(0,))

CALLS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "Aim": (
        operators.Aim,
        {"max_fnr": RATE, "tolerances": (9,), "max_fpr": RATE},
    ),
    "Band": (operators.Band, {"references": np.array([1]), "decider": TIGHT}),
    "Condition": (
        operators.Condition,
        {"formula": CONDITION.formula, "atoms": {"a": ATOM}, "sensitivities": (1,)},
    ),
    "Condition.single": (operators.Condition.single, {"test": TEST}),
    "Condition.truth": (CONDITION.truth, {"statistics": COUNTS}),
    "Formula.parse": (operators.Formula.parse, {"text": "a AND b"}),
    "IntegerTest": (
        operators.IntegerTest,
        {"comparison": Comparison.GE, "thresholds": np.array([1]), "sensitivity": 1},
    ),
    "IntegerTest.truth": (TEST.truth, {"statistics": COUNTS[0]}),
    "IntegerTest.quantise": (TEST.quantise, {"statistics": COUNTS[0]}),
    "IntegerTest.steps": (TEST.steps, {"tolerance": 9}),
    "Promise": (operators.Promise, {"max_fnr": RATE, "tolerance": 9, "max_fpr": RATE}),
    "SeededSource": (operators.SeededSource, {"seed": 1}),
    "NoiseSource.bernoulli": (NOISE.bernoulli, {"thresholds": np.zeros(2, dtype=np.uint64)}),
    "NoiseSource.certified": (
        NOISE.certified,
        {"p": operators.CertifiedProbability.exp_neg(HALF), "n": 2},
    ),
    "NoiseSource.discrete_laplace": (NOISE.discrete_laplace, {"t": HALF, "n": 2}),
    "NoiseSource.geometric": (NOISE.geometric, {"t": HALF, "n": 2}),
    "NoiseSource.uint64": (NOISE.uint64, {"n": 2}),
    "SvtPlan": (operators.SvtPlan, {"open_units": 5, "alarm_units": 5, "alarms": 2}),
    "SvtPlan.of_budget": (operators.SvtPlan.of_budget, {"units": 3 * 10**12, "alarms": 2}),
    "ThresholdAtom": (operators.ThresholdAtom, {"statistic": 0, "thresholds": np.array([1])}),
    "Tslm.planned": (operators.Tslm.planned, {"test": TEST, "promise": PROMISE}),
    "Tslm.decide": (
        operators.Tslm.planned(TEST, PROMISE).decide,
        {"statistics": COUNTS[0], "noise": NOISE},
    ),
    "Nlm.planned": (operators.Nlm.planned, {"test": TEST, "promise": PROMISE}),
    "Ppwlm.planned": (operators.Ppwlm.planned, {"test": TEST, "promise": PROMISE}),
    "Dppwlm.planned": (operators.Dppwlm.planned, {"test": TEST, "promise": PROMISE}),
    "score_of": (operators.score_of, {"condition": CONDITION, "tolerances": (9,)}),
    "Probe.planned": (
        operators.Probe.planned,
        {"condition": CONDITION, "aim": TWO_PHASES, "fresh": HALF},
    ),
    "ProbeEnt.planned": (operators.ProbeEnt.planned, {"condition": CONDITION, "aim": TWO_PHASES}),
    "Svt.planned": (operators.Svt.planned, {"condition": CONDITION, "aim": AIM}),
    "create": (operators.create, {"mechanism": "tslm", "condition": CONDITION, "aim": AIM}),
    "price": (operators.price, {"mechanism": "tslm", "condition": CONDITION, "aim": AIM}),
    "exp_neg_bounds": (operators.exp_neg_bounds, {"t": HALF, "bits": 64}),
    "svt_correction": (
        operators.svt_correction,
        {
            "query_noise": sparse.Exponential(1),
            "threshold_noise": sparse.Laplace(2),
            "negatives": 20,
            "tolerance": 1,
            "method": "analytic",
        },
    ),
    "theoretical_limit": (operators.theoretical_limit, {"steps": 19, "alpha": RATE, "beta": RATE}),
    "accuracy": (sparse.accuracy, {"plan": PLAN, "negatives": 20, "beta": 0.05}),
    "ask": (
        sparse.ask,
        {"plan": PLAN, "state": RUN, "steps": np.array([-9, 9]), "noise": NOISE, "window": 0},
    ),
    "integer_correction": (sparse.integer_correction, {"plan": PLAN, "negatives": 20}),
    "open_run": (sparse.open_run, {"plan": PLAN, "noise": NOISE}),
    "optimal_split": (sparse.optimal_split, {"alarms": 2, "monotone": True, "noise": "exp"}),
    "Exponential": (sparse.Exponential, {"scale": 1.0}),
    "RunState.from_bytes": (sparse.RunState.from_bytes, {"stored": RUN.to_bytes()}),
    "Count": (bands.Count, {"events": 1}),
    "Sum": (bands.Sum, {"low": 0, "high": 9, "events": 1}),
    "Quantile": (bands.Quantile, {"share": HALF, "domain": range(9), "events": 1}),
    "Average": (bands.Average, {"low": 0, "high": 9, "events": 1, "scale": 10}),
    "Relative": (bands.Relative, {"share": HALF}),
    "half_widths": (bands.half_widths, {"tau": 5, "references": np.array([205, 205])}),
    "choose": (
        bands.choose,
        {"kind": bands.Count(), "epsilon": HALF, "tau": 50, "delta": RATE},
    ),
    "planned": (
        bands.planned,
        {"name": "tight", "kind": bands.Count(), "epsilon": HALF, "tau": 50},
    ),
    "tau_min": (
        bands.tau_min,
        {"name": "tight", "kind": bands.Count(), "epsilon": HALF, "delta": RATE},
    ),
    "units_min": (
        bands.units_min,
        {"epsilon": HALF, "delta": RATE, "kind": bands.Quantile(HALF, range(9))},
    ),
    "exponential_threshold": (bands.exponential_threshold, {"epsilon": HALF, "delta": RATE}),
    "TightBand.decide": (
        TIGHT.decide,
        {"statistics": COUNTS, "references": np.array([205, 205]), "noise": NOISE},
    ),
    "PaneQuestion": (
        shared.PaneQuestion,
        {"test": TEST, "promise": PROMISE, "panes": 4, "step": 1, "looks": 2},
    ),
    "Panes.planned": (
        shared.Panes.planned,
        {"questions": [QUESTION], "tree": shared.Tree(branching=2, levels=2)},
    ),
    "Panes.release": (PANES.release, {"statistics": COUNTS, "noise": NOISE}),
    "Panes.decide": (PANES.decide, {"question": 0, "noisy": COUNTS}),
    "Panes.chances": (PANES.chances, {"question": 0, "steps": COUNTS[0]}),
    "Panes.errors": (PANES.errors, {"question": 0}),
    "LaplaceSum": (shared.LaplaceSum, {"rate": HALF, "terms": 4}),
    "LaplaceSum.tail": (SUM.tail, {"at": 4}),
    "LaplaceSum.tails": (SUM.tails, {"at": COUNTS[0]}),
    "LaplaceWalk": (shared.LaplaceWalk, {"rate": HALF, "terms": 4}),
    "LaplaceWalk.tail": (WALK.tail, {"at": 4}),
    "LaplaceWalk.tails": (WALK.tails, {"at": COUNTS[0]}),
    "Tree": (shared.Tree, {"branching": 2, "levels": 2}),
    "Tree.cover": (shared.Tree(2, 2).cover, {"first": 0, "panes": 4}),
    "Tree.most_nodes": (shared.Tree(2, 2).most_nodes, {"panes": 4, "step": 1}),
    "alternatives": (
        shared.alternatives,
        {"questions": [QUESTION], "counted": 1, "period": 4},
    ),
    "Contribution": (
        accountant.Contribution,
        {"predicates_per_window": 1, "events_per_cell": 1},
    ),
    "LevelCosts.of": (accountant.LevelCosts.of, {"units": np.array([1, 2])}),
    "LevelCosts.uniform": (accountant.LevelCosts.uniform, {"units": 1, "cells": 2}),
    "LevelCosts.decode": (
        accountant.LevelCosts.decode,
        {"text": accountant.LevelCosts.uniform(1, 2).encode()},
    ),
    "UniformCost": (accountant.UniformCost, {"units": 1, "cells": 2}),
    "WindowKey": (accountant.WindowKey, {"end_ms": 2, "query": "b", "start_ms": 1}),
    "Charge": (
        accountant.Charge,
        {"key": WINDOW, "cost": COST, "cells_per_unit": 1, "periods": (0,)},
    ),
    "to_loss_units": (accountant.to_loss_units, {"epsilon": HALF}),
    "floor_loss_units": (accountant.floor_loss_units, {"epsilon": HALF}),
    "from_loss_units": (accountant.from_loss_units, {"units": 1}),
    "min_entropy": (
        accountant.min_entropy,
        {"epsilons": [0, 1], "priors": [1, 2], "node_limit": 100},
    ),
    "maximum_overlap": (
        accountant.maximum_overlap,
        {"regions": [accountant.Region.where(day={"mon"})], "weights": [1], "composition": "sum"},
    ),
    "TradeOff": (tradeoff.TradeOff, {"corners": tradeoff.pure(1).corners}),
    "TradeOff.of_laws": (tradeoff.TradeOff.of_laws, {"null": [HALF, HALF], "other": [0, 1]}),
    "TradeOff.at": (tradeoff.pure(1), {"alpha": HALF}),
    "TradeOff.at_least": (tradeoff.pure(1).at_least, {"other": tradeoff.pure(2)}),
    "TradeOff.delta": (tradeoff.pure(1).delta, {"epsilon": 0.5}),
    "TradeOff.epsilon": (tradeoff.pure(1).epsilon, {"delta": RATE}),
    "TradeOff.divergence": (tradeoff.pure(1).divergence, {"slope": HALF}),
    "approximate": (tradeoff.approximate, {"epsilon": HALF, "delta": 1e-6}),
    "pure": (tradeoff.pure, {"epsilon": HALF}),
    "gaussian": (tradeoff.gaussian, {"mu": HALF, "pieces": 8}),
    "laplace": (tradeoff.laplace, {"epsilon": HALF, "pieces": 8}),
    "discrete_laplace": (tradeoff.discrete_laplace, {"rate": HALF, "steps": 2}),
    "lower_envelope": (tradeoff.lower_envelope, {"curves": [tradeoff.pure(1)]}),
    "tensor": (tradeoff.tensor, {"curves": [tradeoff.pure(1)], "pieces": 8}),
    "tensor_power": (tradeoff.tensor_power, {"curve": tradeoff.pure(1), "times": 2, "pieces": 8}),
    "overlapping": (
        tradeoff.overlapping,
        {
            "regions": [accountant.Region.where(day={"mon"})],
            "curves": [tradeoff.pure(1)],
            "pieces": 8,
        },
    ),
    "average_l1_error": (
        accountant.average_l1_error,
        {
            "overlap": accountant.maximum_overlap([accountant.Region.everything()]),
            "queries": 1,
            "budget": HALF,
            "noise": "laplace",
            "weights": [1],
        },
    ),
    "worst_row": (accountant.worst_row, {"charges": [], "node_limit": 100}),
    **{
        f"decide: {name}": (
            operators.create(name, CONDITION, TWO_PHASES, experimental=True).decide,
            {"statistics": COUNTS, "noise": NOISE},
        )
        for name in (*operators.MECHANISMS, "nlm")
    },
    "rounded_normal": (operators.rounded_normal, {"mu": HALF, "n": 2, "noise": NOISE}),
    "decide: band": (
        operators.create("decider", CONDITION, AIM, band=BAND).decide,
        {"statistics": COUNTS, "noise": NOISE},
    ),
}

WRONG: dict[str, Any] = {
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
def test_the_calls_of_the_table_work(call: str) -> None:
    """Otherwise a refusal would say nothing."""
    called, arguments = CALLS[call]
    called(**arguments)


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("call", CALLS)
def test_a_bad_argument_is_refused_in_a_sentence(call: str, wrong: str) -> None:
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


def test_what_is_said_names_argument_and_remedy_and_no_value() -> None:
    """The three things that were reported: a list, a float, and numpy's generator."""
    decide = operators.create("tslm", CONDITION, AIM).decide
    cases: tuple[tuple[Callable[[], Any], str, str], ...] = (
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


def test_the_table_has_every_public_function() -> None:
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


def test_who_tells_a_refusal_in_other_words_leaves_its_hint_out() -> None:
    """One message has one hint; other errors are told whole."""
    refused = ArgumentError("a share lies in (0, 1)", hint="write Fraction(1, 2)")
    assert sentence_of(refused) == "a share lies in (0, 1)"
    assert sentence_of(ValueError("too large")) == "too large"
