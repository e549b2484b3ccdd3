"""Tasks side by side: until the first ends, until all have, until none is left, until told."""

from __future__ import annotations

import asyncio
import signal
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable

__all__ = ["cancelled", "every", "first", "now_ms", "told"]


async def first(*tasks: Coroutine[Any, Any, None]) -> None:
    """Run tasks side by side until one of them ends, and end as it did."""
    running = [asyncio.create_task(each) for each in tasks]
    try:
        done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        for each in done:
            each.result()
    finally:
        await cancelled(running)


async def cancelled(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel tasks and wait until they have ended, however they do."""
    for each in tasks:
        each.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def every(tasks: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Run tasks side by side to their ends, then raise the first error."""
    for outcome in await asyncio.gather(*tasks, return_exceptions=True):
        if outcome is not None:
            raise outcome


async def told() -> None:
    """Return once the process is told to end, by a signal that whoever started it did not ignore.

    A shell's background job ignores SIGINT, and what nohup starts SIGHUP.
    """
    news = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            loop.add_signal_handler(number, news.set)
    await news.wait()


def now_ms() -> int:
    """Return the wall clock's milliseconds since the epoch."""
    return time.time_ns() // 1_000_000
