"""What is handed to a target, how it is refused, and what is kept of what was not delivered."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from accountant.errors import DependencyError
from stream.kafka.tasks import now_ms
from stream.windows.instants import from_iso_utc, iso_utc

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from stream.decisions.lifecycle import Notice
    from stream.decisions.records import DecisionRecord

__all__ = [
    "AwayError",
    "DeadLetters",
    "Message",
    "RefusedError",
    "Target",
    "body",
    "due_ms",
    "ends_ms",
]

_LEAST_SLACK_MS: Final = 60_000
_MOST_SLACK_MS: Final = 7_200_000


class AwayError(Exception):
    """A target did not take a message now; it may later."""


class RefusedError(Exception):
    """A target will never take this message."""


@dataclass(frozen=True, slots=True)
class Message:
    """One notice on its way.

    Args:
        notice: what it says.
        published_ms: when its decision left.
        ends_ms: until when it stands without another word.
    """

    notice: Notice
    published_ms: int
    ends_ms: int


class Target:
    """Somewhere to deliver to. Calls come one after another, in the order of the windows."""

    name: str
    resend_s = 1e9
    """How often it is told again what holds: never, unless it says so."""
    together = False
    """Whether the messages of a window go in one call of ``send``."""

    def wants(self, _notice: Notice) -> bool:
        """Tell whether it takes notices of this status: of all, unless it says so."""
        return True

    def remember(self, message: Message) -> None:
        """Take note of a message that was delivered before this process started."""

    async def send(self, messages: Sequence[Message]) -> None:
        """Return once the target has them for good; copies are for the target to tell apart.

        Raises:
            AwayError: try again.
            RefusedError: never try again.
        """
        raise NotImplementedError

    async def refresh(self) -> None:
        """Say again what holds, about every ``resend_s``.

        Raises:
            AwayError: try again.
        """

    async def close(self) -> None:
        """Part from the target."""


def ends_ms(notice: Notice, published_ms: int) -> int:
    """Return until when a notice stands by itself, in milliseconds since the epoch.

    Until the alarm's next window is heard of, as long after this one as it begins after it, and
    half as long again, a minute at least and two hours at most. Where the schedule pauses, it does
    not stand until it goes on: as if the next window followed at once.

    Args:
        notice: of a window.
        published_ms: when its decision left.
    """
    return published_ms + _patience_ms(notice)[0]


def due_ms(decision: DecisionRecord, published_ms: int) -> int:
    """Return by when the decision of the alarm's next window is heard of, if all goes well.

    As :func:`ends_ms`, but a schedule may pause: until it goes on, nothing is overdue.

    Args:
        decision: of a window.
        published_ms: when it left.
    """
    return published_ms + sum(_patience_ms(decision))


def _patience_ms(window: Notice | DecisionRecord) -> tuple[int, int]:
    """Return how long a next window that follows at once is waited for, and the pause before it."""
    start, end = from_iso_utc(window.window_start), from_iso_utc(window.window_end)
    following = from_iso_utc(window.next_start)
    step = max(min(following, end) - start, 0)
    slack = min(max(step // 2, _LEAST_SLACK_MS), _MOST_SLACK_MS)
    return step + slack, max(following - end, 0)


def body(message: Message) -> dict[str, object]:
    """Return a message as JSON tells it: the notice, when it left and until when it stands."""
    told: dict[str, object] = msgspec.to_builtins(message.notice)
    return {**told, "published": iso_utc(message.published_ms), "ends": iso_utc(message.ends_ms)}


class DeadLetters:
    """A file of what was not delivered: one JSON object a line, on the disk before it counts.

    Args:
        path: made when it is needed, for its owner alone.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = asyncio.Lock()

    async def keep(self, target: str, message: Message, why: str) -> None:
        """Add one.

        Args:
            target: that did not take it.
            message: what it was.
            why: in a few words, without what the target said.

        Raises:
            DependencyError: the disk does not take it.
        """
        line = {"target": target, "why": why, "at": iso_utc(now_ms()), "notice": body(message)}
        try:
            async with self._lock:
                await asyncio.to_thread(self._append, msgspec.json.encode(line) + b"\n")
        except OSError as error:
            raise DependencyError(
                f"the dead letters cannot be written: {error.strerror or type(error).__name__}",
                hint="make room, or write another notify.dead_letters; nothing is committed",
            ) from error

    def _append(self, line: bytes) -> None:
        place = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(place, "ab") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
