"""All that decides what an alarm counts, and so which alarms count the same.

Counting is given alarms as these protocols, so it can look at nothing else of them; the keys below
name every member (``tests/unit/stream/counting/test_alike.py``). The feed is no part of a key: the
alarms that are compared read one.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Hashable

    from stream.model.alarm import AggregateSpec
    from stream.model.feeds import Domain, Feed
    from stream.model.filters import Where
    from stream.windows.calendars import Calendar

__all__ = ["Counting", "Selection", "counting_key", "selection_key", "statistics_key"]


class Selection(Protocol):
    """What says which rows of a feed count, in which cell, and what they weigh."""

    @property
    def where(self) -> Where | None:
        """Row filter; ``None`` keeps all."""
        ...

    @property
    def domain(self) -> Domain:
        """Public groups."""
        ...

    @property
    def members(self) -> Domain:
        """Public groups within each that have cells of their own."""
        ...

    @property
    def counted(self) -> Domain:
        """Those cells: ``domain`` and ``members``."""
        ...

    @property
    def aggregates(self) -> tuple[AggregateSpec, ...]:
        """Statistics, at least one."""
        ...


class Counting(Selection, Protocol):
    """What says which windows take those rows."""

    @property
    def feed(self) -> Feed:
        """Where they come from: its skew, and whether events have ids."""
        ...

    @property
    def calendar(self) -> Calendar:
        """Windows, schedule included."""
        ...

    @property
    def grace_ms(self) -> int:
        """Lateness that still counts."""
        ...

    @property
    def firsts(self) -> bool:
        """Whether people count in the first step of their window alone that they are in."""
        ...


def selection_key(alarm: Selection) -> Hashable:
    """Return what alarms share iff the same rows of their feed count for them, and alike."""
    return alarm.where, statistics_key(alarm)


def statistics_key(alarm: Selection) -> Hashable:
    """Return what alarms share iff they count alike whatever passes their filters."""
    specs = (
        tuple(_by_value(getattr(spec, each.name)) for each in fields(spec))
        for spec in alarm.aggregates
    )
    return alarm.domain, alarm.members, tuple(specs)


def counting_key(alarm: Counting) -> Hashable:
    """Return what alarms of one selection share iff they count the same."""
    return alarm.calendar, alarm.grace_ms, alarm.firsts


def _by_value(value: object) -> Hashable:
    """Return a field of a statistic, arrays as what they hold."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    return value
