"""The share of events dropped of late: of the last quarter of an hour, and never above 1."""

from __future__ import annotations

from stream.metrics.shares import SPAN_S, RecentShare


class _Clock:
    now_s = 1_000.0

    def __call__(self) -> float:
        return self.now_s


def test_only_what_was_read_of_late_counts() -> None:
    """Good events, then bad ones: the share rises, and forgets the good ones after the span."""
    clock = _Clock()
    share = RecentShare(clock)
    assert share.value() == 0
    share.add(read=300)
    clock.now_s += 600
    share.add(read=100)
    share.add(dropped=100)
    assert share.value() == 0.25
    clock.now_s += SPAN_S - 599
    assert share.value() == 1
    clock.now_s += SPAN_S
    assert share.value() == 0


def test_a_drop_that_is_told_first_is_no_more_than_all() -> None:
    """Readers tell of events and of drops in two calls; whoever asks in between sees a share."""
    share = RecentShare(_Clock())
    share.add(dropped=5)
    assert share.value() == 0
    share.add(read=4)
    assert share.value() == 1


def test_many_additions_are_few_pieces() -> None:
    """Memory does not grow with the events of a span."""
    clock = _Clock()
    share = RecentShare(clock)
    for _ in range(10_000):
        clock.now_s += 1
        share.add(read=2, dropped=1)
    assert share.value() == 0.5
    assert len(share._pieces) <= SPAN_S / 15 + 1
