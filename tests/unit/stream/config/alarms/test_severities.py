"""Severity levels of a configuration: what they come to, and what is wrong with bad ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from stream.config.loading import load
from tests.support.configurations import HAVING, edited, write

if TYPE_CHECKING:
    from pathlib import Path

ASKED = HAVING.replace("120", "SEVERITY")
TWO = "{warning: 80, critical: 100}"


def levels(severity: str = TWO, having: str = ASKED, rest: str = "") -> str:
    """Return the good file with levels."""
    return edited(HAVING, having).replace("timing: {grace: 30s}", f"severity: {severity}{rest}")


@pytest.mark.parametrize(
    ("having", "severity", "thresholds"),
    [
        (ASKED, TWO, ([81] * 4, [0] * 4, [20] * 4)),
        (ASKED, "{warning: 'capacity[room]', critical: 200}", None),
        (ASKED.replace(">", "<="), "{low: 40, lower: 30}", ([41] * 4, [0] * 4, [10] * 4)),
        (f"HAVING NOT {ASKED[7:].replace('>', '<')}", TWO, ([80] * 4, [0] * 4, [20] * 4)),
    ],
)
def test_levels_are_distances_from_the_first(
    tmp_path: Path, having: str, severity: str, thresholds: tuple[list[int], ...] | None
) -> None:
    """In the direction of the comparison, for every group."""
    query = load(write(tmp_path, levels(severity, having)), environ={}).by_name["fire-code"]
    (atom,) = query.condition.atoms.values()
    cells = atom.thresholds.size
    distances = [level.distances for level in query.aim.severities]
    if thresholds is None:
        assert np.array_equal(atom.thresholds + distances[1], np.full(cells, 201))
        return
    assert np.array_equal(atom.thresholds, thresholds[0][:1] * cells)
    for found, expected in zip(distances, thresholds[1:], strict=True):
        assert np.array_equal(found, expected[:1] * cells)


def test_levels_inherit_what_they_do_not_say(tmp_path: Path) -> None:
    """And what the first one says is of the first alone; levels enter the fingerprint."""
    text = levels(
        "{warning: {threshold: 80, tolerance: 3}, critical: {threshold: 100, max_fpr: 0.01}}"
    )
    query = load(write(tmp_path, text), environ={}).by_name["fire-code"]
    warning, critical = (level.aim(query.aim) for level in query.aim.severities)
    assert (warning.tolerances, critical.tolerances) == ((3,), (9,))
    assert (warning.max_fpr, critical.max_fpr) != (critical.max_fpr, None)
    assert query.at_severity("critical").tolerance == "9"
    prints = {
        load(write(tmp_path, text.replace(*each)), environ={}).by_name["fire-code"].fingerprint
        for each in (("", ""), ("warning", "low"), ("threshold: 100", "threshold: 101"))
    }
    assert len(prints) == 3
