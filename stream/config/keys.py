"""The YAML of a configuration: every key, its type and its default.

Frozen pydantic models over ``stream.config.yamlfile`` trees, unknown keys forbidden. What a key
means with its neighbours (fields that exist, thresholds that fit) is checked by
``stream.config.loading``.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainValidator,
    WithJsonSchema,
    WrapValidator,
)

from accountant.units import PrivacyUnit  # noqa: TC001  # pydantic reads it
from stream.config.alarms.mechanism_keys import AUTO, MechanismModel, WrittenMechanism
from stream.config.alarms.severity_keys import SeverityModel  # noqa: TC001  # pydantic reads it
from stream.config.closed import Closed as _Model
from stream.config.notify.keys import (
    BoardModel,
    LifecycleModel,
    NotifyModel,
)
from stream.config.places import bootstrap_of
from stream.config.scalars import (
    WORD,
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
    within,
)
from stream.config.schema import shapes
from stream.config.yamlfile import Scalar
from stream.logs.settings import Form, Level, LogSettings
from stream.model.alarms import Overrun, PromiseKind
from stream.model.feeds import Clock, Codec, FieldType, Partitioner

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


__all__ = [
    "AUTO_TOLERANCE",
    "EXAMPLES",
    "AlarmModel",
    "BudgetModel",
    "ContributionModel",
    "FeedModel",
    "FieldModel",
    "FileModel",
    "KafkaModel",
    "LogModel",
    "PublicValues",
]

_DAY_MS = 86_400_000
_LARGEST_CAP = 1_000_000


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


def _cap(key: str) -> AfterValidator:
    return within(
        1, f"{key} is a whole number from 1 to {_LARGEST_CAP}", f"write {key}: 1", _LARGEST_CAP
    )


def _waited(key: str) -> AfterValidator:
    return within(1, f"{key} is longer than nothing", "write 10m")


PublicValues = Annotated[
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

    security_protocol: (
        Annotated[Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"], WORD] | None
    ) = None
    """what the listeners speak"""
    sasl_mechanism: Annotated[Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"], WORD] | None = (
        None
    )
    """how the clients prove it"""
    sasl_username: Text | None = None
    """who the clients are"""
    sasl_password: Text | None = None
    """best from a file: ${file:PATH}"""
    ssl_cafile: Text | None = None
    """file of the authorities that sign the brokers' certificates"""
    ssl_certfile: Text | None = None
    """file of the clients' certificate"""
    ssl_keyfile: Text | None = None
    """file of the clients' key"""


class KafkaModel(_Model):
    """How to reach Kafka."""

    bootstrap: Annotated[Text, AfterValidator(bootstrap_of)]
    """host:port, several separated by commas"""
    group: Name = "tocsin"
    """prefix of the consumer groups"""
    alarms_topic: TopicName = "tocsin.alarms"
    """where alarms are written"""
    decisions_topic: TopicName = "tocsin.decisions"
    """where one record per alarm and window is written"""
    counts_topic: TopicName = "tocsin.counts"
    """where noisy counts are written, of alarms with release: counts"""
    doorbell_topic: TopicName = "tocsin.doorbell"
    """internal"""
    ledgers_topic: TopicName = "tocsin.ledgers"
    """internal: which ledger owns a feed; the same in all of a cluster"""
    security: SecurityModel = SecurityModel()
    """how clients prove who they are"""
    session_timeout: Annotated[
        DurationMs,
        within(
            1_000,
            "the session timeout is under a second",
            "write 6s or more, within the broker's limits",
        ),
    ] = 30_000
    """of both consumer groups, at least 1s"""


class MetricsModel(_Model):
    """Where metrics are shown."""

    public: Address = ("0.0.0.0", 9464)  # noqa: S104 -- the public endpoint is public
    """host:port of what everyone may see"""
    custodian: Address = ("127.0.0.1", 9465)
    """host:port of exact counts, drops and lags"""
    custodian_token: Text | None = None
    """bearer token; required where custodian is bound beyond loopback"""


class LogModel(_Model):
    """How a worker writes its lines."""

    level: Annotated[Level, WORD] = Level.INFO
    """the least that is written; read again on SIGHUP"""
    format: Annotated[Form, WORD] = Form.TEXT
    """text, or json: one object a line"""

    @property
    def settings(self) -> LogSettings:
        """The same, for who writes them."""
        return LogSettings(self.level, self.format)


class TableModel(_Model):
    """A public table: a CSV file with a column of keys and one of values."""

    short: ClassVar[str] = "file"

    file: Text
    """a CSV file with a header, beside the configuration"""
    key: Text | None = None
    """the column of group values; the first one where left out"""
    value: Text | None = None
    """the column of numbers; the second one where left out"""


class FieldModel(_Model):
    """One field of an event."""

    short: ClassVar[str] = "type"

    type: Annotated[FieldType, WORD] | None = None
    """what its values are; string where a domain is given"""
    domain: PublicValues | None = None
    """its public values: a list, or a file with one per line; required to group by it"""
    clip: _Clip | None = None
    """[lo, hi]: values are kept within; required to sum or rank them"""
    granule: Exact | None = None
    """the step that values are counted in"""
    fixed: _Truth = "false"
    """true where a unit never changes it: each unit then has one value of it"""


class HistoryModel(_Model):
    """The public span of a replay."""

    from_: Text = Field(alias="from")
    """the first instant that counts"""
    until: Text
    """the first instant that does not count any more"""


class PunctuationModel(_Model):
    """Marks of a trusted writer."""

    every: Annotated[DurationMs, within(1, "marks need a grid", "write every: 1m")] = 60_000
    """the grid of the marks"""
    key: Text
    """16 bytes or more that authenticate the marks, best from a file: ${file:PATH}"""


class FeedModel(_Model):
    """One topic of events."""

    topic: TopicName
    """Kafka topic, partitioned by unit"""
    codec: Annotated[Codec, WORD] = Codec.JSON
    """json, or arrow: one message is one IPC stream"""
    time: Text
    """the field with the event time, a timestamp"""
    unit: Text
    """the field with the privacy unit's id: who is protected"""
    id: Text | None = None
    """a field that tells events apart, to remove duplicates"""
    fields: dict[str, FieldModel]
    """declared fields; an event with another type in one of them is dropped alone"""
    partitioner: Annotated[Partitioner, WORD] = Partitioner.MURMUR2
    """how the producer's client hashes the unit to a partition"""
    clock: Annotated[Clock, WORD] = Clock.APPEND_TIME
    """append_time, or punctuation for history replayed by a trusted writer"""
    allowed_skew: DurationMs = 60_000
    """an event dated later than its append time by more than this never counts"""
    broker_skew: DurationMs = 1_000
    """how far append times may step back within a partition"""
    idle_margin: DurationMs = 10_000
    """how long past a cut an idle partition is waited for"""
    history: HistoryModel | None = None
    """the public span that a replay decides"""
    punctuation: PunctuationModel | None = None
    """marks that say what time it is, with clock: punctuation"""


class ContributionModel(_Model):
    """Caps within a window, and over a period; privacy unit ``user`` only."""

    max_groups_per_window: Annotated[Whole, _cap("max_groups_per_window")] = 1
    """in how many groups of a window one person may count"""
    max_events_per_group: Annotated[Whole, _cap("max_events_per_group")] = 1
    """how many of one person's events count in one group of a window"""
    max_windows_per_period: Annotated[Whole, _cap("max_windows_per_period")] | None = None
    """in how many windows of an alarm one person counts in a period"""


class BudgetModel(_Model):
    """The wall."""

    privacy_unit: Annotated[PrivacyUnit, WORD]
    """what neighbours differ in: a person's events of a period, or one event"""
    epsilon_max: Epsilon
    """never passed: "4", "0.5", 7/2 or a whole number; a bare float is refused"""
    privacy: Annotated[PromiseKind, WORD] = PromiseKind.PURE
    """pure: epsilon_max holds always; gdp: but for delta, by Gaussian privacy"""
    delta: Delta | None = None
    """privacy: gdp only: the probability added on top of the factor e^epsilon_max"""
    period: _Period | None = None
    """renewed every period: 12h, 1d, 1w; or lifetime"""
    contribution: ContributionModel | None = None
    """privacy_unit: user only: what of one person counts in windows and periods"""
    on_shortfall: Annotated[Overrun, WORD] = Overrun.REFUSE
    """deny: more windows than fit may be asked for; refuse: they may not"""


class TimingModel(_Model):
    """How long an alarm waits, and for what."""

    grace: DurationMs = 30_000
    """an event counts if it is appended before window end + grace"""
    publish_delay: DurationMs = 15_000
    """alarms leave this long after window end + grace, at the next tick"""
    decide_timeout: Annotated[DurationMs, _waited("decide_timeout")] = 600_000
    """how long a missing partition may stand still before a window is denied"""
    reference_timeout: Annotated[DurationMs, _waited("reference_timeout")] | None = None
    """how long a reference's feed may stand still, then a window is denied"""
    max_age: Annotated[DurationMs, _waited("max_age")] = 7 * _DAY_MS
    """at catch-up, a window older than this is denied"""


class AlarmModel(_Model):
    """One alarm: what is wanted of it, and how it is had."""

    sql: Annotated[str, BeforeValidator(verbatim), WithJsonSchema(shapes.TEXT)]
    """SELECT ... FROM feed [WHERE ...] GROUP BY ..., TUMBLE(...) HAVING ..."""
    active: Text | None = None
    """public schedule in timezone: "Mon-Fri 07:00-22:00"; always, where left out"""
    baseline: Text | None = None
    """the aggregate in an ordinary window: a number, or a table"""
    max_fnr: Probability
    """most probable miss of a true alarm, between 0 and 1"""
    false_alarms: FalseRingsText | None = None
    """how many are tolerated, as 1 per week: tocsin plan looks for a way"""
    max_delay: (
        Annotated[
            DurationMs,
            within(
                1,
                "an alarm waits for its window's end, grace and publish_delay: never for nothing",
                "write max_delay: 10m",
            ),
        ]
        | None
    ) = None
    """how late an alarm may be published, as 10m: tocsin plan looks for a way"""
    episodes: Whole | None = None
    """how many times a budget period has to carry what the alarm is about"""
    share: Share | None = None
    """the part of epsilon_max that is this alarm's own in every period"""
    tolerance: Annotated[
        Amounts,
        WrapValidator(_unless_auto),
        WithJsonSchema({"anyOf": [shapes.one_or_by_name(shapes.EXACT), shapes.words([AUTO])]}),
    ] = Field(default_factory=lambda: {"": Fraction(0)})
    """how far below the threshold firing is no error; 0 costs most"""
    mechanism: WrittenMechanism = MechanismModel()
    """how it is decided: a name, or a name with its keys"""
    hold: DurationMs | None = None
    """a group that fired is not asked for so long, costs nothing and stays firing: 3h"""
    severity: dict[Name, SeverityModel] | None = None
    """thresholds by name, from the least severe, where HAVING says SEVERITY"""
    lifecycle: LifecycleModel = LifecycleModel()
    """when an alarm begins and ends, and what is said of it"""
    timing: TimingModel = TimingModel()
    """how long it waits, and for what"""


class FileModel(_Model):
    """One whole file."""

    timezone: Text = "UTC"
    """IANA time zone of days, schedules and instants without an offset"""
    kafka: KafkaModel | None = None
    """how to reach Kafka; not needed for replays of files"""
    ledger: Text | None = None
    """where spending is kept: sqlite:///relative.db or postgresql://user:password@host/name"""
    metrics: MetricsModel = MetricsModel()
    """where metrics are shown"""
    log: LogModel = LogModel()
    """what a worker says on standard error"""
    tick: Annotated[DurationMs, within(1, "a tick is longer than nothing", "write tick: 1s")] = (
        1_000
    )
    """alarms leave on multiples of this"""
    tables: dict[Name, TableModel] = Field(default_factory=dict)
    """public tables of thresholds and references"""
    feeds: dict[Name, FeedModel]
    """topics of events; a topic belongs to one feed"""
    budget: BudgetModel
    """what may be lost, and by whom"""
    alarms: dict[Name, AlarmModel]
    """when to ring"""
    notify: NotifyModel | None = None
    """where tocsin notify brings alarms"""
    board: BoardModel = BoardModel()
    """where tocsin board shows them"""


EXAMPLES = {
    "kafka": "kafka: {bootstrap: localhost:9092}",
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
