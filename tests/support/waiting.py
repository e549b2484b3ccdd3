"""Waiting for something to happen, with a patience that measures nothing."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE_S = 400.0
"""How long a test waits before it fails: far longer than is needed, below pytest's own limit."""


_PAUSE = 9
"""Pause this many times as long as asking has kept the processor: others wait for it, too."""


def wait_until(what: str, ready: Callable[[], object], *, every_s: float = 0.2) -> None:
    """Wait until ``ready()``; fail, saying what did not happen, when it never is.

    Args:
        what: is waited for.
        ready: asked again and again.
        every_s: pause at least so long between two questions.
    """
    deadline_s = time.monotonic() + PATIENCE_S
    begun_s = time.thread_time()
    while not ready():
        if time.monotonic() > deadline_s:
            raise AssertionError(f"did not happen within {PATIENCE_S:.0f} s: {what}")
        time.sleep(max(every_s, _PAUSE * (time.thread_time() - begun_s)))
        begun_s = time.thread_time()
