"""False alarms promised up to the threshold: exact laws, and twins that break the promise.

What is checked is what the alarm says, on every statistic near its thresholds: where the condition
is false it rings with probability ``max_fpr`` at most, and where it holds with every literal moved
against it by twice its tolerance it is missed with probability ``max_fnr`` at most. Walks over
several noisy values have no such law: what they prove of misses, on every tree and for every walk
(``test_formula_trees_exact``), they prove of the negation, too.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest

from accountant.errors import ConfigError
from operators.conditions.condition import Aim
from operators.formulas.mirrored import Mirrored, mirrored
from operators.noise.source import NoiseSource
from operators.registry import create, price
from tests.statistical.condition_law import Case, condition_of, judged
from tests.statistical.enumeration import ints

SMALL = 1e-9  # what floats may add to a law that is exact but for their rounding
FALSE, MISSED = Fraction(1, 50), Fraction(1, 10)
TOLERANCE = 2
PROMISES = {"max_fnr": MISSED, "max_fpr": FALSE, "promise": "false_alarms"}
AIM = Aim(tolerances=(TOLERANCE,), **PROMISES)


def case(text, *bounds, **more):
    """Return a condition and the values about its thresholds."""
    atoms = sorted({name for name in text if name.islower()})
    of = condition_of(text, dict(zip(atoms, bounds, strict=True)), **more)
    reach = 2 * TOLERANCE + max(of.sensitivities) + 2
    return Case(of, (TOLERANCE,) * len(atoms), min(bounds) - reach, max(bounds) + reach - 1)


ONE = {
    "above": case("a", 7),
    "below": case("NOT a", -3),
    "steps of three": case("a", 5, sensitivities=(3,)),
}
SEVERAL = {
    "or, one turned": case("a OR NOT b", 3, 4, sensitivities=(2, 1)),
    "between": case("a AND NOT b", 0, 30, places={"a": 0, "b": 0}),
}
CASES = [
    *product(("ppwlm", "dppwlm", "probe-ent", "probe"), ONE),
    *(("tslm", name) for name in SEVERAL),
    *(("probe-ent", "between"), ("probe", "between")),
]


@pytest.mark.parametrize(("mechanism", "name"), CASES)
def test_what_is_false_rings_as_seldom_as_promised(mechanism, name):
    """Up to the threshold itself; misses are bounded beyond the tolerance, of all but probe."""
    of = (ONE | SEVERAL)[name]
    atoms = len(of.tolerances)
    first = (11,) * atoms if mechanism.startswith("probe") else ()
    missed, false, lost = judged(of, mechanism, **PROMISES, first_tolerances=first)
    assert false <= FALSE + SMALL
    assert lost <= 1 + 1e-6
    if mechanism != "probe":
        assert missed <= MISSED + SMALL
    assert all(where.any() for where in of.truths("false_alarms"))


def test_the_bounds_are_reached():
    """Of tslm both are used up: nothing is left that a cheaper one could save."""
    of = ONE["above"]
    missed, false, lost = judged(of, "tslm", **PROMISES)
    assert false == pytest.approx(float(FALSE), rel=1e-9)
    assert missed <= MISSED
    assert lost == pytest.approx(1)
    assert price("tslm", of.condition, AIM).ratio == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("mechanism", ["tslm", "dppwlm"])
def test_it_costs_what_the_mirror_image_costs(mechanism):
    """Misses first with the rates exchanged: the same problem, seen from the other side."""
    swapped = replace(AIM, max_fnr=AIM.max_fpr, max_fpr=AIM.max_fnr, promise="misses")
    for asked in (one.condition for one in ONE.values()):
        plan = price(mechanism, asked, AIM)
        assert plan == price(mechanism, asked, swapped)
        assert plan == create(mechanism, asked, AIM).plan


def unturned(mechanism, asked, aim):
    """Broken: misses are promised at the threshold, as if nothing had been asked."""
    return create(mechanism, asked, replace(aim, promise="misses"))


def rates_left(mechanism, asked, aim):
    """Broken: the negation is decided with the rates as they stand."""
    return Mirrored(create(mechanism, asked.negated, replace(aim, promise="misses")))


def not_negated(mechanism, asked, aim):
    """Broken: the rates are exchanged and the condition is not negated."""
    return create(mechanism, asked, mirrored(asked, aim)[1])


def answer_left(mechanism, asked, aim):
    """Broken: the negation's answer is taken for the condition's."""
    return create(mechanism, *mirrored(asked, aim))


@pytest.mark.parametrize("twin", [unturned, rates_left, not_negated, answer_left])
@pytest.mark.parametrize("name", ["above", "or, one turned"])
def test_broken_twins_ring_too_often(twin, name):
    """The same look at the same statistics catches each of them."""
    assert judged((ONE | SEVERAL)[name], "tslm", twin, **PROMISES)[1] > FALSE * 1.5


def test_windows_decided_together_are_turned_round_as_well():
    """Drawn many at once, the rates are those of the law; a cell far off never errs."""
    made = create("tslm", ONE["above"].condition, AIM)
    rows = ints([[[-200]], [[200]]])
    assert isinstance(made, Mirrored)
    assert made.decide_many(rows, NoiseSource()).fired.tolist() == [[False], [True]]
    assert made.decide(rows[1], NoiseSource()).fired.tolist() == [True]


def test_what_cannot_be_promised_is_refused():
    """Without its rate there is no promise; an early alarm looks several times."""
    asked = ONE["above"].condition
    with pytest.raises(ConfigError, match="needs max_fpr"):
        create("tslm", asked, replace(AIM, max_fpr=None))
    with pytest.raises(ConfigError, match="bounded_error: fpr does not support CUMULATE"):
        price("tslm", asked, replace(AIM, looks=3))
