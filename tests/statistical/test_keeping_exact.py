"""What alarms keep from one another, by exact enumeration of every transcript of small budgets.

Losses are whole multiples of ln 2 here, and noise is geometric with ratio 1/2: every probability is
a rational number. One alarm has a run of sparse vector, the other randomised responses of one unit
each. A twin that lets an open run go on without asking breaks the wall, one that looks at counts
gives neighbours other answers; twins that forget what is kept, ``test_ledger_histories`` has.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import NamedTuple

import numpy as np

from accountant.budget.keeping import Keepers
from tests.statistical.filter_law import Served
from tests.support.exact import transcripts as enumerated
from tests.support.exact import worst_ratio as ratio_of

RUN, OTHER = "run", "other"
OPEN_UNITS, ALARM_UNITS, ALARMS = 1, 1, 2
WHOLE = OPEN_UNITS + ALARMS * ALARM_UNITS
REACH = 48
"""Noise beyond this has a probability below 1e-13, and counts as this."""


class Seen(NamedTuple):
    """What was released of one window: its answer, and whether it rang where it was decided."""

    query: str
    granted: bool
    rang: bool = False


class Budget(Served):
    """A budget of the two alarms."""

    def __init__(self):
        super().__init__(WALL, Keepers({}))
        self.left = 0

    def asks(self, query):
        """Return what the next window of a query reserves."""
        if query == OTHER:
            return 1
        return self.left * ALARM_UNITS if self.left else WHOLE

    def next(self, query):
        """Ask for the next window of a query."""
        return self.grants(query, self.asks(query))

    def ends(self, query, *, rang):
        """End the window that was granted last."""
        units, left_units = 1, None
        if query == RUN:
            units = rang * ALARM_UNITS + (0 if self.left else OPEN_UNITS)
            left_units = self.asks(RUN) - units
            self.left = (self.left or ALARMS) - rang
        self.end(query, units, left_units=left_units)


THRESHOLD = 2
ORDER = (RUN, OTHER, OTHER, OTHER, RUN, RUN)
WALL = WHOLE + 1


@cache
def at_least(value):
    """Return the probability that two-sided geometric noise with ratio 1/2 reaches a value."""
    if value > 0:
        return Fraction(2, 3 * 2**value)
    return 1 - Fraction(1, 3 * 2**-value)


@cache
def is_exactly(value):
    """Return the probability of a value of that noise; the outermost ones hold the tails."""
    if abs(value) == REACH:
        return at_least(REACH)
    return at_least(value) - at_least(value + 1)


def transcripts(counts, grants):
    """Return the probability of every transcript, refusals included.

    Args:
        counts: the data.
        grants: asks for a window, given the budget and its count.
    """
    noise = range(-REACH, REACH + 1)

    def turn(said):
        budget, at = Budget(), len(said)
        for one, count in zip(said, counts, strict=False):
            grants(budget, one.query, count)
            if one.granted:
                budget.ends(one.query, rang=one.rang)
        if at == len(ORDER):
            return {}
        query, count = ORDER[at], counts[at]
        if not grants(budget, query, count):
            return {Seen(query, granted=False): 1}
        rings = Fraction(2, 3) if count >= THRESHOLD else Fraction(1, 3)
        if query == RUN:  # it rings where count + noise passes threshold + rho
            rings = np.array([at_least(THRESHOLD + rho + 1 - count) for rho in noise])
        return {Seen(query, True, rang): rings if rang else 1 - rings for rang in (False, True)}

    found = enumerated(np.array(list(map(is_exactly, noise))), turn)
    assert sum(found.values()) == 1
    return found


def by_the_filter(budget, query, count):
    """Ask the filter; the transcript is all it knows."""
    del count
    return budget.next(query)


def goes_on_unasked(budget, query, count):
    """Broken twin: silence is free, so a run goes on; others may have what its alarms cost."""
    del count
    budget.judge._keepers = Keepers()
    granted = budget.next(query)
    return granted or (query == RUN and budget.left > 0)


def looks_at_counts(budget, query, count):
    """Broken twin: keeps for a run only where its count is about to pass the threshold."""
    granted = budget.next(query)
    return granted or (query == OTHER and count < THRESHOLD)


NEIGHBOURS = [
    (counts, tuple(one + more for one, more in zip(counts, change, strict=True)))
    for counts, change in (
        ((2, 1, 1, 1, 1, 2), (1, 1, 1, 1, 1, 1)),
        ((3, 1, 1, 1, 2, 2), (0, 1, 1, 1, 1, 0)),
        # Alarms where they are all but impossible tell most.
        ((9, 1, 1, 1, -7, -7), (0, 1, 1, 1, 1, 1)),
    )
]


def worst_ratio(grants):
    """Return the largest ratio of a transcript's probabilities; ``None`` for one to none."""
    found = [ratio_of(*(transcripts(each, grants) for each in pair)) for pair in NEIGHBOURS]
    return max(each for each in found if each) if all(found) else None


def test_every_transcript_is_nearly_as_likely_without_a_person():
    """Grants and refusals beside an open run included, no transcript says more than the wall."""
    ratio = worst_ratio(by_the_filter)
    assert 2 ** (WALL - 2) < ratio <= 2**WALL


def test_a_run_that_goes_on_unasked_passes_the_wall():
    """The same enumeration finds the twin: a run's rest is drawn twice."""
    ratio = worst_ratio(goes_on_unasked)
    assert ratio > 2**WALL


def test_keeping_by_counts_tells_them():
    """The same enumeration finds refusals of which one neighbour knows nothing."""
    assert worst_ratio(looks_at_counts) is None
