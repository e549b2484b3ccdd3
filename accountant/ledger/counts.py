"""What partitions counted: partials of windows, and where punctuation marks lie in the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accountant.charging import refusals
from accountant.errors import LogChangedError
from accountant.ledger.access import CLOCK_GRAIN_MS, registered_query
from accountant.records import REFERENCE_PARTITIONS, PartialStatus
from accountant.store.tables.counted import MarkRow

if TYPE_CHECKING:
    from accountant.costs.charges import WindowKey
    from accountant.ledger.access import Access
    from accountant.records import Partial

__all__ = ["Counts"]


class Counts:
    """Keeps counts until their window is decided. Nothing is charged here."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._store = access.store

    def put_partial(self, partial: Partial) -> PartialStatus:
        """Store one partition's count of one window.

        A partial that differs from the stored one is remembered for good: the window can then only
        be denied. An incomplete one never displaces or contradicts a complete one.

        Raises:
            ConfigChangedError: it was counted under another configuration.
            LogChangedError: it was counted from another log.
            ValueError: its partition is not numbered as those of its feed.
        """
        key, feed = partial.key, partial.counted_on
        if (feed is None) != (partial.partition < REFERENCE_PARTITIONS):
            raise ValueError("a reference's partitions, and no others, follow all of a query's own")
        with self._store.write() as tx:
            query = registered_query(tx, key.query, share=True)
            refusals.same_fingerprint(query, partial.fingerprint)
            log = tx.logs.get(feed=feed or query.feed)
            if log is None or log.topic_id != partial.topic_id:
                raise LogChangedError(
                    f"a count of {key.query!r} comes from a log that is not registered for "
                    f"feed {feed or query.feed!r}",
                    hint="the topic was created anew or never registered; restart the worker",
                )
            if key.start_ms < max(query.cursor_ms, query.effective_from_ms or 0):
                return PartialStatus.DECIDED
            status = PartialStatus.STORED
            if not tx.partials.store(partial):
                same = tx.partials.matches(partial)
                status = PartialStatus.DUPLICATE if same else PartialStatus.CONFLICT
            self._access.tick(tx, grain_ms=CLOCK_GRAIN_MS)
            return status

    def partials(self, key: WindowKey) -> list[Partial]:
        """Return a window's partials by partition."""
        with self._store.read() as tx:
            return tx.partials.of(key)

    def conflicted(self, key: WindowKey) -> bool:
        """Whether two different partials came for one partition of the window."""
        with self._store.read() as tx:
            return tx.partials.conflicted(key)

    def put_mark(self, feed: str, partition: int, time_ms: int, offset: int) -> None:
        """Remember where a punctuation mark lies in a partition; the first one stored stays."""
        with self._store.write() as tx:
            tx.marks.add_new(MarkRow(feed, partition, time_ms, offset))
            self._access.tick(tx, grain_ms=CLOCK_GRAIN_MS)

    def mark_before(self, feed: str, partition: int, time_ms: int) -> int | None:
        """Return the offset of the newest stored mark at or before an instant."""
        with self._store.read() as tx:
            return tx.marks.before(feed, partition, time_ms)
