"""Caps over a period, by exact enumeration of every transcript of tiny pipelines.

Losses are whole multiples of ln 2 here: a window's answer is a randomised response about whether
anybody counts in it, and its price follows from the answers before it (fully adaptive costs). The
real filter grants windows; the real rule says in which of them somebody counts. Every world of one
person's windows is compared with the world without that person, for every transcript. Twins that
count or charge wrongly pass the wall.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest

from accountant.budget.filter import UserFilter
from accountant.costs.charges import PeriodCap
from accountant.records import Answer
from stream.counting.bounding import Contributions
from stream.counting.usage import Usage
from stream.events.units import Units
from tests.statistical.filter_law import Served

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Transcript = tuple[int | None, ...]

ALARMS = ("a", "b")
WINDOWS = 4
DENIED = "a", 2
"""This window is denied, whatever happens: it costs nothing, and uses up the cap."""


@dataclass(frozen=True)
class Pipeline:
    """How windows are priced, counted and charged.

    Args:
        wall: in units of ln 2.
        most: in how many windows of an alarm somebody counts.
        price: of a window, from its place and the answers before it.
        counted: in which of their windows somebody counts, by the rule.
        judge: of the windows.
    """

    wall: int
    most: int
    price: Callable[[int, Transcript], int]
    counted: Callable[[Sequence[int], int], set[int]]
    judge: type[UserFilter] = UserFilter

    @cached_property
    def transcripts(self):
        """Return every transcript with the windows decided in it: alarm, window, price."""
        found = {}
        for answers in product((0, 1), repeat=WINDOWS * len(ALARMS)):
            served, seen, decided = Served(self.wall, kind=self.judge), [], []
            order = product(range(WINDOWS), ALARMS)
            for answer, (window, alarm) in zip(answers, order, strict=True):
                units, cap = self.price(window, tuple(seen)), PeriodCap(self.most, alarm, "f")
                granted = served.grants(alarm, units, cap) and (alarm, window) != DENIED
                seen.append(answer if granted else None)
                if granted:
                    served.end(alarm, units, cap=cap)
                    decided.append((alarm, window, units))
            found[tuple(seen)] = decided
        return found

    def worst(self):
        """Return the largest loss of a transcript, with and without a person."""
        subsets = [tuple(w for w in range(WINDOWS) if bits >> w & 1) for bits in range(2**WINDOWS)]
        inside = [self.counted(each, self.most) for each in subsets]
        return max(
            abs(loss(seen, decided, dict(zip(ALARMS, counts, strict=True))))
            for counts in product(inside, repeat=len(ALARMS))
            for seen, decided in self.transcripts.items()
        )


def loss(seen, decided, inside):
    """Return by how much likelier a transcript is with the person than without."""
    answers = (answer for answer in seen if answer is not None)
    pairs = zip(decided, answers, strict=True)
    return sum(
        units * (2 * answer - 1)
        for (alarm, window, units), answer in pairs
        if window in inside[alarm]
    )


def first_of(windows, most):
    """Return the windows that one person counts in, by the rule that counting keeps."""
    usage = Usage(most)
    return {window for window in windows if len(usage.take(one_row()))}


def one_row():
    """Return one event of the person."""
    zero = np.zeros(1, int)
    unit = Units.of(np.zeros((1, 2), np.uint64))
    return Contributions(zero, zero, unit, zero, zero + 1, None)


def dearer_after_alarms(window, seen):
    """Cost more where something rang, and at the end."""
    return 1 + (1 in seen) + (window == WINDOWS - 1)


@pytest.mark.parametrize(("wall", "most"), [(3, 1), (6, 2), (9, 3)])
def test_nobody_loses_more_than_the_wall(wall, most):
    """For every transcript, everybody's windows and every adaptive price."""
    pipeline = Pipeline(wall, most, dearer_after_alarms, first_of)
    assert pipeline.worst() <= wall


def test_the_wall_is_reached_and_later_windows_are_free():
    """The charge is exact: somebody loses all of it, and windows beyond the cap cost no more."""
    pipeline = Pipeline(4, 2, lambda _window, _seen: 1, first_of)
    assert pipeline.worst() == 4
    decided = {len(each) for each in pipeline.transcripts.values()}
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
def test_broken_counting_passes_the_wall(counted):
    """Where more windows count than the filter charges for, somebody loses more."""
    assert Pipeline(6, 2, dearer_after_alarms, counted).worst() > 6


class ChargesTheFirst(UserFilter):
    """Broken twin: takes everybody to count in the first windows, whichever are dearest."""

    def __init__(self, *given):
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


def test_charging_the_first_windows_passes_the_wall():
    """A person may have nothing in the first windows, and count in the dear ones at the end."""
    assert Pipeline(6, 2, dearer_after_alarms, first_of, ChargesTheFirst).worst() > 6
