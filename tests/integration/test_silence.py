"""A bound on what is missed where nothing fires: the plan keeps it, for a higher price."""

from __future__ import annotations

from pathlib import Path

import pytest

from stream.config.loading import load
from stream.decisions.mechanisms import price_of
from stream.planning.runs import missed_given_no_alarm
from tests.support.commands import configuration, json_lines, tocsin

LIMIT = 0.06


def test_a_bound_is_planned_for_and_charged(tmp_path):
    """It is kept where it would not be kept without, and said where it is beyond twice max_fnr."""
    found = []
    for bound in (f", max_fnr_given_no_alarm: {LIMIT}", ""):
        keys = f"mechanism: {{svt: {{max_alarms: 20{bound}}}}}"
        path = configuration(tmp_path, unit="user", epsilon_max="1000", more=keys)
        alarms = load(Path(path), environ={})
        query = alarms.by_name["crowd"]
        (budget,) = json_lines(tocsin("plan", path, "--json"))
        (planned,) = budget["alarms"]
        late = missed_given_no_alarm(query, alarms.budget)
        found.append((late, price_of(query).epsilon, planned["miss_rate_given_no_alarm"]))
    (kept, price, unsaid), (free, plain, said) = found
    assert kept <= LIMIT < free
    assert price > plain
    assert unsaid is None
    assert said == pytest.approx(free)
    assert f"up to {said:.2g} late" in tocsin("plan", path).stdout
