"""Caps over a period, by exact enumeration of every transcript of tiny pipelines.

Losses are whole multiples of ln 2 here: a window's answer is a randomised response about whether
anybody counts in it, and its price follows from the answers before it (fully adaptive costs). The
real filter grants windows; the real rule says in which of them somebody counts. Every world of one
person's windows is compared with the world without that person, for every transcript. Twins that
count or charge wrongly pass the wall.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest

from accountant.budget.filter import UserFilter
from accountant.budget.standings import Standing
from accountant.costs.charges import Charge, PeriodCap, UniformCost, WindowKey
from accountant.loss.overlap import Held
from accountant.records import Answer
from accountant.regions.shapes import ANYWHERE
from stream.counting.bounding import Contributions
from stream.counting.usage import Usage
from stream.events.units import Units

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Transcript = tuple[int | None, ...]

ALARMS = ("a", "b")
WINDOWS = 4
DENIED = 2
"""This window of alarm `a` is denied, whatever happens: it costs nothing, and uses up the cap."""


@dataclass(frozen=True)
class Pipeline:
    """How windows are priced, counted and charged.

    Args:
        wall: in units of ln 2.
        most: in how many windows of an alarm somebody counts.
        price: of a window, from its place and the answers before it.
        counted: in which of their windows somebody counts, by the rule.
    """

    wall: int
    most: int
    price: Callable[[int, Transcript], int]
    counted: Callable[[Sequence[int], int], set[int]]

    def transcripts(self):
        """Return every transcript with the windows decided in it: alarm, window, price."""
        found = {}
        for answers in product((0, 1), repeat=WINDOWS * len(ALARMS)):
            judge = UserFilter(self.wall, {}, {})
            seen = []
            decided = []
            order = ((alarm, window) for window in range(WINDOWS) for alarm in ALARMS)
            for answer, (alarm, window) in zip(answers, order, strict=True):
                units, cap = self.price(window, tuple(seen)), PeriodCap(self.most, alarm, "f")
                key = WindowKey(10 * window + 10, alarm, 10 * window)
                asked = Charge(key, UniformCost(units, 1), 1, (0,), cap)
                granted = judge.answer(asked, ANYWHERE) is Answer.RESERVED
                if not granted or (alarm, window) == (ALARMS[0], DENIED):
                    seen.append(None)
                    continue
                held = Held(key.start_ms, key.end_ms, units)
                judge.hold(Standing(held, False, (0,), alarm, cap=cap))
                decided.append((alarm, window, units))
                seen.append(answer)
            found[tuple(seen)] = decided
        return found

    def worst(self):
        """Return the largest ratio of a transcript's probabilities with and without a person."""
        transcripts, worst = self.transcripts(), Fraction(1)
        subsets = [tuple(w for w in range(WINDOWS) if bits >> w & 1) for bits in range(2**WINDOWS)]
        for windows in product(subsets, repeat=len(ALARMS)):
            inside = {
                (alarm, window)
                for alarm, touched in zip(ALARMS, windows, strict=True)
                for window in self.counted(touched, self.most)
            }
            ratios = (ratio(seen, each, inside) for seen, each in transcripts.items())
            worst = max(worst, *(max(one, 1 / one) for one in ratios))
        return worst


def ratio(seen, decided, inside):
    """Return how much likelier a transcript is with the person than without."""
    found, answers = Fraction(1), (answer for answer in seen if answer is not None)
    for (alarm, window, units), answer in zip(decided, answers, strict=True):
        if (alarm, window) in inside:
            found *= Fraction(2**units) if answer else Fraction(1, 2**units)
    return found


def first_of(windows, most):
    """Return the windows that one person counts in, by the rule that counting keeps."""
    usage = Usage(most)
    return {window for window in windows if len(usage.take(one_row()))}


def one_row():
    """Return one event of the person."""
    zero = np.zeros(1, int)
    unit = Units.of(np.zeros((1, 2), np.uint64))
    ones = np.ones((1, 1), int)
    return Contributions(zero, zero, unit, zero, ones, ones.astype(np.bool_), None)


def dearer_after_alarms(window, seen):
    """Cost more where something rang, and at the end."""
    return 1 + (1 in seen) + (window == WINDOWS - 1)


RIGHT = Pipeline(6, 2, dearer_after_alarms, first_of)


@pytest.mark.parametrize(("wall", "most"), [(3, 1), (6, 2), (9, 3)])
def test_nobody_loses_more_than_the_wall(wall, most):
    """For every transcript, everybody's windows and every adaptive price."""
    pipeline = Pipeline(wall, most, dearer_after_alarms, first_of)
    assert pipeline.worst() <= 2**wall


def test_the_wall_is_reached_and_later_windows_are_free():
    """The charge is exact: somebody loses all of it, and windows beyond the cap cost no more."""
    pipeline = Pipeline(4, 2, lambda _window, _seen: 1, first_of)
    assert pipeline.worst() == 2**4
    decided = {len(each) for each in pipeline.transcripts().values()}
    assert decided == {WINDOWS * len(ALARMS) - 1}  # all but the one that is denied


def counts_anew(windows, most):
    """Broken twin: after a restart in the middle, nobody has used up anything."""
    half = WINDOWS // 2
    early, late = ([w for w in windows if (w < half) is is_early] for is_early in (True, False))
    return first_of(early, most) | first_of(late, most)


def never_counted(windows, most):
    """Broken twin: counting forgets the cap, and the filter does not."""
    del most
    return set(windows)


@pytest.mark.parametrize("counted", [counts_anew, never_counted])
def test_broken_counting_passes_the_wall(
    counted,
):
    """Where more windows count than the filter charges for, somebody loses more."""
    assert Pipeline(6, 2, dearer_after_alarms, counted).worst() > 2**6


class ChargesTheFirst(UserFilter):
    """Broken twin: takes everybody to count in the first windows, whichever are dearest."""

    def __init__(self, *given) -> None:
        super().__init__(*given)
        self.several = {}

    def answer(self, charge, shape):
        """Let a window pass for nothing once so many were held."""
        if charge.cap and self.several.get(charge.key.query, 0) >= charge.cap.windows:
            return Answer.RESERVED
        return super().answer(charge, shape)

    def hold(self, standing):
        """Count it where it is among the first."""
        self.several[standing.query] = self.several.get(standing.query, 0) + 1
        super().hold(standing)


def test_charging_the_first_windows_passes_the_wall(monkeypatch):
    """A person may have nothing in the first windows, and count in the dear ones at the end."""
    monkeypatch.setattr("tests.statistical.test_caps_exact.UserFilter", ChargesTheFirst)
    assert RIGHT.worst() > 2**RIGHT.wall
