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
from math import log
from typing import TYPE_CHECKING

import numpy as np
import pytest

from accountant.errors import ConfigError
from operators.conditions.condition import Aim, Condition, ThresholdAtom
from operators.conditions.formula import Formula
from operators.conditions.score import score_of
from operators.formulas.mirrored import Mirrored, mirrored
from operators.noise.source import NoiseSource
from operators.registry import create, price
from stream.simulation.draws.truth import may_fire, must_fire
from tests.statistical.enumeration import ints

if TYPE_CHECKING:
    from collections.abc import Callable

    from operators.base import Operator
    from operators.single.tslm import Tslm

    Maker = Callable[[str, Condition, Aim], Operator]

WHOLE = 1 << 64
SMALL = 1e-9  # what floats may add to a law that is exact but for their rounding
AIM = Aim(Fraction(1, 10), (2,), max_fpr=Fraction(1, 50), promise="false_alarms")


def condition(formula: str, *atoms: tuple[int, int], sensitivities: tuple[int, ...]) -> Condition:
    """Return a condition of one cell; atoms are statistics and thresholds."""
    names = Formula.parse(formula).atoms
    made = {
        name: ThresholdAtom(statistic, ints([threshold]))
        for name, (statistic, threshold) in zip(names, atoms, strict=True)
    }
    return Condition(Formula.parse(formula), made, sensitivities)


def aim_of(asked: Condition, tolerance: int, mechanism: str) -> Aim:
    """Return an aim with one tolerance for all, and wider ones for a first phase."""
    atoms = len(asked.formula.atoms)
    first = (4 * tolerance + 3,) * atoms if mechanism.startswith("probe") else ()
    return replace(AIM, tolerances=(tolerance,) * atoms, first_tolerances=first)


def worst(make: Maker, mechanism: str, asked: Condition, aim: Aim) -> tuple[float, float]:
    """Return the most probable false alarm and the most probable miss near the thresholds."""
    reach = 2 * max(aim.tolerances) + max(asked.sensitivities) + 2
    at = [atom.thresholds[0] for atom in asked.atoms.values()]
    line = range(min(at) - reach, max(at) + reach)
    grid = ints(list(product(line, repeat=asked.statistics))).T
    rings = make(mechanism, asked, aim).chances(0, grid)
    assert rings is not None
    may = may_fire(asked, aim, grid[:, np.newaxis, :].transpose(0, 2, 1))[:, 0]
    must = must_fire(asked, aim, grid[:, np.newaxis, :].transpose(0, 2, 1))[:, 0]
    assert not (must & ~may).any()
    assert must.any()
    assert not may.all()
    return float(rings[~may].max()), float((1 - rings)[must].max())


ONE = {
    "above": condition("a", (0, 7), sensitivities=(1,)),
    "below": condition("NOT a", (0, -3), sensitivities=(1,)),
    "steps of three": condition("a", (0, 5), sensitivities=(3,)),
}
SEVERAL = {
    "and": condition("a AND b", (0, 3), (1, 4), sensitivities=(1, 1)),
    "or, one turned": condition("a OR NOT b", (0, 3), (1, 4), sensitivities=(2, 1)),
    "both ways": condition(
        "(a AND b) OR (NOT a AND c)", (0, 3), (1, 2), (1, 9), sensitivities=(1, 2)
    ),
    "between": condition("a AND NOT b", (0, 0), (0, 30), sensitivities=(1,)),
}
MECHANISMS = ("tslm", "ppwlm", "dppwlm", "probe-ent", "probe")
CASES = [
    *((mechanism, name) for mechanism in MECHANISMS for name in ONE),
    *(("tslm", name) for name in SEVERAL),
    *((mechanism, "between") for mechanism in ("probe-ent", "probe")),
]


@pytest.mark.parametrize(("mechanism", "name"), CASES)
def test_what_is_false_rings_as_seldom_as_promised(mechanism: str, name: str) -> None:
    """Up to the threshold itself; misses are bounded beyond the tolerance, of all but probe."""
    asked = (ONE | SEVERAL)[name]
    aim = aim_of(asked, 2, mechanism)
    false, missed = worst(create, mechanism, asked, aim)
    assert false <= float(AIM.max_fpr or 0) + SMALL
    if mechanism != "probe":
        assert missed <= float(AIM.max_fnr) + SMALL


def test_the_bounds_are_reached() -> None:
    """Of tslm both are used up: nothing is left that a cheaper one could save."""
    asked = ONE["above"]
    false, missed = worst(create, "tslm", asked, aim_of(asked, 2, "tslm"))
    assert false == pytest.approx(float(AIM.max_fpr or 0), rel=1e-9)
    assert missed <= float(AIM.max_fnr)
    plan = price("tslm", asked, aim_of(asked, 2, "tslm"))
    assert plan.ratio == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("mechanism", ["tslm", "dppwlm"])
def test_it_costs_what_the_mirror_image_costs(mechanism: str) -> None:
    """Misses first with the rates exchanged: the same problem, seen from the other side."""
    for asked in ONE.values():
        aim = aim_of(asked, 2, mechanism)
        swapped = replace(aim, max_fnr=aim.max_fpr, max_fpr=aim.max_fnr, promise="misses")
        assert price(mechanism, asked, aim) == price(mechanism, asked, swapped)
        assert create(mechanism, asked, aim).plan == price(mechanism, asked, aim)


@pytest.mark.parametrize("name", ONE)
def test_neighbours_are_told_apart_by_no_more_than_is_charged(name: str) -> None:
    """Turning an answer round looks at nothing else: both outcomes stay within exp(epsilon)."""
    asked = ONE[name]
    made = create("tslm", asked, aim_of(asked, 2, "tslm"))
    inner: Tslm = made.negation.operator  # type: ignore[attr-defined]
    far = asked.sensitivities[0]
    for at in range(-40, 60):
        score = score_of(asked.negated, aim_of(asked, 2, "tslm").tolerances)
        scores = score.of(0, np.array([[at, at + far]]))
        silent, beside = (int(law_at(inner, place)) for place in scores.tolist())
        for one, other in ((silent, beside), (WHOLE - silent, WHOLE - beside)):
            assert abs(log(one) - log(other)) <= float(made.plan.epsilon) + SMALL


def law_at(inner: Tslm, statistic: int) -> np.uint64:
    """Return the exact probability that a cell does not ring, in units of 2^-64."""
    found: np.uint64 = inner.law(ints([statistic]))[0]
    return found


def unturned(mechanism: str, asked: Condition, aim: Aim) -> Operator:
    """Broken: misses are promised at the threshold, as if nothing had been asked."""
    return create(mechanism, asked, replace(aim, promise="misses"))


def rates_left(mechanism: str, asked: Condition, aim: Aim) -> Operator:
    """Broken: the negation is decided with the rates as they stand."""
    return Mirrored(create(mechanism, asked.negated, replace(aim, promise="misses")))


def not_negated(mechanism: str, asked: Condition, aim: Aim) -> Operator:
    """Broken: the rates are exchanged and the condition is not negated."""
    return create(mechanism, asked, mirrored(asked, aim)[1])


def answer_left(mechanism: str, asked: Condition, aim: Aim) -> Operator:
    """Broken: the negation's answer is taken for the condition's."""
    return create(mechanism, *mirrored(asked, aim))


@pytest.mark.parametrize("twin", [unturned, rates_left, not_negated, answer_left])
@pytest.mark.parametrize("name", ["above", "or, one turned"])
def test_broken_twins_ring_too_often(twin: Maker, name: str) -> None:
    """The same look at the same statistics catches each of them."""
    asked = (ONE | SEVERAL)[name]
    false, _ = worst(twin, "tslm", asked, aim_of(asked, 2, "tslm"))
    assert false > float(AIM.max_fpr or 0) * 1.5


def test_windows_decided_together_are_turned_round_as_well() -> None:
    """Drawn many at once, the rates are those of the law; a cell far off never errs."""
    asked = ONE["above"]
    made = create("tslm", asked, aim_of(asked, 2, "tslm"))
    rows = ints([[[-200]], [[200]]])
    assert isinstance(made, Mirrored)
    assert made.decide_many(rows, NoiseSource()).fired.tolist() == [[False], [True]]
    assert made.decide(rows[1], NoiseSource()).fired.tolist() == [True]


def test_what_cannot_be_promised_is_refused() -> None:
    """Without its rate there is no promise; an early alarm looks several times."""
    asked = ONE["above"]
    with pytest.raises(ConfigError, match="needs max_fpr"):
        create("tslm", asked, replace(AIM, max_fpr=None))
    with pytest.raises(ConfigError, match="decided once"):
        price("tslm", asked, replace(AIM, looks=3))
