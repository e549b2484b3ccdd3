"""Formulas: what is read, what is refused, and prime implicants against brute force."""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest

from operators.conditions.formula import MOST_ATOMS, Formula, atom_of
from tests.support.formulas import random_formula


def formulas(seed):
    """Return random formulas that are not constant."""
    source = random.Random(seed)
    return [random_formula(source, "abcd") for _ in range(60)]


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
        values = product((False, True), repeat=len(formula.atoms))
        every = [dict(zip(formula.atoms, each, strict=True)) for each in values]
        meant = [bool(eval(str(formula).lower(), {}, each)) for each in every]  # noqa: S307  # our own text
        literals = [
            {one: each[atom_of(one)] is not one.startswith("NOT ") for one in formula.literals}
            for each in every
        ]
        assert formula.evaluate(columns(every)).tolist() == meant
        assert formula.evaluate_literals(columns(literals)).tolist() == meant


def test_literals_have_values_of_their_own():
    """An atom and its negation may both hold, as two shifts of one noisy value allow."""
    formula = Formula.parse("(a AND b) OR (NOT a AND c)")
    both = {"a": True, "NOT a": True, "b": False, "c": True}
    neither = {"a": False, "NOT a": False, "b": True, "c": True}
    assert formula.evaluate_literals(columns([both, neither])).tolist() == [True, False]


@pytest.mark.parametrize("dual", [False, True])
def test_prime_sets_agree_with_brute_force(dual):
    """Every random formula's implicants and implicates, against all subsets."""
    for formula in formulas(2):
        primes = formula.prime_implicates() if dual else formula.prime_implicants()
        assert Counter(primes) == Counter(least_sets(formula, dual=dual))


def test_prime_sets_of_examples():
    """Absorption, both polarities as independent variables, and a fixed order."""
    formula = Formula.parse("(b OR a) AND (b OR NOT a) OR c AND b AND a")
    assert formula.prime_implicants() == (frozenset({"b"}), frozenset({"a", "NOT a"}))
    assert formula.prime_implicates() == (frozenset({"b", "a"}), frozenset({"b", "NOT a"}))


def test_sixteen_atoms_are_quick_and_too_many_sets_are_refused():
    """Many sets, as of a majority of twelve, are found; more than there may be are refused."""
    names = [f"a{i}" for i in range(MOST_ATOMS)]

    def every(word, within, parts):
        """Join the parts by a word, each part's literals by another."""
        return Formula.parse(f" {word} ".join(f"({f' {within} '.join(each)})" for each in parts))

    pairs = every("AND", "OR", zip(names[::2], names[1::2], strict=True))
    assert len(pairs.prime_implicants()) == 256
    majority = every("OR", "AND", combinations(names[:12], 6))
    assert len(majority.prime_implicants()) == 924
    assert len(majority.prime_implicates()) == 792
    signed = every("OR", "AND", ((n, f"NOT {m}") for n, m in combinations(names[:12], 2)))
    with pytest.raises(ValueError, match="more than 20 literals"):
        signed.prime_implicants()
    ring = every("AND", "OR", ((n, f"NOT {names[at - 1]}") for at, n in enumerate(names)))
    with pytest.raises(ValueError, match="more than 16384 ways"):
        ring.prime_implicants()
