"""Earlier commits to measure beside the tree as it is, and processes to measure them in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]


@contextmanager
def checkout(commit: str) -> Iterator[Path]:
    """Lend the files of a commit, in a folder that goes away."""
    packed = subprocess.run(
        ["git", "archive", commit], cwd=ROOT, check=True, stdout=subprocess.PIPE
    ).stdout
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["tar", "-x"], cwd=folder, check=True, input=packed)
        yield Path(folder)


def apart(tree: Path, file: str, *given: object) -> Any:
    """Return what a benchmark of a tree prints as JSON, run as a process.

    An earlier commit has other names, keys and interfaces: it is measured by its own file, which
    knows from ``--inside`` that it is to measure in this process.

    Args:
        tree: a checkout.
        file: of this tree; the one of that name is run.
        given: what it is to measure.
    """
    program = tree / "benchmarks" / Path(file).name
    done = subprocess.run(
        [sys.executable, "-P", str(program), "--inside", *map(str, given)],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(done.stdout)


def processor_s(*pids: int) -> float:
    """Return the processor time so far of processes and their children, those that ended too."""
    spent = 0.0
    for pid in pids:
        server = psutil.Process(pid)
        times = server.cpu_times()
        spent += sum(times[:4])  # its own, and of children that ended
        for child in server.children():
            with suppress(psutil.NoSuchProcess):
                spent += sum(child.cpu_times()[:2])
    return spent
