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
    Field,
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
from stream.config.places import TimeZone, bootstrap_of, ledger_url
from stream.config.scalars import (
    Address,
    Delta,
    DurationMs,
    Epsilon,
    Exact,
    FalseRingsText,
    FieldName,
    Name,
    Pair,
    Period,
    Probability,
    Reads,
    Secret,
    Share,
    Text,
    TopicName,
    Whole,
    by_name,
    domain_of,
    verbatim,
    within,
)
from stream.config.schema import shapes
from stream.logs.settings import Form, Level, LogSettings
from stream.model.alarms import Overrun, PromiseKind
from stream.model.feeds import Clock, Codec, FieldType, Partitioner
from stream.windows.localtime import DAY_MS

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


AUTO_TOLERANCE: Mapping[str, Fraction] = {AUTO: Fraction(0)}
"""What stands for ``tolerance: auto``: this very mapping, which nobody can write."""


def _tolerances(value: Any, read: Callable[[Any], Any]) -> Any:
    """Return tolerances by comparison; ``AUTO_TOLERANCE`` for the word auto."""
    auto = isinstance(value, str) and value.strip() == AUTO
    return AUTO_TOLERANCE if auto else read(by_name(value))


_Cap = Annotated[Whole, within(1, "{key} is not from 1 to 1,000,000", "write {key}: 1", 1_000_000)]
_LengthMs = Annotated[DurationMs, within(1, "{key} is 0", "write {key}: 1m")]


PublicValues = Annotated[tuple[str, ...] | str, Reads(domain_of, shapes.LIST_OR_FILE)]
_Tolerances = Annotated[
    dict[str, Exact],
    WrapValidator(_tolerances),
    WithJsonSchema(shapes.one_or_by_name(shapes.TEXT)),
]
"""One number, under "", or one per comparison by its SQL."""


class SecurityModel(_Model):
    """How Tocsin's clients authenticate with Kafka."""

    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] | None = None
    """protocol of the listeners"""
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] | None = None
    """SASL mechanism"""
    sasl_username: Text | None = None
    """SASL user name"""
    sasl_password: Text | None = None
    """SASL password, best from a file: ${file:PATH}"""
    ssl_cafile: Text | None = None
    """CA certificates of the brokers, in PEM"""
    ssl_certfile: Text | None = None
    """client certificate, in PEM"""
    ssl_keyfile: Text | None = None
    """private key of the client certificate, in PEM"""


class KafkaModel(_Model):
    """How to reach Kafka."""

    bootstrap: Annotated[Text, AfterValidator(bootstrap_of)]
    """host:port, several separated by commas"""
    group: Name = "tocsin"
    """prefix of the consumer groups"""
    alarms_topic: TopicName = "tocsin.alarms"
    """topic of alarms"""
    decisions_topic: TopicName = "tocsin.decisions"
    """topic of decisions: one record per alarm and window"""
    counts_topic: TopicName = "tocsin.counts"
    """topic of noisy counts, of alarms with release: counts"""
    wakeup_topic: TopicName = "tocsin.wakeup"
    """internal topic: workers report that a partition is counted"""
    ownership_topic: TopicName = "tocsin.ownership"
    """internal topic: which ledger owns a feed; one for the whole cluster"""
    security: SecurityModel = SecurityModel()
    """authentication and TLS"""
    session_timeout_ms: Annotated[
        DurationMs,
        within(
            1_000,
            "the session timeout is shorter than 1 second",
            "write 6s or more, within the broker's limits",
        ),
    ] = 30_000
    """session timeout of both consumer groups, at least 1s"""


class MetricsModel(_Model):
    """Where metrics are shown."""

    public: Address = ("0.0.0.0", 9464)  # noqa: S104 -- the public endpoint is public
    """host:port of the public metrics"""
    custodian: Address = ("127.0.0.1", 9465)
    """host:port of the custodian's metrics: exact counts, drops and lags"""
    custodian_token: Text | None = None
    """bearer token; required if custodian is not on loopback"""


class LogModel(_Model):
    """How a worker writes its lines."""

    level: Level = Level.INFO
    """lowest level that is written"""
    format: Form = Form.TEXT
    """text, or json: one object a line"""

    @property
    def settings(self) -> LogSettings:
        """The same, for who writes them."""
        return LogSettings(self.level, self.format)


class TableModel(_Model):
    """A public table: a CSV file with a column of keys and one of values."""

    short: ClassVar[str] = "file"

    file: Text
    """CSV file with a header row; a relative path starts from the configuration's folder"""
    key: Text | None = None
    """column of group values; default: the first"""
    value: Text | None = None
    """column of numbers; default: the second"""


class FieldModel(_Model):
    """One field of an event."""

    short: ClassVar[str] = "type"

    type: FieldType | None = None
    """type of its values; default with a domain: string"""
    domain: PublicValues | None = None
    """its public values: a list, or a file with one per line; required for GROUP BY"""
    clip: Pair[Exact] | None = None
    """[lo, hi]: values outside are set to the nearer bound; required for SUM, AVG and quantiles"""
    resolution: (
        Annotated[
            Exact,
            within(
                Fraction(1, 10**307),
                "the resolution is not a number from 1e-307 to 1e308",
                'write resolution: "0.01"',
                10**308,
            ),
        ]
        | None
    ) = None
    """smallest step of a value: values are rounded to multiples of it; default for integers: 1"""


class HistoryModel(_Model):
    """The public span of a replay."""

    from_: Text
    """first instant that counts"""
    until: Text
    """first instant that no longer counts"""


class WatermarksModel(_Model):
    """Watermarks of a trusted writer."""

    interval: _LengthMs = 60_000
    """time between two watermarks"""
    key: Secret
    """16 bytes or more that authenticate the watermarks, best from a file: ${file:PATH}"""


class FeedModel(_Model):
    """One topic of events."""

    topic: TopicName
    """Kafka topic, partitioned by the privacy unit"""
    codec: Codec = Codec.JSON
    """json, or arrow: one message is one IPC stream, whose bodies Arrow has not compressed"""
    time: Text
    """field with the event time, a timestamp"""
    unit: Text
    """field with the privacy unit's id: who is protected"""
    id: Text | None = None
    """field with an id of the event, to remove duplicates"""
    fields: dict[FieldName, FieldModel] = Field(min_length=1)
    """declared fields; an event with a value of another type is dropped"""
    partitioner: Partitioner = Partitioner.MURMUR2
    """how producers hash the privacy unit's id to a partition"""
    clock: Clock = Clock.APPEND_TIME
    """append_time: the broker's append time; watermarks: watermarks of a trusted writer"""
    allowed_skew_ms: DurationMs = 60_000
    """an event never counts if its time is later than its append time by more than this"""
    max_append_time_regression_ms: DurationMs = 1_000
    """how far append times may go back within a partition"""
    idle_partition_timeout_ms: DurationMs = 10_000
    """how long after a window closes a partition without new records is waited for"""
    history: HistoryModel | None = None
    """public span of time that a replay decides"""
    watermarks: WatermarksModel | None = None
    """watermarks of a trusted writer, with clock: watermarks"""


class ContributionModel(_Model):
    """Contribution bounds; privacy unit ``user`` only."""

    max_groups_per_window: _Cap = 1
    """in how many groups of a window one person counts"""
    max_events_per_group: _Cap = 1
    """how many events of one person count in one group of a window"""
    max_windows_per_period: _Cap | None = None
    """in how many windows of an alarm one person counts per period"""


class BudgetModel(_Model):
    """The privacy budget."""

    privacy_unit: PrivacyUnit
    """what is protected: all events of a person in a period (user), or one event (event)"""
    epsilon_max: Epsilon
    """budget limit, never passed: "4", "0.5", 7/2 or a whole number; a bare float is refused"""
    privacy: PromiseKind = PromiseKind.PURE
    """pure: pure epsilon; gdp: (epsilon, delta), accounted as Gaussian differential privacy"""
    delta: Delta | None = None
    """delta of (epsilon, delta); privacy: gdp only"""
    period: Period | None = None
    """the budget is renewed every period: 12h, 1d, 1w; or lifetime"""
    contribution: ContributionModel | None = None
    """contribution bounds of one person; privacy_unit: user only"""
    on_shortfall: Overrun = Overrun.REFUSE
    """if the budget does not cover all windows: refuse the configuration, or deny windows"""


class TimingModel(_Model):
    """Grace, delays and timeouts of an alarm."""

    grace_ms: DurationMs = 30_000
    """an event counts if it is appended before the window's end + grace"""
    publish_delay_ms: DurationMs = 15_000
    """from a window's end + grace to its alarms, rounded up to publish_interval"""
    decide_timeout_ms: _LengthMs = 600_000
    """a window is denied if a partition makes no progress for this long"""
    reference_timeout_ms: _LengthMs | None = None
    """the same for a reference feed; default: decide_timeout"""
    max_age_ms: _LengthMs = 7 * DAY_MS
    """a window that is older than this when it is read is denied"""


class AlarmModel(_Model):
    """One alarm: its condition, its requirements, and how it is decided."""

    sql: Annotated[str, Reads(verbatim)]
    """SELECT ... FROM feed [WHERE ...] GROUP BY ..., TUMBLE(...) HAVING ..."""
    active: Text | None = None
    """public schedule in timezone: "Mon-Fri 07:00-22:00"; default: always"""
    baseline: Text | None = None
    """highest aggregate of an ordinary window and group, not the average: a number or a table"""
    max_fnr: Probability
    """highest probability of missing a true alarm, between 0 and 1"""
    false_alarms: FalseRingsText | None = None
    """tolerated rate of false alarms, as 1 per week; tocsin lock chooses the mechanism"""
    max_delay: _LengthMs | None = None
    """latest time from the deciding event to its alarm (10m); tocsin lock chooses the mechanism"""
    episodes: Whole | None = None
    """number of episodes that the budget has to cover per period"""
    share: Share | None = None
    """part of epsilon_max that is reserved for this alarm in every period"""
    tolerance: _Tolerances = Field(default_factory=lambda: {"": Fraction(0)})
    """how far below the threshold the alarm may fire; 0 costs most"""
    mechanism: WrittenMechanism = MechanismModel()
    """how it is decided: a name, or a name with its own keys"""
    hold: DurationMs | None = None
    """how long a group that fired is not evaluated again: it stays firing and costs no epsilon"""
    severity: dict[Name, SeverityModel] | None = None
    """thresholds of SEVERITY in HAVING, by name, from the least severe"""
    lifecycle: LifecycleModel = LifecycleModel()
    """when an alarm fires and resolves, and the texts of its notices"""
    timing: TimingModel = TimingModel()
    """grace, delays and timeouts"""


class FileModel(_Model):
    """One whole file."""

    timezone: TimeZone = "UTC"
    """IANA time zone of days, schedules and instants without an offset"""
    kafka: KafkaModel | None = None
    """connection to Kafka; not needed for replays of files"""
    ledger: Annotated[Text, AfterValidator(ledger_url)] | None = None
    """database of the ledger: sqlite:///relative.db or postgresql://user:password@host/name"""
    metrics: MetricsModel = MetricsModel()
    """addresses of the metrics pages"""
    log: LogModel = LogModel()
    """log of a worker, on standard error"""
    publish_interval: _LengthMs = 1_000
    """alarms are published at multiples of this time"""
    tables: dict[Name, TableModel] = Field(default_factory=dict)
    """public tables of thresholds, baselines and references, by name"""
    feeds: dict[Name, FeedModel] = Field(min_length=1)
    """topics of events, by name of the feed; a topic belongs to one feed"""
    budget: BudgetModel
    """the privacy budget"""
    alarms: dict[Name, AlarmModel] = Field(min_length=1)
    """alarms, by name"""
    notify: NotifyModel | None = None
    """targets of tocsin notify"""
    board: BoardModel = BoardModel()
    """page of tocsin board"""


EXAMPLES = {
    "kafka": "kafka: {bootstrap: localhost:9092}",
    "feeds": "feeds: {badges: {topic: building.badges, ...}}",
    "budget": 'budget: {privacy_unit: user, epsilon_max: "4", period: 1d}',
    "alarms": "alarms: {fire-code: {sql: ..., max_fnr: 0.05}}",
    "bootstrap": "bootstrap: localhost:9092",
    "file": "file: capacity.csv",
    "from": "from: 2011-01-01",
    "until": "until: 2012-01-01",
    "key": "key: ${TOCSIN_WATERMARKS_KEY}",
    "topic": "topic: building.badges",
    "time": "time: ts",
    "clip": "clip: [0, 100]",
    "of": "of: [2, 3]",
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
