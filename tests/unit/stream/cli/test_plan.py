"""``tocsin plan``: what it costs, and what to change."""

from __future__ import annotations

import pytest

from stream.config.loading import examine
from tests.support.commands import tocsin
from tests.support.tree import ROOT


@pytest.mark.parametrize("name", ["office", "retail"])
def test_a_plan_has_25_lines_and_one_more_an_alarm(name: str) -> None:
    """Of every example, at 80 columns."""
    path = ROOT / "examples" / name / "alarms.yaml"
    lines = tocsin("plan", str(path)).stdout.splitlines()
    alarms = examine(path, environ={}).alarms
    assert alarms is not None
    assert len(lines) <= 24 + len(alarms.by_name)
    assert max(map(len, lines)) <= 80
