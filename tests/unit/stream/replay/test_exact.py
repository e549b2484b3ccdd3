"""What ``tocsin inspect`` shows is what a replay hands to its mechanisms, cell by cell."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from accountant.records import REFERENCE_PARTITIONS
from stream.config.loading import load
from stream.windows.instants import from_iso_utc
from tests.support.commands import HOUR_MS, configuration, events, json_lines, tocsin
from tests.support.examples import SALES, copied
from tests.support.files import edit, write_rows
from tests.support.recording import counts_stored

FORECAST = """\
  forecast:
    topic: building.forecast
    time: ts
    unit: room
    fields:
      room: {domain: [lab, hall]}
      n: {type: integer, clip: [0, 1000]}
      ts: timestamp
"""
BAND = """\
    mechanism: {decider: {epsilon: "50", reference: {feed: forecast}}}
    timing: {reference_timeout: 1h}
"""


def decided(partials):
    """Return windows, and what is not zero by alarm, window, whether of a reference, and place."""
    found = Counter()
    for one in partials:
        window = one["alarm"], one["start_ms"]
        for at, value in zip(one["index"], one["value"], strict=True):
            found[*window, one["partition"] >= REFERENCE_PARTITIONS, at] += value
    windows = {(one["alarm"], one["start_ms"]) for one in partials}
    return windows, {place: value for place, value in found.items() if value}


def shown(path, files):
    """Return the same of what ``tocsin inspect`` prints."""
    queries, windows, found = load(Path(path), environ={}).by_name, set(), {}
    for line in json_lines(tocsin("inspect", path, *files, "--json")):
        if "alarm" not in line:
            continue
        query = queries[line["alarm"]]
        window = query.id, from_iso_utc(line["window_start"])
        windows.add(window)
        if "group" in line:
            cells = [query.domain.group(cell) for cell in range(len(query.domain))]
            cell = cells.index(line["group"])
            for at, value in enumerate(line["statistics"]):
                found[*window, False, at * len(cells) + cell] = value
            found[*window, True, cell] = line.get("reference")
    return windows, {place: value for place, value in found.items() if value}


def _retail(folder):
    """Return the shop's first weeks: the whole year would take half a minute."""
    path = copied("retail", folder)
    edit(path, "until: 2011-12-10", "until: 2010-12-21")
    sales = folder / "retail" / "online_retail.parquet"
    pq.write_table(pq.read_table(SALES).slice(0, 40_000), sales)
    return path, ["--replay", sales]


def _event_unit(folder):
    distinct = "COUNT(DISTINCT person) FILTER(WHERE n > 3) > 20"
    having = f"COUNT(*) > 30 OR AVG(n) > 5 OR {distinct}"
    tolerance = f'{{COUNT(*) > 30: 5, AVG(n) > 5: 1, "{distinct}": 5}}'
    path = configuration(folder, epsilon_max="100", aggregate=having, tolerance=tolerance)
    rows = (
        {"person": f"p{i % 70}", "room": ("hall", "lab")[i % 3 == 0], "n": i % 11, "ts": i * 99_000}
        for i in range(800)
    )
    return path, ["--replay", write_rows(folder / "badges.jsonl", rows)]


def forecast(folder, having, more="", **budget):
    """Write a configuration of a band around a public feed, with more feeds; return its path."""
    path = Path(configuration(folder, epsilon_max="100000", aggregate=having, **budget))
    text = path.read_text().replace("    tolerance: 1\n", BAND)
    path.write_text(text.replace("budget:", f"{FORECAST}{more}budget:"))
    return path


def _two_feeds(folder):
    path = forecast(folder, "ABS(SUM(n) - REFERENCE) >= 300", unit="user")
    rows = (
        {"room": room, "n": 40 + hour, "ts": hour * HOUR_MS}
        for room in ("lab", "hall")
        for hour in range(24)
        for _ in range(3)
    )
    other = write_rows(folder / "forecast.jsonl", rows)
    return path, ["--replay", f"badges={events(folder)}", "--replay", f"forecast={other}"]


@pytest.mark.parametrize("made", [_retail, _event_unit, _two_feeds])
def test_what_is_shown_is_what_is_decided(tmp_path, made):
    """Every window, group and reference agrees with the partials of a replay of the files.

    Broken twin: a file with one event more is noticed.
    """
    path, files = made(tmp_path)
    with counts_stored() as stored:
        found = shown(path, files)
        assert not stored  # counting stores nothing
        assert not list(tmp_path.rglob("*.db"))
        tocsin("run", path, *files, "--json", code=0)
    assert found == decided(stored)
    assert all(found)
    if made is _event_unit:
        with files[-1].open("a") as file:
            file.write('{"person": "p1", "room": "hall", "n": 4, "ts": 18000000}\n')
        assert shown(path, files) != found
