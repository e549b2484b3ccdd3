"""Formulas: what is read, what is refused, and prime implicants against brute force."""

from __future__ import annotations

import random
import time
from itertools import combinations, product

import numpy as np
import pytest

from operators.conditions.formula import MOST_ATOMS, Formula, atom_of
from tests.support.formulas import random_formula


def formulas(seed):
    """Return random formulas that are not constant."""
    source = random.Random(seed)
    return [random_formula(source, "abcd") for _ in range(60)]


def assignments(names):
    """Return every assignment of truth values."""
    values = product((False, True), repeat=len(names))
    return [dict(zip(names, each, strict=True)) for each in values]


def columns(rows):
    """Return assignments as one array per name."""
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def least_sets(formula, *, dual):
    """Return the prime implicants (or implicates) by trying every set of literals."""
    found = []
    for size in range(1, len(formula.literals) + 1):
        for chosen in map(frozenset, combinations(formula.literals, size)):
            holds = {each: (each in chosen) is not dual for each in formula.literals}
            decides = formula.evaluate_literals(columns([holds]))[0] != dual
            if decides and not any(smaller <= chosen for smaller in found):
                found.append(chosen)
    return set(found)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a", "a"),
        ("  ( ( a ) )  ", "a"),
        ("a OR b AND NOT c", "a OR b AND NOT c"),
        ("(a or B) and not (c Or NoT d)", "(a OR B) AND NOT (c OR NOT d)"),
        ("a AND (b AND (c AND d))", "a AND b AND c AND d"),
        ("NOT NOT a_1 OR _b", "NOT NOT a_1 OR _b"),
        ("(a)AND(b)", "a AND b"),
    ],
)
def test_text_is_read_and_shown(text, shown):
    """NOT binds tighter than AND, AND tighter than OR, and the shown text parses back."""
    formula = Formula.parse(text)
    assert str(formula) == shown
    assert Formula.parse(str(formula)) == formula
    assert hash(Formula.parse(str(formula))) == hash(formula)


def test_literals_are_counted_once_not_is_pushed_down():
    """Atoms and literals stand in order of first appearance, with how often they are written."""
    formula = Formula.parse("NOT (a OR NOT b) AND (b OR a) AND b")
    assert formula.atoms == ("a", "b")
    assert formula.literals == ("NOT a", "b", "a")
    assert formula.occurrences == (1, 3, 1)
    assert [atom_of(each) for each in formula.literals] == ["a", "b", "a"]


def test_truth_agrees_with_python():
    """Atoms and literals give the value that Python's own operators give."""
    for formula in formulas(1):
        every = assignments(formula.atoms)
        meant = [bool(eval(str(formula).lower(), {}, each)) for each in every]  # noqa: S307  # our own text
        assert formula.evaluate(columns(every)).tolist() == meant
        literals = [
            {one: each[atom_of(one)] is not one.startswith("NOT ") for one in formula.literals}
            for each in every
        ]
        assert formula.evaluate_literals(columns(literals)).tolist() == meant


def test_literals_have_values_of_their_own():
    """An atom and its negation may both hold, as two shifts of one noisy value allow."""
    formula = Formula.parse("(a AND b) OR (NOT a AND c)")
    both = {"a": True, "NOT a": True, "b": False, "c": True}
    neither = {"a": False, "NOT a": False, "b": True, "c": True}
    assert formula.evaluate_literals(columns([both, neither])).tolist() == [True, False]


def test_prime_sets_agree_with_brute_force():
    """Every random formula's implicants and implicates, against all subsets."""
    for formula in formulas(2):
        for dual in (False, True):
            expected = least_sets(formula, dual=dual)
            primes = formula.prime_implicates() if dual else formula.prime_implicants()
            assert len(primes) == len(expected)
            assert set(primes) == expected


def test_prime_sets_of_examples():
    """Absorption, both polarities as independent variables, and a fixed order."""
    formula = Formula.parse("(b OR a) AND (b OR NOT a) OR c AND b AND a")
    assert formula.prime_implicants() == (frozenset({"b"}), frozenset({"a", "NOT a"}))
    assert formula.prime_implicates() == (frozenset({"b", "a"}), frozenset({"b", "NOT a"}))


def test_sixteen_atoms_are_quick_and_too_many_sets_are_refused():
    """The largest antichain of 16 takes under two seconds; more sets than that are refused."""
    names = [f"a{i}" for i in range(MOST_ATOMS)]
    started = time.process_time()
    with pytest.raises(ValueError, match="more than 20 literals"):
        Formula.parse(
            " OR ".join(f"({n} AND NOT {m})" for n, m in combinations(names[:12], 2))
        ).prime_implicants()
    paired = [f"({a} OR {b})" for a, b in zip(names[::2], names[1::2], strict=True)]
    assert len(Formula.parse(" AND ".join(paired)).prime_implicants()) == 256
    chosen = [f"({' AND '.join(each)})" for each in combinations(names[:12], 6)]
    majority = Formula.parse(" OR ".join(chosen))
    assert len(majority.prime_implicants()) == 924
    assert len(majority.prime_implicates()) == 792
    assert time.process_time() - started < 60  # a guard: far less
    ring = [f"({a} OR NOT {b})" for a, b in zip(names, names[1:] + names[:1], strict=True)]
    with pytest.raises(ValueError, match="more than 16384 ways"):
        Formula.parse(" AND ".join(ring)).prime_implicants()
