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

_MISSING: Final = "partition_missing"
_UNREFERENCED: Final = "reference_timeout"
_WHY: Final = {Stand.TRANSACTION: "transaction_open", Stand.CORRUPT: "partition_corrupt"}


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
        own = set(range(partitions[alarm.feed.name])) - found
        self._own = _Lacking(alarm.feed.name, own, alarm.decide_timeout_ms)
        self._reference = _NOTHING
        if alarm.reference is not None:
            feed = alarm.reference.feed.name
            found = {one.partition - REFERENCE_PARTITIONS for one in partials.reference}
            lacking = set(range(partitions[feed])) - found
            self._reference = _Lacking(feed, lacking, alarm.reference.timeout_ms)

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._own.partitions or self._reference.partitions)

    def too_long(self, counts: Counts, cut_ms: int, now_ms: int) -> str | None:
        """Say why the window is denied, ``None`` while it may still get what it lacks.

        A partition counts as missing once its place has stood still, for as long as the alarm says,
        since the window's cut, and somebody could have read on all that time.

        Args:
            counts: of the ledger.
            cut_ms: window end + grace.
            now_ms: wall clock.
        """
        still = self._own.still(counts, cut_ms, now_ms)
        if still is not None:
            return _WHY.get(still, _MISSING)
        still = self._reference.still(counts, cut_ms, now_ms)
        return None if still is None else _UNREFERENCED


class _Lacking(NamedTuple):
    """Partitions of one feed that a window lacks, and for how long one of them may stand still."""

    feed: str
    partitions: set[int]
    timeout_ms: int

    def still(self, counts: Counts, cut_ms: int, now_ms: int) -> Stand | None:
        """Return how the first one stands that has stood still for too long."""
        if not self.partitions or now_ms - cut_ms <= self.timeout_ms:
            return None
        places = counts.places(self.feed)
        for partition in sorted(self.partitions & places.keys()):
            if places[partition].still_ms(cut_ms, now_ms) > self.timeout_ms:
                return places[partition].stand
        return None


_NOTHING: Final = _Lacking("", set(), 0)
