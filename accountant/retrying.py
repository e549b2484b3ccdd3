"""Waiting for a dependency: with growing pauses, not for ever.

stamina's hooks are off in this process: they would log every pause, and count it on the registry
that all libraries share.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

import stamina
from stamina.instrumentation import set_on_retry_hooks

from accountant.errors import DependencyError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["retrying"]

T = TypeVar("T")

set_on_retry_hooks(())


def retrying(
    call: Callable[[], T],
    *,
    passing: Callable[[DependencyError], bool] = lambda _: True,
    first_s: float = 0.25,
    longest_s: float = 5.0,
    deadline_s: float = 30.0,
) -> T:
    """Return what ``call`` returns, trying again while a dependency cannot be reached.

    Args:
        call: idempotent.
        passing: which errors may pass, asked before every pause.
        first_s: the first pause; each is twice as long as the one before.
        longest_s: the longest pause.
        deadline_s: give up where another pause would end later than this after the first call.

    Raises:
        DependencyError: the last one, when the deadline has passed.
    """
    give_up_s = time.monotonic() + deadline_s

    def again(error: Exception) -> bool:
        in_time = time.monotonic() + attempt.next_wait <= give_up_s
        return isinstance(error, DependencyError) and in_time and passing(error)

    for attempt in stamina.retry_context(
        on=again,
        attempts=None,
        timeout=None,
        wait_initial=first_s,
        wait_max=longest_s,
        wait_jitter=0,
    ):
        with attempt:
            found = call()
    return found
