"""``tocsin notify``: alarms to where people are told of them, at least once.

A window's place is committed once every target has it, or was given up. A target that is away
delays no other; one that is slow does once too many windows wait for it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from stream.decisions.lifecycle import State
from stream.kafka.connectivity import Connectivity
from stream.kafka.notify.messages import Message, ends_ms
from stream.kafka.notify.sender import Sender
from stream.kafka.public.reader import Position, Reader, run_on
from stream.kafka.tasks import first, told
from stream.logs.lines import Line

if TYPE_CHECKING:
    from stream.kafka.notify.messages import Target
    from stream.kafka.public.pairing import Window
    from stream.logs.lines import Log
    from stream.model.notifications import TargetSettings
    from stream.model.subscriptions import NotifySetup

__all__ = ["notify", "target_of"]

_COMMIT_S: Final = 1.0  # a killed process delivers again what it delivered in the last second


def notify(setup: NotifySetup, log: Log, *, from_beginning: bool) -> None:
    """Deliver alarms until the process is told to end, by SIGTERM, SIGINT or SIGHUP.

    Args:
        setup: where from and where to.
        log: where targets' coming and going is said.
        from_beginning: a group that has delivered nothing begins with the oldest records.

    Raises:
        DataError: a record of the topics is not an alarm, or a decision, of this version.
        DependencyError: Kafka cannot be reached, or the client of a target is not installed.
    """
    run_on(
        setup.subscription.kafka,
        lambda: _Notifier(setup, log).run(from_beginning=from_beginning),
    )


def target_of(settings: TargetSettings) -> Target:
    """Return a target of a configuration; the file of its kind, and its client, are imported now.

    Raises:
        DependencyError: the client is not installed.
    """
    found = import_module(f"{__package__}.{settings.kind}")
    target: Target = found.TARGET(settings.name, **settings.keys)
    return target


@dataclass(eq=False)
class _Notifier:
    """One process: its states, its senders and how far they are."""

    setup: NotifySetup
    log: Log

    def __post_init__(self) -> None:
        """Make a sender a target; nothing has been read yet."""
        settings = self.setup.notify
        retry_for_s = settings.retry_for_ms / 1000
        self._senders = [Sender(target_of(one), retry_for_s, self.log) for one in settings.targets]
        self._states: dict[str, State] = {}
        self._read_back = asyncio.Event()
        self._number = 0
        self._undelivered: deque[tuple[int, dict[Any, int]]] = deque()

    async def run(self, *, from_beginning: bool) -> None:
        """Deliver until told to end.

        Raises:
            DataError: a record is not of this version.
            DependencyError: a topic is not there.
            KafkaError: Kafka cannot be reached at the start.
        """
        settings, kafka = self.setup.notify, self.setup.subscription.kafka
        position = Position(
            settings.group, lookback_ms=settings.lookback_ms, from_beginning=from_beginning
        )
        reading = Reader(kafka, Connectivity("kafka", self.log), position)
        async with reading.opened() as reader:
            self.log.info(Line.NOTIFYING)
            senders = map(self._send, self._senders)
            await first(self._follow(reader), self._commit(reader), *senders, told())
            self.log.info(Line.STOPPING)
            await self._commit_once(reader)

    async def _follow(self, reader: Reader) -> None:
        while True:
            if self._read_back.is_set() and any(sender.full for sender in self._senders):
                await asyncio.sleep(_COMMIT_S)  # what a slow target lacks stays on the topics
                continue
            for window in await reader.read():
                self._take(window)
            if not self._read_back.is_set() and await reader.caught_up():
                self._read_back.set()

    async def _send(self, sender: Sender) -> None:
        """Deliver; not before the states are found: a target would be told old ones."""
        await self._read_back.wait()
        await sender.run()

    def _take(self, window: Window) -> None:
        alarm = window.decision.alarm
        if not window.whole:
            self.log.warning(Line.INCOMPLETE)
        state = self._states.get(alarm, State())
        self._states[alarm], notices = window.after(state, self.setup.subscription)
        messages = [
            Message(notice, window.published_ms, ends_ms(notice, window.published_ms))
            for notice in notices
        ]
        # What was delivered, but is whole only now, goes out as a copy: remembering tells nobody.
        if window.known and not self._read_back.is_set():
            for sender in self._senders:
                sender.remember(messages)
            return
        self._number += 1
        self._undelivered.append((self._number, window.safe))
        for sender in self._senders:
            sender.put(self._number, messages)

    async def _commit(self, reader: Reader) -> None:
        while True:
            await asyncio.sleep(_COMMIT_S)
            await self._commit_once(reader)

    async def _commit_once(self, reader: Reader) -> None:
        """Commit the place of the last window that every target has."""
        done = min((sender.delivered for sender in self._senders), default=0)
        safe = None
        while self._undelivered and self._undelivered[0][0] <= done:
            _, safe = self._undelivered.popleft()
        if safe is not None and not await reader.commit(safe):
            self._undelivered.appendleft((done, safe))
