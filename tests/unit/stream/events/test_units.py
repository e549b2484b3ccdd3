"""Numbers of units stand for their hashes, however batches are cut and joined."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stream.events.units import Roster, Units


@given(st.integers(0, 2**32), st.integers(0, 40), st.integers(1, 5))
def test_joined_parts_are_the_whole(seed: int, size: int, parts: int) -> None:
    """Parts of one batch and of several, joined, are the same people, each known by one number."""
    rng = np.random.default_rng(seed)
    hashes = rng.integers(0, 3, (size, 2)).astype(np.uint64)
    cuts = np.sort(rng.integers(0, size + 1, parts - 1)).tolist()
    whole = Units.of(hashes)
    edges = list(zip([0, *cuts], [*cuts, size], strict=True))
    of_one = [whole[start:end] for start, end in edges]
    of_several = [Units.of(hashes[start:end]) for start, end in edges]
    for given_parts in (of_one, of_several, [*of_one[:1], *of_several[1:]]):
        joined = Units.joined(given_parts)
        assert joined.hashes().tolist() == hashes.tolist()
        hashed = joined.roster.hashed.tolist()
        assert len({tuple(unit) for unit in hashed}) == len(joined.roster)
        trimmed = joined.trimmed()
        assert trimmed.hashes().tolist() == hashes.tolist()
        if given_parts is of_one:
            assert joined.roster is whole.roster
        else:
            assert trimmed is joined  # nobody who is in no row
        assert set(trimmed.number.tolist()) == set(range(len(trimmed.roster)))


def test_a_roster_that_grows_leaves_numbers_as_they_were() -> None:
    """Whoever was given a number before others came has it still."""
    table = np.arange(40, dtype=np.uint64).reshape(20, 2)
    roster = Roster()
    held = []
    for start, stop in ((0, 1), (1, 3), (3, 4), (4, 20)):
        roster.extend(table[start:stop])
        held.append((Units(np.arange(stop), roster), table[:stop].tolist()))
    assert len(roster) == 20
    for units, hashes in held:
        assert units.hashes().tolist() == hashes
