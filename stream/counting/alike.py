"""All that decides what an alarm counts, and so which alarms count the same.

Counting looks at nothing of an alarm but what is in the keys below, and at its feed, which is no
part of them: the alarms that are compared read one (``tests/unit/stream/counting/test_alike.py``).
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Hashable

    from stream.model.alarm import Alarm

__all__ = ["counting_key", "selection_key", "statistics_key"]


def selection_key(alarm: Alarm) -> Hashable:
    """Return what alarms share iff the same rows of their feed count for them, and alike."""
    return alarm.where, statistics_key(alarm)


def statistics_key(alarm: Alarm) -> Hashable:
    """Return what alarms share iff they count alike whatever passes their filters."""
    specs = (
        tuple(_by_value(getattr(spec, each.name)) for each in fields(spec))
        for spec in alarm.aggregates
    )
    return alarm.domain, alarm.members, tuple(specs)


def counting_key(alarm: Alarm) -> Hashable:
    """Return what alarms of one selection share iff the same windows take their rows, and alike."""
    return alarm.calendar, alarm.grace_ms, alarm.firsts


def _by_value(value: object) -> Hashable:
    """Return a field of a statistic, arrays as what they hold."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    return value
