"""What the embedded shell reads: recorded events as one partition, an export as its partitions.

A lane reads one partition forward, a stretch at a time, and hands on the partials of the windows
that are complete by then. Files of events have no log: each is taken to have been appended at its
event time. Of an export, offsets and append times are the log's own.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import chain, islice, takewhile
from typing import TYPE_CHECKING, TypeAlias

from accountant.errors import ConfigError, DataError
from accountant.layouts import Layouts
from stream.events.files import EventFiles
from stream.model.feeds import Clock
from stream.replay.exports import export_info, read_log

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from accountant.costs.charges import WindowKey
    from accountant.records import Partial
    from stream.counting.partition import PartitionReader
    from stream.events.decoder import Batch, Record
    from stream.model.alarms import Alarms
    from stream.model.feeds import Feed
    from stream.replay.exports import ExportInfo

    MakeReader: TypeAlias = Callable[[int, Layouts], PartitionReader]

__all__ = ["Lane", "Lanes", "Source", "source_of"]

_RECORDS = 8_192


@dataclass(eq=False)
class Lane:
    """One partition of one feed, read forward.

    Args:
        reader: of the partition, begun.
        stretches: reads a stretch whenever it is asked for the next.
    """

    reader: PartitionReader
    stretches: Iterator[None]
    ended: bool = field(default=False, init=False)
    """Whether everything was read: no further partial will come."""

    def advance(self) -> Iterator[Partial]:
        """Read a stretch and yield the partials of windows that are complete by now."""
        self.ended = next(self.stretches, self) is self
        yield from self.reader.partials()


def source_of(feed: Feed, files: Mapping[str, Sequence[Path]], alarms: Alarms) -> Source:
    """Look at the files of a feed and say how they are read; no event is read yet.

    Args:
        feed: what the events are declared to be.
        files: per feed name files of events, or one export of a log.
        alarms: the configuration, for the error.

    Raises:
        ConfigError: none are given.
        DataError: an export is given beside other files, or is of another topic or version.
    """
    paths = files.get(feed.name)
    if not paths:
        raise ConfigError(
            f"no file is given for feed {feed.name!r}",
            file=alarms.file,
            hint=f"add `--replay {feed.name}=PATH`",
        )
    for path in paths:
        if (info := export_info(path)) is None:
            continue
        if len(paths) > 1:
            raise DataError(
                f"{path}: an exported log cannot be replayed with other files",
                hint=f"give feed {feed.name!r} this file only",
            )
        if info.topic != feed.topic:
            raise DataError(
                f"{path}: an export of topic {info.topic!r}",
                hint=f"feed {feed.name!r} reads {feed.topic!r}; name the feed as in FEED=PATH",
            )
        return Source(feed, paths, info)
    return Source(feed, paths)


class Lanes:
    """All partitions of some feeds, read on until they have counted what is asked for.

    Args:
        by_feed: by name of the feed.
    """

    def __init__(self, by_feed: Mapping[str, Sequence[Lane]]) -> None:
        self._by_feed = by_feed
        self._arrived: defaultdict[WindowKey, list[Partial]] = defaultdict(list)

    def counted(self, key: WindowKey, feeds: Iterable[Feed]) -> list[Partial]:
        """Return a window's partials of every partition of some feeds; asked for once.

        Raises:
            RuntimeError: it is none of the windows that the lanes were begun for.
        """
        for feed in feeds:
            for lane in self._by_feed[feed.name]:
                wanted = lane.reader.stored_partition
                while all(counted.partition != wanted for counted in self._arrived[key]):
                    if lane.ended:
                        raise RuntimeError("a file ended before the last window of the history")
                    for counted in lane.advance():
                        self._arrived[counted.key].append(counted)
        return self._arrived.pop(key, [])


@dataclass(frozen=True, slots=True)
class Source:
    """The files of one feed: of events, or one export of a log.

    Args:
        feed: what the events are declared to be.
        paths: Parquet, CSV or JSON lines; or the export.
        export: its topic and partitions; ``None`` for files of events.
    """

    feed: Feed
    paths: Sequence[Path]
    export: ExportInfo | None = None

    @property
    def partitions(self) -> int:
        """As the topic had; everybody's events lie together in files of events."""
        return 1 if self.export is None else self.export.partitions

    def lanes(self, make: MakeReader, cursors: Mapping[str, int], last_cut_ms: int) -> list[Lane]:
        """Begin to read: files of events in order, or each partition at its first record.

        Args:
            make: returns the reader of a partition, not begun.
            cursors: per alarm id the start (ms) of its oldest undecided window.
            last_cut_ms: cut of the last window that will be asked for; reading ends there.

        Raises:
            DataError: a file cannot be read, or is not what its feed declares.
        """
        lanes: list[Lane] = []
        for partition in range(self.partitions):
            reader, begin = make(partition, Layouts(self.partitions)), 0
            if self.export is None:
                events = EventFiles(self.feed, self.paths)
                reader.take_note(len(events) + sum(events.drops.values()), events.drops)
                batches = events.batches(hash_key=reader.hash_key)
                stretches = _by_batches(reader, last_cut_ms, batches)
            else:
                log = read_log(self.paths[0], partition=partition)
                records: Iterator[Record] = (one.record for one in log)
                if self.export.begins:
                    begin = self.export.begins[partition]
                elif (first := next(records, None)) is not None:
                    begin, records = first.offset, chain((first,), records)
                stretches = _by_records(reader, last_cut_ms, records)
            reader.begin(cursors)
            if begin:
                reader.whole_from_ms = math.inf
            lanes.append(Lane(reader, stretches))
        return lanes


def _by_batches(
    reader: PartitionReader, last_cut_ms: int, batches: Iterator[Batch]
) -> Iterator[None]:
    """Read events up to a cut, each as if it had been appended at its event time."""
    for batch in batches:
        reader.count_batch(batch)
        newest_ms = int(batch.time_ms[-1])
        # Events may be dated up to the year 9999: what lies behind the last cut counts nowhere.
        if newest_ms >= last_cut_ms:
            break
        reader.arrived_through(newest_ms)
        yield
    reader.arrived_through(last_cut_ms)
    yield


def _by_records(
    reader: PartitionReader, last_cut_ms: int, records: Iterator[Record]
) -> Iterator[None]:
    """Read the records of a log that may still count up to a cut, or end a window before it."""
    feed = reader.feed

    def in_time(record: Record) -> bool:
        if feed.clock is Clock.WATERMARKS or not record.log_append:
            return True
        return record.timestamp_ms < last_cut_ms + feed.max_append_time_regression_ms

    timely = takewhile(in_time, records)
    while stretch := list(islice(timely, _RECORDS)):
        reader.read(stretch)
        yield
    reader.arrived_through(last_cut_ms)
    yield
