"""Apportionment: its rules, its constraints, its optimum and its refusals."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import get_args

import numpy as np
import pytest
from scipy.optimize import minimize

from accountant.errors import ConfigError
from accountant.units import UNITS_PER_EPSILON
from operators.base import Promise
from operators.conditions.atoms import IntegerTest
from operators.conditions.comparison import Comparison
from operators.conditions.condition import Rule
from operators.conditions.formula import Formula
from operators.formulas.apportion import Apportionment, Atom, apportion
from operators.formulas.leastunits import least_loss
from operators.single.tslm import MOST_STEPS, Tslm

BETA = Fraction(1, 20)


def shared(text: str, rule: Rule = "optimal", **steps: int) -> Apportionment:
    """Apportion max_fnr 0.05 over atoms of so many steps each."""
    atoms = {name: Atom(k) for name, k in steps.items()}
    return apportion(Formula.parse(text), atoms, max_fnr=BETA, rule=rule)


@pytest.mark.parametrize("steps", [2, 3, 4, 11, 101])
def test_or_of_six_equal_atoms_costs_at_least_forty_per_cent_less(steps: int) -> None:
    """Every atom has the whole of max_fnr, where ProBE splits it in six."""
    text, atoms = "a OR b OR c OR d OR e OR f", dict.fromkeys("abcdef", steps)
    best, probe = shared(text, **atoms), shared(text, "probe", **atoms)
    assert set(best.beta.values()) == {BETA}
    assert set(probe.beta.values()) == {BETA / 6}
    assert best.epsilon <= Fraction(60, 100) * probe.epsilon


@pytest.mark.parametrize("steps", [(2, 20), (4, 6, 8), (10, 10), (2, 2, 200, 1000)])
def test_probe_is_optimal_for_one_and_of_even_steps(steps: tuple[int, ...]) -> None:
    """There the loss is 2 ln(1/(2 beta))/k exactly, the law that ProBE's closed form assumes."""
    atoms = dict(zip("abcd", steps, strict=False))
    text = " AND ".join(atoms)
    best, probe = shared(text, **atoms), shared(text, "probe", **atoms)
    inverse = [Fraction(1, k) for k in steps]
    assert list(probe.beta.values()) == [BETA * each / sum(inverse) for each in inverse]
    assert best.epsilon <= probe.epsilon
    assert float(best.epsilon) == pytest.approx(float(probe.epsilon), rel=1e-9)
    for literal, rate in best.beta.items():
        assert float(rate) == pytest.approx(float(probe.beta[literal]), rel=1e-4)


@pytest.mark.parametrize("steps", [(3, 21), (1, 1, 5), (3, 4, 7, 9), (51, 201)])
def test_probe_is_optimal_within_the_integer_effect_for_one_and(steps: tuple[int, ...]) -> None:
    """For odd steps the closed form misses the optimum by the step that rounding adds to k."""
    atoms = dict(zip("abcd", steps, strict=False))
    text = " AND ".join(atoms)
    best, probe = shared(text, **atoms), shared(text, "probe", **atoms)
    assert best.epsilon <= probe.epsilon <= best.epsilon * (1 + Fraction(1, 3 * min(steps)))


def test_declared_weights_are_probes() -> None:
    """With D/u given, ProBE's rule is its Theorem 4.5, occurrences included."""
    atoms = {"a": Atom(3, weight=Fraction(1)), "b": Atom(21, weight=Fraction(1, 10))}
    rule = apportion(
        Formula.parse("a AND b OR a AND NOT b"), atoms, max_fnr=BETA, rule="probe"
    ).beta
    total = 2 * Fraction(1) + 2 * Fraction(1, 10)
    assert rule == {"a": BETA / total, "b": BETA / 10 / total, "NOT b": BETA / 10 / total}


def test_equal_parts_over_the_literals() -> None:
    """The naive baseline divides by the number of literals, however often they are written."""
    atoms = {"a": 3, "b": 5, "c": 9}
    assert set(shared("a AND b OR a AND c", "equal", **atoms).beta.values()) == {BETA / 3}


def test_a_statistic_is_charged_once_at_the_larger_need() -> None:
    """An atom, its negation and another atom on the same statistic share one charge."""
    formula = Formula.parse("(a AND b) OR (NOT a AND c)")
    atoms = {"a": Atom(5, "people"), "b": Atom(9), "c": Atom(3, "people")}
    for rule in get_args(Rule):
        found = apportion(formula, atoms, max_fnr=BETA, rule=rule)
        assert set(found.epsilons) == {"people", "b"}
        needs = {
            name: Fraction(least_loss(k, found.alpha[name], found.beta[name]), UNITS_PER_EPSILON)
            for name, k in (("a", 5), ("NOT a", 5), ("c", 3))
        }
        assert found.epsilons["people"] == max(needs.values())
        assert found.epsilon == sum(found.epsilons.values())
    apart = {"a": Atom(5), "b": Atom(9), "c": Atom(3)}
    together = apportion(formula, atoms, max_fnr=BETA).epsilon
    assert together < apportion(formula, apart, max_fnr=BETA).epsilon


def test_sets_that_no_data_meet_do_not_bind() -> None:
    """(a OR b) AND (NOT a OR NOT b) is no dearer than the same condition written as an OR."""
    atoms = {"a": Atom(4), "b": Atom(10)}
    whole = apportion(Formula.parse("(a OR b) AND (NOT a OR NOT b)"), atoms, max_fnr=BETA)
    parts = apportion(Formula.parse("a AND NOT b OR NOT a AND b"), atoms, max_fnr=BETA)
    assert float(whole.epsilon) == pytest.approx(float(parts.epsilon), rel=1e-9)
    odd = apportion(Formula.parse("a AND NOT a AND c OR b"), {**atoms, "c": Atom(2)}, max_fnr=BETA)
    assert set(odd.beta.values()) == {BETA}  # literals that never matter keep a finite rate


def test_optimum_agrees_with_another_solver() -> None:
    """SLSQP on the losses themselves finds no less, from random starts."""
    source = np.random.default_rng(3)
    formula = Formula.parse("(a AND b) OR (b AND c) OR (c AND NOT a)")
    steps = {"a": 6, "b": 2, "c": 40, "NOT a": 6}
    found = apportion(formula, {name: Atom(steps[name]) for name in "abc"}, max_fnr=BETA)

    def rates(losses: np.ndarray) -> dict[str, float]:
        of = dict(zip("abc", losses, strict=True))
        return {one: 0.5 * np.exp(-of[one[-1]] * k / 2) for one, k in steps.items()}

    def slack(losses: np.ndarray) -> list[float]:
        beta = rates(losses)
        return [1 - sum(beta[one] for one in each) / 0.05 for each in formula.prime_implicants()]

    for _ in range(5):
        start = np.array([1.0, 3.0, 0.2]) * source.uniform(1, 2, 3)
        other = minimize(np.sum, start, method="SLSQP", constraints={"type": "ineq", "fun": slack})
        assert float(found.epsilon) <= other.fun * (1 + 1e-6)


@pytest.mark.parametrize("max_fpr", [None, Fraction(1, 20), Fraction(1, 1000)])
def test_no_random_change_is_cheaper(max_fpr: Fraction | None) -> None:
    """Rates moved at random and scaled back into the constraints never cost less."""
    source = random.Random(4)
    formula = Formula.parse("(a AND b) OR (c AND d)")
    atoms = {"a": Atom(3), "b": Atom(8), "c": Atom(1), "d": Atom(50)}
    found = apportion(formula, atoms, max_fnr=BETA, max_fpr=max_fpr)

    def moved(rates: dict[str, Fraction], bound: Fraction, sets: tuple[frozenset[str], ...]) -> ...:
        new = {one: rate * Fraction(source.uniform(0.7, 1.3)) for one, rate in rates.items()}
        scale = bound / max(sum(new[one] for one in each) for each in sets)
        return {one: rate * scale for one, rate in new.items()}

    for _ in range(40):
        beta = moved(dict(found.beta), BETA, formula.prime_implicants())
        alpha = beta
        if max_fpr is not None:
            alpha = moved(dict(found.alpha), max_fpr, formula.prime_implicates())
        units = sum(least_loss(atoms[x].steps, alpha[x], beta[x]) for x in formula.literals)
        assert units >= float(found.epsilon) * UNITS_PER_EPSILON * (1 - 1e-6)


def test_loss_of_one_literal_is_that_of_tslm() -> None:
    """The certified charge is TSLM's, less what a table rounded to 2^-64 adds."""
    for steps in (1, 2, 3, 8, 101, 10_001):
        for beta in (BETA, Fraction(1, 1000)):
            for alpha in (BETA, Fraction(1, 3), Fraction(1, 10**9)):
                threshold = np.zeros(1, dtype=np.int64)
                test = IntegerTest(Comparison.GT, threshold, 2)
                assert test.steps(steps - 1) == steps
                planned = Tslm.planned(test, Promise(beta, steps - 1, alpha)).units
                rounding = 2 + 2 * UNITS_PER_EPSILON / (2**64 * float(min(alpha, beta)))
                assert 0 <= planned - least_loss(steps, alpha, beta) <= rounding


def test_extremes_are_apportioned() -> None:
    """Tiny and large rates, one step and the most, sixteen atoms: feasible, and no warning."""
    wide = {f"a{i}": Atom((1, 7, MOST_STEPS)[i % 3], statistic="xy"[i % 2]) for i in range(16)}
    text = " AND ".join(f"(a{i} OR NOT a{i + 1})" for i in range(0, 16, 2))
    for max_fnr, max_fpr in [
        (Fraction(1, 10**12), Fraction(1, 10**12)),
        (Fraction(999, 1000), Fraction(1, 2000)),
        (Fraction(499, 1000), None),
    ]:
        found = apportion(Formula.parse(text), wide, max_fnr=max_fnr, max_fpr=max_fpr)
        assert found.fnr <= max_fnr
        assert found.fpr is None if max_fpr is None else found.fpr <= max_fpr
        assert all(0 < rate < 1 for rate in found.beta.values())
        assert set(found.epsilons) == {"x", "y"}
        assert min(found.epsilons.values()) > 0


@pytest.mark.parametrize(
    ("max_fnr", "max_fpr", "words"),
    [
        (Fraction(0), None, "max_fnr must lie"),
        (Fraction(1), None, "max_fnr must lie"),
        (Fraction(-1, 2), None, "max_fnr must lie"),
        (Fraction(1, 2), None, "tossing a coin"),
        (BETA, Fraction(1), "max_fpr must lie"),
        (BETA, Fraction(19, 20), "tossing a coin"),
        (Fraction(1, 10**13), None, "finer than 1e-12"),
    ],
)
def test_rates_that_cannot_be_kept_are_refused(
    max_fnr: Fraction, max_fpr: Fraction | None, words: str
) -> None:
    """Each refusal says what is wrong and what to write instead."""
    with pytest.raises(ConfigError, match=words) as caught:
        apportion(Formula.parse("a"), {"a": Atom(3)}, max_fnr=max_fnr, max_fpr=max_fpr)
    assert caught.value.hint


def test_names_rules_and_atoms_are_checked() -> None:
    """Missing and unknown atoms, ambiguous keys, unknown rules, floats and silly atoms."""
    formula = Formula.parse("a AND b")
    with pytest.raises(ValueError, match="missing: b; unknown: c, d"):
        apportion(formula, {"a": Atom(1), "d": Atom(1), "c": Atom(1)}, max_fnr=BETA)
    with pytest.raises(ValueError, match="b: the key of a shared statistic"):
        apportion(formula, {"a": Atom(1, "b"), "b": Atom(1)}, max_fnr=BETA)
    both = {"a": Atom(1), "b": Atom(1)}
    with pytest.raises(ValueError, match="optimal, probe, equal"):
        apportion(formula, both, max_fnr=BETA, rule="best")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="exact"):
        apportion(formula, both, max_fnr=0.05)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="whole number from 1"):
        Atom(0)
    with pytest.raises(ValueError, match="whole number from 1"):
        Atom(MOST_STEPS + 1)
    with pytest.raises(ValueError, match="not empty"):
        Atom(1, "")
    with pytest.raises(ValueError, match="positive"):
        Atom(1, weight=Fraction(0))
