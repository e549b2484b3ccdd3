"""A filled template has the requirements, and its lock says how they are met within the budget."""

from __future__ import annotations

from dataclasses import replace

import pytest

from accountant.errors import BudgetError
from stream.planning.budget import budget_plan
from stream.planning.figures import figures
from stream.planning.shown import plan_lines
from stream.planning.templates.answers import TEMPLATES
from stream.planning.templates.filling import fill


@pytest.mark.parametrize("name", TEMPLATES)
def test_the_budget_carries_it_and_it_keeps_what_is_wanted(name: str) -> None:
    """The plan of the file as it is run says so."""
    filled = fill(TEMPLATES[name])
    assert filled.found.keeps
    assert budget_plan(filled.alarms).fits
    assert "mechanism" not in filled.text
    assert "mechanism:" in filled.lock
    lines = list(plan_lines(figures(filled.alarms)))
    assert len(lines) <= 25
    assert max(map(len, lines)) <= 80


def test_groups_of_several_fields_and_sliding_windows() -> None:
    """A chain: twelve shops, five classes, any fifteen minutes, a person's week protected."""
    chain = replace(
        TEMPLATES["shop"],
        group_by=("shop", "class"),
        values=(tuple(f"s{at}" for at in range(12)), ("tea", "milk", "bread", "fruit", "soap")),
        amount="units",
        clip=3,
        threshold=90,
        baseline=20,
        window="15m",
        slide="5m",
        active="Mon-Sat 08:00-20:00",
        epsilon="3",
        max_events=1,
        max_delay="10m",
    )
    filled = fill(chain)
    assert filled.found.alarm.hold_ms == 600_000
    assert filled.found.alarm.aim.alarms > 1
    assert budget_plan(filled.alarms).fits
    with pytest.raises(BudgetError):
        fill(replace(chain, active=""))
