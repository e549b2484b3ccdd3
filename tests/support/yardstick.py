"""How long something takes, on a machine of any speed: counted in steps of a plain loop."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_LOOP = 300_000
_TRIES = 3


def steps(call: Callable[[], object]) -> float:
    """Return in how many steps of a plain loop as much of the processor's time passes.

    A step is some tens of nanoseconds. Loop and call are measured in turns and the least of each is
    taken, so that a slow or busy machine slows both.

    Args:
        call: what is measured; called three times.
    """
    ours, loops = [], []
    for _ in range(_TRIES):
        loops.append(_seconds(_loop))
        ours.append(_seconds(call))
    return min(ours) / min(loops) * _LOOP


def _seconds(call):
    started_s = time.process_time()
    call()
    return time.process_time() - started_s


def _loop():
    total = 0
    for number in range(_LOOP):
        total += number & 7
    return total
