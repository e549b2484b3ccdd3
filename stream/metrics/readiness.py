"""Whether a worker can do its work, in a few fixed words that anybody may read.

What they depend on (two services that answer, a log that can be read on) and why that says nothing
of an event is argued in ``docs/explanation/guarantees-and-limits.md``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CHECKS", "FRESH_S", "KAFKA", "LEDGER", "PARTITIONS", "Readiness"]

KAFKA: Final = "kafka"
LEDGER: Final = "ledger"
PARTITIONS: Final = "partitions"
CHECKS: Final = (KAFKA, LEDGER, PARTITIONS)
"""All that can fail."""

FRESH_S: Final = 45.0
"""An answer is proof for so long: a worker asks Kafka every half a minute, the ledger oftener."""


class Readiness:
    """What has answered, and when; safe to ask from many threads.

    Args:
        moving: whether every assigned partition is being read or at its end.
        monotonic_s: a clock that never goes back.
    """

    def __init__(self, moving: Callable[[], bool], monotonic_s: Callable[[], float]) -> None:
        self._moving = moving
        self._monotonic_s = monotonic_s
        self._answered_s = {KAFKA: -math.inf, LEDGER: -math.inf}

    def answered(self, service: str) -> None:
        """Take note that ``KAFKA`` or ``LEDGER`` has answered just now."""
        self._answered_s[service] = self._monotonic_s()

    def holds(self, check: str) -> bool:
        """Tell whether one of ``CHECKS`` holds now."""
        if check == PARTITIONS:
            return self._moving()
        return self._monotonic_s() - self._answered_s[check] <= FRESH_S

    def failing(self) -> list[str]:
        """Return the checks that do not hold, in their order; none when the worker is ready."""
        return [check for check in CHECKS if not self.holds(check)]
