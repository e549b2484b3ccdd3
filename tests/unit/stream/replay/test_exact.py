"""What ``tocsin inspect`` shows is what a replay hands to its mechanisms, cell by cell."""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from accountant.ledger.counts import Counts
from accountant.records import REFERENCE_PARTITIONS
from stream.config.loading import load
from tests.support.commands import HOUR_MS, configuration, events, json_lines, tocsin
from tests.support.examples import SALES, copied

if TYPE_CHECKING:
    from accountant.records import Partial, PartialStatus

Counted = dict[tuple[str, int, bool], dict[int, int]]


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> Counted:
    """Add up what this process stores, by alarm, window, and whether it is of a reference."""
    found: Counted = defaultdict(lambda: defaultdict(int))
    put_partial = Counts.put_partial

    def recorded(self: Counts, partial: Partial) -> PartialStatus:
        window = found[
            partial.key.query, partial.key.start_ms, partial.partition >= REFERENCE_PARTITIONS
        ]
        for at, value in zip(partial.index.tolist(), partial.value.tolist(), strict=True):
            window[at] += value
        return put_partial(self, partial)

    monkeypatch.setattr(Counts, "put_partial", recorded)
    return found


def shown(path: str, lines: list[dict[str, Any]]) -> Counted:
    """Return the same of what ``tocsin inspect --json`` printed."""
    queries = load(Path(path), environ={}).by_name
    found: Counted = defaultdict(dict)
    for line in lines:
        if "alarm" not in line:
            continue
        query = queries[line["alarm"]]
        start_ms = _ms(line["window_start"])
        own = found[query.id, start_ms, False]
        if query.reference is not None:
            found[query.id, start_ms, True]  # there, and empty
        if "group" not in line:
            continue
        cells = [query.domain.group(cell) for cell in range(len(query.domain))]
        cell = cells.index(line["group"])
        for at, value in enumerate(line["statistics"]):
            if value:
                own[at * len(cells) + cell] = value
        if query.reference is not None and line["reference"]:
            found[query.id, start_ms, True][cell] = line["reference"]
    return found


def _ms(instant: str) -> int:
    return round(datetime.fromisoformat(instant).timestamp() * 1000)


def _office(folder: Path) -> tuple[str, list[str]]:
    path = copied("office", folder)
    path.write_text(path.read_text().replace("until: 2025-03-08", "until: 2025-03-04"))
    return str(path), [str(folder / "office" / "badges.jsonl")]


def _retail(folder: Path) -> tuple[str, list[str]]:
    """Return the shop's first weeks: the whole year would take half a minute."""
    path = copied("retail", folder)
    path.write_text(path.read_text().replace("until: 2011-12-10", "until: 2010-12-21"))
    sales = folder / "retail" / "online_retail.parquet"
    pq.write_table(pq.read_table(SALES).slice(0, 40_000), sales)
    return str(path), [str(sales)]


def _event_unit(folder: Path) -> tuple[str, list[str]]:
    having = "COUNT(*) > 30 OR AVG(n) > 5 OR COUNT(DISTINCT person) FILTER (WHERE n > 3) > 20"
    path = configuration(folder, epsilon_max="100", aggregate=having)
    tolerances = '{"COUNT(*) > 30": 5, "AVG(n) > 5": 1, '
    tolerances += '"COUNT(DISTINCT person) FILTER(WHERE n > 3) > 20": 5}'
    told = Path(path).read_text().replace("tolerance: 1", f"tolerance: {tolerances}")
    Path(path).write_text(told)
    lines = [
        {"person": f"p{i % 70}", "room": ("hall", "lab")[i % 3 == 0], "n": i % 11, "ts": i * 99_000}
        for i in range(800)
    ]
    file = folder / "badges.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path, [str(file)]


def _two_feeds(folder: Path) -> tuple[str, list[str]]:
    text = Path(
        configuration(
            folder, unit="user", epsilon_max="100000", aggregate="ABS(SUM(n) - REFERENCE) >= 300"
        )
    )
    forecast = """\
  forecast:
    topic: building.forecast
    time: ts
    unit: room
    fields:
      room: {domain: [lab, hall]}
      n: {type: integer, clip: [0, 1000]}
      ts: timestamp
"""
    keys = '    mechanism: {decider: {epsilon: "50", reference: {feed: forecast}}}\n'
    told = text.read_text().replace("budget:", f"{forecast}budget:")
    text.write_text(
        told.replace("    tolerance: 1\n", f"{keys}    timing: {{reference_timeout: 1h}}\n")
    )
    other = folder / "forecast.jsonl"
    rows = [{"room": room, "n": 40 + hour, "ts": hour * HOUR_MS} for room in ("lab", "hall")
            for hour in range(24) for _ in range(3)]  # fmt: skip
    other.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(text), [f"badges={events(folder)}", f"forecast={other}"]


@pytest.mark.parametrize("made", [_office, _retail, _event_unit, _two_feeds])
def test_what_is_shown_is_what_is_decided(tmp_path: Path, stored: Counted, made: Any) -> None:
    """Every window, group and reference agrees with the partials of a replay of the files."""
    path, files = made(tmp_path)
    given = [word for file in files for word in ("--replay", file)]
    lines = json_lines(tocsin("inspect", path, *given, "--json"))
    assert not stored  # counting stores nothing
    assert not list(tmp_path.rglob("*.db"))
    tocsin("run", path, *given, "--json", code=0)
    expected = {place: {at: n for at, n in found.items() if n} for place, found in stored.items()}
    assert shown(path, lines) == expected
    assert any(expected.values())
    assert any("statistics" in line for line in lines)


def test_the_comparison_would_see_one_event_more(tmp_path: Path, stored: Counted) -> None:
    """A count of other files differs from what a replay stored."""
    path, (file,) = _event_unit(tmp_path)
    more = tmp_path / "more.jsonl"
    extra = {"person": "p1", "room": "hall", "n": 4, "ts": 5 * HOUR_MS}
    more.write_text(Path(file).read_text() + json.dumps(extra) + "\n")
    lines = json_lines(tocsin("inspect", path, "--replay", more, "--json"))
    tocsin("run", path, "--replay", file, "--json")
    expected = {place: {at: n for at, n in found.items() if n} for place, found in stored.items()}
    assert shown(path, lines) != expected
