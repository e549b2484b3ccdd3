"""``tocsin board``: reads the public topics and shows what they say, until told to end.

It keeps nothing: a board that was killed reads back and shows the same. A broker that goes away is
waited for, and the page says so.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from stream.kafka.board.server import Screen, serving
from stream.kafka.board.standing import Standings
from stream.kafka.board.view import Writer, overdue
from stream.kafka.connectivity import Connectivity
from stream.kafka.public.reader import Position, Reader, run_on
from stream.kafka.tasks import first, now_ms, told
from stream.logs.lines import Line

if TYPE_CHECKING:
    from collections.abc import Callable

    from stream.logs.lines import Log
    from stream.model.subscriptions import BoardSetup

__all__ = ["show"]

_PAUSE_S: Final = 0.5  # between two pages: many windows at once are one


def show(setup: BoardSetup, log: Log, said: Callable[[str], None]) -> None:
    """Show alarms until the process is told to end, by SIGTERM, SIGINT or SIGHUP.

    Args:
        setup: where from, where and how much.
        log: where Kafka's coming and going is said.
        said: told the address of the page, once it can be read.

    Raises:
        ConfigError: the address cannot be listened on.
        DataError: a record of the topics is not an alarm, or a decision, of this version.
        DependencyError: Kafka cannot be reached.
    """
    run_on(setup.subscription.kafka, lambda: _Shower(setup, log).run(said))


@dataclass(eq=False)
class _Shower:
    """One process: what it has read and what it shows."""

    setup: BoardSetup
    log: Log

    def __post_init__(self) -> None:
        """Begin: nothing has come yet."""
        self._connectivity = Connectivity("kafka", self.log)
        self._standings = Standings(self.setup.subscription, self.setup.board.windows)
        self._writer = Writer(self.setup)
        self._screen = Screen()
        self._caught_up = False
        self._shown: tuple[object, ...] = ()
        self._again_s = 0.0

    async def run(self, said: Callable[[str], None]) -> None:
        """Show until told to end.

        Raises:
            ConfigError: the address cannot be listened on.
            DataError: a record is not of this version.
            DependencyError: a topic is not there.
            KafkaError: Kafka cannot be reached at the start.
        """
        board, kafka = self.setup.board, self.setup.subscription.kafka
        position = Position(lookback_ms=board.lookback_ms)
        self._show()
        with serving(self._screen, board) as address:
            async with Reader(kafka, self._connectivity, position).opened() as reader:
                said(address)
                self.log.info(Line.SHOWING)
                await first(self._follow(reader), told())
                self.log.info(Line.STOPPING)

    async def _follow(self, reader: Reader) -> None:
        while True:
            for window in await reader.read():
                self._standings.take(window)
            self._caught_up = self._caught_up or await reader.caught_up()
            self._show()

    def _show(self) -> None:
        """Write what is known now, where it says something else than what is shown."""
        caught_up, away, at_ms = self._caught_up, self._connectivity.unreachable_s > 0, now_ms()
        if caught_up:
            self._standings.forget(at_ms, self.setup.board.lookback_ms)
        late = overdue(self._standings.all(), at_ms)
        known = (self._standings.changes, late) if caught_up else ()
        news = (known, caught_up, away)
        if news == self._shown or time.monotonic() < self._again_s:
            return
        self._shown, self._again_s = news, time.monotonic() + _PAUSE_S
        html = self._writer.view(self._standings, now_ms=at_ms, caught_up=caught_up, away=away)
        missing = {"reading": not caught_up, "kafka": away}
        lacks = tuple(name for name, so in missing.items() if so)
        self._screen.show(html, self._writer.page(html), lacks)
