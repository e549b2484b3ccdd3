"""The embedded shell: the same core over files, without a broker.

Files are pulled, not pushed: windows are decided in the order in which requests are served (window
end, then query id), and a feed is read on just until the next window in that order is complete.
Which windows there are follows from the public ``history`` of the feeds and never from the files
(promise 5); windows without events are decided like all others.

Replaying again over the same ledger draws nothing: whatever is decided stays decided, and a replay
that was killed goes on where it stopped.
"""

from __future__ import annotations

import heapq
import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from accountant.charges import WindowKey
from accountant.errors import ConfigError
from accountant.records import LogIdentity, Outcome
from stream.build import assemble
from stream.lanes import open_lanes
from stream.reader import PartitionReader, ReadStart
from stream.steps import Step, no_step

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from accountant.ledger import Ledger
    from accountant.records import Partial, StoredDecision
    from stream.lanes import Lane, Source
    from stream.model import Alarms, Feed, Query
    from stream.steps import StepHook

__all__ = ["Replay", "ReplaySummary", "windows_of"]

_CLUSTER = "replay"


@dataclass(frozen=True, slots=True)
class ReplaySummary:
    """What one run did, in released values only.

    Args:
        windows: windows of the declared histories, over all queries.
        before: how many of them were decided before this run.
        decided: windows decided by this run.
        denied: windows denied by this run, by reason.
        alarms: alarms of this run, by query.
    """

    windows: int
    before: int
    decided: int
    denied: Mapping[str, int]
    alarms: Mapping[str, int]


class Replay:
    """Replays files through a ledger.

    Args:
        alarms: the checked configuration; every feed with alarms declares its history.
        ledger: open.
        files: per feed name the files to read.
        step: told every named step of the protocol.

    Raises:
        ConfigError: a feed has no history or no file.
        DataError: a file is not what its feed declares.
        ConfigChangedError: the ledger was registered with another configuration.
        LogChangedError: the ledger belongs to another log.
    """

    def __init__(
        self,
        alarms: Alarms,
        ledger: Ledger,
        files: Mapping[str, Sequence[Path]],
        *,
        step: StepHook = no_step,
    ) -> None:
        """Check the files' kinds and register everything in the ledger; read no event yet."""
        self._alarms = alarms
        self._ledger = ledger
        self._feeds = _feeds_in_use(alarms)
        self._sources = {feed.name: _source(feed, files, alarms) for feed in self._feeds}
        self._now_ms = 0
        first = {query.id: _first_index(query) for query in alarms.queries.values()}
        self.runtime = assemble(
            alarms,
            ledger,
            identities={
                feed.name: LogIdentity(
                    feed=feed.name,
                    cluster_id=_CLUSTER,
                    topic_id=_topic_id(feed),
                    topic=feed.topic,
                    partitions=self._sources[feed.name].partitions,
                )
                for feed in self._feeds
            },
            first_start_ms={
                query.id: query.calendar.bounds(first[query.id])[0]
                for query in alarms.queries.values()
            },
            clock_ms=lambda: self._now_ms,
            step=step,
        )
        schedule = [key for query in alarms.queries.values() for key in windows_of(query)]
        cursors = {query_id: ledger.cursor(query_id) for query_id in alarms.queries}
        self._todo = sorted(key for key in schedule if key.start_ms >= cursors[key.query])
        self._cursors = cursors
        self.windows = len(schedule)
        self.before = len(schedule) - len(self._todo)
        self._outcomes: Counter[Outcome] = Counter()
        self._denied: Counter[str] = Counter()
        self._rang: Counter[str] = Counter()

    def run(self) -> Iterator[StoredDecision]:
        """Decide every window that is left and yield the decisions, in the order of requests.

        A decision counts as published when the next one is asked for. Decisions that a killed run
        stored and did not publish come first.
        """
        for decision in self._left_over():
            yield from self._published(decision)
        if not self._todo:
            return
        lanes = self._lanes()
        arrived: defaultdict[WindowKey, list[Partial]] = defaultdict(list)
        for key in self._todo:
            query = self._alarms.queries[key.query]
            for lane in lanes[query.feed.name]:
                while not lane.passed(key):
                    for partial in lane.advance():
                        arrived[partial.key].append(partial)
            for partial in arrived.pop(key):
                self.runtime.step(Step.BEFORE_PARTIAL, key)
                status = self._ledger.put_partial(partial)
                self.runtime.step(Step.AFTER_PARTIAL, key)
                self.runtime.metrics.partial_stored(key.query, str(status))
            self._now_ms = max(self._now_ms, key.end_ms + query.grace_ms)
            started_s = time.monotonic()
            for decision in self.runtime.decider.decide_due(key.query):
                self.runtime.metrics.decided(decision, time.monotonic() - started_s)
                self._count(decision)
                yield from self._published(decision)
        self.runtime.metrics.ledger(self._ledger.status())

    def summary(self) -> ReplaySummary:
        """Return what this run did so far."""
        return ReplaySummary(
            windows=self.windows,
            before=self.before,
            decided=self._outcomes[Outcome.DECIDED],
            denied=dict(self._denied),
            alarms={query_id: self._rang[query_id] for query_id in self._alarms.queries},
        )

    def _left_over(self) -> Iterator[StoredDecision]:
        yield from heapq.merge(
            *(self._ledger.unpublished(query_id, _ANY_TIME_MS) for query_id in self._alarms.queries),
            key=lambda decision: decision.sequence,
        )

    def _published(self, decision: StoredDecision) -> Iterator[StoredDecision]:
        yield decision
        self.runtime.step(Step.AFTER_PUBLISH, decision.key)
        self._ledger.mark_published(decision.key)
        self.runtime.metrics.published(decision, None)

    def _count(self, decision: StoredDecision) -> None:
        self._outcomes[decision.outcome] += 1
        self._rang[decision.key.query] += decision.alarm_count
        if decision.reason is not None:
            self._denied[decision.reason] += 1

    def _lanes(self) -> dict[str, list[Lane]]:
        metrics = self.runtime.metrics
        lanes: dict[str, list[Lane]] = {}
        for feed in self._feeds:
            source = self._sources[feed.name]
            queries = [q for q in self._alarms.queries.values() if q.feed.name == feed.name]
            readers = []
            for partition in range(source.partitions):
                reader = PartitionReader(
                    feed=feed,
                    partition=partition,
                    partitions=source.partitions,
                    topic_id=_topic_id(feed),
                    queries=queries,
                    budget=self._alarms.budget,
                    hash_key=self._ledger.hash_key,
                    on_drops=lambda drops, name=feed.name: metrics.events_dropped(name, drops),
                )
                reader.begin({q.id: self._cursors[q.id] for q in queries}, ReadStart(whole=True))
                readers.append(reader)
            last_cut_ms = max(
                (key.end_ms + self._alarms.queries[key.query].grace_ms)
                for key in self._todo
                if self._alarms.queries[key.query].feed.name == feed.name
            )
            lanes[feed.name] = open_lanes(
                source,
                readers,
                hash_key=self._ledger.hash_key,
                last_cut_ms=last_cut_ms,
                on_read=lambda count, name=feed.name: metrics.events_read(name, count),
                on_drops=lambda drops, name=feed.name: metrics.events_dropped(name, drops),
            )
        return lanes


_ANY_TIME_MS = 1 << 62


def windows_of(query: Query) -> Iterator[WindowKey]:
    """Yield the windows of a query that lie wholly in its feed's history, active ones only.

    Raises:
        ConfigError: the feed declares no history.
    """
    _, until_ms = _history(query.feed)
    index = _first_index(query)
    while True:
        start_ms, end_ms = query.calendar.bounds(index)
        if end_ms > until_ms:
            return
        yield WindowKey(end_ms=end_ms, query=query.id, start_ms=start_ms)
        index = query.calendar.next_active(index + 1)


def _first_index(query: Query) -> int:
    from_ms, _ = _history(query.feed)
    return query.calendar.next_active(query.calendar.first_starting_at(from_ms))


def _history(feed: Feed) -> tuple[int, int]:
    if feed.history is None:
        raise ConfigError(
            f"feed {feed.name!r} declares no history, so the windows to replay are not known",
            hint=f"add `history: {{from: 2011-01-01, until: 2012-01-01}}` to feed {feed.name!r}; "
            "it is public and must not be read off the data",
        )
    return feed.history


def _topic_id(feed: Feed) -> str:
    return f"{_CLUSTER}:{feed.name}"


def _feeds_in_use(alarms: Alarms) -> list[Feed]:
    used = {query.feed.name for query in alarms.queries.values()}
    return [feed for feed in alarms.feeds.values() if feed.name in used]


def _source(feed: Feed, files: Mapping[str, Sequence[Path]], alarms: Alarms) -> Source:
    raise NotImplementedError
