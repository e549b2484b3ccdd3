"""Processes as the kernel sees them."""

from __future__ import annotations

from pathlib import Path

__all__ = ["children", "gone"]


def gone(pid: int) -> bool:
    """Tell whether a process has ended, whether or not somebody has asked how."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return True
    return stat.rpartition(")")[2].split()[0] in {"Z", "X"}


def children(pid: int) -> list[int]:
    """Return the processes that a process started and has not seen the end of; none of an ended."""
    try:
        found = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [int(child) for child in found.split()]
