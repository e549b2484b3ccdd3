"""The page on simulations names the keys that a simulation's JSON has, and no others."""

from __future__ import annotations

import json
import re

from tests.support.commands import tocsin
from tests.support.tree import text_of

PAGE = text_of("docs/how-to/evaluate-on-history.md").partition("## JSON")[2]
CONFIG = """\
feeds:
  badges:
    topic: building.badges
    time: ts
    unit: person
    fields: {person: string, room: {domain: [hall, lab]}, ts: timestamp}
    history: {from: 2025-03-03T08:00, until: 2025-03-03T10:00}
budget: {privacy_unit: event, epsilon_max: "9"}
alarms:
  early:
    sql: |
      SELECT room FROM badges
      GROUP BY room, CUMULATE(ts, INTERVAL '15' MINUTE, INTERVAL '1' HOUR)
      HAVING COUNT(*) > 20
    max_fnr: 0.05
    tolerance: 9
    mechanism: svt
  crowd:
    sql: |
      SELECT room FROM badges
      GROUP BY room, TUMBLE(ts, INTERVAL '1' HOUR)
      HAVING COUNT(*) > SEVERITY
    severity: {warning: 20, critical: 40}
    max_fnr: 0.05
    tolerance: 9
"""


def documented():
    """Return the keys of every row of the page's table; what stands in brackets explains."""
    rows = re.findall(r"^\| (.*?) \| (`.*) \|$", PAGE, flags=re.MULTILINE)
    return {of: set(re.findall(r"`(\w+)`", re.sub(r"\([^)]*\)", "", keys))) for of, keys in rows}


def keys_in(value):
    """Yield the keys of an object, and of all that it holds."""
    if isinstance(value, dict):
        yield from value
    for each in value.values() if isinstance(value, dict) else value:
        if isinstance(each, dict | list):
            yield from keys_in(each)


def test_the_keys_are_those_of_the_page(tmp_path):
    """Of the file, and of all that an alarm has: an early one, and severities."""
    (tmp_path / "alarms.yaml").write_text(CONFIG)
    event = {"person": "p", "room": "hall", "ts": "2025-03-03T08:05:00Z"}
    (tmp_path / "events.jsonl").write_text(f"{json.dumps(event)}\n" * 60)
    files = (str(tmp_path / name) for name in ("alarms.yaml", "events.jsonl", "out.json"))
    file, events, out = files
    ended = tocsin(*("simulate", file, "--replay", events, "--runs", "1", "--json", out))
    assert ended.exit_code == 0, ended.output
    found = json.loads((tmp_path / "out.json").read_text())
    said = documented()
    assert found["format"] in PAGE
    assert said.pop("the file") == set(found)
    assert set.union(*said.values()) == set(keys_in(found["alarms"]))
