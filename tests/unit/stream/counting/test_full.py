"""What is full is told early, and changes nothing that is counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream.counting import full as full_places
from stream.counting.bounding import Bounds, Contributions
from stream.counting.full import Full
from stream.events.units import Roster, Units
from tests.support.contributions import CELLS, random_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Met:
    """Units as a reader hands them out: of one roster, to which newcomers are added."""

    def __init__(self) -> None:
        self.roster = Roster()
        self.known: list[list[int]] = []

    def __call__(self, hashes: NDArray[np.uint64]) -> Units:
        """Return the units of rows by their hashes, newcomers added to the roster."""
        for unit in hashes.tolist():
            if unit not in self.known:
                self.known.append(unit)
                self.roster.extend(np.array([unit], np.uint64))
        numbers = [self.known.index(unit) for unit in hashes.tolist()]
        return Units(np.array(numbers, np.int64), self.roster)


@settings(max_examples=200)
@given(
    st.integers(0, 2**32),
    st.booleans(),
    st.lists(st.booleans(), min_size=1, max_size=3),
    st.tuples(st.booleans(), st.booleans()),
    st.sampled_from([("own", "own"), ("met", "met"), ("own", "met"), ("met", "own")]),
)
def test_leaving_out_what_is_full_changes_nothing(
    seed: int,
    per_user: bool,
    distinct: list[bool],
    ways: tuple[bool, bool],
    rosters: tuple[str, str],
) -> None:
    """Bounded rows and what a table of the full lets through are bounded as all rows are.

    Whether both have the same roster, which has grown, or each its own.
    """
    deduplicate, crowded = ways
    rng = np.random.default_rng(seed)
    rules = Bounds(per_user, tuple(distinct), deduplicate, *rng.integers(1, 4, 2).tolist())
    units = {"own": Units.of, "met": Met()}
    sizes = rng.integers(1, 60, 3).tolist()
    first = random_rows(rng, sizes[0], rules, start=0, units=units[rosters[0]])
    kept = rules.compact(first)
    with pytest.MonkeyPatch.context() as patch:
        if crowded:
            patch.setattr(full_places, "_SLOTS_OF_ONE", 1)
        full = Full(kept, rules.caps, CELLS)
        later, still_later = (
            random_rows(rng, size, rules, start=start, units=units[rosters[1]])
            for start, size in ((100, sizes[1]), (200, sizes[2]))
        )
        let_through = [full.narrowed(later), full.narrowed(still_later)]
    whole = rules.apply(Contributions.join([first, later, still_later]))
    bounded = rules.apply(Contributions.join([kept, *let_through]))
    assert bounded.sequence.tolist() == whole.sequence.tolist()
    assert bounded.counts.tolist() == whole.counts.tolist()


def test_whoever_is_in_a_cell_already_does_not_come_in_again() -> None:
    """One event each is let through where nobody was, and where nobody is known.

    ::

        kept     P in 0, P in 1, Q in 0
        later    P in 0, Q in 1, Q in 0, R in 0
        through          ^               ^
    """
    rules = Bounds(True, (True,), False, 2, 1)
    people = Roster(np.array([[1, 5], [1, 6], [2, 5]], np.uint64))

    def rows(unit: list[int], cell: list[int]) -> Contributions:
        size = len(unit)
        ones = np.ones((1, size), np.int64)
        zeros = np.zeros(size, np.int64)
        numbers = Units(np.array(unit), people)
        return Contributions(np.arange(size), zeros, numbers, np.array(cell), ones, ones > 0, None)

    table = Full(rows([0, 0, 2], [0, 1, 0]), rules.caps, CELLS)
    assert table.narrowed(rows([0, 2, 2, 1], [0, 1, 0, 0])).sequence.tolist() == [1, 3]
