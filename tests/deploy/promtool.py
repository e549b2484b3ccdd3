"""Prometheus' own checker of configurations and rules."""

from __future__ import annotations

from tests.support.procs import ran


def promtool(*arguments):
    """Return what promtool complained about; nothing when it is content."""
    done = ran("promtool", *arguments, code=None)
    return "" if done.returncode == 0 else done.stdout + done.stderr
