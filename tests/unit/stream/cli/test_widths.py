"""Whatever a command prints fits the terminal: no row is broken, and no word is cut."""

from __future__ import annotations

import pytest

from tests.support.commands import HOUR_MS, tocsin
from tests.support.files import write_rows

EDGES = ("┏", "┓", "┡", "┩", "┌", "┐", "├", "┤", "└", "┘", "┃", "│")
ZONE = "America/Argentina/Buenos_Aires"
LAB = "north-wing-laboratory-of-acoustics"
CONFIG = f"""\
timezone: {ZONE}
kafka: {{bootstrap: "localhost:9092"}}
feeds:
  badges:
    topic: building.badges
    time: ts
    unit: person
    fields:
      person: string
      room: {{domain: [{LAB}, hall]}}
      amount: {{type: float, clip: [0, 100], resolution: "0.01"}}
      ts: timestamp
    history: {{from: 2025-03-03, until: 2025-03-04}}
budget: {{privacy_unit: user, epsilon_max: 400, period: 1d,
  contribution: {{max_groups_per_window: 1, max_events_per_group: 2}}}}
alarms:
  crowd-in-a-room-of-the-north-wing:
    sql: |
      SELECT room FROM badges GROUP BY room, TUMBLE(ts, INTERVAL '1' HOUR)
      HAVING COUNT(DISTINCT person) > 120
    max_fnr: 0.05
    tolerance: 9
    baseline: 60
  takings:
    sql: |
      SELECT room FROM badges GROUP BY room, TUMBLE(ts, INTERVAL '1' HOUR)
      HAVING SUM(amount) > 12345.67 AND COUNT(*) FILTER (WHERE amount > 5) > 77
    max_fnr: 0.05
    tolerance: {{SUM(amount) > 12345.67: 500, "COUNT(*) FILTER (WHERE amount > 5) > 77": 9}}
"""  # noqa: S608  # the language under test
START_MS = 1_741_003_200_000  # 2025-03-03T12:00Z


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a configuration, its events and its ledger."""
    folder = tmp_path_factory.mktemp("wide")
    (folder / "alarms.yaml").write_text(CONFIG)
    lines = [
        {"person": f"p{i}", "room": room, "amount": 99.25, "ts": START_MS + hour * HOUR_MS + i}
        for i in range(200)
        for hour in range(4)
        for room in (LAB, "hall", "hall")
    ]
    write_rows(folder / "badges.jsonl", lines)
    _told(folder, "run FILE --replay EVENTS")
    return folder


def _told(folder, command):
    """Return what a command prints."""
    places = {"FILE": folder / "alarms.yaml", "EVENTS": folder / "badges.jsonl"}
    return tocsin(*(places.get(word, word) for word in command.split()), code=0).stdout


def _tables(printed):
    """Yield the lines of every table, titles and captions left out."""
    lines = []
    for line in printed.splitlines():
        if line.startswith(("┏", "┌")):
            lines = []
        if line.startswith(EDGES):
            lines.append(line)
        if line.startswith("└"):
            yield lines


COMMANDS = {
    "run FILE --replay EVENTS": 1,
    "inspect FILE --replay EVENTS": 2,
    "ledger FILE status": 1,
    "ledger FILE losses takings": 1,
}


@pytest.mark.parametrize(("command", "number"), COMMANDS.items())
@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_tables_fit(folder, monkeypatch, command, number, width):
    """Every row has both its edges within the terminal, and every column its words whole."""
    monkeypatch.setenv("COLUMNS", str(width))
    printed = _told(folder, command)
    tables = list(_tables(printed))
    assert len(tables) == number
    for lines in tables:
        assert {len(line) for line in lines} == {len(lines[0])}
        assert len(lines[0]) <= width
        assert all(line.endswith(EDGES) for line in lines)
    assert "…" not in printed
    columns = [_letters(each) for each in (printed, *_columns(tables))]
    for word in (LAB, "crowd-in-a-room") if "EVENTS" in command else ():
        assert any(_letters(word) in column for column in columns)


def _columns(tables):
    """Yield the text of every column, in which a folded cell is whole."""
    for lines in tables:
        rows = [line.split("│") for line in lines if line.startswith("│")]
        yield from map("".join, zip(*rows, strict=True))


def _letters(text):
    return "".join(filter(str.isalpha, text))
