"""The exact aggregates of recorded events, window by window: what an alarm counts.

The readers and lanes of a replay, without its ledger, so the statistics are those that
``tocsin run --replay`` hands to its mechanisms. Nothing is charged or released: what comes out is
private, for the custodian alone.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from accountant.errors import ConfigError
from operators.registry import mechanism_of
from stream.counting.bounding import Capped
from stream.decisions.judge import statistics_of
from stream.model.alarms import each_for_itself
from stream.model.references import (
    WindowPartials,
    band_of,
    counted_on,
    feeds_in_use,
    feeds_of,
    public_feeds,
    references_of,
)
from stream.replay.lanes import Lanes, source_of
from stream.replay.replay import windows_of
from stream.replay.uncharged import uncharged_lanes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from accountant.costs.charges import WindowKey
    from stream.model.alarms import Alarms
    from stream.model.feeds import Feed

__all__ = ["CountedWindow", "count_windows", "spanning"]


@dataclass(frozen=True, slots=True, eq=False)
class CountedWindow:
    """What one alarm counts in one window; exact, private.

    Args:
        key: the alarm and the window.
        statistics: shape (statistics, cells), int64, bounded as decisions see them.
        references: shape (cells,), int64: counted on a public feed, or from a table; ``None`` where
            the alarm watches no band.
        complete: whether the log holds all of it; a run denies the others.
        capped: what caps leave out.
    """

    key: WindowKey
    statistics: NDArray[np.int64]
    references: NDArray[np.int64] | None
    complete: bool
    capped: Capped


def count_windows(
    alarms: Alarms,
    files: Mapping[str, Sequence[Path]],
    keys: Mapping[str, Sequence[WindowKey]] | None = None,
    *,
    limit: int | None = None,
) -> Iterator[CountedWindow]:
    """Count the windows of every alarm, in the order in which a replay decides them.

    Args:
        alarms: the configuration; every feed with alarms declares its history.
        files: per feed name the files to read.
        keys: per alarm id its windows that are counted; all in the history when left out.
        limit: of these, only the first so many windows of every alarm; ``None`` for all.

    Raises:
        ConfigError: a feed has no history or no file, or no window lies in the history.
        DataError: a file is not what its feed declares.
    """
    alarms = each_for_itself(alarms)
    keys = keys or {q.id: list(islice(windows_of(q), limit)) for q in alarms.by_name.values()}
    for name, found in keys.items():
        if not found:
            raise ConfigError(
                f"no window of alarm {name!r} is in the span that is counted",
                hint="declare a longer history, or write an earlier --since",
            )
    capped: defaultdict[WindowKey, Capped] = defaultdict(Capped)

    def add(key: WindowKey, lost: Capped) -> None:
        capped[key] += lost

    by_feed, public_names = {}, public_feeds(alarms)
    for feed in feeds_in_use(alarms):
        public = feed.name in public_names
        source, told = source_of(feed, files, alarms), None if public else add
        by_feed[feed.name] = uncharged_lanes(
            source, *counted_on(feed, alarms), keys, on_capped=told, public=public
        )
    lanes = Lanes(by_feed)
    for key in sorted(key for found in keys.values() for key in found):
        alarm = alarms.by_name[key.query]
        counted = lanes.counted(key, feeds_of(alarm))
        partials, cells = WindowPartials.of(counted), len(alarm.counted)
        banded = mechanism_of(alarm.mechanism).bands is not None
        references = band_of(alarm).references if banded else None
        if alarm.reference is not None:
            rows = len(alarm.reference.aggregates)
            references = references_of(alarm, statistics_of(partials.reference, rows, cells))
        yield CountedWindow(
            key=key,
            statistics=statistics_of(partials.own, alarm.condition.statistics, cells),
            references=references,
            complete=all(one.complete for one in counted),
            capped=capped.pop(key, Capped()),
        )


def spanning(alarms: Alarms, since_ms: int | None, until_ms: int | None) -> Alarms:
    """Return the same alarms with other histories.

    Args:
        alarms: the configuration.
        since_ms: where histories begin; ``None`` where the feeds say.
        until_ms: where they end; ``None`` where the feeds say.

    Raises:
        ConfigError: a feed that an alarm watches declares no history, and one of the two is
            missing; or nothing lies between them.
    """
    feeds = dict(alarms.feeds)
    for alarm in alarms.by_name.values():
        feeds[alarm.feed.name] = _spanning(alarm.feed, since_ms, until_ms)
    by_name = {
        name: replace(alarm, feed=feeds[alarm.feed.name]) for name, alarm in alarms.by_name.items()
    }
    return replace(alarms, feeds=feeds, by_name=by_name)


def _spanning(feed: Feed, since_ms: int | None, until_ms: int | None) -> Feed:
    declared = feed.history or (None, None)
    start_ms = declared[0] if since_ms is None else since_ms
    end_ms = declared[1] if until_ms is None else until_ms
    if start_ms is None or end_ms is None:
        raise ConfigError(
            f"feed {feed.name!r} declares no history, so its windows are not known",
            hint="add --since 2025-03-03, and --until if it is not now",
        )
    if end_ms <= start_ms:
        raise ConfigError("--since is later than --until", hint="exchange the two")
    return replace(feed, history=(start_ms, end_ms))
