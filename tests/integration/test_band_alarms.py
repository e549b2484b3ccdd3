"""Band alarms, end to end: from SQL, reference and events to ledger and alarms."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import jsonschema
import pytest

from accountant.units import to_loss_units
from stream.build import open_ledger
from stream.config.loading import load
from stream.decisions.records import schema
from tests.support.commands import HOUR_MS, configuration, json_lines, ledger_must_verify, tocsin
from tests.support.keys import nested
from tests.support.ledgers import must_verify

if TYPE_CHECKING:
    from tests.support.postgres import Postgres


def banded(folder: Path, aggregate: str, keys: str, *, unit: str = "event") -> str:
    """Write a configuration with one band alarm and its references."""
    path = Path(configuration(folder, unit=unit, epsilon_max="100000", aggregate=aggregate))
    text = path.read_text()
    lines = nested(["mechanism: decider", *(line.strip() for line in keys.splitlines())])
    timing = next((line[len("timing: {") : -1] for line in lines if line[:6] == "timing"), "")
    if timing and "    timing: {" in text:
        text = text.replace("    timing: {", f"    timing: {{{timing}, ")
        lines = [line for line in lines if line[:6] != "timing"]
    text = text.replace("    tolerance: 1\n", "".join(f"    {line}\n" for line in lines))
    path.write_text(f"tables: {{usual: usual.csv}}\n{text}")
    (folder / "usual.csv").write_text("room,n\nhall,400\nlab,100\n")
    return str(path)


def sales(folder: Path, hours: list[dict[str, list[int]]]) -> str:
    """Write, per hour and room, one event with each ``n``, everyone being somebody else."""
    lines = [
        json.dumps({"person": f"{room}{i}", "room": room, "n": n, "ts": hour * HOUR_MS + i})
        for hour, rooms in enumerate(hours)
        for room, values in rooms.items()
        for i, n in enumerate(values)
    ]
    path = folder / "sales.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


HOURS = [
    {"hall": [4] * 100, "lab": [1] * 100},  # sums 400 and 100: both as usual
    {"hall": [4] * 100, "lab": [9] * 100},  # the lab's values are too high
    {"hall": [1] * 40, "lab": [1] * 100},  # the hall's are too low, and few
]
ALL = [(hour, room) for hour in range(3) for room in ("hall", "lab")]


SUM = "ABS(SUM(n) - REFERENCE) >= 300"
COUNT = "NOT (ABS(REFERENCE - COUNT(n)) < 50)"
MEDIAN = "ABS(MEDIAN(n) - REFERENCE) >= 3"
AVERAGE = "ABS(AVG(n) - REFERENCE) >= 2.5"
SHARE = "ABS(SUM(n) - REFERENCE) >= 0.75 * REFERENCE"  # of 400 and of 100
MIDDLE = "ABS(MEDIAN(n) - REFERENCE) >= 0.9 * REFERENCE"
REFERENCES = {
    SUM: "usual[room]",
    COUNT: "100",
    MEDIAN: "3",
    AVERAGE: "3.25",
    SHARE: "usual[room]",
    MIDDLE: "4",
}
RINGS = {
    SUM: {(1, "lab"), (2, "hall")},
    COUNT: {(2, "hall")},
    MEDIAN: {(1, "lab")},
    AVERAGE: {(1, "lab")},
    SHARE: {(1, "lab"), (2, "hall")},
    MIDDLE: {(1, "lab")},
}


@pytest.mark.parametrize(
    ("aggregate", "decider", "unit", "bound"),
    [
        (SUM, "svt", "event", '{theta: 0.9, epsilon: "20"}'),
        (SUM, "auto", "event", ""),
        (SUM, "lm", "user", ""),
        (SUM, "r2t", "event", ""),
        (SUM, "svt", "user", ""),
        (COUNT, "auto", "user", ""),
        (COUNT, "em", "event", ""),
        (MEDIAN, "auto", "event", ""),
        (MEDIAN, "hist", "user", ""),
        (MEDIAN, "em", "event", ""),
        (AVERAGE, "auto", "event", ""),
        (AVERAGE, "lm", "user", ""),
        (SHARE, "auto", "user", ""),
        (SHARE, "r2t", "event", ""),
        (MIDDLE, "auto", "event", ""),
    ],
)
def test_a_band_rings_where_it_is_left(
    tmp_path: Path, aggregate: str, decider: str, unit: str, bound: str
) -> None:
    """With a large epsilon no hour with events is wrong, and each costs what is written."""
    keys = f'    decider: {decider}\n    epsilon: "50"\n    reference: {REFERENCES[aggregate]}\n'
    if bound:
        keys += f"    bound: {bound}\n"
    path = banded(tmp_path, aggregate, keys, unit=unit)
    lines = json_lines(tocsin("run", path, "--replay", sales(tmp_path, HOURS), "--json"))
    alarms = [line for line in lines if "predicate" in line]
    rang = {(int(line["window_start"][11:13]), line["predicate"]["room"]) for line in alarms}
    assert {cell for cell in rang if cell in ALL} == RINGS[aggregate]
    for line in alarms:
        jsonschema.validate(line, schema("alarm"))
        assert (line["mechanism"], line["tolerance"], line["epsilon"]) == ("decider", "0", "50")
    decisions = [line for line in lines if "outcome" in line]
    for line in decisions:
        jsonschema.validate(line, schema("decision"))
    assert {line["epsilon_units"] for line in decisions} == {to_loss_units(50)}
    alarm = load(Path(path), environ={})
    with open_ledger(alarm) as ledger:
        must_verify(ledger)
        (scope,) = ledger.reports.status().scopes.values()
        windows = ledger.reports.status().queries["crowd"].decided
        assert scope.spent_units == to_loss_units(50) * (windows if unit == "user" else 1)


def test_check_says_what_auto_took(tmp_path: Path) -> None:
    """The note goes to standard error; the configuration is good."""
    path = banded(
        tmp_path, "ABS(COUNT(*) - REFERENCE) >= 50", '    epsilon: "1"\n    reference: 9\n'
    )
    result = tocsin("check", path)
    assert result.exit_code == 0
    assert result.stdout == "ok\n"
    assert "note: " in result.stderr
    assert "auto takes tight" in result.stderr


def test_simulate_leaves_bands_out_and_says_so(tmp_path: Path) -> None:
    """Beside another alarm a sentence is enough; alone there is nothing to try."""
    path = banded(
        tmp_path, "ABS(COUNT(*) - REFERENCE) >= 50", '    epsilon: "1"\n    reference: 9\n'
    )
    events = sales(tmp_path, HOURS)
    alone = tocsin("simulate", path, "--replay", events, "--runs", "1", "--workers", "1")
    assert alone.exit_code
    assert "crowd: the band of a decider has no mechanism" in alone.stderr
    text = Path(path).read_text()
    start = text.index("  crowd:\n")
    other = (
        text[start:].replace("crowd", "many").replace("ABS(COUNT(*) - REFERENCE) >=", "COUNT(*) >")
    )
    keep = other[: other.index("    mechanism")] + "    tolerance: 9\n"
    Path(path).write_text(text + keep)
    both = tocsin("simulate", path, "--replay", events, "--runs", "1", "--workers", "1")
    assert both.exit_code == 0, both.stderr
    assert "left out: crowd" in both.stderr


@pytest.mark.integration
def test_bands_of_every_kind_ring_alike_on_postgresql(postgres: Postgres, tmp_path: Path) -> None:
    """Several alarms in one ledger there: each rings, and is charged, as on SQLite."""
    path = Path(banded(tmp_path, AVERAGE, '    epsilon: "50"\n    reference: 3.25\n'))
    text = path.read_text()
    start = text.index("  crowd:\n")
    for name, aggregate in (("share", SHARE), ("middle", MIDDLE)):
        more = text[start:].replace("crowd", name).replace(AVERAGE, aggregate)
        path.write_text(path.read_text() + more.replace("3.25", f"'{REFERENCES[aggregate]}'"))
    ledger = f"ledger: {postgres.new_database()}\n"
    path.write_text(ledger + path.read_text())
    lines = json_lines(tocsin("run", str(path), "--replay", sales(tmp_path, HOURS), "--json"))
    for name, aggregate in (("crowd", AVERAGE), ("share", SHARE), ("middle", MIDDLE)):
        rang = {
            (int(line["window_start"][11:13]), line["predicate"]["room"])
            for line in lines
            if "predicate" in line and line["query"] == name
        }
        assert {cell for cell in rang if cell in ALL} == RINGS[aggregate]
    ledger_must_verify(load(path, environ={}))
