"""Made-up events: the alarm is due once, all but surely rings, and nothing of them is random."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from stream.decisions.mechanisms import operator_of
from stream.planning.templates.answers import TEMPLATES, Measured
from stream.planning.templates.events import made_up
from stream.planning.templates.filling import fill
from stream.simulation.history import count_history

ONE = 1 << 64
CASES = {
    **TEMPLATES,
    "rare misses": replace(TEMPLATES["office"], max_fnr="1/1000", epsilon="16"),
    "a year": replace(TEMPLATES["web"], until="2026-03-03"),
    "whole numbers": replace(
        TEMPLATES["shop"], values=(("7", "8"),), numbered_groups=("shop",), numbered=True
    ),
    "little is usual": replace(TEMPLATES["sensors"], baseline=1),
}


def counted(folder, filled, made):
    """Return what a run counts of the events, by window and group; it drops none of them."""
    answers, file = filled.answers, folder / "sample.jsonl"
    file.write_text("".join(f"{line}\n" for line in made.lines))
    (query,) = filled.alarms.by_name.values()
    history = count_history(filled.alarms, {query.feed.name: [file]})[query.id]
    figures = history.stacked(0, history.windows)[:, 0] * query.aggregates[0].per_unit
    weights = [
        json.loads(line)[answers.amount] if answers.measured is Measured.AMOUNT else 1
        for line in made.lines
    ]
    assert figures.sum() == sum(weights)
    groups = [tuple(query.domain.group(cell).values()) for cell in range(history.cells)]
    return {
        (int(history.starts_ms[window]), groups[cell]): figures[window, cell]
        for window, cell in np.argwhere(figures)
    }


@pytest.mark.parametrize("answers", CASES.values(), ids=CASES)
def test_one_window_fires_all_but_surely(answers, tmp_path):
    """By the exact law it misses the figure once in a million, and is quiet at the others."""
    filled = fill(answers)
    made, (query,) = made_up(filled), filled.alarms.by_name.values()
    found, due = counted(tmp_path, filled, made), (made.since_ms, made.group)
    assert found.pop(due) == made.figure > max(found.values(), default=0)
    operator = operator_of(query)  # of one draw a cell

    def law(figure):
        granules = np.full((1, len(answers.groups)), int(figure / query.aggregates[0].per_unit))
        return int(operator.operator.law(operator.score.read(granules))[0])

    assert (ONE - law(made.figure)) * 1_000_000 < ONE
    second = max(found.values(), default=0)
    assert second <= answers.baseline
    # What `init` prints of the baseline is a bound of the law, and the sample's are below it.
    for figure in (second, answers.baseline):
        assert law(figure) / ONE <= filled.fires_at(figure) * 1.000001
    if second > 1:
        assert filled.fires_at(second) * (len(found) + 1) <= 1.1e-3


def test_the_events_are_the_same_every_time():
    """They follow from the answers, and lie in the order of their times."""
    filled = fill(TEMPLATES["office"])
    lines = made_up(filled).lines
    assert lines == made_up(filled).lines
    times = [json.loads(line)["ts"] for line in lines]
    assert times == sorted(times)


def test_a_long_history_makes_no_large_file():
    """Where windows are many, only some have events."""
    filled = fill(CASES["a year"])
    assert 2_000 < len(made_up(filled).lines) < 10_000
