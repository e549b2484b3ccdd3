"""References that are counted on a public feed, by the pipeline that counts everything else.

A band's reference feed is counted under its alarm's name, with the same windows and groups: its
partials lie in the ledger beside the alarm's own, from partition ``REFERENCE_PARTITIONS`` on.
Nothing of it is protected, so nothing is capped, charged or kept apart by unit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.records import REFERENCE_PARTITIONS
from accountant.units import Contribution, PrivacyUnit
from operators.deciders import Average
from stream.model.alarms import Budget

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from accountant.records import Partial
    from operators.base import Band
    from stream.model.alarm import Alarm
    from stream.model.alarms import Alarms
    from stream.model.feeds import Feed

__all__ = [
    "FARTHEST_REFERENCE",
    "WindowPartials",
    "around",
    "band_of",
    "counted_on",
    "feeds_in_use",
    "feeds_of",
    "public_feeds",
    "references_of",
    "waited_ms",
]

FARTHEST_REFERENCE: Final = (1 << 60) - 1
"""Deciders take references up to here; counted ones are clamped to it."""

_UNCAPPED: Final = Budget(PrivacyUnit.EVENT, Fraction(0), None, Contribution())


@dataclass(frozen=True, slots=True)
class WindowPartials:
    """The stored partials of one window.

    Args:
        own: of the alarm's own feed.
        reference: of its reference feed.
    """

    own: Sequence[Partial]
    reference: Sequence[Partial]

    @classmethod
    def of(cls, partials: Sequence[Partial]) -> WindowPartials:
        """Tell them apart by their partitions."""
        return cls(
            [one for one in partials if one.partition < REFERENCE_PARTITIONS],
            [one for one in partials if one.partition >= REFERENCE_PARTITIONS],
        )


def band_of(alarm: Alarm) -> Band:
    """Return the band that an alarm watches.

    Raises:
        ValueError: its mechanism is none for bands.
    """
    if alarm.band is None:
        raise ValueError("only a band has references")
    return alarm.band


def counted_on(feed: Feed, alarms: Alarms) -> tuple[list[Alarm], Budget]:
    """Return what is counted on a feed, and under which caps.

    Args:
        feed: one that alarms watch, or a public one that references are counted on.
        alarms: the configuration.
    """
    if feed.name not in public_feeds(alarms):
        mine = (q for q in alarms.running.values() if q.feed.name == feed.name)
        return [alarm for alarm in mine if not alarm.panes], alarms.budget
    found = []
    for alarm in alarms.by_name.values():
        reference = alarm.reference
        if reference is not None and reference.feed.name == feed.name:
            found.append(
                replace(
                    alarm,
                    feed=reference.feed,
                    where=reference.where,
                    aggregates=reference.aggregates,
                )
            )
    return found, _UNCAPPED


def feeds_in_use(alarms: Alarms) -> list[Feed]:
    """Return the feeds that some alarm reads, its references included, in the order of the file."""
    used = {alarm.feed.name for alarm in alarms.by_name.values()} | public_feeds(alarms)
    return [feed for feed in alarms.feeds.values() if feed.name in used]


def feeds_of(alarm: Alarm) -> list[Feed]:
    """Return the feeds whose counts decide an alarm: its own, and that of its references.

    None where it is decided from panes, which are counted for themselves.
    """
    if alarm.panes:
        return []
    return [alarm.feed] if alarm.reference is None else [alarm.feed, alarm.reference.feed]


def public_feeds(alarms: Alarms) -> set[str]:
    """Return the names of the feeds that references are counted on; no alarm watches them."""
    found = (alarm.reference for alarm in alarms.by_name.values())
    return {reference.feed.name for reference in found if reference is not None}


def waited_ms(alarm: Alarm) -> int:
    """Return how long after its cut a window waits for counts, at most."""
    reference_ms = 0 if alarm.reference is None else alarm.reference.timeout_ms
    return max(alarm.decide_timeout_ms, reference_ms)


def references_of(alarm: Alarm, statistics: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the references that were counted in one window, shape (cells,).

    A mean is rounded to the nearest of its units, halves upwards. Where a group has no events,
    its reference is 0.

    Args:
        alarm: of a band whose references are counted.
        statistics: shape (statistics, cells), int64, as the reference's feed counts them.
    """
    kind = None if alarm.reference is None else alarm.reference.kind
    if kind is None:
        return np.asarray(statistics[0], dtype=np.int64)
    if isinstance(kind, Average):
        number, total = statistics.astype(object)
        doubled = 2 * (total + number * kind.centre) + number
        found = np.where(number > 0, doubled // np.maximum(2 * number, 1), 0)
        return np.asarray(found, dtype=np.int64)
    a, b = kind.share.as_integer_ratio()
    number = statistics[-1]
    reached = b * statistics.astype(object) >= a * number.astype(object)
    points = np.array(kind.domain, dtype=np.int64)
    return np.asarray(np.where(number > 0, points[reached.argmax(axis=0)], 0), dtype=np.int64)


def around(alarm: Alarm, references: NDArray[np.int64]) -> Alarm:
    """Return an alarm whose band lies around the references of one window, clamped.

    Args:
        alarm: of a band whose references are counted.
        references: shape (cells,), int64.
    """
    clamped = np.clip(references, -FARTHEST_REFERENCE, FARTHEST_REFERENCE)
    return replace(alarm, band=replace(band_of(alarm), references=clamped))
