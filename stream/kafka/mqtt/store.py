"""The buffer as two tasks see it: one puts records in, the other brings them to the log."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from stream.logs.lines import Line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from stream.kafka.mqtt.buffer import Buffer
    from stream.logs.lines import Log

__all__ = ["Store", "packed", "unpacked"]

T = TypeVar("T")

_KEY_BYTES: Final = 4
_AGAIN_S: Final = 1.0


def packed(key: bytes, value: bytes) -> bytes:
    """Return a record's key and value as one."""
    return len(key).to_bytes(_KEY_BYTES, "little") + key + value


def unpacked(body: bytes) -> tuple[bytes, bytes]:
    """Return the key and the value that :func:`packed` made one."""
    end = _KEY_BYTES + int.from_bytes(body[:_KEY_BYTES], "little")
    return body[_KEY_BYTES:end], body[end:]


@dataclass(eq=False)
class Store:
    """A buffer that is waited for, when it is empty and when it is full.

    The disk is waited for in a thread: MQTT's broker takes a client that is silent for dead.

    Args:
        buffer: the file.
        log: where it is said that it is full.
    """

    buffer: Buffer
    log: Log

    def __post_init__(self) -> None:
        """Begin: nothing has come yet."""
        self.full = False
        """Whether nothing is taken, since the buffer or its disk is full."""
        self._turn = asyncio.Lock()
        self._filled = asyncio.Event()
        self._emptied = asyncio.Event()
        if self.buffer.waiting:
            self._filled.set()

    def fits(self, bodies: Sequence[bytes]) -> bool:
        """Tell whether there is room for more."""
        return self.buffer.fits(bodies)

    async def room(self, body: bytes) -> None:
        """Return once there is room for a record."""
        while not self.buffer.fits([body]):
            await self._paused()
        self.full = False

    async def append(self, bodies: Sequence[bytes]) -> None:
        """Return once records are on the disk; one that is full is waited for.

        Raises:
            DependencyError: they could not be written.
        """
        if bodies:
            while not await self._appended(bodies):
                await self._paused()
            self.full = False
            self._filled.set()

    async def _appended(self, bodies: Sequence[bytes]) -> bool:
        async with self._turn:
            return await _whole(lambda: self.buffer.append(bodies))

    async def _paused(self) -> None:
        """Wait until all was delivered, or for a moment: who else fills the disk may free it."""
        if not self.full:
            self.full = True
            self.log.warning(Line.FULL)
        self._emptied.clear()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._emptied.wait(), _AGAIN_S)

    async def next(self, most: int) -> list[bytes]:
        """Return the oldest records that were not delivered, at least one.

        Args:
            most: how many.
        """
        await self._filled.wait()
        async with self._turn:
            return await _whole(lambda: self.buffer.next(most))

    async def delivered(self, bodies: Sequence[bytes]) -> None:
        """Take note that the oldest records are in the log.

        Raises:
            DependencyError: the file could not be cut.
        """
        async with self._turn:
            await _whole(lambda: self.buffer.delivered(bodies))
            if not self.buffer.waiting:
                self._filled.clear()
                self._emptied.set()


async def _whole(work: Callable[[], T]) -> T:
    """Do work in a thread, to its end: the file is not closed under it when a task is cancelled."""
    running = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        raise
