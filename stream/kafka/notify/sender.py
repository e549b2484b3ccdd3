"""One sender a target: in order, again and again, and never in another's way."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from accountant.errors import DependencyError
from stream.kafka.connectivity import Connectivity
from stream.kafka.notify.messages import AwayError, RefusedError
from stream.logs.lines import Line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream.kafka.notify.messages import Message, Target
    from stream.logs.lines import Log

__all__ = ["Sender"]

_MOST_WAITING: Final = 10_000  # windows; what a target does not take is in memory until then
_LOOK_S: Final = 5.0  # what is away and has nothing to take is looked for so often
_FIRST_PAUSE_S: Final = 1.0  # then twice as long each time
_LONGEST_PAUSE_S: Final = 30.0  # a target that is back is found within half a minute


@dataclass(eq=False)
class Sender:
    """Brings messages to one target, until it is cancelled.

    At least once: a window counts as delivered after the target has taken each of its messages. One
    that it refuses, or does not take in time, is only told of: it stays on the alarms topic. So are
    the oldest of too many that wait for a target that is away.

    Args:
        target: where to.
        give_up_s: how long a target may be away.
        log: where its coming and going is said.
    """

    target: Target
    give_up_s: float
    log: Log

    def __post_init__(self) -> None:
        """Begin: nothing has come yet."""
        self.delivered = 0
        self._connectivity = Connectivity(self.target.name, self.log)
        self._waiting: asyncio.Queue[tuple[int, tuple[Message, ...]]] = asyncio.Queue()
        self._missed_since_s: float | None = None
        self._refresh_at_s = 0.0

    @property
    def full(self) -> bool:
        """Whether too many wait for a target that is there; one that is not loses the oldest."""
        away = self._connectivity.unreachable_s >= _LONGEST_PAUSE_S
        return self._waiting.qsize() > _MOST_WAITING and not away

    def remember(self, messages: Sequence[Message]) -> None:
        """Take note of messages that were delivered before."""
        for message in messages:
            if self.target.wants(message.notice):
                self.target.remember(message)

    def put(self, number: int, messages: Sequence[Message]) -> None:
        """Take the messages of a window; numbers rise by one."""
        wanted = tuple(message for message in messages if self.target.wants(message.notice))
        self._waiting.put_nowait((number, wanted))

    async def run(self) -> None:
        """Deliver until cancelled; the target is parted from then."""
        try:
            while True:
                await self._deliver_next()
                await self._refresh()
        finally:
            await self.target.close()

    async def _deliver_next(self) -> None:
        """Deliver the next window, if one comes before it is time to say again what holds."""
        try:
            async with asyncio.timeout(max(0.0, self._refresh_at_s - time.monotonic())):
                number, messages = await self._waiting.get()
        except TimeoutError:
            return
        units = [messages] if self.target.together else [(one,) for one in messages]
        for unit in filter(None, units):
            await self._bring(unit)
        self.delivered = number

    async def _refresh(self) -> None:
        if time.monotonic() < self._refresh_at_s:
            return
        try:
            answered = await self.target.refresh()
        except (AwayError, RefusedError) as error:
            self._connectivity.missed(error)
            self._refresh_at_s = time.monotonic() + min(self.target.resend_s, _LOOK_S)
        else:
            if answered:
                self._answered()
            self._refresh_at_s = time.monotonic() + self.target.resend_s

    async def _bring(self, unit: Sequence[Message]) -> None:
        pause_s, why = _FIRST_PAUSE_S, f"more than {_MOST_WAITING} windows wait"
        # A target that fails once while many wait, as one that limits rates, loses none of them.
        while (
            self._waiting.qsize() <= _MOST_WAITING
            or self._connectivity.unreachable_s < _LONGEST_PAUSE_S
        ):
            try:
                await self.target.send(unit)
            except RefusedError as error:
                self._give_up(unit, str(error))
                return
            except AwayError as error:
                self._connectivity.missed(error)
                now_s = time.monotonic()
                if self._missed_since_s is None:
                    self._missed_since_s = now_s
                unreachable_s = now_s - self._missed_since_s
                if unreachable_s >= self.give_up_s:
                    why = f"not taken for {unreachable_s:.0f} s"
                    break
            else:
                self._answered()
                return
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
        # Of too many, this one was not tried: an attempt takes until its time-out, and more come.
        self._give_up(unit, why)
        self.remember(unit)  # its state holds all the same, not the one that was taken before
        await asyncio.sleep(0)  # others have their turn between two of thousands

    def _answered(self) -> None:
        self._missed_since_s = None
        self._connectivity.found()

    def _give_up(self, unit: Sequence[Message], why: str) -> None:
        notice = unit[0].notice
        error = DependencyError(f"{why}: {notice.alarm}, window from {notice.window_start}")
        self.log.error(Line.UNDELIVERED, dependency=self.target.name, alarms=len(unit), error=error)
