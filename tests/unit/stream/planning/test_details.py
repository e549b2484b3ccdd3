"""Which comparison sets a price is named where there is one."""

from __future__ import annotations

import pytest

from stream.planning.details import detail_lines
from tests.support.planned import Alarm, Config

OR = "COUNT(*) FILTER (WHERE paid > 1) > 30 OR COUNT(DISTINCT person) > 120"
FILTERED = "COUNT(*) FILTER(WHERE paid > 1) > 30"


@pytest.mark.parametrize(
    ("having", "tolerance", "mechanism", "sets"),
    [
        (
            OR,
            f'{{"{FILTERED}": 2, COUNT(DISTINCT person) > 120: 5}}',
            "tslm",
            f"{FILTERED} with tolerance 2",
        ),
        # As many steps as lead from what fires to what must not, on one statistic.
        (
            "COUNT(*) > 100 OR COUNT(*) > 200",
            "{COUNT(*) > 100: 5, COUNT(*) > 200: 0}",
            "tslm",
            "COUNT(*) > 100 with tolerance 5",
        ),
        # A guard, which averages have, sets nothing.
        (
            "AVG(paid) > 2 OR COUNT(*) > 90",
            "{AVG(paid) > 2: 10, COUNT(*) > 90: 20}",
            "tslm",
            "AVG(paid) > 2 with tolerance 10",
        ),
        # One comparison, or a sum of losses, has no setter.
        ("COUNT(*) > 90", "2", "tslm", ""),
        (OR, "5", "probe", ""),
        (OR, "5", "probe-ent", ""),
    ],
)
def test_what_sets_the_price_is_named(tmp_path, having, tolerance, mechanism, sets):
    """In one sentence a condition."""
    alarm = Alarm(having=having, tolerance=tolerance, extra={"mechanism": mechanism})
    found = [*detail_lines(Config({"one": alarm}, epsilon_max="400").load(tmp_path))]
    assert found == ([f"one: {sets} sets the cost"] if sets else [])
