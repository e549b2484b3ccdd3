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


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "at character 1, found the end; supported: names of atoms, AND, OR, NOT"),
        ("a AND", "expected an atom, NOT or an opening parenthesis at character 6"),
        ("a b", "expected AND, OR or the end at character 3, found 'b'"),
        ("a > 5", "at character 3, found '>'"),
        ("(a OR b", "closing parenthesis at character 8"),
        ("a)", "at character 2"),
        ("or", "at character 1, found 'or'"),
        ("NOT", "at character 4"),
        ("2a", "at character 1, found '2'"),
        ("é", "at character 1"),
        ("a OR NOT a", "true whatever its atoms are"),
        ("(a OR b) AND NOT a AND NOT b", "false whatever its atoms are"),
        (" OR ".join(f"a{i}" for i in range(17)), "17 distinct atoms and may have 16"),
        ("(" * 5000 + "a" + ")" * 5000, "at most 100 nested"),
        ("NOT " * 5000 + "a", "at most 100 nested"),
    ],
)
def test_what_cannot_be_asked_is_refused(text, words):
    """The message says where, what was expected or why, and what is supported."""
    with pytest.raises(ValueError, match=words):
        Formula.parse(text)


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


def test_values_are_checked():
    """Missing and unknown names, other types and several shapes are refused; nothing is aliased."""
    formula = Formula.parse("a OR NOT b")
    yes = np.ones(3, dtype=np.bool_)
    with pytest.raises(ValueError, match="missing: b; unknown: c"):
        formula.evaluate({"a": yes, "c": yes})
    with pytest.raises(ValueError, match="missing: NOT b; unknown: b"):
        formula.evaluate_literals({"a": yes, "b": yes})
    with pytest.raises(ValueError, match="bool"):
        formula.evaluate({"a": yes, "b": np.ones(3)})
    with pytest.raises(ValueError, match="one shape"):
        formula.evaluate_literals({"a": yes, "NOT b": yes[:2]})
    single = Formula.parse("a")
    assert single.evaluate({"a": yes}) is not yes


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
