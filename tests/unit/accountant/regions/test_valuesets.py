"""Sets of values: exact algebra, one form per set."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accountant.regions.regions import ValueSet, elementary
from tests.support.valuesets import ALL, SETS, found


@settings(max_examples=200)
@given(SETS)
def test_set_algebra_is_the_algebra_of_membership(drawn):
    """Points, ranges, complement, union and intersection hold exactly what they should."""
    values, expected = drawn
    assert found(values) == expected
    assert values.empty == (not expected)
    assert values.is_everything == (expected == ALL)


@settings(max_examples=200)
@given(SETS, SETS)
def test_two_sets_are_compared_by_what_they_hold(left, right):
    """Equality, hash and overlap follow from membership alone."""
    (first, one), (second, two) = left, right
    assert (first == second) == (one == two)
    if one == two:
        assert hash(first) == hash(second)
    assert first.overlaps(second) == second.overlaps(first) == bool(one & two)
    assert ~(~first) == first


@settings(max_examples=200)
@given(SETS)
def test_a_set_survives_its_json_data(drawn):
    """What is written is read back as the same set."""
    values, _ = drawn
    assert ValueSet.from_data(values.to_data()) == values


@pytest.mark.long
@settings(max_examples=200)
@given(st.lists(SETS, max_size=5))
def test_elementary_finds_every_pattern_of_membership(sets):
    """One class per pattern that a value shows, with a witness that shows it."""
    patterns = {sum(1 << bit for bit, (_, places) in enumerate(sets) if at in places) for at in ALL}
    classes = elementary([values for values, _ in sets])
    assert sorted(each.members for each in classes) == sorted(patterns)
    for each in classes:
        shown = sum(1 << bit for bit, (values, _) in enumerate(sets) if each.witness in values)
        assert shown == each.members


def test_witnesses_of_sets_of_integers_are_integers():
    """Half-open ranges with whole ends are told apart by whole numbers."""
    sets = [ValueSet.integers(1, 2, 7), ValueSet.between(2, 5), ~ValueSet.integers(0)]
    witnesses = [each.witness for each in elementary([*sets, ValueSet.numbers()])]
    assert [each for each in witnesses if type(each) is int] == [-1, 0, 1, 2, 3]
    assert {type(each) for each in witnesses} == {bool, int}


@given(st.sets(st.integers(-3, 6)), st.sets(st.integers(-3, 6)))
def test_integers_behave_as_sets_of_integers(left, right):
    """Half-open unit ranges leave nothing between neighbours, whatever is done to them."""
    first, second = ValueSet.integers(*left), ValueSet.integers(*right)
    assert first & second == ValueSet.integers(*(left & right))
    assert first | second == ValueSet.integers(*(left | right))
    assert first & ~second == ValueSet.integers(*(left - right))


def test_the_number_line_is_dense_and_strings_have_followers():
    """Something lies between 1 and 2 but nothing between a string and its follower."""
    assert not ValueSet.between(1, 2, low_closed=False).empty
    assert ValueSet.between("a", "a\0", low_closed=False).empty
    assert ValueSet.between(None, "").empty
    assert ValueSet.between("", None) == ValueSet.strings()


def test_equal_numbers_are_one_value_and_truth_is_no_number():
    """1, 1.0 and 2/2 are the same; True is neither."""
    assert ValueSet.of(1) == ValueSet.of(1.0) == ValueSet.of(Fraction(2, 2))
    assert ValueSet.of(0.1) == ValueSet.of(Fraction(0.1)) != ValueSet.of(Fraction(1, 10))
    assert ValueSet.of(0.0) == ValueSet.of(-0.0)
    assert ValueSet.of(1) != ValueSet.of(True)
    assert not ValueSet.of(1, 0).overlaps(ValueSet.booleans())


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), None, b"a", 1j, [1], (1, 2), "\ud800", 1 << 5_000],
    ids=["nan", "inf", "none", "bytes", "complex", "list", "tuple", "surrogate", "huge"],
)
def test_what_is_no_value_is_refused(value):
    """NaN, infinities, other types, broken text and absurd numbers make no set."""
    for make in (ValueSet.of, *([] if value is None else [lambda end: ValueSet.between(end, end)])):
        with pytest.raises(ValueError, match=r"value|finite|surrogates|bits"):
            make(value)


def test_membership_is_asked_of_values_only():
    """A NaN is in no doubt: it is refused; any number that a row can hold is answered."""
    values = ValueSet.between(0, None)
    with pytest.raises(ValueError, match="finite"):
        values.__contains__(math.nan)
    with pytest.raises(ValueError, match="NoneType"):
        assert None in values
    assert 1 << 100_000 in values


@pytest.mark.parametrize(("low", "high"), [(True, None), (0, "a"), ("a", 0), (False, True)])
def test_ranges_of_no_one_order_are_refused(low, high):
    """Truth values have no order, and numbers and strings no common one."""
    with pytest.raises(ValueError, match="range"):
        ValueSet.between(low, high)
