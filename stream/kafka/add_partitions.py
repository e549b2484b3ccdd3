"""More partitions for a feed, under the same ledger: announced, made, concluded.

::

    announce          make, conclude
    |-- margin --|-- margin --|---------- settle ----------|
               [ from                                 until )   no window across is decided

Each step is stored where it takes effect, in the ledger or in Kafka, before the next one begins.
So the command may be killed anywhere, and run again it goes on where it was. Workers may run all
the time.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from accountant.errors import ConfigError, DependencyError, LogChangedError
from accountant.layouts import Growth
from stream.kafka.topics import admin_client, facts_of
from stream.model.alarms import require_kafka
from stream.model.feeds import Clock
from stream.model.references import counted_on, feeds_in_use
from stream.model.routing import first_start_after

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafka.admin import KafkaAdminClient

    from accountant.ledger.ledger import Ledger
    from stream.kafka.topics import TopicFacts
    from stream.model.alarms import Alarms
    from stream.model.feeds import Feed

__all__ = ["SETTLE_MS", "add_partitions"]

SETTLE_MS: Final = 10 * 60_000
"""Until every sensor routes over new partitions: clients ask for a topic's partitions every 5
minutes (``metadata.max.age.ms``, ``topic.metadata.refresh.interval.ms``), and what was routed
before that is on its way for up to 5 more (``delivery.timeout.ms``, ``message.timeout.ms``)."""

_LOOK_S: Final = 0.2
_APPEAR_S: Final = 60.0


def add_partitions(
    alarms: Alarms,
    ledger: Ledger,
    name: str,
    partitions: int,
    *,
    settle_ms: int,
    clock_ms: Callable[[], int],
    agree: Callable[[Growth], None],
    say: Callable[[str], None],
) -> Growth | None:
    """Give a feed more partitions, and wait until they are there.

    Args:
        alarms: the checked configuration.
        ledger: of its workers, open.
        name: of the feed.
        partitions: of its topic afterwards.
        settle_ms: for how long sensors may go on without knowing of new partitions.
        clock_ms: wall clock.
        agree: told what is about to be announced, with the instants as they will be within a few
            seconds; what it raises ends the command, and nothing was changed.
        say: told what is being done.

    Returns:
        How it grew; ``None`` where the log was registered with as many.

    Raises:
        ConfigError: there is no such feed, or its partitions cannot change.
        LogChangedError: its topic is another than the ledger's.
        LedgerError: the ledger refuses, see :meth:`accountant.ledger.growths.Growths.announce`.
        DependencyError: Kafka or the ledger cannot be reached, or Kafka refuses.
    """
    feed = _growing(alarms, name)
    with admin_client(require_kafka(alarms)) as client:
        work = _Work(alarms, ledger, feed, client, clock_ms, settle_ms)
        growth = work.announced(partitions, agree)
        if growth is None or growth.until_ms is not None:
            return growth
        say(
            f"{name}: {growth.before} -> {partitions} partitions announced; should this be stopped "
            "now, run it again"
        )
        work.make(growth)
        until_ms = work.over_ms(clock_ms())
        return ledger.growths.conclude(name, partitions, until_ms=until_ms)


def _growing(alarms: Alarms, name: str) -> Feed:
    """Return the feed, if its partitions may become more."""
    used = {feed.name: feed for feed in feeds_in_use(alarms)}
    if name not in used:
        raise ConfigError(
            f"no alarm reads a feed {name!r}", hint=f"write one of: {', '.join(sorted(used))}"
        )
    if used[name].clock is not Clock.APPEND_TIME:
        raise ConfigError(
            f"feed {name!r} has clock: watermarks, which are written for its number of partitions",
            hint="load it into a topic with more partitions, with a new ledger",
        )
    return used[name]


@dataclass(frozen=True, slots=True)
class _Work:
    """The steps of one growth."""

    alarms: Alarms
    ledger: Ledger
    feed: Feed
    client: KafkaAdminClient
    clock_ms: Callable[[], int]
    settle_ms: int

    @property
    def margin_ms(self) -> int:
        """How far the clocks of brokers and of this machine are taken to be apart, at most."""
        return self.feed.idle_partition_timeout_ms + self.feed.max_append_time_regression_ms

    def over_ms(self, made_ms: int) -> int:
        """Return by when all records follow partitions that were there at an instant."""
        return made_ms + self.settle_ms + self.margin_ms

    def announced(self, partitions: int, agree: Callable[[Growth], None]) -> Growth | None:
        """Tell the ledger, unless it knows; ``None`` where the log always had as many.

        As late as may be: until then, whoever stops the command has changed nothing.
        """
        name, facts = self.feed.name, self._facts()
        known = self.ledger.growths.of(name)
        registered = replace(facts.identity(name), partitions=known.newest)
        self.ledger.pins.refuse_changes((), [registered], ())  # another topic of the same name
        if known.newest == partitions:
            return known.growths[-1] if known.growths else None
        self.ledger.growths.refuse_unfit(name, partitions)
        now_ms = self.clock_ms()
        planned = Growth(name, partitions, known.newest, 0, self.over_ms(now_ms), now_ms)
        if facts.partitions == partitions:  # somebody has made them, who knows when
            agree(planned)
            return self.ledger.growths.announce(name, partitions, from_ms=None, first_starts={})
        if facts.partitions > known.newest:
            raise LogChangedError(
                f"topic {self.feed.topic!r} has {facts.partitions} partitions, the ledger knows of "
                f"{known.newest}",
                hint=f"run `tocsin topics add-partitions FILE {name} --partitions "
                f"{facts.partitions}` first",
            )
        # What Kafka would refuse is not announced: windows would be denied for nothing.
        self.client.create_partitions({self.feed.topic: partitions}, validate_only=True)
        from_ms = now_ms + self.margin_ms
        until_ms = self.over_ms(from_ms + self.margin_ms)
        agree(replace(planned, from_ms=from_ms, until_ms=until_ms))
        from_ms = self.clock_ms() + self.margin_ms
        first_starts = {
            alarm.id: first_start_after(alarm, from_ms)
            for alarm in counted_on(self.feed, self.alarms)[0]
        }
        return self.ledger.growths.announce(
            name, partitions, from_ms=from_ms, first_starts=first_starts
        )

    def make(self, growth: Growth) -> None:
        """Make the partitions that are not there yet, no earlier than was announced."""
        if self._facts().partitions < growth.partitions:
            # Brokers date records by their own clocks, and one that is behind must not date one
            # of a new partition before the growth began.
            self._wait(growth.from_ms + self.margin_ms)
            self.client.create_partitions({self.feed.topic: growth.partitions})
        give_up_s = time.monotonic() + _APPEAR_S
        while self._facts().partitions < growth.partitions:
            if time.monotonic() > give_up_s:
                raise DependencyError(
                    f"the new partitions of topic {self.feed.topic!r} do not appear",
                    hint="check the brokers, then run this again",
                )
            time.sleep(_LOOK_S)

    def _facts(self) -> TopicFacts:
        return facts_of(self.client, self.feed.topic)

    def _wait(self, until_ms: int) -> None:
        """Sleep until the wall clock shows an instant, also where it is set meanwhile."""
        while (left_ms := until_ms - self.clock_ms()) > 0:
            time.sleep(min(left_ms / 1000, _LOOK_S))
