"""Which variants of a file are simulated."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from operators.conditions.condition import Aim
from stream.model.alarm import FirstTolerances
from stream.simulation.variants import variants_of
from tests.support.simulated import alarm, file_of

FACTORS = (Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4))
MECHANISMS = ("tslm", "ppwlm", "dppwlm", "probe", "probe-ent")


def aims(variants):
    """Return how the alarm is had in each variant that has it."""
    queries = [each.alarms.by_name["crowd"] for each in variants if each.tried]
    return [(query.mechanism, query.aim) for query in queries]


def test_a_file_is_simulated_as_it_is_written():
    """Unless something else is asked for, that is all."""
    alarms = file_of(alarm(3))
    (one,) = variants_of(alarms, ["crowd"])
    assert (one.alarms, one.tried) == (alarms, ("crowd",))


@pytest.mark.parametrize(("mechanism", "first"), [("tslm", ()), ("probe", (12,))])
def test_every_mechanism_is_tried_at_every_tolerance_once(mechanism, first):
    """The file as written is the first, and is not repeated."""
    query = alarm(3, tolerance=4, mechanism=mechanism)
    aim = replace(query.aim, first_tolerances=first)
    query = replace(query, aim=aim, first=FirstTolerances((12,)))
    found = variants_of(file_of(query), ["crowd"], MECHANISMS, FACTORS)
    assert not any(each.refused for each in found)
    assert aims(found)[0] == (mechanism, aim)
    assert {(name, aim.tolerances) for name, aim in aims(found)} == {
        (name, (tolerance,)) for name in MECHANISMS for tolerance in (2, 4, 8, 16)
    }
    assert len(set(aims(found))) == len(found) == 20
    for name, aim in aims(found):
        in_two_phases = name.startswith("probe")
        assert (aim.first_tolerances >= aim.tolerances) is in_two_phases
        assert bool(aim.first_tolerances) is in_two_phases


@pytest.mark.parametrize(
    ("changes", "asked", "tried", "why"),
    [
        ({"hold_ms": 7_200_000}, (["tslm", "probe"],), [20], "holds none"),
        ({}, ((), FACTORS), [20, 10, 40], "tolerance 80: larger than the threshold"),
        ({}, (["svt"], (), [Fraction(1, 10**30)]), [20], "max_fnr is below 1e-12"),
    ],
    ids=["no hold", "tolerance", "rate"],
)
def test_what_cannot_be_planned_is_refused_with_its_reason(changes, asked, tried, why):
    """And the alarm stands as it is written there, and is not shown."""
    query = replace(alarm(3, tolerance=20), **changes)
    found = variants_of(file_of(query), ["crowd"], *asked)
    assert [aim.tolerances for _, aim in aims(found)] == [(each,) for each in tried]
    (refused,) = [each for each in found if each.refused]
    assert why in refused.refused["crowd"]
    assert refused.alarms.by_name["crowd"] == query
    assert not refused.tried


def test_equal_variants_are_tried_once():
    """Tolerances that round to the same number, and no tolerance at all, are not repeated."""
    tenth = [Fraction(1, 10)] * 2
    file = file_of(alarm(3, tolerance=0))
    found = variants_of(file, ["crowd"], ["tslm", "tslm"], FACTORS, tenth)
    assert aims(found)[1:] == [("tslm", Aim(Fraction(1, 10), (0,)))]


def test_other_alarms_of_the_file_stay_as_they_are():
    """A budget is asked for all of them."""
    other = replace(alarm(2), id="other")
    found = variants_of(file_of(alarm(3), other), ["crowd"], factors=FACTORS)
    assert [each.alarms.by_name["other"] for each in found] == [other] * 4
