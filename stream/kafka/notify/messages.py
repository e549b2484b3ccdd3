"""What is handed to a target, and how it is refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from stream.windows.instants import from_iso_utc, iso_utc

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream.decisions.lifecycle import Notice
    from stream.decisions.records import DecisionRecord

__all__ = [
    "AwayError",
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

    async def refresh(self) -> bool:
        """Say again what holds, about every ``resend_s``; tell whether there was anything to say.

        Raises:
            AwayError: try again.
        """
        return False

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
