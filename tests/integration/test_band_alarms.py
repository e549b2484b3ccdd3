"""Band alarms, end to end: from SQL, reference and events to ledger and alarms."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.commands import HOUR_MS, configuration, tocsin
from tests.support.keys import nested


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


SUM = "ABS(SUM(n) - REFERENCE) >= 300"
COUNT = "NOT (ABS(REFERENCE - COUNT(n)) < 50)"


def test_check_says_what_auto_took(tmp_path: Path) -> None:
    """The note goes to standard error; the configuration is good."""
    path = banded(
        tmp_path, "ABS(COUNT(*) - REFERENCE) >= 50", '    epsilon: "1"\n    reference: 9\n'
    )
    result = tocsin("check", path)
    assert result.exit_code == 0
    assert result.stdout == "ok\n"
    assert "note: " in result.stderr
    assert "decider: auto chooses tight: " in result.stderr


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
