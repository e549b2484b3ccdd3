"""What partitions counted: partials of windows, where marks lie, how far each is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from accountant.errors import LogChangedError
from accountant.ledger.door import registered
from accountant.records import REFERENCE_PARTITIONS, UNSEEN_MS, PartialStatus, Place, Stand
from accountant.rules import refusals
from accountant.store.tables import MARKS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accountant.costs.charges import WindowKey
    from accountant.ledger.door import Door
    from accountant.records import Partial, Used

__all__ = ["Counts"]

_NOT_READ: Final = {Stand.OPENED, Stand.UNREACHABLE}


class Counts:
    """Keeps counts until their window is decided. Nothing is charged here."""

    def __init__(self, door: Door) -> None:
        self._door = door

    def put_partial(self, partial: Partial) -> PartialStatus:
        """Store one partition's count of one window.

        A partial that differs from the stored one is remembered for good: the window can then only
        be denied. An incomplete one never displaces or contradicts a complete one. One that was
        counted without knowing how the feed's partitions grew is not stored. What people used up of
        a cap over a period is kept with it, where the count is complete.

        Raises:
            ConfigChangedError: it was counted under another configuration.
            LogChangedError: it was counted from another log.
            ValueError: its partition is not numbered as those of its feed.
        """
        key, feed = partial.key, partial.counted_on
        if (feed is None) != (partial.partition < REFERENCE_PARTITIONS):
            raise ValueError("a reference's partitions, and no others, follow all of a query's own")
        with self._door.write(share=True) as writing:
            tx, state = writing.tx, writing.state
            query = registered(state, key.query)
            refusals.same_fingerprint(query, partial.fingerprint)
            log = state.logs.get(feed or query.feed)
            if log is None or log.topic_id != partial.topic_id:
                raise LogChangedError(
                    f"a count of alarm {key.query!r} is of a log that is not registered for "
                    f"feed {feed or query.feed!r}",
                    hint="restart the worker; if the topic was recreated, use a new ledger",
                )
            if partial.revision != state.layouts(log.feed).revision:
                return PartialStatus.STALE
            if key.start_ms < max(query.cursor_ms, query.effective_from_ms or 0):
                return PartialStatus.DECIDED
            status = PartialStatus.STORED
            if not tx.partials.store(partial):
                same = tx.partials.matches(partial)
                status = PartialStatus.DUPLICATE if same else PartialStatus.CONFLICT
            if status is PartialStatus.CONFLICT:
                tx.used.drop(query=key.query, partition=partial.partition, start_ms=key.start_ms)
            elif partial.complete:
                tx.used.note(partial)
            writing.tick()
            return status

    def partials(self, key: WindowKey) -> list[Partial]:
        """Return a window's partials by partition."""
        with self._door.store.read() as tx:
            return tx.partials.of(key)

    def used(self, cursors: Mapping[str, int], partition: int, topic_id: str) -> dict[str, Used]:
        """Return what people had used up of caps before windows that are to be counted, by query.

        Args:
            cursors: per query the start (ms) of the first such window; of a query that is left out
                of what is returned, nothing is known.
            partition: of the queries' feed.
            topic_id: of its log.
        """
        found: dict[str, Used] = {}
        with self._door.read() as (tx, state):
            for name in cursors.keys() & state.queries.keys():
                used = tx.used.before(
                    *(name, partition, cursors[name]),
                    fingerprint=state.queries[name].fingerprint,
                    topic_id=topic_id,
                )
                if used is not None:
                    found[name] = used
        return found

    def conflicted(self, key: WindowKey) -> bool:
        """Whether two different partials came for one partition of the window."""
        with self._door.store.read() as tx:
            return tx.partials.conflicted(key)

    def put_mark(self, feed: str, partition: int, time_ms: int, offset: int) -> None:
        """Remember where a watermarks mark lies in a partition; the first one stored stays."""
        with self._door.write(share=True) as writing:
            writing.tx.marks.add_new(feed, partition, time_ms, offset)
            writing.tick()

    def mark_before(self, feed: str, partition: int, time_ms: int) -> int | None:
        """Return the offset of the newest stored mark at or before an instant."""
        columns = MARKS.c
        place = (columns.feed == feed, columns.partition == partition, columns.time_ms <= time_ms)
        with self._door.store.read() as tx:
            newest = next(tx.marks.where(*place, last_first=True, limit=1), None)
            return None if newest is None else int(newest.log_offset)

    def put_places(self, seen: Mapping[str, Mapping[int, tuple[int, Stand]]]) -> None:
        """Take note of how partitions stand; call it every few seconds for those that one reads.

        Args:
            seen: by feed and partition, the offset of the next record and how the partition stands.
        """
        with self._door.write(share=True) as writing:
            places, now_ms = writing.tx.places, writing.tick()
            for feed, partitions in seen.items():
                for partition, (offset, stand) in partitions.items():
                    row = places.get(feed=feed, partition=partition)
                    goes_on = row is None or _goes_on(_place(row), offset, stand, now_ms)
                    since_ms = now_ms if row is None or goes_on else row.still_since_ms
                    places.put(feed, partition, offset, stand.value, since_ms, now_ms)

    def places(self, feed: str) -> dict[int, Place]:
        """Return how the partitions of a feed stand, as far as anybody ever reported."""
        with self._door.store.read() as tx:
            return {row.partition: _place(row) for row in tx.places.each(feed=feed)}


def _place(row: Any) -> Place:
    """Return a stored place."""
    stand = Stand(row.stand)
    return Place(row.partition, row.log_offset, stand, row.still_since_ms, row.seen_ms)


def _goes_on(before: Place, offset: int, stand: Stand, now_ms: int) -> bool:
    """Whether a partition cannot be said to have stood still since it was last reported."""
    if now_ms - before.seen_ms > UNSEEN_MS or {stand, before.stand} & _NOT_READ:
        return True
    # At the end, records that come say nothing of what is missing; on the way there it goes on.
    return offset != before.log_offset and not (stand is Stand.END and before.stand is Stand.END)
