"""Whether Kafka and the ledger are there, as the log tells it.

Clients that lost their broker try again by themselves for as long as it takes, and say so in their
own words, many times a second. Here each dependency is one thing that is there or away: one line
when it is first missed, and one when it is back. Pages and alerts tell of the time between.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aiokafka.client import AIOKafkaClient
from aiokafka.errors import KafkaConnectionError

from accountant.errors import DependencyError
from stream.kafka.clients import KAFKA_AWAY, aiokafka_arguments
from stream.logs.lines import Line

if TYPE_CHECKING:
    from collections.abc import Callable

    from stream.logs.lines import Log
    from stream.model.alarms import KafkaSettings

__all__ = ["Connectivity", "Dependencies"]

_LOOK_S: Final = 5.0
_ANSWER_S: Final = 5.0


@dataclass(eq=False)
class Connectivity:
    """One dependency: told of by any task, it says what is news.

    Args:
        dependency: what it is called, one word.
        log: where to say it.
        clock_s: a clock that only goes forward, in seconds.
    """

    dependency: str
    log: Log
    clock_s: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        """Begin: nothing has come yet."""
        self._since_s: float | None = None

    @property
    def unreachable_s(self) -> float:
        """For how long it has been missed and not found, in seconds; 0 while it is there."""
        return 0.0 if self._since_s is None else self.clock_s() - self._since_s

    def missed(self, error: BaseException) -> None:
        """Somebody could not reach it.

        Args:
            error: how that was noticed.
        """
        if self._since_s is None:
            self._since_s = self.clock_s()
            self.log.warning(Line.UNREACHABLE, dependency=self.dependency, error=error)

    def found(self) -> None:
        """It answered."""
        if self._since_s is not None:
            unreachable_s, self._since_s = int(self.unreachable_s), None
            self.log.info(Line.BACK, dependency=self.dependency, unreachable_s=unreachable_s)


class Dependencies:
    """Both dependencies of a worker.

    Args:
        log: where their coming and going is said.
        clock_s: a clock that only goes forward, in seconds.
    """

    def __init__(self, log: Log, clock_s: Callable[[], float] = time.monotonic) -> None:
        self.kafka = Connectivity("kafka", log, clock_s)
        self.ledger = Connectivity("ledger", log, clock_s)

    def missed(self, error: BaseException) -> Connectivity:
        """Note an error that means that one of them is away, and return which: the error says."""
        database = isinstance(error, DependencyError) and error.ledger
        missed = self.ledger if database else self.kafka
        missed.missed(error)
        return missed

    async def look_for_kafka(self, kafka: KafkaSettings) -> None:
        """Ask a broker for one topic's place every few seconds, until cancelled; never fails."""
        while True:
            client = AIOKafkaClient(
                request_timeout_ms=int(_ANSWER_S * 1000), **aiokafka_arguments(kafka)
            )
            try:
                await client.bootstrap()
                client.set_topics([kafka.wakeup_topic])
                while await asyncio.wait_for(client.force_metadata_update(), 2 * _ANSWER_S):
                    self.kafka.found()
                    await asyncio.sleep(_LOOK_S)
                self.kafka.missed(KafkaConnectionError())
            except (*KAFKA_AWAY, OSError) as error:
                self.kafka.missed(error)
            finally:
                await client.close()
            await asyncio.sleep(_LOOK_S)
