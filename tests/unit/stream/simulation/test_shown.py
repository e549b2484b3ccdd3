"""What a terminal shows: every figure, whole, at the width there is."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from stream.simulation.shown import percent
from tests.support.simulated import alarm, near_the_threshold, shown, simulated


@pytest.fixture(scope="module")
def simulation():
    """Return a simulation of long names and wide figures, some windows of which are denied."""
    found = simulated(alarm(12), near_the_threshold(6, 12), epsilon_max=Fraction(2))
    named = (replace(found.alarms[0], alarm=name) for name in ("crowd", "people-in-a-room-" * 3))
    return replace(found, alarms=tuple(named))


@pytest.mark.parametrize("width", [80, 81, 100, 132, 200])
def test_every_figure_stands_whole_on_one_line(simulation, width):
    """From 80 columns on, in one table."""
    lines = shown(simulation, width).splitlines()
    assert max(map(len, lines)) <= width
    assert not any("\u2026" in line for line in lines)
    rows = [line.split() for line in lines]
    assert [row[:2] for row in rows].count(["alarm", "missed"]) == 1
    for one in simulation.alarms:
        assert one.denied
        figures = [*percent(one.fnr).split(), *percent(one.fpr).split(), f"{100 * one.denied:.3g}"]
        figures += [f"{one.epsilon_cell.mean:.3g}", f"{one.epsilon_worst:.3g}"]
        assert sum(row[-len(figures) :] == figures for row in rows) == 2, figures


def test_a_table_that_is_too_wide_is_found_out(simulation):
    """At 50 columns figures are cut off."""
    with pytest.raises(AssertionError):
        test_every_figure_stands_whole_on_one_line(simulation, 50)
