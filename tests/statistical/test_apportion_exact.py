"""Miss rates of whole formulas at their worst corner, exactly; broken twins must be caught.

One discrete Laplace value per statistic, of the apportioned rate, is compared with one shift per
literal (a whole number, plus one more with a public probability, so that the miss rate at the
boundary is the literal's beta to the last digit). A *corner* puts every statistic at a boundary or
far away; the worst one is found by computing them all.
"""

from __future__ import annotations

import random
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest
from scipy.optimize import linprog

from operators.conditions.formula import Formula, atom_of
from operators.formulas.apportion import Apportionment, Atom, apportion
from tests.statistical.formula_law import random_formula

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from operators.conditions.condition import Rule

BETA = Fraction(1, 20)
FAR = 10**7
TINY = Decimal("1e-45")


class Case(NamedTuple):
    """A formula, its atoms and how far each atom's threshold lies from its statistic's first."""

    formula: Formula
    atoms: dict[str, Atom]
    offsets: dict[str, int]


class Shift(NamedTuple):
    """A literal fires iff s' + noise >= -steps, or >= -steps - 1 with probability ``more``."""

    steps: int
    more: Decimal


def random_cases(seed: int, count: int) -> list[Case]:
    """Return random trees of up to 6 atoms, some of them on one statistic."""
    source, cases = random.Random(seed), []

    while len(cases) < count:
        formula = random_formula(source)
        atoms = {name: Atom(source.choice([1, 2, 3, 4, 9, 50])) for name in formula.atoms}
        for name in formula.atoms[:2]:
            if source.random() < 0.4:
                atoms[name] = Atom(atoms[name].steps, "shared")
        offsets = {name: source.randint(-3, 3) for name in formula.atoms}
        cases.append(Case(formula, atoms, offsets))
    return cases


def key_of(case: Case, atom: str) -> str:
    """Return the key of an atom's statistic."""
    return case.atoms[atom].statistic or atom


@cache
def decay(t: Fraction) -> Decimal:
    """Return exp(-t) to 50 digits."""
    with localcontext(prec=50):
        return (-Decimal(t.numerator) / Decimal(t.denominator)).exp()


def at_least(q: Decimal, bound: int) -> Decimal:
    """Return P[DLap >= bound]."""
    with localcontext(prec=50):
        if bound > 0:
            return q**bound / (1 + q)
        return 1 - q ** (1 - bound) / (1 + q)


def shift_of(q: Decimal, beta: Fraction) -> Shift:
    """Return the shift that misses at s' = 0 with probability beta exactly."""
    with localcontext(prec=50):
        target = Decimal(beta.numerator) / Decimal(beta.denominator)

        def missed(steps: int) -> Decimal:
            return at_least(q, steps + 1)  # P[noise <= -steps - 1], by symmetry

        steps = round(float((-(target * (1 + q)).ln()) / -q.ln())) - 2
        while missed(steps + 1) > target:
            steps += 1
        while missed(steps) < target:
            steps -= 1
        more = (missed(steps) - target) / (missed(steps) - missed(steps + 1))
        return Shift(steps, more)


def fires(q: Decimal, shift: Shift, steps: int) -> Decimal:
    """Return P[a literal fires] at a step count s'."""
    with localcontext(prec=50):
        plain = at_least(q, -shift.steps - steps)
        return plain + shift.more * (at_least(q, -shift.steps - 1 - steps) - plain)


def patterns(
    case: Case, key: str, value: int, q: Decimal, shifts: Mapping[str, Shift], *, twin: bool = False
) -> dict[tuple[bool, ...], Decimal]:
    """Return the joint law of which of a statistic's literals fire, at one value of it.

    The twin shares the Boolean: a negation fires iff its atom does not.
    """
    literals = [one for one in case.formula.literals if key_of(case, atom_of(one)) == key]
    law: dict[tuple[bool, ...], Decimal] = {}
    with localcontext(prec=50):
        for coins in product((0, 1), repeat=len(literals)):
            weight = Decimal(1)
            bounds = []  # an atom fires iff noise >= bound, a negation iff noise <= bound
            for one, coin in zip(literals, coins, strict=True):
                weight *= shifts[one].more if coin else 1 - shifts[one].more
                distance = value - case.offsets[atom_of(one)]
                reach = shifts[one].steps + coin
                negated = one.startswith("NOT ")
                bounds.append(reach - 1 - distance if negated else -reach - distance)
            # The answer changes only at an atom's bound and just after a negation's.
            cuts = sorted(
                {b + one.startswith("NOT ") for one, b in zip(literals, bounds, strict=True)}
            )
            for low, high in zip([None, *cuts], [*cuts, None], strict=True):
                above = Decimal(1) if low is None else at_least(q, low)
                mass = above - (Decimal(0) if high is None else at_least(q, high))
                noise = cuts[0] - 1 if low is None else low
                fired = {
                    one: noise <= b if one.startswith("NOT ") else noise >= b
                    for one, b in zip(literals, bounds, strict=True)
                }
                if twin:
                    for one in fired.keys() & {f"NOT {name}" for name in fired}:
                        fired[one] = not fired[atom_of(one)]
                pattern = tuple(fired.values())
                law[pattern] = law.get(pattern, Decimal(0)) + weight * mass
    return law


def worst_miss(case: Case, found: Apportionment, *, twin: bool = False) -> Decimal:
    """Return the largest miss rate over all corners at which the formula is true, exactly.

    All corners at once in floats first; the largest is then computed again with 50 digits.
    """
    formula = case.formula
    keys = list(found.epsilons)
    qs = {key: decay(found.epsilons[key]) for key in keys}
    shifts = {
        one: shift_of(qs[key_of(case, atom_of(one))], found.beta[one]) for one in formula.literals
    }
    owned = {key: [x for x in formula.literals if key_of(case, atom_of(x)) == key] for key in keys}
    values, laws = {}, {}
    for key in keys:
        near = {
            case.offsets[x] + d for x in formula.atoms if key_of(case, x) == key for d in (0, -1)
        }
        values[key] = [*sorted(near), -FAR, FAR]
        laws[key] = [patterns(case, key, v, qs[key], shifts, twin=twin) for v in values[key]]
    missed = ~table(formula, [x for key in keys for x in owned[key]])
    risk: NDArray[np.float64] = missed.astype(np.float64)
    for key in keys:  # contract the first axes; the corners' axis goes to the end
        width = len(owned[key])
        every = list(product((False, True), repeat=width))
        matrix = np.array([[float(law.get(p, 0)) for p in every] for law in laws[key]])
        risk = np.tensordot(risk.reshape(len(every), *risk.shape[width:]), matrix, (0, 1))
    truth = true_corners(case, keys, values)
    if not truth.any():
        return Decimal(0)
    corner = np.unravel_index(np.argmax(np.where(truth, risk, -1)), risk.shape)
    chosen = [laws[key][at] for key, at in zip(keys, corner, strict=True)]
    total = Decimal(0)
    with localcontext(prec=50):
        for combined in product(*(law.items() for law in chosen)):
            if missed[tuple(int(bit) for pattern, _ in combined for bit in pattern)]:
                mass = Decimal(1)
                for _, each in combined:
                    mass *= each
                total += mass
    assert float(total) == pytest.approx(float(risk[corner]), abs=1e-12)
    return total


def table(formula: Formula, literals: list[str]) -> NDArray[np.bool_]:
    """Return the formula over its literals: one axis of length 2 per literal."""
    axes = np.indices((2,) * len(literals)).astype(np.bool_)
    return formula.evaluate_literals(dict(zip(literals, axes, strict=True)))


def true_corners(case: Case, keys: list[str], values: Mapping[str, list[int]]) -> NDArray[np.bool_]:
    """Say at which corners the formula is truly true: one axis per statistic."""
    grids = dict(zip(keys, np.meshgrid(*(values[k] for k in keys), indexing="ij"), strict=True))
    return case.formula.evaluate(
        {name: grids[key_of(case, name)] >= case.offsets[name] for name in case.formula.atoms}
    )


def exact(rate: Fraction) -> Decimal:
    """Return a rate to 50 digits, and nearly nothing more for the last digit of a sum."""
    with localcontext(prec=50):
        return Decimal(rate.numerator) / Decimal(rate.denominator) + TINY


def rebuilt(case: Case, beta: Mapping[str, Fraction]) -> Apportionment:
    """Charge other rates as the module charges its own (for twins)."""
    base = apportion(case.formula, case.atoms, max_fnr=BETA, rule="probe")
    epsilons = {}
    for key in base.epsilons:
        owned = [x for x in case.formula.literals if key_of(case, atom_of(x)) == key]
        alone = [
            apportion(Formula.parse("x"), {"x": case.atoms[atom_of(x)]}, max_fnr=beta[x])
            for x in owned
        ]
        epsilons[key] = max(each.epsilon for each in alone)
    return Apportionment("optimal", beta, beta, epsilons, BETA, None)


CASES = random_cases(7, 200)


@cache
def optimal(number: int) -> Apportionment:
    """Apportion max_fnr 0.05 over one of the random trees, once for all tests."""
    return apportion(CASES[number].formula, CASES[number].atoms, max_fnr=BETA)


@pytest.mark.parametrize("rule", ["optimal", "probe", "equal"])
def test_no_corner_misses_more_than_promised(rule: Rule) -> None:
    """200 random trees: the exact miss rate at the worst corner is at most max_fnr."""
    worst = Decimal(0)
    for number in range(0, len(CASES), 1 if rule == "optimal" else 4):
        case, found = CASES[number], optimal(number)
        if rule != "optimal":
            found = apportion(case.formula, case.atoms, max_fnr=BETA, rule=rule)
        assert found.fnr <= BETA
        worst = max(worst, worst_miss(case, found))
        assert worst <= exact(BETA)
    if rule == "optimal":
        assert worst > exact(BETA) - Decimal("1e-10")  # nothing is given away


def test_false_alarms_are_bounded_beyond_the_tolerance() -> None:
    """With max_fpr, the dual promise: every statistic k steps out, by negating the formula.

    A false alarm of F is a miss of NOT F whose literals have the false-alarm rates for their miss
    rates; each literal's own pair of rates is checked on the same noise.
    """
    for case in CASES[::16]:
        found = apportion(case.formula, case.atoms, max_fnr=BETA, max_fpr=BETA / 2)
        assert found.fnr <= BETA
        assert found.fpr is not None
        assert found.fpr <= BETA / 2
        for one in case.formula.literals:
            q = decay(found.epsilons[key_of(case, atom_of(one))])
            shift = shift_of(q, found.beta[one])
            assert 1 - fires(q, shift, 0) <= exact(found.beta[one])
            alarm = fires(q, shift, -case.atoms[atom_of(one)].steps)
            assert alarm <= exact(found.alpha[one])
        for each in case.formula.prime_implicates():
            if len({atom_of(one) for one in each}) == len(each):
                assert sum(found.alpha[one] for one in each) <= BETA / 2


def test_optimal_never_costs_more() -> None:
    """200 random trees, some again with max_fpr: at most ProBE's and the equal rule's loss."""
    ratios = []
    for number, case in enumerate(CASES):
        found = {None: optimal(number)}
        if number % 20 == 0:
            found[BETA] = apportion(case.formula, case.atoms, max_fnr=BETA, max_fpr=BETA)
        for max_fpr, best in found.items():
            probe, equal = (
                apportion(case.formula, case.atoms, max_fnr=BETA, max_fpr=max_fpr, rule=rule)
                for rule in ("probe", "equal")
            )
            assert best.epsilon <= min(probe.epsilon, equal.epsilon)
            ratios.append(float(best.epsilon / probe.epsilon))
    print(f"loss against ProBE's rule: mean {np.mean(ratios):.3f}, least {min(ratios):.3f}")
    assert np.mean(ratios) < 0.9


def test_no_coupling_of_the_literals_misses_more() -> None:
    """The worst joint law of the misses, by linear programming, stays within max_fnr."""
    source = random.Random(5)
    for number in range(0, len(CASES), 5):
        case, found = CASES[number], optimal(number)
        literals = list(case.formula.literals)
        answers = table(case.formula, literals).ravel()
        bits = np.indices((2,) * len(literals)).reshape(len(literals), -1)
        every = product((False, True), repeat=len(case.formula.atoms))
        states = [dict(zip(case.formula.atoms, each, strict=True)) for each in every]
        columns = {name: np.array([each[name] for each in states]) for name in case.formula.atoms}
        true = [states[at] for at in np.flatnonzero(case.formula.evaluate(columns))]
        for state in source.sample(true, min(3, len(true))):
            rates = [
                1 - float(found.beta[one])
                if state[atom_of(one)] is not one.startswith("NOT ")
                else 0.0
                for one in literals
            ]
            worst = linprog(
                answers.astype(np.float64),
                A_eq=np.vstack([bits, np.ones(answers.size)]),
                b_eq=[*rates, 1.0],
            )
            assert 1 - worst.fun <= float(BETA) + 1e-9


def test_shared_boolean_twin_is_caught() -> None:
    """Deriving NOT a from the decision on a misses nearly always just below the threshold."""
    case = Case(
        Formula.parse("(a AND b) OR (NOT a AND c)"),
        {"a": Atom(9), "b": Atom(9), "c": Atom(9)},
        {"a": 0, "b": 0, "c": 0},
    )
    found = apportion(case.formula, case.atoms, max_fnr=BETA)
    assert worst_miss(case, found) <= exact(BETA)
    assert worst_miss(case, found, twin=True) > Decimal("0.5")


def test_top_level_split_twin_is_caught() -> None:
    """Splitting max_fnr over the operands at the top only misses an inner AND too often."""
    atoms = {name: Atom(5) for name in "abcd"}
    offsets = dict.fromkeys("abcd", 0)
    case = Case(Formula.parse("(a AND b AND c) OR d"), atoms, offsets)
    assert worst_miss(case, rebuilt(case, dict.fromkeys("abcd", BETA))) > Decimal("0.14")
    nested = Case(Formula.parse("d AND (a OR b AND c)"), atoms, offsets)
    assert worst_miss(nested, rebuilt(nested, dict.fromkeys("abcd", BETA / 2))) > exact(BETA)


def test_cheaper_charge_twin_is_caught() -> None:
    """One per cent less loss on the same promise breaks a literal's pair of rates."""
    case = Case(Formula.parse("a OR b"), {"a": Atom(4), "b": Atom(7)}, {"a": 0, "b": 0})
    found = apportion(case.formula, case.atoms, max_fnr=BETA)
    for one in case.formula.literals:
        q = decay(found.epsilons[one] * Fraction(99, 100))
        alarm = fires(q, shift_of(q, found.beta[one]), -case.atoms[one].steps)
        assert alarm > exact(found.alpha[one])
