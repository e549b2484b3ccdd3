"""Patterns that no other one contains, against comparing every pair."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from accountant.regions.patterns import maximal, members_of

PATTERNS = st.lists(st.integers(0, 2**9 - 1), max_size=12)


def by_pairs(patterns):
    """Return the places of the first of each pattern that no other pattern contains."""
    return [
        at
        for at, each in enumerate(patterns)
        if each not in patterns[:at]
        and not any(each & other == each != other for other in patterns)
    ]


@given(PATTERNS)
def test_the_largest_are_those_of_all_pairs(patterns):
    """Whatever the order, and with equal ones among them."""
    found = maximal(patterns, len(patterns))
    assert sorted(patterns[at] for at in found) == sorted(patterns[at] for at in by_pairs(patterns))
    assert found == sorted(found)


@given(PATTERNS, st.integers(0, 4))
def test_beyond_the_effort_none_is_lost(patterns, most):
    """Some that others contain may stay, but whatever contains them stays too."""
    found = maximal(patterns, most)
    assert {patterns[at] for at in by_pairs(patterns)} <= {patterns[at] for at in found}


@given(st.integers(0, 2**70), st.integers(71, 80))
def test_a_pattern_is_its_members(pattern, count):
    """Bits are read as truth values."""
    members = members_of(pattern, count)
    assert [at for at in range(count) if pattern >> at & 1] == members.nonzero()[0].tolist()
