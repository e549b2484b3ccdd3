"""Sets of values and regions against membership, value by value.

The grids hold every end that a drawn set can have, something right beside each, something between
any two of them and something beyond: two drawn sets that differ anywhere differ on the grid.
"""

from __future__ import annotations

import math
import random
import subprocess
import sys
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accountant.regions.regions import (
    Elementary,
    Not,
    Region,
    UnknownAttributeError,
    ValueSet,
    elementary,
)

if TYPE_CHECKING:
    from accountant.regions.regions import Value

HALF = Fraction(1, 2)
NUMBERS: list[Any] = [-1, 0, Fraction(1, 4), HALF, Fraction(3, 4), 1, Fraction(3, 2), 2, 3]
STRINGS: list[Any] = ["", "\0", "A", "a", "a\0", "a\0\0", "aa", "b", "b\0", "\U0001f600"]
GRID: list[Any] = [False, True, *NUMBERS, *STRINGS]
NUMBER_ENDS = [0, HALF, 1, 2]
STRING_ENDS = ["", "a", "a\0", "b"]

Member = tuple[ValueSet, frozenset[int]]  # a set, and the places of its values in the grid


def place(*values: Value) -> frozenset[int]:
    """Return where values stand in the grid; places tell True from 1."""
    return frozenset(
        at
        for at, known in enumerate(GRID)
        if any(type(known) is type(value) and known == value for value in values)
    )


def found(values: ValueSet) -> frozenset[int]:
    """Return the places of the grid's values that a set holds."""
    return frozenset(at for at, value in enumerate(GRID) if value in values)


@st.composite
def points(draw: st.DrawFn) -> Member:
    """Draw a few values."""
    ends: list[Any] = [False, True, *NUMBER_ENDS, *STRING_ENDS]
    values = draw(st.lists(st.sampled_from(ends), max_size=4))
    return ValueSet.of(*values), place(*values)


@st.composite
def ranges(draw: st.DrawFn) -> Member:
    """Draw a range of numbers or of strings, turned around or without end at times."""
    kinds = draw(st.sampled_from([(NUMBER_ENDS, NUMBERS), (STRING_ENDS, STRINGS)]))
    ends, values = kinds
    low, high = draw(st.sampled_from(ends)), draw(st.sampled_from(ends))
    openness = draw(st.sampled_from(["both", "low", "high"]))
    low_closed, high_closed = draw(st.booleans()), draw(st.booleans())
    inside = [
        value
        for value in values
        if (openness == "low" or low < value or (low == value and low_closed))
        and (openness == "high" or value < high or (value == high and high_closed))
    ]
    return ValueSet.between(
        None if openness == "low" else low,
        None if openness == "high" else high,
        low_closed=low_closed,
        high_closed=high_closed,
    ), place(*inside)


ALL = frozenset(range(len(GRID)))
WHOLE = st.sampled_from(
    [
        (ValueSet.everything(), ALL),
        (ValueSet.nothing(), frozenset[int]()),
        (ValueSet.booleans(), place(False, True)),
        (ValueSet.numbers(), place(*NUMBERS)),
        (ValueSet.strings(), place(*STRINGS)),
    ]
)
SETS: st.SearchStrategy[Member] = st.recursive(
    points() | ranges() | WHOLE,
    lambda inner: st.one_of(
        inner.map(lambda each: (~each[0], ALL - each[1])),
        st.tuples(inner, inner).map(lambda two: (two[0][0] & two[1][0], two[0][1] & two[1][1])),
        st.tuples(inner, inner).map(lambda two: (two[0][0] | two[1][0], two[0][1] | two[1][1])),
    ),
    max_leaves=6,
)


@settings(max_examples=200, deadline=None)
@given(SETS)
def test_set_algebra_is_the_algebra_of_membership(drawn: Member) -> None:
    """Points, ranges, complement, union and intersection hold exactly what they should."""
    values, expected = drawn
    assert found(values) == expected
    assert values.empty == (not expected)
    assert values.is_everything == (expected == ALL)


@settings(max_examples=200, deadline=None)
@given(SETS, SETS)
def test_two_sets_are_compared_by_what_they_hold(left: Member, right: Member) -> None:
    """Equality, hash and overlap follow from membership alone."""
    (first, one), (second, two) = left, right
    assert (first == second) == (one == two)
    if one == two:
        assert hash(first) == hash(second)
    assert first.overlaps(second) == second.overlaps(first) == bool(one & two)
    assert ~(~first) == first


@settings(max_examples=200, deadline=None)
@given(SETS)
def test_a_set_survives_its_json_data(drawn: Member) -> None:
    """What is written is read back as the same set."""
    values, _ = drawn
    assert ValueSet.from_data(values.to_data()) == values


@pytest.mark.long
@settings(max_examples=200, deadline=None)
@given(st.lists(SETS, max_size=5))
def test_elementary_finds_every_pattern_of_membership(sets: list[Member]) -> None:
    """One class per pattern that a value shows, with a witness that shows it."""
    patterns = {sum(1 << bit for bit, (_, places) in enumerate(sets) if at in places) for at in ALL}
    classes = elementary([values for values, _ in sets])
    assert sorted(each.members for each in classes) == sorted(patterns)
    for each in classes:
        shown = sum(1 << bit for bit, (values, _) in enumerate(sets) if each.witness in values)
        assert shown == each.members


def test_elementary_of_degenerate_lists() -> None:
    """No set and equal sets have the classes they should."""
    assert elementary([]) == [Elementary(0, witness=False)]
    one = ValueSet.of(1)
    assert elementary([one, one]) == [Elementary(0, witness=False), Elementary(3, 1)]


def test_witnesses_of_sets_of_integers_are_integers() -> None:
    """Half-open ranges with whole ends are told apart by whole numbers."""
    sets = [ValueSet.integers(1, 2, 7), ValueSet.between(2, 5), ~ValueSet.integers(0)]
    witnesses = [each.witness for each in elementary([*sets, ValueSet.numbers()])]
    assert [each for each in witnesses if type(each) is int] == [-1, 0, 1, 2, 3]
    assert {type(each) for each in witnesses} == {bool, int}


def test_elementary_takes_many_ranges() -> None:
    """5,000 ranges of one attribute are told apart, each pattern once."""
    rng = random.Random(5)
    sets = [ValueSet.between(low := rng.randrange(10**6), low + 500) for _ in range(5_000)]
    classes = elementary(sets)
    assert len({each.members for each in classes}) == len(classes) > 5_000
    for each in classes[:: len(classes) // 20]:
        assert each.members == sum(1 << bit for bit, one in enumerate(sets) if each.witness in one)


@given(st.sets(st.integers(-3, 6)), st.sets(st.integers(-3, 6)))
def test_integers_behave_as_sets_of_integers(left: set[int], right: set[int]) -> None:
    """Half-open unit ranges leave nothing between neighbours, whatever is done to them."""
    first, second = ValueSet.integers(*left), ValueSet.integers(*right)
    assert first & second == ValueSet.integers(*(left & right))
    assert first | second == ValueSet.integers(*(left | right))
    assert first & ~second == ValueSet.integers(*(left - right))


def test_the_number_line_is_dense_and_strings_have_followers() -> None:
    """Something lies between 1 and 2 but nothing between a string and its follower."""
    assert not ValueSet.between(1, 2, low_closed=False).empty
    assert ValueSet.between("a", "a\0", low_closed=False).empty
    assert ValueSet.between(None, "").empty
    assert ValueSet.between("", None) == ValueSet.strings()


def test_equal_numbers_are_one_value_and_truth_is_no_number() -> None:
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
def test_what_is_no_value_is_refused(value: Any) -> None:
    """NaN, infinities, other types, broken text and absurd numbers make no set."""
    with pytest.raises(ValueError, match=r"value|finite|surrogates|bits"):
        ValueSet.of(value)
    if value is not None:
        with pytest.raises(ValueError, match=r"value|finite|surrogates|bits"):
            ValueSet.between(value, value)


def test_membership_is_asked_of_values_only() -> None:
    """A NaN is in no doubt: it is refused; any number that a row can hold is answered."""
    values = ValueSet.between(0, None)
    with pytest.raises(ValueError, match="finite"):
        values.__contains__(math.nan)
    with pytest.raises(ValueError, match="NoneType"):
        assert None in values
    assert 1 << 100_000 in values


@pytest.mark.parametrize(("low", "high"), [(True, None), (0, "a"), ("a", 0), (False, True)])
def test_ranges_of_no_one_order_are_refused(low: Any, high: Any) -> None:
    """Truth values have no order, and numbers and strings no common one."""
    with pytest.raises(ValueError, match="range"):
        ValueSet.between(low, high)


ATTRIBUTES = ("x", "y")
REGIONS = st.dictionaries(st.sampled_from(ATTRIBUTES), SETS)


def rows_of(conditions: dict[str, Member]) -> frozenset[tuple[int, ...]]:
    """Return the rows of the grid, by places, that meet all conditions."""
    return frozenset(product(*(conditions.get(name, (None, ALL))[1] for name in ATTRIBUTES)))


def region(conditions: dict[str, Member]) -> Region:
    """Return the region of drawn conditions."""
    return Region.of({name: values for name, (values, _) in conditions.items()})


@settings(max_examples=120, deadline=None)
@given(REGIONS, REGIONS)
def test_regions_are_compared_by_their_rows(
    left: dict[str, Member], right: dict[str, Member]
) -> None:
    """Emptiness, overlap, intersection, and text follow from the rows alone."""
    first, second, one, two = region(left), region(right), rows_of(left), rows_of(right)
    assert first.empty == (not one)
    assert first.overlaps(second) == second.overlaps(first) == bool(one & two)
    assert first.overlaps(second) == (not (first & second).empty)
    assert (first.canonical == second.canonical) == (first == second) == (one == two)
    both = first & second
    assert both == second & first
    for at in ((0, 3), (4, 15), (15, 4), (20, 20)):
        row = dict(zip(ATTRIBUTES, (GRID[each] for each in at), strict=True))
        assert first.contains(row) == (at in one)
        assert both.contains(row) == (at in one & two)


@settings(max_examples=120, deadline=None)
@given(REGIONS)
def test_a_region_survives_its_text(conditions: dict[str, Member]) -> None:
    """Every canonical text is ASCII and is read back as the same region."""
    one = region(conditions)
    assert one.canonical.isascii()
    assert Region.parse(one.canonical) == one


@pytest.mark.long
@settings(max_examples=120, deadline=None)
@given(REGIONS, REGIONS, SETS.filter(lambda each: bool(each[1])))
def test_within_domains_equality_is_over_their_rows(
    left: dict[str, Member], right: dict[str, Member], domain: Member
) -> None:
    """Narrowed regions are equal exactly if they share the rows of the domains."""
    declared = {"x": domain[0], "y": ValueSet.everything()}
    allowed = rows_of({"x": domain})
    first, second = region(left).within(declared), region(right).within(declared)
    assert (first == second) == (rows_of(left) & allowed == rows_of(right) & allowed)
    assert first.empty == (not rows_of(left) & allowed)
    assert first.within(declared) == first


def test_conditions_are_written_in_many_ways() -> None:
    """Every form of condition stands for the set it says."""
    written = Region.where(
        a=1,
        b={1, 2},
        c=[3],
        d=("a", None),
        e=range(2, 5),
        f=Not("a"),
        g=Not(Not(True)),
        h=(0, HALF),
    )
    assert written == Region.of(
        {
            "a": ValueSet.of(1),
            "b": ValueSet.of(2, 1),
            "c": ValueSet.of(3),
            "d": ValueSet.between("a", None),
            "e": ValueSet.between(2, 5),
            "f": ~ValueSet.of("a"),
            "g": ValueSet.of(True),
            "h": ValueSet.between(0, 0.5),
        }
    )
    assert written.attributes == tuple("abcdefgh")
    assert written.values("a") == ValueSet.of(1)
    assert written.values("z").is_everything
    assert Region.where(cls="the name of an attribute").attributes == ("cls",)


def test_trivial_conditions_drop_out_and_contradictions_leave_the_one_empty_region() -> None:
    """(None, None) asks nothing; an empty set, range or intersection leaves no row."""
    assert Region.where(a=(None, None), b=Not([])) == Region.everything() == Region.where()
    for contradictory in (
        Region.where(a=[], b=1),
        Region.where(a=range(3, 3)),
        Region.where(a=(5, 2)),
        Region.where(a=1) & Region.where(a=2),
        Region.where(a=Not((None, None))),
    ):
        assert contradictory == Region.nothing()
        assert contradictory.empty
        assert contradictory.canonical == "false"
        assert contradictory.attributes == ()
        assert contradictory.values("a").empty
        assert not contradictory.contains({"a": 1})
        assert not contradictory.overlaps(Region.everything())
    assert Region.everything().canonical == "{}"
    assert Region.everything().contains({})


def test_a_row_without_an_attribute_meets_no_condition_on_it() -> None:
    """Only what is not asked may be missing, and negation changes nothing about that."""
    assert not Region.where(a=1).contains({})
    assert not Region.where(a=Not(1)).contains({})
    assert Region.where(a=1).contains({"a": 1, "b": "unasked"})


def test_time_is_an_attribute() -> None:
    """Windows that follow each other share no row; overlapping ones do."""
    first, second = Region.where(time=(0, 10), room="lab"), Region.where(time=(10, 20))
    assert not first.overlaps(second)
    assert first.overlaps(Region.where(time=(9, 12)))
    assert not first.overlaps(Region.where(time=(9, 12), room="lobby"))


def test_an_unknown_attribute_is_named_with_the_known_ones() -> None:
    """A misspelt attribute is refused by name, and so is a domain without values."""
    with pytest.raises(UnknownAttributeError, match=r"'rom'; declared are floor, room") as caught:
        Region.where(rom="lab").within({"room": ValueSet.strings(), "floor": ValueSet.numbers()})
    assert (caught.value.attribute, caught.value.known) == ("rom", ("floor", "room"))
    with pytest.raises(UnknownAttributeError, match="declared are none"):
        Region.where(a=1).within({})
    with pytest.raises(ValueError, match="'a' has no value"):
        Region.everything().within({"a": ValueSet.nothing()})
    assert Region.nothing().within({}) == Region.nothing()


@pytest.mark.parametrize(
    "condition",
    [
        *(None, (1, 2, 3), (), ("a",), (1, "a"), range(0, 9, 2), {"a": 1}, b"a", {None}),
        pytest.param(object(), id="object"),
    ],
    ids=repr,
)
def test_what_is_no_condition_is_refused(condition: Any) -> None:
    """A condition of another form is refused with what to write."""
    with pytest.raises(ValueError, match=r"value|range"):
        Region.where(a=condition)


def test_forms_that_are_not_canonical_are_refused() -> None:
    """The constructor takes the canonical form only, and attributes have names."""
    one, two = ValueSet.of(1), ValueSet.of(2)
    for conditions in ((("b", one), ("a", two)), (("a", one), ("a", two))):
        with pytest.raises(ValueError, match="sorted"):
            Region(conditions)
    for values in (ValueSet.nothing(), ValueSet.everything()):
        with pytest.raises(ValueError, match="none or all"):
            Region((("a", values),))
    with pytest.raises(ValueError, match="sets of values"):
        Region((("a", 1),))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no conditions"):
        Region((("a", one),), empty=True)
    for name in ("", 3, "\ud800"):
        with pytest.raises(ValueError, match="attribute's name"):
            Region.of({name: 1})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "true",
        "null",
        "0",
        "[]",
        "{} ",
        '{"a":{}}',
        '{"a":1}',
        '{"a":{"numbers":[2,1]}}',
        '{"a":{"numbers":[1,1]}}',
        '{"a":{"numbers":[true]}}',
        '{"a":{"numbers":[1.0]}}',
        '{"a":{"numbers":[NaN]}}',
        '{"a":{"numbers":["2/1"]}}',
        '{"a":{"numbers":["2/4"]}}',
        '{"a":{"numbers":["1/0"]}}',
        '{"a":{"numbers":[["[",1,2,"]","?"]]}}',
        '{"a":{"numbers":[["[",2,1,")"]]}}',
        '{"a":{"numbers":[["[",1,1,"]"]]}}',
        '{"a":{"numbers":[["[",1,2,")"],["[",2,3,")"]]}}',
        '{"a":{"numbers":[["(",null,null,")"]]}}',
        '{"a":{"numbers":[["[",1,null,")"],2]}}',
        '{"a":{"numbers":[["[",1,null,")"],["(",null,3,")"]]}}',
        '{"a":{"numbers":{}}}',
        '{"a":{"booleans":[1]}}',
        '{"a":{"booleans":[true,false]}}',
        '{"a":{"booleans":true}}',
        '{"a":{"strings":["\\ud800"]}}',
        '{"a":{"strings":[["[","",null,")"]]}}',
        '{"a":{"strings":true},"a":{"strings":true}}',
        '{"b":{"strings":true},"a":{"strings":true}}',
        '{"a":{"booleans":[false,true],"numbers":true,"strings":true}}',
        '{"a":{"colours":[]}}',
        "[" * 100_000,
        '{"a":{"numbers":[' + "9" * 10_000 + "]}}",
        '{"a":{"numbers":[' + "9" * 2_000 + "]}}",
    ],
    ids=lambda text: str(text)[:40],
)
def test_text_of_another_spelling_is_refused(text: str) -> None:
    """A region has one text; garbage and other spellings are no region."""
    with pytest.raises(ValueError, match=r".") as caught:
        Region.parse(text)
    assert type(caught.value) is ValueError


def test_the_text_is_the_same_in_every_process() -> None:
    """Whatever Python's hashes are seeded with."""
    one = Region.where(room={"lab", "lobby", "z"}, time=(0, 3_600_000), open=True, paid=(0, HALF))
    assert one.canonical == (
        '{"open":{"booleans":[true]},"paid":{"numbers":[["[",0,"1/2",")"]]},'
        '"room":{"strings":["lab","lobby","z"]},"time":{"numbers":[["[",0,3600000,")"]]}}'
    )
    program = (
        "from accountant.regions.regions import Region; from fractions import Fraction;"
        "print(Region.where(time=(0, 3600000), paid=(0, Fraction(1, 2)), open=True,"
        " room={'z', 'lobby', 'lab'}).canonical)"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", program],
            check=True,
            capture_output=True,
            text=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert printed == {one.canonical}
