"""How long a command takes before it does anything: the processor's time of help and check.

``python -m benchmarks start`` measures this tree. ``python -m benchmarks.start COMMIT`` measures an
earlier commit beside it, in turns, from a checkout that is removed at the end.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from typing import TYPE_CHECKING

from benchmarks.checkouts import ROOT, checkout

if TYPE_CHECKING:
    from pathlib import Path

ROUNDS = 7
# In an earlier commit `main` was no module but the command itself, which has a method of that name.
PROGRAM = "from stream.cli import main; main.main()"
COMMANDS = {
    "help": ("--help",),
    "check_office": ("check", "examples/office/alarms.yaml"),
    "check_retail": ("check", "examples/retail/alarms.yaml"),
}


def run() -> dict[str, float]:
    """Return seconds of processor time by command; the median of some rounds."""
    return {f"{name}_cpu_s": took for name, (took,) in beside([ROOT]).items()}


def beside(trees: list[Path]) -> dict[str, list[float]]:
    """Return by command the seconds of each tree, measured in turns.

    Args:
        trees: checkouts.
    """
    taken: dict[str, list[list[float]]] = {name: [[] for _ in trees] for name in COMMANDS}
    for turn in range(ROUNDS + 1):  # the first one compiles
        for name, arguments in COMMANDS.items():
            for seconds, tree in zip(taken[name], trees, strict=True):
                took = _seconds(tree, *arguments)
                if turn:
                    seconds.append(took)
    return {name: [statistics.median(each) for each in all_] for name, all_ in taken.items()}


def _seconds(tree: Path, *arguments: str) -> float:
    before = os.times()
    subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    after = os.times()
    used = after.children_user + after.children_system
    return used - before.children_user - before.children_system


def main() -> None:
    """Measure this tree and the commit that the command line names."""
    commit = sys.argv[1]
    with checkout(commit) as old:
        found = beside([ROOT, old])
    print(f"| seconds of processor time | now | {commit} |\n|---|--:|--:|")
    for name, (now, then) in found.items():
        print(f"| {name.replace('_', ' ')} | {now:.2f} | {then:.2f} |")


if __name__ == "__main__":
    main()
