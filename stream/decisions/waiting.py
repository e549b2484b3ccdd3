"""When a window has waited long enough for a partition: time that nobody could read does not count.

Looks at how far partitions are read (:class:`accountant.records.Place`) and at the clock, never at
what was counted. Why that says nothing of anybody is in ``docs/explanation/
guarantees-and-limits.md``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from accountant.records import REFERENCE_PARTITIONS, Stand

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accountant.ledger.counts import Counts
    from stream.model.alarm import Alarm
    from stream.model.references import WindowPartials

__all__ = ["Awaited"]

_WHY: Final = dict.fromkeys(Stand, "partition_missing") | {
    Stand.TRANSACTION: "transaction_open",
    Stand.CORRUPT: "partition_corrupt",
}
_UNREFERENCED: Final = dict.fromkeys(Stand, "reference_timeout")


class Awaited:
    """The partitions whose counts a window lacks.

    Args:
        alarm: whose window it is.
        partials: what is stored for it.
        partitions: number of partitions per feed name.
    """

    def __init__(
        self, alarm: Alarm, partials: WindowPartials, partitions: Mapping[str, int]
    ) -> None:
        found = {one.partition for one in partials.own}
        feed, timeout_ms = alarm.feed.name, alarm.decide_timeout_ms
        self._lacking = [_Lacking(feed, {*range(partitions[feed])} - found, timeout_ms, _WHY)]
        if alarm.reference is not None:
            feed, timeout_ms = alarm.reference.feed.name, alarm.reference.timeout_ms
            found = {one.partition - REFERENCE_PARTITIONS for one in partials.reference}
            lacking = {*range(partitions[feed])} - found
            self._lacking.append(_Lacking(feed, lacking, timeout_ms, _UNREFERENCED))

    def __bool__(self) -> bool:
        """Whether there are any."""
        return any(one.partitions for one in self._lacking)

    def too_long(self, counts: Counts, cut_ms: int, now_ms: int) -> str | None:
        """Say why the window is denied, ``None`` while it may still get what it lacks.

        A partition counts as missing once its place has stood still, for as long as the alarm says,
        since the window's cut, and somebody could have read on all that time.

        Args:
            counts: of the ledger.
            cut_ms: window end + grace.
            now_ms: wall clock.
        """
        reasons = (one.too_long(counts, cut_ms, now_ms) for one in self._lacking)
        return next(filter(None, reasons), None)


class _Lacking(NamedTuple):
    """Partitions of one feed that a window lacks, and for how long one of them may stand still."""

    feed: str
    partitions: set[int]
    timeout_ms: int
    why: Mapping[Stand, str]

    def too_long(self, counts: Counts, cut_ms: int, now_ms: int) -> str | None:
        """Return why the first one that has stood still for too long does."""
        if not self.partitions or now_ms - cut_ms <= self.timeout_ms:
            return None
        places = counts.places(self.feed)
        for partition in sorted(self.partitions & places.keys()):
            if places[partition].still_ms(cut_ms, now_ms) > self.timeout_ms:
                return self.why[places[partition].stand]
        return None
