"""Regions are compared by their rows, and have one text each."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accountant.regions.regions import Not, Region, ValueSet
from tests.support.valuesets import ALL, GRID, HALF, SETS

ATTRIBUTES = ("x", "y")
REGIONS = st.dictionaries(st.sampled_from(ATTRIBUTES), SETS)


def rows_of(conditions):
    """Return the rows of the grid, by places, that meet all conditions."""
    return frozenset(product(*(conditions.get(name, (None, ALL))[1] for name in ATTRIBUTES)))


def region(conditions):
    """Return the region of drawn conditions."""
    return Region.of({name: values for name, (values, _) in conditions.items()})


@settings(max_examples=120)
@given(REGIONS, REGIONS)
def test_regions_are_compared_by_their_rows(left, right):
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


@settings(max_examples=120)
@given(REGIONS)
def test_a_region_survives_its_text(conditions):
    """Every canonical text is ASCII and is read back as the same region."""
    one = region(conditions)
    assert one.canonical.isascii()
    assert Region.parse(one.canonical) == one


@pytest.mark.parametrize(
    ("condition", "values"),
    [
        (1, ValueSet.of(1)),
        ({1, 2}, ValueSet.of(2, 1)),
        (("a", None), ValueSet.between("a", None)),
        (range(2, 5), ValueSet.between(2, 5)),
        (Not("a"), ~ValueSet.of("a")),
        (Not(Not(True)), ValueSet.of(True)),
        ((0, HALF), ValueSet.between(0, 0.5)),
    ],
)
def test_conditions_are_written_in_many_ways(condition, values):
    """Every form of condition stands for the set it says, whatever its attribute is called."""
    found = Region.where(cls=condition, self=3)
    assert found == Region.of({"self": ValueSet.of(3), "cls": values})
    assert (found.attributes, found.values("cls")) == (("cls", "self"), values)
    assert found.values("z").is_everything


def test_trivial_conditions_drop_out_and_contradictions_leave_the_one_empty_region():
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
        assert (contradictory.empty, contradictory.canonical) == (True, "false")
        assert (contradictory.attributes, contradictory.values("a").empty) == ((), True)
    assert Region.everything().canonical == "{}"
    assert Region.everything().contains({})


def test_a_row_without_an_attribute_meets_no_condition_on_it():
    """Only what is not asked may be missing, and negation changes nothing about that."""
    for condition in (1, Not(1)):
        assert not Region.where(a=condition).contains({})
    assert Region.where(a=1).contains({"a": 1, "b": "unasked"})


@pytest.mark.parametrize(
    "condition",
    [
        *(None, (1, 2, 3), (), ("a",), (1, "a"), range(0, 9, 2), {"a": 1}, b"a", {None}),
        pytest.param(object(), id="object"),
    ],
    ids=repr,
)
def test_what_is_no_condition_is_refused(condition):
    """A condition of another form is refused with what to write."""
    with pytest.raises(ValueError, match=r"value|range"):
        Region.where(a=condition)


def test_forms_that_are_not_canonical_are_refused():
    """The constructor takes the canonical form only, and attributes have names."""
    one, two = ValueSet.of(1), ValueSet.of(2)
    for conditions, said in (
        ((("b", one), ("a", two)), "sorted"),
        ((("a", one), ("a", two)), "sorted"),
        ((("a", ValueSet.nothing()),), "none or all"),
        ((("a", ValueSet.everything()),), "none or all"),
        ((("a", 1),), "sets of values"),
    ):
        with pytest.raises(ValueError, match=said):
            Region(conditions)
    with pytest.raises(ValueError, match="no conditions"):
        Region((("a", one),), empty=True)
    for name in ("", 3, "\ud800"):
        with pytest.raises(ValueError, match="attribute's name"):
            Region.of({name: 1})


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
def test_text_of_another_spelling_is_refused(text):
    """A region has one text; garbage and other spellings are no region."""
    with pytest.raises(ValueError, match=r".") as caught:
        Region.parse(text)
    assert type(caught.value) is ValueError


def test_the_text_is_the_same_in_every_process():
    """Whatever Python's hashes are seeded with, and so whatever the order of a set."""
    one = Region.where(room={"lab", "lobby", "z"}, time=(0, 3_600_000), open=True, paid=(0, HALF))
    assert one.canonical == (
        '{"open":{"booleans":[true]},"paid":{"numbers":[["[",0,"1/2",")"]]},'
        '"room":{"strings":["lab","lobby","z"]},"time":{"numbers":[["[",0,3600000,")"]]}}'
    )
