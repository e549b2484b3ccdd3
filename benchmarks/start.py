"""How long a command takes before it does anything: the processor's time of help and check."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys

from benchmarks.checkouts import ROOT

ROUNDS = 7
COMMANDS = {
    "help": ("--help",),
    "check_office": ("check", "examples/office/alarms.yaml"),
    "check_retail": ("check", "examples/retail/alarms.yaml"),
}


def run() -> dict[str, float]:
    """Return seconds of processor time by command; the median of some rounds, in turns."""
    taken = [[_seconds(each) for each in COMMANDS.values()] for _ in range(ROUNDS + 1)]
    medians = map(statistics.median, zip(*taken[1:], strict=True))  # the first one compiles
    return {f"{name}_cpu_s": took for name, took in zip(COMMANDS, medians, strict=True)}


def _seconds(arguments: tuple[str, ...]) -> float:
    before = os.times()
    command = [sys.executable, "-m", "stream.cli.entry", *arguments]
    # As installed: what is imported is compiled once, whatever this process was told.
    kept = {name: of for name, of in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run(command, cwd=ROOT, env=kept, capture_output=True, check=True)
    after = os.times()
    used = after.children_user + after.children_system
    return used - before.children_user - before.children_system
