"""``tocsin plan``: what it costs, and what to change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.commands import configuration, json_lines, tocsin

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
    row = next(line for line in result.stdout.splitlines() if "crowd" in line)
    cells = [cell.strip() for cell in row.strip("│").split("│")]
    assert cells[:5] == ["crowd", "tslm", epsilon, epsilon, "1.000"]
    assert "fits" in result.stdout


def test_plan_speaks_json(tmp_path: Path) -> None:
    """``--json`` gives two objects per alarm and one per budget, and says what would fit."""
    path = configuration(tmp_path, unit="user", epsilon_max="7")
    alarm, budget, ringing = json_lines(tocsin("plan", path, "--json"), code=3)
    assert (alarm["alarm"], alarm["mechanism"]) == ("crowd", "tslm")
    assert float(alarm["epsilon"]) == pytest.approx(1.3863, abs=1e-4)
    assert alarm["ratio"] == pytest.approx(1.0, abs=1e-6)
    assert alarm["worst"] is None
    assert alarm["windows_fit"] == 5
    assert (budget["budget"], budget["epsilon_max"], budget["fits"]) == ("user", "7", True)
    assert "then all are denied" in budget["suggestion"]
    refusal = budget["first_refusal"]
    assert (refusal["alarm"], refusal["granted"]) == ("crowd", {"crowd": 5})
    assert refusal["window_start"] == "1970-01-01T05:00:00.000Z"
    assert (ringing["record"], ringing["alarm"]) == ("ringing", "crowd")


def test_plan_says_what_to_change(tmp_path: Path) -> None:
    """Where it does not fit, the table ends with the smallest change, and the exit code is 3."""
    path = configuration(tmp_path, epsilon_max="1.38")
    result = tocsin("plan", path)
    assert result.exit_code == 3
    assert "does not fit" in result.stdout
    assert "recommended: max_fnr: crowd 0.0506" in result.stdout
    assert 'epsilon_max: "1.3863"' in result.stdout
    changes = [line for line in json_lines(tocsin("plan", path, "--json"), 3) if "change" in line]
    assert [line["change"] for line in changes] == ["tolerance", "max_fnr", "window", "epsilon_max"]
    assert [line["recommended"] for line in changes] == [False, True, False, False]
