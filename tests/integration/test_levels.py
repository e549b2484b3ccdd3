"""Levels of progressive mechanisms, end to end: from YAML to what a window reserves and costs."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from accountant.units import from_loss_units, to_loss_units
from operators.conditions.levels import LevelGrid
from operators.single.ladder import Grid
from stream.config.loading import examine, load
from stream.decisions.mechanisms import operator_of, price_of
from stream.model.fingerprints import definition
from tests.support.commands import configuration, events, json_lines, ledger_must_verify, tocsin

LEVELS = '{first: "0.02", rounds: 2, refinement: 2, finest_share: 0.75}'
ASKED = Grid(Fraction(1, 50), rounds=2, refinement=2, finest_share=Fraction(3, 4))


def written(folder: Path, mechanism: str, levels: str) -> Path:
    """Write a configuration of one alarm with levels."""
    keys = f"mechanism: {{{mechanism}: {{levels: {levels}}}}}"
    return Path(configuration(folder, epsilon_max="100000", more=keys))


def run(path: Path) -> list[int]:
    """Replay the events and return what decisions reserved, in loss units; the ledger holds."""
    lines = json_lines(tocsin("run", path, "--replay", events(path.parent), "--json"))
    assert {line["outcome"] for line in lines if "outcome" in line} == {"decided"}
    ledger_must_verify(load(path, environ={}))
    return [line["epsilon_units"] for line in lines if "outcome" in line]


@pytest.mark.parametrize("mechanism", ["ppwlm", "dppwlm"])
def test_written_levels_are_read(tmp_path: Path, mechanism: str) -> None:
    """The operator walks the levels that are written, and a window reserves the last of them."""
    path = written(tmp_path, mechanism, LEVELS)
    query = load(path, environ={}).by_name["crowd"]
    assert query.aim.levels == LevelGrid(Fraction(1, 50), 2, 2, Fraction(3, 4))
    ladder = operator_of(query).operator.ladder  # type: ignore[attr-defined]  # of a Single
    last = to_loss_units(price_of(query).epsilon)
    assert ladder.units == ASKED.units(last)
    assert from_loss_units(ladder.units[0]) == Fraction(1, 50)
    assert max(run(path)) <= last


def test_levels_enter_the_fingerprint_where_they_are_written(tmp_path: Path) -> None:
    """Another grid is another registration; without one nothing is said of levels."""
    (tmp_path / "usual").mkdir()
    found = []
    for folder, levels in ((tmp_path, LEVELS), (tmp_path / "usual", "{}")):
        alarms = load(written(folder, "ppwlm", levels), environ={})
        found.append(definition(alarms.by_name["crowd"], alarms.budget)["aim"])
    assert found[0]["levels"] == {
        "first": "1/50",
        "rounds": "2",
        "refinement": "2",
        "finest_share": "3/4",
    }
    assert "levels" not in found[1]


def test_levels_that_make_no_grid_are_refused(tmp_path: Path) -> None:
    """Too many of them, or none: one error, at the key."""
    for levels in ("{rounds: 66}", "{refinement: 0}"):
        (error,) = examine(written(tmp_path, "ppwlm", levels), environ={}).errors
        assert "rounds and refinement do not make 1 to 64 levels" in error.message
