"""Progressive alarms end to end: their levels, and what cells did not need for later windows."""

from __future__ import annotations

from pathlib import Path

import pytest

from stream.config.loading import examine, load
from stream.decisions.mechanisms import plans_of
from stream.model.fingerprints import definition
from tests.support.commands import (
    configuration,
    events,
    json_lines,
    ledger_must_verify,
    tocsin,
)
from tests.support.files import edit

WINDOWS = 24


@pytest.mark.parametrize(
    ("mechanism", "decided"), [("ppwlm", WINDOWS), ("dppwlm", WINDOWS), ("tslm", 2)]
)
def test_refunds_carry_a_day_that_worst_cases_do_not(tmp_path, mechanism, decided):
    """Two worst cases fit; rooms far from their threshold cost so little that all hours do.

    TSLM pays its worst case in every window. What a window really cost is the custodian's alone:
    decisions carry the reservation.
    """
    keys = {"aggregate": "COUNT(*) > 1000", "more": f"mechanism: {mechanism}"}
    path = Path(configuration(tmp_path, unit="user", epsilon_max="9", denials=True, **keys))
    worst = plans_of(load(path, environ={}))["crowd"].epsilon
    edit(path, '"9"', f'"{2 * worst}"')
    lines = json_lines(tocsin("run", path, "--replay", events(tmp_path), "--json"))
    ends = [(line["reason"], float(line["epsilon"])) for line in lines if "outcome" in line]
    granted, refused = (None, pytest.approx(float(worst))), ("budget", 0.0)
    assert ends == [granted] * decided + [refused] * (WINDOWS - decided)
    losses = json_lines(tocsin("ledger", path, "losses", "crowd", "--json"))
    assert (max(float(line["epsilon"]) for line in losses) < worst) == (decided == WINDOWS)
    ledger_must_verify(load(path, environ={}))


LEVELS = '{first: "0.02", rounds: 2, refinement: 2, finest_share: 0.75}'


def written(folder, levels):
    """Write a configuration of one alarm with levels."""
    more = f"mechanism: {{ppwlm: {{levels: {levels}}}}}"
    return Path(configuration(folder, epsilon_max="100000", more=more))


def test_levels_enter_the_fingerprint_where_they_are_written(tmp_path):
    """Another grid is another registration; without one nothing is said of levels."""
    grid = {"first": "1/50", "rounds": "2", "refinement": "2", "finest_share": "3/4"}
    for levels, wanted in ((LEVELS, grid), ("{}", None)):
        alarms = load(written(tmp_path, levels), environ={})
        aim = definition(alarms.by_name["crowd"], alarms.budget)["aim"]
        assert aim.get("levels") == wanted


@pytest.mark.parametrize("levels", ["{rounds: 66}", "{refinement: 0}"])
def test_levels_that_make_no_grid_are_refused(tmp_path, levels):
    """Too many of them, or none: one error, at the key."""
    (error,) = examine(written(tmp_path, levels), environ={}).errors
    assert "rounds and refinement do not make 1 to 64 levels" in error.message
