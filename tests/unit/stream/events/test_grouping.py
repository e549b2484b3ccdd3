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


def keys_of(*columns):
    """Return keys of some columns."""
    return st.lists(st.tuples(*columns), min_size=1, max_size=60)


@given(
    keys_of(narrow, narrow) | keys_of(narrow, wide) | keys_of(wide, wide, narrow) | keys_of(wide),
    st.booleans(),
)
def test_grouping_is_exact_whether_keys_are_packed_or_mixed(keys, collide):
    """Equal keys come together in log order, whether or not their mixes can tell them apart."""
    columns = list(np.array(keys, np.int64).T)
    with pytest.MonkeyPatch.context() as patch:
        if collide:
            patch.setattr(grouping, "_mix", lambda words: words * np.uint64(0))
        order, fresh = grouped(*columns)
        first, times = firsts(*columns), occurrence(*columns)
    runs = [run.tolist() for run in np.split(order, np.flatnonzero(fresh)[1:])]
    places = {}
    for at, key in enumerate(keys):
        places.setdefault(key, []).append(at)
    assert sorted(runs) == sorted(places.values())
    assert times.tolist() == [keys[:at].count(key) for at, key in enumerate(keys)]
    assert first.tolist() == [key not in keys[:at] for at, key in enumerate(keys)]
