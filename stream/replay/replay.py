"""The embedded shell: the same core over files, without a broker.

Files are pulled, not pushed: windows are decided in the order in which requests are served (window
end, then alarm id), and a feed is read on just until the next window in that order is complete.
Which windows there are follows from the public ``history`` of the feeds and never from the files
(promise 5); windows without events are decided like all others.

Replaying again over the same ledger draws nothing: whatever is decided stays decided, and a replay
that was killed goes on where it stopped. Of windows that were taken over nothing is yielded: they
were published elsewhere.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from itertools import chain, filterfalse
from typing import TYPE_CHECKING

from accountant.errors import ConfigError, LedgerError, TocsinError
from accountant.records import LogIdentity, Outcome
from stream.build import assemble
from stream.decisions.release import released_alarms, released_counts
from stream.decisions.schedule import first_start_ms, windows_within
from stream.decisions.steps import Step, no_step
from stream.model.references import counted_on, feeds_in_use, feeds_of
from stream.replay.claims import claims_on
from stream.replay.contents import digests_of
from stream.replay.lanes import Lanes, source_of

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence
    from pathlib import Path

    from accountant.costs.charges import WindowKey
    from accountant.ledger.ledger import Ledger
    from accountant.records import StoredDecision
    from stream.decisions.steps import StepHook
    from stream.model.alarm import Alarm
    from stream.model.alarms import Alarms
    from stream.model.feeds import Feed

__all__ = ["Replay", "windows_of"]

_CLUSTER = "replay"
_ANY_TIME_MS = 1 << 62
_TOGETHER = 16  # to sync the heads of one takes a tenth of what deciding it does


class Replay:
    """Replays files through a ledger.

    Args:
        alarms: the checked configuration; every feed with alarms declares its history.
        ledger: open.
        files: per feed name the files to read.
        step: told every named step of the protocol.
        claiming: whether the ledger claims the files, and is refused those that another claimed;
            a ledger that is thrown away afterwards does neither.

    Raises:
        ConfigError: a feed has no history or no file.
        DataError: a file is not what its feed declares.
        ConfigChangedError: the ledger was registered with another configuration.
        LogChangedError: the ledger belongs to another log.
        FeedClaimedError: another ledger has claimed a file.

    Attributes:
        unclaimed: files beside which no claim could be kept.
        windows: of the declared histories, over all alarms.
        before: how many of them this ledger decided before this run; none that it took over, whose
            records left elsewhere.
        ended: how many this run ended, by the reason of a denial; ``None`` where it decided.
    """

    def __init__(
        self,
        alarms: Alarms,
        ledger: Ledger,
        files: Mapping[str, Sequence[Path]],
        *,
        step: StepHook = no_step,
        claiming: bool = True,
    ) -> None:
        """Check the files' kinds and register everything in the ledger; read no event yet."""
        self._alarms = alarms
        self._ledger = ledger
        self._feeds = feeds_in_use(alarms)
        self._sources = {feed.name: source_of(feed, files, alarms) for feed in self._feeds}
        self._now_ms = 0
        claimed = self._feeds if claiming else ()
        contents = {feed.name: digests_of(files[feed.name]) for feed in claimed}
        self._claims = claims_on(contents, alarms, ledger)
        self._claims.refuse_others()
        schedule = [key for alarm in alarms.running.values() for key in windows_of(alarm)]
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
                alarm.id: first_start_ms(alarm, _history(alarm.feed)[0])
                for alarm in alarms.running.values()
            },
            clock_ms=lambda: self._now_ms,
            step=step,
            files={feed: {digest for _, digest in found} for feed, found in contents.items()},
        )
        self.unclaimed = self._claims.claim()
        cursors = ledger.progress.cursors(alarms.running)
        schedule.sort(key=self._turn)
        self._todo = [key for key in schedule if key.start_ms >= cursors[key.query]]
        done = (key for key in schedule if key.start_ms < cursors[key.query])
        self._done = list(filterfalse(ledger.upkeep.adopted, done))
        self._cursors = cursors
        self.windows = len(schedule)
        self.before = len(self._done)
        self.ended: Counter[str | None] = Counter()

    def run(self) -> Generator[StoredDecision, None, None]:
        """Decide every window that is left and yield the decisions, in the order of requests.

        Some are decided ahead of the first that is yielded. A decision counts as published when the
        next one is asked for; that is stored now and then, so a killed run may yield some again,
        and they come first.

        Raises:
            FeedClaimedError: the files were handed to another ledger.
        """
        for several in chain(self._left_over(), _in_lists(self._decide(), _TOGETHER)):
            self._ledger.heads.keep()
            self._claims.refuse_others()
            taken: list[WindowKey] = []
            try:
                for decision in several:
                    yield decision
                    self.runtime.step(Step.AFTER_PUBLISH, decision.key)
                    taken.append(decision.key)
                    self.runtime.metrics.published(
                        decision, None, released_alarms(decision), released_counts(decision)
                    )
            except GeneratorExit:  # the caller stopped; any other error leaves them to the next run
                self._ledger.mark_published(*taken)
                raise
            self._ledger.mark_published(*taken)
        self.runtime.metrics.ledger(self._ledger.reports.status())
        self.runtime.metrics.realised(self._ledger.reports.realised)

    def _decide(self) -> Iterator[StoredDecision]:
        if not self._todo:
            return
        lanes = self._lanes()
        for key in self._todo:
            alarm = self._alarms.running[key.query]
            for counted in lanes.counted(key, feeds_of(alarm)):
                self.runtime.step(Step.BEFORE_PARTIAL, key)
                self._ledger.counts.put_partial(counted)
                self.runtime.step(Step.AFTER_PARTIAL, key)
            self._now_ms = max(self._now_ms, key.end_ms + alarm.grace_ms)
            for decision in self.runtime.judge.decide_due(key.query):
                if not self._ledger.upkeep.adopted(decision.key):
                    self.ended[decision.reason] += 1
                    yield decision
            if self._ledger.cursor(key.query) <= key.start_ms:
                raise _stuck(self._ledger.awaited(key))

    def earlier(self, last: int | None = None) -> Iterator[StoredDecision]:
        """Yield what earlier runs decided and published, in the order of requests.

        Args:
            last: only so many of the latest windows; ``None`` for all.
        """
        for key in self._done if last is None else self._done[-last:]:
            decision = self._ledger.decision(key)
            if decision is None or not decision.published:
                continue
            if decision.alarms or decision.outcome is Outcome.DENIED:  # else only its cost is known
                yield decision

    def all_decisions(self) -> Generator[StoredDecision, None, None]:
        """Yield what earlier runs decided, then what is left: the same lines in every run."""
        yield from list(self.earlier())
        yield from self.run()

    def _left_over(self) -> Iterator[list[StoredDecision]]:
        """Yield what was decided and not published, until it is."""
        while left := self._ledger.progress.unpublished(_ANY_TIME_MS) & self._alarms.running.keys():
            waiting = [one for each in left for one in self._ledger.unpublished(each, _ANY_TIME_MS)]
            yield sorted(waiting, key=lambda one: self._turn(one.key))

    def _turn(self, key: WindowKey) -> tuple[int, bool, WindowKey]:
        """Return a window's place: those over panes, which charge nothing, follow their panes.

        So they also leave: a ledger that lost both knows from what left that the panes were drawn.
        """
        return key.end_ms, bool(self._alarms.running[key.query].panes), key

    def _lanes(self) -> Lanes:
        """Begin to read every feed of which a window is left."""
        by_feed = {}
        for feed in self._feeds:
            counted = {alarm.id: alarm.grace_ms for alarm in counted_on(feed, self._alarms)[0]}
            left = [key for key in self._todo if key.query in counted]
            if left:
                by_feed[feed.name] = self._sources[feed.name].lanes(
                    partial(self.runtime.reader, feed, topic_id=_topic_id(feed)),
                    {alarm: self._cursors[alarm] for alarm in counted},
                    max(key.end_ms + counted[key.query] for key in left),
                )
        return Lanes(by_feed)


def windows_of(alarm: Alarm) -> Iterator[WindowKey]:
    """Yield the windows of an alarm that lie wholly in its feed's history, active ones only.

    Raises:
        ConfigError: the feed declares no history.
    """
    from_ms, until_ms = _history(alarm.feed)
    yield from windows_within(alarm, first_start_ms(alarm, from_ms), until_ms)


def _in_lists(decided: Iterator[StoredDecision], most: int) -> Iterator[list[StoredDecision]]:
    """Yield decisions in lists of at most so many; also those that come before a refusal."""
    several: list[StoredDecision] = []
    try:
        for decision in decided:
            several.append(decision)
            if len(several) == most:
                yield several
                several = []
    except TocsinError:
        if several:
            yield several
        raise
    if several:
        yield several


def _stuck(awaited: WindowKey | None) -> LedgerError:
    """Say why a window that was counted in full could not be decided."""
    if awaited is None:
        return LedgerError(
            "another process replays into this ledger",
            hint="wait until it has finished, then run this again",
        )
    return LedgerError(
        f"the budget for the next window depends on an open window of alarm {awaited.query!r}",
        hint=f"replay its feed too, or run `tocsin ledger FILE remove-alarm {awaited.query}`",
    )


def _history(feed: Feed) -> tuple[int, int]:
    if feed.history is None:
        raise ConfigError(
            f"feed {feed.name!r} declares no history, so its windows are not known",
            hint=f"add `history: {{from: 2011-01-01, until: 2012-01-01}}` to feed {feed.name!r}; "
            "it is public and must not be read off the data",
        )
    return feed.history


def _topic_id(feed: Feed) -> str:
    return f"{_CLUSTER}:{feed.name}"
