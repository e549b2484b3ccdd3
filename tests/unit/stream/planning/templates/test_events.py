"""Made-up events: the alarm is due once, all but surely rings, and nothing of them is random."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from stream.decisions.mechanisms import operator_of
from stream.planning.templates.answers import TEMPLATES, Answers, Measured
from stream.planning.templates.events import made_up
from stream.planning.templates.filling import FilledTemplate, fill

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stream.planning.templates.events import MadeUp

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


def figures(filled: FilledTemplate, made: MadeUp) -> Counter[tuple[int, tuple[str, ...]]]:
    """Count or add up the events by window and value, capped as the configuration caps them."""
    answers, (query,) = filled.answers, filled.alarms.by_name.values()
    found: Counter[tuple[int, tuple[str, ...]]] = Counter()
    people: Counter[tuple[int, tuple[str, ...], object]] = Counter()
    for line in made.lines:
        event = json.loads(line)
        time_ms = int(np.datetime64(event[answers.time].removesuffix("Z"), "ms").astype(np.int64))
        (window,) = query.calendar.containing(np.array([time_ms]))[0]
        assert query.calendar.active(int(window))
        group = tuple(str(event[name]) for name in answers.group_by)
        cell = (query.calendar.bounds(int(window))[0], group)
        weight = event[answers.amount] if answers.measured is Measured.AMOUNT else 1
        found[cell] += weight
        people[*cell, event[answers.unit]] += 1
    if answers.people:
        most = 1 if answers.measured is Measured.PEOPLE else answers.max_events
        assert max(people.values()) <= most
        places = Counter((window, person) for window, _, person in people)
        assert max(places.values()) <= answers.max_groups
    return found


@pytest.mark.parametrize("answers", CASES.values(), ids=CASES)
def test_one_window_rings_all_but_surely(answers: Answers) -> None:
    """By the exact law it misses the figure once in a million, and is quiet at the others."""
    filled = fill(answers)
    made = made_up(filled)
    (query,) = filled.alarms.by_name.values()
    found = figures(filled, made)
    due = (made.since_ms, made.group)
    assert found[due] == made.figure
    assert max(found, key=found.__getitem__) == due
    operator: Any = operator_of(query)  # of one draw a cell

    def law(counts: NDArray[np.int64]) -> NDArray[np.uint64]:
        found: NDArray[np.uint64] = operator.operator.law(operator.score.read(counts[np.newaxis]))
        return found

    (aggregate,) = query.aggregates
    per_unit = int(1 / aggregate.per_unit)
    cells = len(answers.groups)
    silent = ONE - int(law(np.full(cells, made.figure * per_unit))[0])
    assert silent * 1_000_000 < ONE
    second = max((figure for cell, figure in found.items() if cell != due), default=0)
    assert second <= answers.baseline
    # What `init` prints of the usual figure is a bound of the law, and the sample's are below it.
    for figure in (second, answers.baseline):
        rings = int(law(np.full(cells, figure * per_unit))[0]) / ONE
        assert rings <= filled.fires_at(figure) * 1.000001
    if second > 1:
        assert filled.fires_at(second) * len(found) <= 1.1e-3


def test_the_events_are_the_same_every_time() -> None:
    """They follow from the answers, and lie in the order of their times."""
    filled = fill(TEMPLATES["office"])
    lines = made_up(filled).lines
    assert lines == made_up(filled).lines
    times = [json.loads(line)["ts"] for line in lines]
    assert times == sorted(times)


def test_a_long_history_makes_no_large_file() -> None:
    """Where windows are many, only some have events."""
    filled = fill(CASES["a year"])
    assert 2_000 < len(made_up(filled).lines) < 10_000
