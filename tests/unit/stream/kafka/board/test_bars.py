"""Bars of noisy counts: as long as the counts are, with a line as long as the noise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from stream.kafka.board.bars import LENGTH, bars

if TYPE_CHECKING:
    from stream.kafka.board.counts import Predicate


def room(name: str) -> Predicate:
    """Return a predicate."""
    return (("room", name),)


def test_the_largest_come_first_and_so_many() -> None:
    """Equal counts stand in the order of their values."""
    counts = {room("a"): 1.0, room("c"): 7.0, room("b"): 7.0}
    assert [bar.predicate for bar in bars(counts, 1.0, 2)] == [room("b"), room("c")]


def test_lengths_are_proportions() -> None:
    """From 0, to the count; the line from a deviation below to one above."""
    half, whole = reversed(bars({room("a"): 15.0, room("b"): 5.0}, 5.0, 9))
    assert whole.path == f"M0 4H{LENGTH * 15 // 20}V16H0z"
    assert whole.noise == f"M{LENGTH * 10 // 20} 10H{LENGTH}"
    assert half.path == f"M0 4H{LENGTH * 5 // 20}V16H0z"


def test_a_negative_count_goes_the_other_way() -> None:
    """And is not cut off."""
    high, low = bars({room("a"): 15.0, room("b"): -4.0}, 1.0, 9)
    zero = round(5 * LENGTH / 21)
    assert high.path == f"M{zero} 4H{round(20 * LENGTH / 21)}V16H{zero}z"
    assert low.path == f"M{zero} 4H{round(1 * LENGTH / 21)}V16H{zero}z"
    assert low.number == "-4"


@pytest.mark.parametrize(
    ("count", "deviation", "text"),
    [
        (1234.56, 55.0, "1,235"),
        (7, 5.5, "7"),
        (-2.46, 0.55, "-2.5"),
        (3.14159, 0.02, "3.14"),
        (5.0, 0.0, "5"),
    ],
)
def test_a_count_is_told_as_exactly_as_it_is_known(
    count: float, deviation: float, text: str
) -> None:
    """To the digit that the noise begins with, whole at least."""
    assert bars({room("a"): count}, deviation, 1)[0].number == text


def test_nothing_counted_and_no_noise_is_no_length() -> None:
    """A window of zeros does not divide by zero."""
    (bar,) = bars({room("a"): 0.0}, 0.0, 1)
    assert (bar.path, bar.noise) == ("M0 4H0V16H0z", "M0 10H0")
    assert bars({}, 1.0, 5) == ()
