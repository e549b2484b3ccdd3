"""Equal keys come together, whatever their columns hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream.events import grouping
from stream.events.grouping import firsts, grouped, occurrence

EDGES = [-(2**63), -(2**63) + 1, -1, 0, 1, 2**31, 2**63 - 1]
narrow = st.integers(-2, 2)
wide = st.sampled_from(EDGES)


@given(
    st.lists(st.tuples(narrow, narrow), max_size=60)
    | st.lists(st.tuples(narrow, wide), max_size=60)
    | st.lists(st.tuples(wide, wide, narrow), max_size=60)
    | st.lists(st.tuples(wide), max_size=60),
    st.booleans(),
)
def test_grouping_is_exact_whether_keys_are_packed_or_mixed(
    keys: list[tuple[int, ...]], collide: bool
) -> None:
    """Equal keys come together in log order, whether or not their mixes can tell them apart."""
    width = len(keys[0]) if keys else 2
    columns = [np.array([key[at] for key in keys], np.int64) for at in range(width)]
    with pytest.MonkeyPatch.context() as patch:
        if collide:
            patch.setattr(grouping, "_mix", lambda words: words * np.uint64(0))
        order, fresh = grouped(*columns)
        first, times = firsts(*columns), occurrence(*columns)
    runs = [run.tolist() for run in np.split(order, np.flatnonzero(fresh)[1:])]
    places: dict[tuple[int, ...], list[int]] = {}
    for at, key in enumerate(keys):
        places.setdefault(key, []).append(at)
    assert sorted(runs) == (sorted(places.values()) or [[]])
    assert times.tolist() == [keys[:at].count(key) for at, key in enumerate(keys)]
    assert first.tolist() == [key not in keys[:at] for at, key in enumerate(keys)]


def test_many_rows_of_few_keys_are_looked_up() -> None:
    """A table of all keys finds the same first rows as sorting does."""
    rng = np.random.default_rng(5)
    cells, people = rng.integers(-3, 40, 50_000), rng.integers(0, 300, 50_000)
    order, fresh = grouped(cells, people)
    assert np.flatnonzero(firsts(cells, people)).tolist() == np.sort(order[fresh]).tolist()
