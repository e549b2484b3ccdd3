"""Waiting for a dependency: with backoff, not for ever."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

from accountant.errors import DependencyError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["retrying"]

T = TypeVar("T")


def retrying(
    call: Callable[[], T],
    *,
    deadline_s: float = 30.0,
    sleep: Callable[[float], None] = time.sleep,
    monotonic: Callable[[], float] = time.monotonic,
) -> T:
    """Return what ``call`` returns, trying again while a dependency cannot be reached.

    Args:
        call: idempotent.
        deadline_s: give up this many seconds after the first call.
        sleep: waits; injected by tests.
        monotonic: clock of the deadline; injected by tests.

    Raises:
        DependencyError: the last one, when the deadline has passed.
    """
    pause_s = 0.25
    give_up_s = monotonic() + deadline_s
    while True:
        try:
            return call()
        except DependencyError:
            if monotonic() + pause_s > give_up_s:
                raise
        sleep(pause_s)
        pause_s = min(pause_s * 2, 5.0)
