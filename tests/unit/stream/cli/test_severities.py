"""Severity levels through the commands: one alarm from its file to what is simulated of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.support.commands import json_lines, tocsin
from tests.support.paned import alarm, configured, rows

if TYPE_CHECKING:
    from pathlib import Path

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


@pytest.mark.parametrize("mechanism", ["tslm", "panes"])
def test_every_command_tells_levels_apart(tmp_path: Path, mechanism: str) -> None:
    """Plan, test, simulate and replay of one file, as somebody types them."""
    window = "TUMBLE(ts, INTERVAL '1' MINUTE)"
    written = alarm("full", window, "COUNT(*) > SEVERITY", tolerance=LEVELS, mechanism=mechanism)
    configured(tmp_path, written, rooms=("hall", "lab"), until="00:04")
    file, events = tmp_path / "alarms.yaml", rows(tmp_path, (90, 0, 35, 0), ("hall",))

    (budget,) = json_lines(tocsin("plan", file, "--json"))
    (alarm_figures,) = budget["alarms"]
    curves = alarm_figures["detection"]
    levels = [(one["severity"], one["threshold"]) for one in curves]
    assert levels == [("warning", 10), ("critical", 60)]

    (tmp_path / "cases.yaml").write_text(CASES)
    tried = tocsin("test", tmp_path / "cases.yaml").stdout
    assert "3 tests, 1 failed" in tried
    assert "hall (critical)" in tried

    page = tmp_path / "simulated.json"
    said = tocsin("simulate", file, "--replay", events, "--runs", 300, "--json", page, code=0)
    assert "critical" in said.stdout
    (found,) = json.loads(page.read_text())["alarms"]
    (own,) = (one for one in found["settings"] if one["configured"])
    rates = {one["severity"]: (one["fnr"], one["fpr"]) for one in own["severities"]}
    assert rates["warning"][0]["of"] == 600  # of two windows
    assert rates["critical"][0]["of"] == 300
    assert rates["critical"][0]["value"] < 0.03
    assert rates["critical"][1]["value"] < 0.2

    replayed = tocsin("run", file, "--replay", events, "--json")
    published = tmp_path / "published.jsonl"
    published.write_text(replayed.stdout)
    alarms = {
        one["window_start"][14:16]: one
        for one in json_lines(replayed)
        if "severity" in one and one["group"] == {"room": "hall"}
    }
    assert alarms["00"]["severity"] == "critical"
    assert alarms["02"]["max_fnr"] in {0.05, 0.01}
    verify = ("ledger", file, "verify", "--published", published)
    tocsin(*verify, code=0)
    published.write_text(replayed.stdout.replace('"severity":"critical"', '"severity":"warning"'))
    altered = tocsin(*verify)
    assert altered.exit_code != 0
    assert "severity" in altered.output
