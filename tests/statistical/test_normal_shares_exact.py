"""What formulas cost under a Gaussian budget: rates shared out for the least, certified as such."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, get_args

import numpy as np
import pytest
from scipy.optimize import linprog

from accountant.loss.gaussian import Gaussian
from accountant.units import UNITS_PER_EPSILON
from operators.base import Promise
from operators.conditions.atoms import IntegerTest
from operators.conditions.comparison import Comparison
from operators.conditions.condition import Aim, Condition, Rule, ThresholdAtom
from operators.conditions.formula import Formula, atom_of
from operators.formulas.apportion import Atom, apportion
from operators.formulas.leastunits import least_squared
from operators.formulas.normal import NormalTslm
from operators.registry import create
from operators.single import gaussian
from tests.statistical.formula_cases import BETA, BETWEEN, TREES, aim_of
from tests.statistical.formula_law import condition_of
from tests.support.normal import quantile

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

ALPHA = Fraction(1, 50)


def units_of(operator: NormalTslm) -> int:
    """Return what a cell is charged."""
    return int(operator.plan.epsilon * UNITS_PER_EPSILON)


def distinct(number: int) -> tuple[Formula, dict[str, Atom]]:
    """Return a random tree whose atoms each have a statistic."""
    tree = TREES[number]
    tolerances = dict(zip(tree.condition.formula.atoms, tree.tolerances, strict=True))
    return tree.condition.formula, {name: Atom(2 * u + 1) for name, u in tolerances.items()}


def primes(sets: Sequence[frozenset[str]], literals: Sequence[str]) -> NDArray[np.float64]:
    """Return which literals are in which set, of those that data can meet."""
    kept = [each for each in sets if len({atom_of(one) for one in each}) == len(each)]
    rows = [[float(one in each) for one in literals] for each in kept]
    alone = [one for one in literals if not any(one in each for each in kept)]
    rows += [[float(one == other) for other in literals] for one in alone]
    return np.array(rows)


@pytest.mark.parametrize("max_fpr", [None, ALPHA])
def test_shares_are_certified_to_be_the_best(max_fpr: Fraction | None) -> None:
    """A linear bound of the convex cost at the shares found: none of all shares is cheaper.

    Where every literal has a statistic of its own, so that the cost has a slope.
    """
    tested = 0
    for number in range(0, len(TREES), 7):
        formula, atoms = distinct(number)
        literals = formula.literals
        if len({atom_of(one) for one in literals}) < len(literals):
            continue
        found = apportion(formula, atoms, max_fnr=BETA, max_fpr=max_fpr, gaussian=True)
        z = {
            rate: np.array([-float(quantile(rates[one])) for one in literals])
            for rate, rates in (("beta", found.beta), ("alpha", found.alpha))
        }
        steps = np.array([atoms[atom_of(one)].steps for one in literals])
        total = z["beta"] + z["alpha"]
        sides = [(formula.prime_implicants(), BETA, found.beta, z["beta"])]
        if max_fpr is not None:
            sides.append((formula.prime_implicates(), max_fpr, found.alpha, z["alpha"]))
        gap = 0.0
        for sets, bound, rates, side in sides:
            slope = -math.sqrt(2 * math.pi) * np.exp(side**2 / 2) * total / steps**2
            slope *= 1 if max_fpr is not None else 2
            rows = primes(sets, literals)
            least = linprog(slope, A_ub=rows, b_ub=np.full(len(rows), float(bound)))
            gap += float(slope @ [float(rates[one]) for one in literals]) - least.fun
        assert gap <= 1e-6 * float(found.epsilon)
        tested += 1
    assert tested > 10


def cost(
    atoms: Mapping[str, Atom], beta: Mapping[str, Fraction], alpha: Mapping[str, Fraction]
) -> float:
    """Return what shares cost: every statistic for its dearest literal."""
    units: dict[str, int] = {}
    for one, rate in beta.items():
        atom = atoms[atom_of(one)]
        paid = least_squared(atom.steps, alpha[one], rate)
        units[str(atom.statistic)] = max(units.get(str(atom.statistic), 0), paid)
    return sum(units.values()) / UNITS_PER_EPSILON


def test_no_rule_is_cheaper_and_neither_are_the_shares_of_pure_losses() -> None:
    """On random trees, with one rate and with two; and no step in any direction helps."""
    generator = np.random.default_rng(7)
    for number in range(0, len(TREES), 9):
        condition = TREES[number].condition
        keys = {name: one.name for one in condition.channels for name in one.offsets}
        tolerances = dict(zip(condition.formula.atoms, TREES[number].tolerances, strict=True))
        atoms = {name: Atom(2 * u + 1, keys[name]) for name, u in tolerances.items()}
        for max_fpr in (None, ALPHA):
            asked = partial(apportion, condition.formula, atoms, max_fnr=BETA, max_fpr=max_fpr)
            best = asked(gaussian=True)
            least = float(best.epsilon) * (1 - 1e-6)

            for rule in get_args(Rule):
                other = asked(rule=rule, gaussian=True)
                assert least <= float(other.epsilon)
                pure = asked(rule=rule)
                assert least <= cost(atoms, pure.beta, pure.alpha)
            rows = primes(condition.formula.prime_implicants(), condition.formula.literals)
            for _ in range(5):  # towards another point of the polytope
                drawn = generator.exponential(size=rows.shape[1])
                drawn *= float(BETA) / (rows @ drawn).max()
                beta = {
                    one: (9 * best.beta[one] + Fraction(float(each))) / 10
                    for one, each in zip(condition.formula.literals, drawn, strict=True)
                }
                assert least <= cost(atoms, beta, beta if max_fpr is None else best.alpha)


@pytest.mark.parametrize("max_fpr", [None, ALPHA])
@pytest.mark.parametrize("tolerance", [0, 9, 40])
def test_one_literal_costs_what_the_single_comparison_does(
    tolerance: int, max_fpr: Fraction | None
) -> None:
    """But for the slack of a table, of which a draw that is compared exactly has no need."""
    test = IntegerTest(Comparison.GE, np.array([100], dtype=np.int64), 1)
    aim = Aim(BETA, (tolerance,), max_fpr=max_fpr, gaussian=True)
    operator = NormalTslm.planned(Condition.single(test), aim)
    table = gaussian.priced(test, Promise(BETA, tolerance, max_fpr))
    assert Fraction(9_999, 10_000) * table.epsilon <= operator.plan.epsilon <= table.epsilon
    assert operator.plan.limit == pytest.approx(table.limit)
    assert 1 <= operator.plan.ratio < 1.000001


def test_another_literal_of_a_statistic_costs_no_noise_of_its_own() -> None:
    """BETWEEN costs what either end does at its share, and the ends of two statistics the sum."""
    both, apart = (
        NormalTslm.planned(condition_of(text, ends), aim_of(text, 9, gaussian=True))
        for text, ends in (BETWEEN, ("a AND NOT b", {"a": (0, 0), "b": (1, 4)}))
    )
    alone = least_squared(9, BETA / 2, BETA / 2)
    assert abs(units_of(both) - alone) <= alone // 10**6
    assert abs(units_of(apart) - 2 * alone) <= alone // 10**6


@pytest.mark.parametrize("moves", [2, 3, 10])
def test_shares_of_a_finer_grid_cost_what_its_noise_does(moves: int) -> None:
    """A neighbour moves it by several steps: as much as steps so many times as wide, by one."""
    fine, wide = (
        apportion(Formula.parse("a"), {"a": atom}, max_fnr=BETA, gaussian=True)
        for atom in (Atom(20 * moves, moves=moves), Atom(20))
    )
    assert abs(fine.epsilon - wide.epsilon) * UNITS_PER_EPSILON <= wide.epsilon * 1_000
    ends = {"a": 20, "b": 31}
    atoms = {name: ThresholdAtom(0, np.array([at])) for name, at in ends.items()}
    condition = Condition(Formula.parse("a AND NOT b"), atoms, (3,))
    operator = NormalTslm.planned(condition, Aim(BETA, (3, 3), gaussian=True))
    (value,) = operator.values
    steps = {each.literal.removeprefix("NOT "): each.steps for each in value.share.readings}
    paid = apportion(
        condition.formula,
        {name: Atom(steps[name], "one", moves=value.share.channel.moves) for name in ends},
        max_fnr=BETA,
        gaussian=True,
    )
    assert abs(units_of(operator) - paid.epsilon * UNITS_PER_EPSILON) <= units_of(operator) // 10**4


def test_shared_noise_with_rates_near_one_half_and_above_is_planned() -> None:
    """Where the programme is not convex: the rules' shares are never beaten by the search's."""
    formula = Formula.parse("a AND (b OR c)")
    atoms = {"a": Atom(3), "b": Atom(9), "c": Atom(40)}
    rates = {"max_fnr": Fraction(7, 10), "max_fpr": Fraction(1, 4)}
    found = {
        rule: apportion(formula, atoms, **rates, rule=rule, gaussian=True)
        for rule in get_args(Rule)
    }
    assert all(found["optimal"].epsilon <= each.epsilon for each in found.values())
    assert found["optimal"].fnr <= rates["max_fnr"]
    assert (found["optimal"].fpr or 0) <= rates["max_fpr"]


@pytest.mark.parametrize(("windows", "pays"), [(1, 0.533), (96, 4.15), (1440, 11.41)])
def test_what_it_saves_for_two_literals(windows: int, pays: float) -> None:
    """Times less epsilon than pure losses come to: two statistics at tolerance 20, delta 1e-6."""
    condition = condition_of("a AND b", {"a": (0, 0), "b": (1, 0)})
    aim = Aim(BETA, (20, 20))
    pure = windows * create("tslm", condition, aim).plan.epsilon
    rho = windows * create("tslm", condition, replace(aim, gaussian=True)).plan.epsilon
    spent = Gaussian(Fraction(20), Fraction(1, 10**6)).epsilon_of(int(rho * UNITS_PER_EPSILON))
    assert float(pure) / spent == pytest.approx(pays, rel=0.01)
