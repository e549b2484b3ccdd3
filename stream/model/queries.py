"""What a configuration means once it is checked: feeds, queries, the budget.

Plain frozen data, made by ``stream.config.loading`` and read by everything else. Times are integer
milliseconds since the Unix epoch, statistics are integers (see ``operators.conditions.atoms``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    import numpy as np
    from numpy.typing import NDArray

    from accountant.units import Contribution, PrivacyUnit
    from operators.conditions.condition import Aim, Condition
    from operators.deciders import Decider
    from stream.model.filters import Where
    from stream.model.firstphase import FirstTolerances
    from stream.windows.calendars import Calendar, Periods

__all__ = [
    "AggregateKind",
    "AggregateSpec",
    "Alarms",
    "Band",
    "Budget",
    "Clock",
    "Codec",
    "Domain",
    "Feed",
    "Field",
    "FieldType",
    "KafkaSettings",
    "Partitioner",
    "Query",
    "ReferenceFeed",
    "Settings",
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
    PUNCTUATION = "punctuation"


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
        granule: smallest step that sums count; 1 for integers unless said otherwise.
    """

    name: str
    type: FieldType
    domain: tuple[str, ...] | None = None
    lo: Fraction | None = None
    hi: Fraction | None = None
    granule: Fraction | None = None


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
        clock: append time, or punctuation marks of a trusted writer.
        allowed_skew_ms: an event dated later than its append time by more than this never counts.
        broker_skew_ms: how far append times may step back within a partition.
        idle_margin_ms: how long past a cut the clock must be before an idle partition is complete.
        history: public ``[from_ms, until_ms)`` that a replay decides; ``None`` for live feeds.
        punctuation_ms: grid of the punctuation marks.
        punctuation_key: secret that authenticates marks (from the environment), or ``None``.
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
    broker_skew_ms: int = 1_000
    idle_margin_ms: int = 10_000
    history: tuple[int, int] | None = None
    punctuation_ms: int = 60_000
    punctuation_key: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Domain:
    """The public predicates of a query: every combination of its group fields' values.

    Args:
        fields: group-by fields, in order; empty for one predicate over everything.
        values: per field its public values, in order.
    """

    fields: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]

    def __len__(self) -> int:
        """Number of predicates."""
        size = 1
        for values in self.values:
            size *= len(values)
        return size

    def predicate(self, index: int) -> dict[str, str]:
        """Return predicate ``index`` as ``{field: value}``; the last field varies fastest."""
        chosen: dict[str, str] = {}
        for name, values in zip(reversed(self.fields), reversed(self.values), strict=True):
            index, at = divmod(index, len(values))
            chosen[name] = values[at]
        return dict(reversed(chosen.items()))


class AggregateKind(StrEnum):
    """What a cell's integer statistic adds up, x being a field's value in granules."""

    COUNT = "count"
    """1 per event."""
    DISTINCT_UNITS = "distinct_units"
    """1 per privacy unit."""
    SUM = "sum"
    """Clipped x."""
    OFFSET = "offset"
    """``scale`` times clipped x, less the cell's pivot: the sign of a mean's distance to it."""
    RANK = "rank"
    """``above`` where clipped x exceeds the cell's pivot, else ``not_above``: for quantiles."""


@dataclass(frozen=True, slots=True, eq=False)
class AggregateSpec:
    """One statistic of a query: which events count, and what each of them weighs.

    Args:
        kind: what is added up.
        field: the field read; an event without it does not count. ``None`` for all events.
        lo: lower clip in granules, where values are read.
        hi: upper clip in granules.
        granule: the field's granule, where values are read.
        where: further filter of the events that count (SQL's FILTER); ``None`` keeps all.
        pivots: shape (cells,), int64, per predicate, for OFFSET in granules over ``scale``, for
            RANK in granules; ``None`` otherwise.
        scale: of OFFSET, >= 1.
        above: weight above the pivot, of RANK.
        not_above: weight at the pivot and below, of RANK.
    """

    kind: AggregateKind
    field: str | None = None
    lo: int = 0
    hi: int = 0
    granule: Fraction | None = None
    where: Where | None = None
    pivots: NDArray[np.int64] | None = None
    scale: int = 1
    above: int = 1
    not_above: int = 0

    @property
    def largest(self) -> int:
        """No event weighs more than this in magnitude; at least 1."""
        match self.kind:
            case AggregateKind.COUNT | AggregateKind.DISTINCT_UNITS:
                return 1
            case AggregateKind.SUM:
                return max(abs(self.lo), abs(self.hi), 1)
            case AggregateKind.OFFSET:
                if self.pivots is None:
                    raise ValueError("an offset has pivots")
                least, most = int(self.pivots.min()), int(self.pivots.max())
                return max(abs(self.scale * self.hi - least), abs(most - self.scale * self.lo), 1)
            case AggregateKind.RANK:
                return max(abs(self.above), abs(self.not_above), 1)


@dataclass(frozen=True, slots=True, eq=False)
class ReferenceFeed:
    """Where the references of a band are counted: the alarm's SELECT over a public feed.

    Args:
        feed: public: nothing that is counted on it is protected.
        where: the alarm's row filter, read against this feed.
        aggregate: the alarm's aggregate over this feed.
        timeout_ms: a window that lacks its references this long after its cut is denied.
    """

    feed: Feed
    where: Where | None
    aggregate: AggregateSpec
    timeout_ms: int


@dataclass(frozen=True, slots=True, eq=False)
class Band:
    """What an alarm watches that rings when its aggregate leaves a band around a reference.

    Args:
        decider: answers "within"; reads the first of the query's statistics, in order.
        epsilon: its loss per cell as written.
        tau: half-width of the band, in units of the aggregate.
        references: shape (cells,), int64, public, in units of the aggregate; made read-only.
        feed: where they are counted window by window; ``references`` are 0 then, and the query's
            condition is about the distance to them.
    """

    decider: Decider
    epsilon: Fraction
    tau: int
    references: NDArray[np.int64]
    feed: ReferenceFeed | None = None

    def __post_init__(self) -> None:
        """Freeze the references."""
        frozen = self.references.copy()
        frozen.setflags(write=False)
        object.__setattr__(self, "references", frozen)


@dataclass(frozen=True, slots=True)
class Query:
    """One alarm, ready to run.

    Args:
        id: the alarm's name.
        feed: where its events come from.
        domain: its public predicates.
        calendar: its windows, schedule included.
        where: row filter; ``None`` keeps all.
        aggregates: its statistics, at least one, in the order that the condition numbers them.
        condition: when a cell should ring; sensitivities with caps included.
        aim: max_fnr, max_fpr and the tolerance of every atom.
        first: what the tolerances of a first phase follow from.
        texts: every atom as SQL, in the order of the condition's formula.
        mechanism: operator name.
        grace_ms: lateness that still counts; the cut is window end + grace.
        publish_delay_ms: alarms leave this long after the cut, at the next tick.
        decide_timeout_ms: a window that lacks a partial this long after its cut is denied.
        max_age_ms: at catch-up, a window cut longer ago than this is denied.
        sql: the text it came from.
        fingerprint: hex digest of everything that changes its decisions.
        band: of mechanism ``decider``, whose condition says when the band is left; else ``None``.
    """

    id: str
    feed: Feed
    domain: Domain
    calendar: Calendar
    where: Where | None
    aggregates: tuple[AggregateSpec, ...]
    condition: Condition
    aim: Aim
    first: FirstTolerances
    texts: tuple[str, ...]
    mechanism: str
    grace_ms: int
    publish_delay_ms: int
    decide_timeout_ms: int
    max_age_ms: int
    sql: str
    fingerprint: str
    band: Band | None = None


@dataclass(frozen=True, slots=True)
class Budget:
    """The wall.

    Args:
        unit: what a neighbour differs in.
        epsilon_max: never passed.
        periods: the budget periods (one for ``lifetime``); ``None`` under unit ``event``.
        contribution: caps under unit ``user``.
    """

    unit: PrivacyUnit
    epsilon_max: Fraction
    periods: Periods | None
    contribution: Contribution


@dataclass(frozen=True, slots=True)
class KafkaSettings:
    """How to reach Kafka, and the names of Tocsin's own topics.

    Args:
        bootstrap: ``host:port[,host:port]``.
        group: prefix of the consumer groups.
        alarms_topic: alarms go here.
        decisions_topic: one record per (query, window).
        doorbell_topic: internal; says that a partial was stored.
        security: client settings passed through (``security_protocol``, ``sasl_mechanism``, ...),
            secrets among them.
        session_timeout_ms: of both consumer groups.
    """

    bootstrap: str
    group: str
    alarms_topic: str
    decisions_topic: str
    doorbell_topic: str
    security: Mapping[str, str] = field(repr=False)
    session_timeout_ms: int = 30_000


@dataclass(frozen=True, slots=True)
class Settings:
    """Where the worker keeps its ledger and shows its metrics.

    Args:
        ledger_url: SQLAlchemy URL (SQLite file or PostgreSQL).
        public_address: ``(host, port)`` of the public metrics.
        custodian_address: ``(host, port)`` of the custodian's metrics.
        custodian_token: bearer token; required when bound beyond loopback.
        tick_ms: alarms leave on multiples of this.
    """

    ledger_url: str = field(repr=False)
    public_address: tuple[str, int]
    custodian_address: tuple[str, int]
    custodian_token: str | None = field(default=None, repr=False)
    tick_ms: int = 1_000


@dataclass(frozen=True, slots=True)
class Alarms:
    """One whole configuration file, checked.

    Args:
        file: as the user named it.
        feeds: by name.
        queries: by id, in the order of the file.
        budget: the wall they share.
        kafka: ``None`` when only replays are configured.
        settings: ledger, metrics, tick.
    """

    file: str
    feeds: Mapping[str, Feed]
    queries: Mapping[str, Query]
    budget: Budget
    kafka: KafkaSettings | None
    settings: Settings
