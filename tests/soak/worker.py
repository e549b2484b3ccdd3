"""The command ``tocsin``, as it is installed, on a wall clock that a test may set wrong.

``python -m tests.soak.worker CLOCK ARGUMENT...`` runs it; ``CLOCK`` is a file of one 64-bit
integer, by how many milliseconds this process's wall clock is ahead of the machine's. Timers go by
the monotonic clock and are right. It ends when its standard input does, so that no worker outlives
the test that started it.
"""

from __future__ import annotations

import mmap
import os
import struct
import sys
import threading
import time
from importlib.metadata import entry_points
from pathlib import Path

_AHEAD = struct.Struct("<q")


def set_clock(path: Path, ahead_ms: int) -> None:
    """Set the clock of whoever runs on this file, at once and atomically."""
    if not path.exists():
        path.write_bytes(_AHEAD.pack(ahead_ms))
        return
    with path.open("r+b") as opened, mmap.mmap(opened.fileno(), _AHEAD.size) as clock:
        clock[:] = _AHEAD.pack(ahead_ms)


def _go_wrong(path):
    """Let this process's wall clock follow the file, before anything else is imported."""
    right_ns = time.time_ns
    with path.open("rb") as opened:
        clock = mmap.mmap(opened.fileno(), _AHEAD.size, access=mmap.ACCESS_READ)

    def time_ns():
        return right_ns() + _AHEAD.unpack_from(clock)[0] * 1_000_000

    time.time_ns = time_ns
    time.time = lambda: time_ns() / 1e9


def _end_with_the_test():
    os.read(0, 1)
    os._exit(75)


def main() -> None:
    """Run the command."""
    _go_wrong(Path(sys.argv[1]))
    threading.Thread(target=_end_with_the_test, daemon=True).start()
    sys.argv[:] = ["tocsin", *sys.argv[2:]]
    (command,) = entry_points(group="console_scripts", name="tocsin")
    command.load()()


if __name__ == "__main__":
    main()
