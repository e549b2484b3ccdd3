"""Prometheus' own checker of configurations and rules."""

from __future__ import annotations

import subprocess

from tests.support.waiting import PATIENCE_S

__all__ = ["promtool"]


def promtool(*arguments: str) -> str:
    """Return what promtool complained about; nothing when it is content."""
    done = subprocess.run(
        ["promtool", *arguments], capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )
    return "" if done.returncode == 0 else done.stdout + done.stderr
