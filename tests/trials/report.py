"""Forty intents solved, checked and tried: ``python -m tests.trials.report [--write]``.

Every answer is locked, checked against what was stated, and run on made-up events; what is said to
be impossible is looked for in a grid of all ways. ``--write`` renews ``benchmarks/reports``.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.report import machine
from stream.planning.locking import resolve
from stream.planning.templates.events import made_up
from stream.planning.templates.filling import fill
from tests.support.commands import json_lines, tocsin
from tests.trials.intents import INTENTS, Intent, all_ways, unkept

REPORT = Path("benchmarks/reports/intents.md")


def tried(intent: Intent, folder: Path, *, every: int = 1) -> tuple[float, str, str]:
    """Return the CPU seconds of solving an intent, what was found, and what checking it found.

    Args:
        intent: what is asked for.
        folder: for its files.
        every: how fine the grid is that looks for ways of what is said to be impossible.
    """
    path = intent.write(folder)
    since = time.process_time()
    resolved = resolve(path)
    took = time.process_time() - since
    (one,) = resolved.solved
    if intent.possible is not None and intent.possible is not (one.found is not None):
        return took, "", f"possible is not {intent.possible}"
    if one.found is None:
        ways = [each.keeps for each in all_ways(resolved.report.alarms, every=every)]
        changes = "; ".join(change.text for change in one.changes)
        return took, f"impossible: {changes}", f"{sum(ways)} of {len(ways)} ways keep it"
    resolved.after.path.write_text(resolved.after.text)
    wrong = [*unkept(one.found, path), *_run(intent, path)]
    (mechanism,) = one.found.keys["mechanism"]
    said = f"{mechanism}, tolerance {one.found.keys['tolerance']}"
    return took, said, "; ".join(wrong) or "kept"


def _run(intent, path):
    """Run the alarm on made-up events, where ``init`` makes some up; return what went wrong."""
    if intent.steps or len(intent.answers.groups) > 12:
        return []
    filled = fill(intent.answers)
    sample = path.with_name("sample.jsonl")
    sample.write_text("\n".join(made_up(filled).lines) + "\n")
    done = tocsin("run", str(path), "--replay", str(sample), "--dry-run", "--json")
    records = json_lines(done)
    wrong = [one["reason"] for one in records if one.get("outcome") == "denied"]
    fired = sum("alarm_id" in one for one in records)
    return [f"denied: {set(wrong)}"] * bool(wrong) + ["did not fire"] * (not fired)


def main() -> None:
    """Try them all."""
    rows, times, bad = [], [], 0
    for name, intent in INTENTS.items():
        with TemporaryDirectory() as folder:
            took, found, checked = tried(intent, Path(folder))
        times.append(took)
        bad += checked != "kept" and not checked.startswith("0 of")
        rows.append(f"| {name} | {took:.1f} | {found} | {checked} |")
        print(rows[-1], flush=True)
    told = (
        f"Solved in {median(times):.1f} s of CPU (median), {max(times):.1f} s at most; {bad} wrong."
    )
    print(told)
    if "--write" in sys.argv:
        head = (
            "# Forty made-up intents\n\n"
            "`python -m tests.trials.report --write`. What is found is locked, planned, checked by"
            " exact laws and run on made-up events;\nwhat is impossible is looked for in a grid of"
            " windows, mechanisms, tolerances, rates, alarms and parts.\n\n"
            f"{machine()} {told}\n\n"
            "| intent | CPU s | found | checked |\n|---|--:|---|---|\n"
        )
        REPORT.write_text(head + "\n".join(rows) + "\n")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
