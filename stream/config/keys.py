"""The YAML of a configuration: every key, its type and its default.

Frozen pydantic models over ``stream.config.yamlfile`` trees, unknown keys forbidden. What a key
means with its neighbours (fields that exist, thresholds that fit) is checked by
``stream.config.loading``.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field, PlainValidator, WithJsonSchema, WrapValidator

from accountant.units import PrivacyUnit
from stream.config.alarms.mechanism_keys import AUTO, MechanismModel, WrittenMechanism
from stream.config.alarms.severity_keys import SeverityModel  # noqa: TC001  # pydantic reads it
from stream.config.closed import Closed as _Model
from stream.config.closed import models_of
from stream.config.delivery.keys import (
    BoardModel,
    DeliverModel,
    LifecycleModel,
)
from stream.config.scalars import (
    Address,
    Delta,
    Duration,
    DurationMs,
    Epsilon,
    Exact,
    FalseRingsText,
    Name,
    Probability,
    Share,
    Text,
    TopicName,
    Whole,
    choice,
    clip_of,
    domain_of,
    period_of,
    verbatim,
)
from stream.config.schema import shapes
from stream.config.yamlfile import Scalar
from stream.logs.settings import Form, Level
from stream.model.alarms import Overrun, PromiseKind
from stream.model.feeds import Clock, Codec, FieldType, Partitioner

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


__all__ = [
    "AUTO_TOLERANCE",
    "EXAMPLES",
    "MODELS",
    "AlarmModel",
    "BudgetModel",
    "FeedModel",
    "FieldModel",
    "FileModel",
    "KafkaModel",
    "LogModel",
]

_DAY_MS = 86_400_000


def _by_text(value: Any) -> Any:
    """Return a single value as the entry "" of a mapping."""
    return value if isinstance(value, dict) else {"": value}


AUTO_TOLERANCE: Mapping[str, Fraction] = {AUTO: Fraction(0)}
"""What stands for ``tolerance: auto``: it is this very mapping."""


def _unless_auto(value: Any, read: Callable[[Any], Any]) -> Any:
    """Return ``AUTO_TOLERANCE`` for the word auto, else what is read."""
    if isinstance(value, Scalar) and value.text.strip() == AUTO:
        return AUTO_TOLERANCE
    return read(value)


_Domain = Annotated[
    tuple[str, ...] | str, PlainValidator(domain_of), WithJsonSchema(shapes.LIST_OR_FILE)
]
_Clip = Annotated[tuple[Any, Any], PlainValidator(clip_of), WithJsonSchema(shapes.PAIR)]
_Truth = Annotated[str, PlainValidator(choice(("true", "false"))), WithJsonSchema(shapes.TRUTH)]
_Period = Annotated[Duration | str, PlainValidator(period_of), WithJsonSchema(shapes.PERIOD)]
Amounts = Annotated[
    dict[str, Exact], BeforeValidator(_by_text), WithJsonSchema(shapes.one_or_by_name(shapes.EXACT))
]
"""One number, under "", or one per aggregate or comparison by its SQL."""


class SecurityModel(_Model):
    """How Kafka's clients prove who they are; what is left out is left to them."""

    security_protocol: Text | None = None
    sasl_mechanism: Text | None = None
    sasl_username: Text | None = None
    sasl_password: Text | None = None
    ssl_cafile: Text | None = None
    ssl_certfile: Text | None = None
    ssl_keyfile: Text | None = None


class KafkaModel(_Model):
    """How to reach Kafka."""

    bootstrap: Text
    group: Name = "tocsin"
    alarms_topic: TopicName = "tocsin.alarms"
    decisions_topic: TopicName = "tocsin.decisions"
    counts_topic: TopicName = "tocsin.counts"
    doorbell_topic: TopicName = "tocsin.doorbell"
    ledgers_topic: TopicName = "tocsin.ledgers"
    security: SecurityModel = SecurityModel()
    session_timeout: DurationMs = 30_000


class MetricsModel(_Model):
    """Where metrics are shown."""

    public: Address = ("0.0.0.0", 9464)  # noqa: S104 -- the public endpoint is public
    custodian: Address = ("127.0.0.1", 9465)
    custodian_token: Text | None = None


class LogModel(_Model):
    """How a worker writes its lines."""

    level: Annotated[Level, PlainValidator(choice(Level))] = Level.INFO
    format: Annotated[Form, PlainValidator(choice(Form))] = Form.TEXT


class TableModel(_Model):
    """A public table: a CSV file with a column of keys and one of values."""

    short: ClassVar[str] = "file"

    file: Text
    key: Text | None = None
    value: Text | None = None


class FieldModel(_Model):
    """One field of an event."""

    short: ClassVar[str] = "type"

    type: Annotated[FieldType, PlainValidator(choice(FieldType))] | None = None
    domain: _Domain | None = None
    clip: _Clip | None = None
    granule: Exact | None = None
    fixed: _Truth = "false"


class HistoryModel(_Model):
    """The public span of a replay."""

    from_: Text = Field(alias="from")
    until: Text


class PunctuationModel(_Model):
    """Marks of a trusted writer."""

    every: DurationMs = 60_000
    key: Text


class FeedModel(_Model):
    """One topic of events."""

    topic: TopicName
    codec: Annotated[Codec, PlainValidator(choice(Codec))] = Codec.JSON
    time: Text
    unit: Text
    id: Text | None = None
    fields: dict[str, FieldModel]
    partitioner: Annotated[Partitioner, PlainValidator(choice(Partitioner))] = Partitioner.MURMUR2
    clock: Annotated[Clock, PlainValidator(choice(Clock))] = Clock.APPEND_TIME
    allowed_skew: DurationMs = 60_000
    broker_skew: DurationMs = 1_000
    idle_margin: DurationMs = 10_000
    history: HistoryModel | None = None
    punctuation: PunctuationModel | None = None


class ContributionModel(_Model):
    """Caps within a window, and over a period; privacy unit ``user`` only."""

    max_groups_per_window: Whole = 1
    max_events_per_group: Whole = 1
    max_windows_per_period: Whole | None = None


class BudgetModel(_Model):
    """The wall."""

    privacy_unit: Annotated[PrivacyUnit, PlainValidator(choice(PrivacyUnit))]
    epsilon_max: Epsilon
    privacy: Annotated[PromiseKind, PlainValidator(choice(PromiseKind))] = PromiseKind.PURE
    delta: Delta | None = None
    period: _Period | None = None
    contribution: ContributionModel | None = None
    on_shortfall: Annotated[Overrun, PlainValidator(choice(Overrun))] = Overrun.REFUSE


class TimingModel(_Model):
    """How long an alarm waits, and for what."""

    grace: DurationMs = 30_000
    publish_delay: DurationMs = 15_000
    decide_timeout: DurationMs = 600_000
    reference_timeout: DurationMs | None = None
    max_age: DurationMs = 7 * _DAY_MS


class AlarmModel(_Model):
    """One alarm: what is wanted of it, and how it is had."""

    sql: Annotated[str, BeforeValidator(verbatim), WithJsonSchema(shapes.TEXT)]
    active: Text | None = None
    baseline: Text | None = None
    max_fnr: Probability
    false_alarms: FalseRingsText | None = None
    max_delay: DurationMs | None = None
    episodes: Whole | None = None
    share: Share | None = None
    tolerance: Annotated[
        Amounts,
        WrapValidator(_unless_auto),
        WithJsonSchema({"anyOf": [shapes.one_or_by_name(shapes.EXACT), shapes.words([AUTO])]}),
    ] = Field(default_factory=lambda: {"": Fraction(0)})
    mechanism: WrittenMechanism = MechanismModel()
    hold: DurationMs | None = None
    severity: dict[Name, SeverityModel] | None = None
    lifecycle: LifecycleModel = LifecycleModel()
    timing: TimingModel = TimingModel()


class FileModel(_Model):
    """One whole file."""

    timezone: Text = "UTC"
    kafka: KafkaModel | None = None
    ledger: Text | None = None
    metrics: MetricsModel = MetricsModel()
    log: LogModel = LogModel()
    tick: DurationMs = 1_000
    tables: dict[Name, TableModel] = Field(default_factory=dict)
    feeds: dict[Name, FeedModel]
    budget: BudgetModel
    alarms: dict[Name, AlarmModel]
    deliver: DeliverModel | None = None
    board: BoardModel = BoardModel()


MODELS = models_of(FileModel)
"""Which model reads which mapping."""

EXAMPLES = {
    "feeds": "feeds: {badges: {topic: building.badges, ...}}",
    "budget": 'budget: {privacy_unit: user, epsilon_max: "4", period: 1d}',
    "alarms": "alarms: {fire-code: {sql: ..., max_fnr: 0.05}}",
    "bootstrap": "bootstrap: localhost:9092",
    "file": "file: capacity.csv",
    "from": "from: 2011-01-01",
    "until": "until: 2012-01-01",
    "key": "key: ${TOCSIN_MARKS_KEY}",
    "topic": "topic: building.badges",
    "time": "time: ts",
    "fields": "fields: {person: string, room: {domain: rooms.txt}, ts: timestamp}",
    "epsilon_max": 'epsilon_max: "4"',
    "sql": "sql: SELECT ... FROM ... GROUP BY ... HAVING ...",
    "max_fnr": "max_fnr: 0.05",
    "epsilon": 'epsilon: "0.5"',
    "reference": "reference: 200",
    "url": "url: http://localhost:9093",
    "secret": "secret: ${WEBHOOK_SECRET}",
    "threshold": "threshold: 100",
    "broker": "broker: localhost:1883",
}
"""How a missing key is written."""
