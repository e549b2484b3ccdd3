"""The worst-placed event carries exactly the largest sum of charges that cover one instant."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from accountant.overlap import Held, worst_instant

spans = st.lists(
    st.builds(
        lambda start, size, loss: Held(start, start + size, loss),
        st.integers(0, 30),
        st.integers(1, 12),
        st.integers(0, 9),
    ),
    max_size=12,
)


def by_hand(charges: list[Held], first: int = 0, end: int = 50) -> int:
    """Add up every instant one by one."""
    loss: Counter[int] = Counter()
    for one in charges:
        loss.update(dict.fromkeys(range(one.start_ms, one.end_ms), one.loss_units))
    return max((loss[at] for at in range(first, end)), default=0)


@given(spans)
def test_matches_adding_up_every_instant(charges: list[Held]) -> None:
    """The sweep agrees with brute force over all of time."""
    assert worst_instant(charges) == by_hand(charges)


@given(spans, st.integers(0, 40), st.integers(1, 20))
def test_matches_within_a_span(charges: list[Held], first: int, size: int) -> None:
    """The sweep agrees with brute force inside a window."""
    found = worst_instant(charges, within=(first, first + size))
    assert found == by_hand(charges, first, first + size)


def test_windows_are_half_open() -> None:
    """A window that ends where the next starts shares no instant with it."""
    touching = [Held(0, 10, 3), Held(10, 20, 4), Held(20, 30, 5)]
    assert worst_instant(touching) == 5
    assert worst_instant([*touching, Held(9, 11, 1)]) == 5
    assert worst_instant([*touching, Held(9, 21, 1)]) == 6


def test_nothing_covers_nothing() -> None:
    """Without charges, or outside all of them, no loss is carried."""
    assert worst_instant([]) == 0
    assert worst_instant([Held(0, 10, 3)], within=(10, 20)) == 0
