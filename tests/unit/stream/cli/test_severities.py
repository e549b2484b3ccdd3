"""Severity levels through the commands; what is published: ``test_severity_pipeline_exact.py``."""

from __future__ import annotations

import json

import pytest

from tests.support.commands import json_lines, tocsin
from tests.support.paned import alarm, configured, rows

LEVELS = "3\n    severity: {warning: 10, critical: {threshold: 60, max_fnr: 0.01, max_fpr: 0.2}}"
CASES = """\
alarms: alarms.yaml
tests:
  - name: levels are told apart
    counts: {hall: 61, lab: 20}
    fires:
      hall: {warning: ">= 0.99", critical: ">= 0.99"}
      lab: {warning: ">= 0.95", critical: "< 0.2"}
  - name: by draws
    counts: {hall: 61, lab: 20}
    fires: {hall: {critical: "> 0.9"}, lab: ">= 0.9"}
    sampled: 400
  - name: and not mixed up
    counts: {hall: 20}
    fires: {hall: {critical: ">= 0.9"}}
"""


@pytest.fixture(params=["tslm", "panes"])
def file(request, tmp_path):
    """A file of one alarm with two levels, and two minutes of events in the hall."""
    window = "TUMBLE(ts, INTERVAL '1' MINUTE)"
    levels = {"tolerance": LEVELS, "mechanism": request.param}
    written = alarm("full", window, "COUNT(*) > SEVERITY", **levels)
    configured(tmp_path, written, rooms=("hall", "lab"), until="00:04")
    rows(tmp_path, (90, 0, 35, 0), ("hall",))
    return tmp_path / "alarms.yaml"


def test_a_plan_and_cases_tell_levels_apart(file):
    """A curve each; and what is expected at a level is asked of that level."""
    (budget,) = json_lines(tocsin("plan", file, "--json"))
    curves = budget["alarms"][0]["detection"]
    levels = [(one["severity"], one["threshold"]) for one in curves]
    assert levels == [("warning", 10), ("critical", 60)]
    cases = file.with_name("cases.yaml")
    cases.write_text(CASES)
    tried = tocsin("test", cases).stdout
    assert "3 tests, 1 failed" in tried
    assert "hall (critical)" in tried


def test_a_simulation_tells_levels_apart(file):
    """Windows that are due at a level, and how often it misses and fires falsely."""
    page = file.with_name("simulated.json")
    events = ("--replay", file.with_name("events.csv"))
    said = tocsin("simulate", file, *events, "--runs", 300, "--json", page, code=0)
    assert "critical" in said.stdout
    (own,) = json.loads(page.read_text())["alarms"]
    warning, critical = own["severities"]
    assert (warning["fnr"]["of"], critical["fnr"]["of"]) == (2 * 300, 300)
    assert critical["fnr"]["value"] < 0.03
    assert critical["fpr"]["value"] < 0.2
