"""How long after its condition first held an alarm rang: every pair of looks, and many draws."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Final

import numpy as np
import pytest

from operators.conditions.condition import Aim
from operators.registry import create
from stream.simulation.results import Law
from stream.simulation.tally import Tally
from stream.simulation.truth import first_held
from tests.support.simulated import alarm, stepped
from tests.support.svt import condition

if TYPE_CHECKING:
    from numpy.typing import NDArray

LOOKS: Final = 4
COURSE: Final = (20, 48, 51, 60)  # more than 50 from the third look on


def pairs() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return every pair of a first ring and a first look at which it held, none included."""
    every = np.array(list(product(range(LOOKS + 1), repeat=2)), dtype=np.int64)
    return every[None, :, 0], every[None, :, 1]


def test_rings_before_the_condition_are_false_and_the_others_have_a_delay() -> None:
    """By the definition, over all 25 cases: what never held, and what never rang, has none."""
    rang, held = pairs()
    tally = Tally()
    tally.delay(rang, held, LOOKS)
    cases = list(zip(rang[0].tolist(), held[0].tolist(), strict=True))
    true = [(one, since) for one, since in cases if since < LOOKS > one]
    assert tally.early == sum(one < since for one, since in true) == 6
    late = [one - since for one, since in true if one >= since]
    assert tally.delays == Counter(late)
    law = Law.of(tally.delays, Fraction(900))
    expected = [np.mean(late), sorted(late)[4], max(late), max(late)]
    assert [law.mean, law.median, law.p95, law.max] == pytest.approx([900 * x for x in expected])
    twice = tally + tally
    assert (twice.early, twice.delays.total()) == (12, 20)


def test_nothing_that_rang_has_no_delay() -> None:
    """No median of nothing."""
    none = Tally()
    none.delay(np.full((1, 3), LOOKS), np.array([[0, 1, LOOKS]]), LOOKS)
    assert (none.early, none.delays) == (0, {})
    assert Law.of(none.delays, Fraction(1)) == Law(None, None, None, None)


def test_the_first_look_that_held_is_found() -> None:
    """Also where it held no longer at the window's end."""
    holds = np.array([[0, 1, 0], [0, 1, 1], [0, 0, 1]], dtype=np.bool_)[None]
    assert first_held(holds).tolist() == [[3, 0, 1]]


def measured(mechanism: str) -> tuple[Tally, list[float], int]:
    """Return the delays of many windows of one course, and the exact law of its first ring."""
    aim, runs = Aim(Fraction(1, 20), (6,), looks=LOOKS), 4_000
    query = replace(alarm(1, mechanism=mechanism), condition=condition(1), aim=aim)
    course = np.tile(np.array(COURSE, dtype=np.int64), runs).reshape(-1, 1)
    tally = stepped(query, course, LOOKS)
    assert tally.cells.true == runs
    assert tally.cells.missed + tally.early + tally.delays.total() == runs
    operator = create(mechanism, condition(1), aim)
    law = operator.first_rings(0, np.array(COURSE, np.int64).reshape(LOOKS, 1).T).tolist()
    return tally, law, runs


@pytest.mark.parametrize("mechanism", ["svt", "tslm"])
def test_measured_delays_have_the_exact_law(mechanism: str) -> None:
    """Rings before the third look, and at it or after, within six standard errors of the law."""
    tally, law, runs = measured(mechanism)
    found = [tally.early, tally.delays[0], tally.delays[1]]
    for count, chance in zip(found, [sum(law[:2]), law[2], law[3]], strict=True):
        error = (chance * (1 - chance) * runs) ** 0.5
        assert abs(count - chance * runs) <= 6 * error + 1e-9


def test_delays_from_the_windows_start_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken twin takes every condition to have held from the first look on."""
    plain = Tally.delay

    def from_start(
        self: Tally, rang: NDArray[np.int64], held: NDArray[np.int64], looks: int
    ) -> None:
        plain(self, rang, np.minimum(held, 0), looks)

    monkeypatch.setattr(Tally, "delay", from_start)
    with pytest.raises(AssertionError):
        test_measured_delays_have_the_exact_law("svt")
