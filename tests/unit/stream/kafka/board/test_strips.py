"""A strip shows each window as what it was, by a shape of its own."""

from __future__ import annotations

import re
from itertools import combinations
from typing import TYPE_CHECKING

from stream.kafka.board.standing import Outcome, Seen
from stream.kafka.board.strips import SHAPES, WIDTH, Strips

if TYPE_CHECKING:
    from stream.kafka.board.standing import Group

LAB: Group = (("room", "lab"),)
HALL: Group = (("room", "hall"),)
RANG = Seen(0, 1, Outcome.NOT_FIRED, "", (LAB,), (), 1, 0)
SILENT = Seen(1, 2, Outcome.NOT_FIRED, "", (), (), 0, 0)
DENIED = Seen(2, 3, Outcome.DENIED, "budget", (), (), 0, 0)
UNSURE = Seen(3, 4, Outcome.UNSURE, "unanswered", (LAB,), (), 1, 2)
HELD = Seen(4, 5, Outcome.NOT_FIRED, "", (), (LAB,), 0, 0)
BROKEN = Seen(5, 6, Outcome.DENIED, "budget", (), (LAB,), 0, 0)
ALL = (RANG, SILENT, DENIED, UNSURE, HELD, BROKEN)


def drawn(group: Group | None) -> str:
    """Return a letter a window, by where the paths begin."""
    found = {}
    strips = Strips(ALL)
    strip = strips.any() if group is None else strips.of(group)
    for kind, path in strip.paths.items():
        if kind != "lost":
            found |= {int(x) // WIDTH: kind[0] for x in re.findall(r"M(\d+) ", path)}
    return "".join(found.get(place, " ") for place in range(len(ALL)))


def test_each_window_is_what_it_was_for_whom_it_is_asked() -> None:
    """Fired, did not fire, denied, unsure, earlier; the oldest is at the left."""
    assert drawn(LAB) == "fndfee"
    assert drawn(HALL) == "nndund"
    assert drawn(None) == "fndfed"


def test_no_window_is_left_out_of_the_counts() -> None:
    """They add up to the windows, and lost ones are a line, no window."""
    strip = Strips(ALL).of(LAB)
    assert sum(strip.counts.values()) == len(ALL)
    assert (strip.paths["lost"], strip.last) == ("M30 0v20", 3)


def test_shapes_differ_without_any_colour() -> None:
    """No two kinds are drawn alike."""
    assert all(one != other for one, other in combinations(SHAPES.values(), 2))
    assert set(SHAPES) == {"fired", "earlier", "lost", *Outcome}
