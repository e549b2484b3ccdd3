"""What conditions cost as they are written: in SQL, of any size and shape, their limit."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from operators.registry import price
from stream.config.loading import examine
from tests.support.planned import Alarm, Config

if TYPE_CHECKING:
    from pathlib import Path

TREES = 200
CONSTANT = {"this condition is always true", "this condition is never true"}
STATISTICS = (
    ("COUNT(*)", 60, 200),
    ("COUNT(*) FILTER (WHERE floor = 1)", 60, 200),
    ("COUNT(DISTINCT person)", 60, 200),
    ("SUM(paid)", 100, 300),
    ("SUM(paid) FILTER (WHERE floor = 2)", 100, 300),
    ("AVG(paid)", 1, 4),
    ("MEDIAN(paid)", 1, 4),
    ("QUANTILE(paid, 0.75)", 1, 4),
    ("MAX(paid)", 1, 4),
)


def tree(dice: random.Random) -> Alarm:
    """Return an alarm of one to six comparisons of up to four statistics."""
    statistics = dice.sample(STATISTICS, dice.randint(1, 4))
    tolerances: dict[str, int] = {}

    def part(size: int) -> str:
        if size == 1:
            name, low, high = dice.choice(statistics)
            text = f"{name} {dice.choice(('>', '>=', '<', '<='))} {dice.randint(low, high)}"
            tolerances[text] = 0 if name.startswith("MAX") else dice.randint(0, 9)
            return dice.choice(("", "NOT ")) + text
        left = dice.randint(1, size - 1)
        joined = f"({part(left)} {dice.choice(('AND', 'OR'))} {part(size - left)})"
        return dice.choice(("", "", "NOT ")) + joined

    having = part(dice.randint(1, 6))
    written = ", ".join(f'"{text}": {each}' for text, each in tolerances.items())
    return Alarm(having=having, tolerance=f"{{{written}}}")


@pytest.mark.long
def test_every_condition_costs_its_limit(tmp_path: Path) -> None:
    """Sums, averages, medians, quantiles, filters, shared statistics, negations: ratio 1.000."""
    dice = random.Random(26)
    ratios: dict[str, float] = {}
    while len(ratios) < TREES:
        path = Config({"one": tree(dice)}, unit="event").write(tmp_path)
        found = examine(path, environ={})
        if found.alarms is None:
            assert {one.message for one in found.errors} <= CONSTANT, found.errors
            continue
        one = found.alarms.by_name["one"]
        ratios[one.sql] = price(one.mechanism, one.condition, one.aim).ratio
    assert {sql: ratio for sql, ratio in ratios.items() if f"{ratio:.3f}" != "1.000"} == {}
