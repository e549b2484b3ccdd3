"""Numbers of units stand for their hashes, however batches are cut and joined."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stream.events.units import Units

WORD = st.integers(0, 2)


@given(st.lists(st.tuples(WORD, WORD), max_size=40), st.lists(st.integers(0, 40), max_size=4))
def test_joined_parts_are_the_whole(rows, cuts):
    """Parts of one batch and of several, joined, are the same people, each known by one number."""
    hashes = np.array(rows, np.uint64).reshape(-1, 2)
    whole = Units.of(hashes)
    edges = list(pairwise((0, *sorted(min(at, len(rows)) for at in cuts), len(rows))))
    of_one = [whole[start:end] for start, end in edges]
    of_several = [Units.of(hashes[start:end]) for start, end in edges]
    for parts in (of_one, of_several, [*of_one[:1], *of_several[1:]]):
        joined = Units.joined(parts)
        trimmed = joined.trimmed()
        assert joined.hashes().tolist() == trimmed.hashes().tolist() == hashes.tolist()
        assert len(np.unique(joined.roster.hashed, axis=0)) == len(joined.roster)
        assert set(trimmed.number.tolist()) == set(range(len(trimmed.roster)))
        # The roster of all, or nobody who is in no row.
        assert (joined.roster is whole.roster) if parts is of_one else (trimmed is joined)
