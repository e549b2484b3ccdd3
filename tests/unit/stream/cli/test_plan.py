"""``tocsin plan``: what it costs, and what to change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from stream.config.loading import examine
from tests.support.commands import configuration, json_lines, tocsin
from tests.support.tree import ROOT

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("aggregate", "tolerance", "epsilon"),
    [("COUNT(*) > 30", 1, "1.386"), ("SUM(n) > 100", 5, "2.303")],
)
def test_plan_prints_the_theoretical_minimum(
    tmp_path: Path, aggregate: str, tolerance: int, epsilon: str
) -> None:
    """The plan shows epsilon, the limit and the ratio 1.000 side by side."""
    path = configuration(tmp_path, aggregate=aggregate, tolerance=tolerance)
    result = tocsin("plan", path)
    assert result.exit_code == 0
    assert f"{epsilon} for each window and group, 1 x its lower bound" in result.stdout
    assert ": fits" in result.stdout


def test_plan_speaks_json(tmp_path: Path) -> None:
    """``--json`` gives one object per budget, its alarms in it, and says what is refused."""
    path = configuration(tmp_path, unit="user", epsilon_max="7")
    (budget,) = json_lines(tocsin("plan", path, "--json"), code=3)
    (alarm,) = budget["alarms"]
    assert (alarm["alarm"], alarm["mechanism"]) == ("crowd", "tslm")
    assert alarm["loss"] == pytest.approx(1.3863, abs=1e-4)
    assert alarm["loss"] / alarm["lower_bound"] == pytest.approx(1.0, abs=1e-6)
    assert alarm["per_person"] is None
    assert (budget["budget"], budget["epsilon_max"], budget["fits"]) == ("user", "7", True)
    found = budget["first_refused"]
    assert (found["alarm"], found["granted"]) == ("crowd", 5)
    assert found["window_start"] == "1970-01-01T05:00:00.000Z"


def test_plan_says_what_to_change(tmp_path: Path) -> None:
    """Where it does not fit, every change stands there, and the exit code is 3."""
    path = configuration(tmp_path, epsilon_max="1.38")
    result = tocsin("plan", path)
    assert result.exit_code == 3
    assert "DOES NOT FIT" in result.stdout
    assert "crowd does not fit; it would with one of:" in result.stdout
    assert "  max_fnr: 0.0506" in result.stdout
    assert 'epsilon_max: "1.3863"' in result.stdout


@pytest.mark.parametrize("name", ["office", "retail"])
def test_a_plan_has_25_lines_and_one_more_an_alarm(name: str) -> None:
    """Of every example, at 80 columns."""
    path = ROOT / "examples" / name / "alarms.yaml"
    lines = tocsin("plan", str(path)).stdout.splitlines()
    alarms = examine(path, environ={}).alarms
    assert alarms is not None
    assert len(lines) <= 24 + len(alarms.by_name)
    assert max(map(len, lines)) <= 80
