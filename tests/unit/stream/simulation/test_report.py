"""The report in JSON."""

from __future__ import annotations

import json

import pytest

from stream.simulation.report import report
from stream.simulation.results import AUDIENCE, CAVEAT
from tests.support.simulated import alarm, near_the_threshold, shown, simulated


def test_json_says_who_may_read_it() -> None:
    """The report is plain JSON; audience and caveat stand in it; shares add up to one."""
    simulation = simulated(alarm(6), near_the_threshold(4, 6))
    read = json.loads(json.dumps(report(simulation), allow_nan=False))
    assert read["audience"].startswith("custodian only")
    assert read["caveat"] == CAVEAT
    (one,) = read["alarms"]
    assert [each["configured"] for each in one["settings"]] == [True]
    for each in one["settings"]:
        shares = [step["share"] for step in each["epsilon_cell"]["distribution"]]
        assert sum(shares) == pytest.approx(1)
        assert each["epsilon_cell"]["max"] <= each["epsilon_worst"] + 1e-12
    assert " ".join(shown(simulation).split()).startswith(AUDIENCE)
