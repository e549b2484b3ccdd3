"""What is full is told early, and changes nothing that is counted."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream.counting import full as full_places
from stream.counting.bounding import Bounds, Contributions
from stream.counting.full import Full
from stream.events.units import Roster, Units
from tests.support.contributions import CELLS, RNG, RULES, random_rows, rows_of, taken


def through(full, rows):
    """Return the entries that a table of the full lets through."""
    return rows.take(full.free(rows.unit, rows.period, rows.place))


class Met:
    """Units as a reader hands them out: of one roster, to which newcomers are added."""

    def __init__(self):
        self.roster = Roster()
        self.known = []

    def __call__(self, hashes):
        """Return the units of rows by their hashes, newcomers added to the roster."""
        for unit in hashes.tolist():
            if unit not in self.known:
                self.known.append(unit)
                self.roster.extend(np.array([unit], np.uint64))
        numbers = [self.known.index(unit) for unit in hashes.tolist()]
        return Units(np.array(numbers, np.int64), self.roster)


WAYS = [{}, {"_SLOT_BYTES": 0}, {"_SLOT_BYTES": 0, "_SLOTS_OF_ONE": 1}]
"""A flag a place; slots, that places seldom share; slots that they often share."""


@settings(max_examples=300)
@given(RULES, RNG, st.sampled_from(WAYS), st.sampled_from(list(product(("own", "met"), repeat=2))))
def test_leaving_out_what_is_full_changes_nothing(rules, rng, way, rosters):
    """Bounded rows and what a table of the full lets through are bounded as all rows are.

    Whether both have the same roster, which has grown, or each its own.
    """
    units = {"own": Units.of, "met": Met()}
    first, later, still_later = (
        random_rows(rng, int(rng.integers(1, 60)), rules, start=start, units=units[of])
        for start, of in ((0, rosters[0]), (100, rosters[1]), (200, rosters[1]))
    )
    kept = rules.compact(first)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in way.items():
            patch.setattr(full_places, name, value)
        full = Full(kept, rules)
    let_through = [through(full, later), through(full, still_later)]
    whole = rules.apply(Contributions.join([first, later, still_later]))
    bounded = rules.apply(Contributions.join([kept, *let_through]))
    assert bounded.sequence.tolist() == whole.sequence.tolist()
    assert bounded.place.tolist() == whole.place.tolist()


@pytest.mark.parametrize("way", WAYS[:2])
def test_whoever_is_in_a_cell_already_does_not_come_in_again(monkeypatch, way):
    """One event each is let through where nobody was, and where nobody was known.

    ::

        kept     P in 0, P in 1, Q in the last
        later    P in 0, Q in 1, Q in the last, R in 0, and N in 1, who was met since
        through          ^                      ^       ^
    """
    for name, value in way.items():
        monkeypatch.setattr(full_places, name, value)
    rules = Bounds(True, (True,), False, 2, 1, CELLS)
    people, last = Roster(np.array([[1, 5], [1, 6], [2, 5]], np.uint64)), CELLS - 1

    def rows(unit, cell):
        units = Units(np.array(unit), people)
        return taken(rows_of(len(unit), unit=units, cell=np.array(cell)))

    table = Full(rows([0, 0, 2], [0, 1, last]), rules)
    people.extend(np.array([[3, 5]], np.uint64))
    later = rows([0, 2, 2, 1, 3], [0, 1, last, 0, 1])
    assert through(table, later).sequence.tolist() == [1, 3, 4]
