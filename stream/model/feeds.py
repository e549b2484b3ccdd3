"""Feeds: topics of events, their declared fields and public domains."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from fractions import Fraction

__all__ = [
    "Clock",
    "Codec",
    "Domain",
    "Feed",
    "Field",
    "FieldType",
    "Partitioner",
    "required_fields",
]


class FieldType(StrEnum):
    """Declared type of a field of an event."""

    STRING = "string"
    INTEGER = "integer"
    FLOAT = "float"
    BOOLEAN = "boolean"
    TIMESTAMP = "timestamp"


class Codec(StrEnum):
    """How a message's value carries events."""

    JSON = "json"
    ARROW = "arrow"


class Clock(StrEnum):
    """What says that a window's events have all arrived."""

    APPEND_TIME = "append_time"
    WATERMARKS = "watermarks"


class Partitioner(StrEnum):
    """Hash of the unit's UTF-8 bytes that chooses the partition."""

    MURMUR2 = "murmur2"
    CRC32 = "crc32"


@dataclass(frozen=True, slots=True)
class Field:
    """One declared field of an event.

    Args:
        name: its key in the JSON object, or its column.
        type: its declared type; another type makes the event a bad one.
        domain: its public values in order, as strings, where it may be grouped by.
        lo: lower clip, for sums, in the field's own unit.
        hi: upper clip.
        resolution: smallest step that sums count; 1 for integers unless said otherwise.
        domain_file: what the file of the domain is called, for messages; ``None`` for a list.
    """

    name: str
    type: FieldType
    domain: tuple[str, ...] | None = None
    lo: Fraction | None = None
    hi: Fraction | None = None
    resolution: Fraction | None = None
    domain_file: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Feed:
    """One topic of events, partitioned by privacy unit.

    Args:
        name: as in the configuration.
        topic: Kafka topic.
        codec: encoding of values.
        time: name of the event-time field.
        unit: name of the field that holds the privacy unit's id.
        id: name of the field that identifies an event, for removing duplicates; or ``None``.
        fields: declared fields by name (``time``, ``unit`` and ``id`` among them).
        partitioner: hash that routes a unit to its partition.
        clock: append time, or watermarks of a trusted writer.
        allowed_skew_ms: an event dated later than its append time by more than this never counts.
        max_append_time_regression_ms: how far append times may step back within a partition.
        idle_partition_timeout_ms: how far the clock is past a window's close before an idle
            partition is complete.
        history: public ``[from_ms, until_ms)`` that a replay decides; ``None`` for live feeds.
        watermark_interval_ms: grid of the watermarks.
        watermark_key: secret that authenticates marks (from the environment), or ``None``.
    """

    name: str
    topic: str
    codec: Codec
    time: str
    unit: str
    id: str | None
    fields: Mapping[str, Field]
    partitioner: Partitioner = Partitioner.MURMUR2
    clock: Clock = Clock.APPEND_TIME
    allowed_skew_ms: int = 60_000
    max_append_time_regression_ms: int = 1_000
    idle_partition_timeout_ms: int = 10_000
    history: tuple[int, int] | None = None
    watermark_interval_ms: int = 60_000
    watermark_key: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Domain:
    """The public groups of an alarm: every combination of its group fields' values.

    Args:
        fields: group-by fields, in order; empty for one group over everything.
        values: per field its public values, in order.
    """

    fields: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]

    def __len__(self) -> int:
        """Number of groups."""
        return prod(map(len, self.values))

    def times(self, members: Domain) -> Domain:
        """Return every combination with the groups of other fields, which vary fastest."""
        return Domain(self.fields + members.fields, self.values + members.values)

    def group(self, index: int) -> dict[str, str]:
        """Return group ``index`` as ``{field: value}``; the last field varies fastest."""
        places = np.unravel_index(index, tuple(map(len, self.values)))
        chosen = zip(self.fields, self.values, places, strict=True)
        return {name: values[at] for name, values, at in chosen}

    def index(self, values: Iterable[str]) -> int:
        """Return the index of the group with these values.

        Raises:
            ValueError: they are none of a group.
        """
        index = 0
        for value, places in zip(values, self._places, strict=True):
            if value not in places:
                raise ValueError("no group has this value")
            index = index * len(places) + places[value]
        return index

    @cached_property
    def _places(self) -> list[dict[str, int]]:
        return [{value: at for at, value in enumerate(values)} for values in self.values]


def required_fields(feed: Feed) -> frozenset[str]:
    """Return the names of the fields that no event may lack."""
    return frozenset(name for name in (feed.time, feed.unit, feed.id) if name is not None)
