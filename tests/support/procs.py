"""Processes as the kernel sees them, and programs that run to their end."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

from tests.support.waiting import PATIENCE_S


def gone(pid: int) -> bool:
    """Tell whether a process has ended, whether or not somebody has asked how."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return stat.rpartition(")")[2].split()[0] in {"Z", "X"}


def handles(pid: int, number: int) -> bool:
    """Tell whether a process has a handler of its own of a signal."""
    status = Path(f"/proc/{pid}/status").read_text()
    (caught,) = re.findall(r"^SigCgt:\s*([0-9a-f]+)$", status, flags=re.MULTILINE)
    return bool(int(caught, 16) >> (number - 1) & 1)


def children(pid: int) -> list[int]:
    """Return the processes that a process started and has not seen the end of; none of an ended."""
    try:
        found = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [int(child) for child in found.split()]


def ran(*command: object, code: int | None = 0, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a program to its end and return what it printed.

    Args:
        command: its words.
        code: that it has to end with; ``None`` where any will do.
        options: of :func:`subprocess.run`.
    """
    usual = {"capture_output": True, "text": True, "timeout": PATIENCE_S}
    done = subprocess.run(list(map(str, command)), check=False, **{**usual, **options})
    assert code is None or done.returncode == code, f"{done.stdout}{done.stderr}"
    return done
