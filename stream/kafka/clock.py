"""A worker's wall clock, held against the monotonic one and against the brokers'.

A window is over, and an idle partition complete, when the clock is past its end by the feed's
``idle_partition_timeout``. A clock that runs ahead by more closes windows that are not over, and
takes the ledger's mark of time along, behind which no clock is right any more. So it is believed
only while it goes on as the monotonic clock does, from where the brokers' clock last agreed.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from accountant.errors import ClockError
from stream.build import wall_clock_ms
from stream.model.feeds import Clock

if TYPE_CHECKING:
    from collections.abc import Callable

    from stream.model.alarms import Alarms

__all__ = ["HeldClock"]

_USUAL_MARGIN_MS: Final = 10_000
_TOGETHER_MS: Final = 20
"""Two clocks were read at once where no more time passed in between."""


def _monotonic_ms() -> int:
    return time.monotonic_ns() // 1_000_000


class HeldClock:
    """The wall clock, for as long as it can be right.

    Args:
        alarms: the configuration; 3/4 of the shortest ``idle_partition_timeout`` are allowed.
        wall_ms: milliseconds since the Unix epoch.
        monotonic_ms: milliseconds since any instant; never set.
    """

    def __init__(
        self,
        alarms: Alarms,
        wall_ms: Callable[[], int] = wall_clock_ms,
        monotonic_ms: Callable[[], int] = _monotonic_ms,
    ) -> None:
        margins = [
            feed.idle_partition_timeout_ms
            for feed in alarms.feeds.values()
            if feed.clock is Clock.APPEND_TIME
        ]
        self.allowed_ms = min(margins, default=_USUAL_MARGIN_MS) * 3 // 4
        self._wall_ms = wall_ms
        self._monotonic_ms = monotonic_ms
        self._apart_ms = self._read()[1]

    def __call__(self) -> int:
        """Return the time.

        Raises:
            ClockError: it was set forward while this process ran.
        """
        now_ms, apart_ms = self._read()
        jumped_ms = apart_ms - self._apart_ms
        if jumped_ms > self.allowed_ms:
            raise ClockError(
                "this machine's clock was set forward while the worker ran, and is "
                f"{jumped_ms} ms ahead",
                hint="correct the clock (NTP) and restart the worker",
            )
        # Where it was set back it may come back: the ledger's mark tells whether it went too far.
        self._apart_ms = min(self._apart_ms, apart_ms)
        return now_ms

    def agrees(self, asked_ms: int, broker_ms: int) -> None:
        """Compare with the time at which a broker appended something.

        Args:
            asked_ms: the time here before it was sent.
            broker_ms: its append time.

        Raises:
            ClockError: the clock here is ahead.
        """
        ahead_ms = asked_ms - broker_ms
        if ahead_ms > self.allowed_ms:
            raise ClockError(
                f"the clock is {ahead_ms} ms ahead of the brokers', and {self.allowed_ms} ms are "
                "allowed (three quarters of the shortest idle_partition_timeout)",
                hint="set this machine's clock right, or the brokers'; nothing was written",
            )
        # By how much it is ahead already, it may be set forward less.
        self._apart_ms = min(self._apart_ms, self._read()[1] - max(ahead_ms, 0))

    def _read(self) -> tuple[int, int]:
        """Return the time, and by how much it is more than the monotonic clock's."""
        while True:
            before_ms = self._monotonic_ms()
            now_ms = self._wall_ms()
            if self._monotonic_ms() - before_ms <= _TOGETHER_MS:
                return now_ms, now_ms - before_ms
