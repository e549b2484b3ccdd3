"""Tasks side by side: until the first ends, until all have, until none is left."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable

__all__ = ["cancelled", "every", "first"]


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
