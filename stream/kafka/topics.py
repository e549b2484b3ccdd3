"""Topics: what Tocsin needs of them, making them, and the identity of a feed's log."""

from __future__ import annotations

from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient

from accountant.errors import ConfigError, DependencyError, LogChangedError
from accountant.records import LogIdentity
from stream.kafka.clients import admin_arguments, reaching
from stream.model.alarms import require_kafka, windows_cap
from stream.model.feeds import Clock
from stream.model.references import counted_on, waited_ms

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from stream.model.alarms import Alarms, KafkaSettings
    from stream.model.feeds import Feed

__all__ = [
    "PATIENCE_MS",
    "TopicFacts",
    "admin_client",
    "check",
    "facts_of",
    "feed_of",
    "plan",
]

PATIENCE_MS = 30_000
"""How long a broker may take to start, and to answer."""

_RETENTION_MARGIN_MS = 24 * 3600 * 1000
_NO_ERROR, _NO_SUCH_TOPIC = 0, 3


@dataclass(frozen=True, slots=True)
class TopicPlan:
    """A topic as Tocsin needs it.

    Args:
        name: topic.
        partitions: number to create; feeds are created with the number asked for.
        config: settings that must hold.
        retention_ms: least retention that is long enough; 0 where any will do.
        feed: the feed it carries, ``None`` for Tocsin's own topics.
    """

    name: str
    partitions: int
    config: Mapping[str, str]
    retention_ms: int = 0
    feed: str | None = None


class TopicFacts(NamedTuple):
    """A topic as the broker describes it.

    Args:
        name: topic.
        cluster_id: of the cluster.
        topic_id: identity that a re-created topic does not share.
        partitions: their number.
        config: every setting, defaults included.
    """

    name: str
    cluster_id: str
    topic_id: str
    partitions: int
    config: Mapping[str, str]

    def identity(self, feed: str) -> LogIdentity:
        """Return what the ledger pins."""
        return LogIdentity(
            feed=feed,
            cluster_id=self.cluster_id,
            topic_id=self.topic_id,
            topic=self.name,
            partitions=self.partitions,
        )


def check(alarms: Alarms, *, create_with: int = 0) -> tuple[list[str], dict[str, TopicFacts]]:
    """Return what is wrong with the topics, after creating the missing ones if told to.

    An existing topic is never altered: changing the timestamp type or the partitions of a feed
    under a running ledger would make its windows wrong, and only its owner may decide that.

    Args:
        alarms: the checked configuration.
        create_with: partitions of feed topics that are missing, which are then created as the
            others are; 0 to create none.

    Returns:
        One sentence for each thing that is wrong, and what every topic that exists is like.

    Raises:
        ConfigError: the configuration has no ``kafka`` section.
        DependencyError: Kafka cannot be reached.
    """
    wanted = plan(alarms, partitions=create_with)
    names = [topic.name for topic in wanted]
    with admin_client(require_kafka(alarms)) as client:
        facts = describe(client, names)
        if create_with:
            for topic in wanted:
                if topic.name not in facts:
                    create(client, topic)
            facts = describe(client, names)
    return [line for topic in wanted for line in problems(topic, facts.get(topic.name))], facts


def feed_of(alarms: Alarms, name: str) -> Feed:
    """Return a feed by its name.

    Raises:
        ConfigError: there is none.
    """
    if name not in alarms.feeds:
        raise ConfigError(
            f"there is no feed {name!r}",
            file=alarms.file,
            hint=f"write one of: {', '.join(alarms.feeds)}",
        )
    return alarms.feeds[name]


@contextmanager
def admin_client(kafka: KafkaSettings) -> Iterator[KafkaAdminClient]:
    """Yield an administration client; a broker that starts is waited for.

    Raises:
        DependencyError: no broker answers.
    """
    with reaching(
        f"Kafka is unreachable at {kafka.bootstrap}",
        "start the broker, or correct kafka.bootstrap and kafka.security",
    ):
        client = KafkaAdminClient(
            client_id="tocsin-admin", bootstrap_timeout_ms=PATIENCE_MS, **admin_arguments(kafka)
        )
    with (
        closing(client),
        reaching(
            f"Kafka at {kafka.bootstrap} refused an administration request",
            "check the broker's log and the rights of this user",
        ),
    ):
        yield client


def plan(alarms: Alarms, *, partitions: int = 4) -> list[TopicPlan]:
    """Return every topic a configuration uses, as it must be.

    Raises:
        ConfigError: the configuration has no ``kafka`` section.
    """
    kafka = require_kafka(alarms)
    deleted, dated = {"cleanup.policy": "delete"}, {"message.timestamp.type": "LogAppendTime"}
    plans = [
        TopicPlan(
            name=feed.topic,
            partitions=partitions,
            config=deleted | dated if feed.clock is Clock.APPEND_TIME else deleted,
            retention_ms=_needed_retention_ms(alarms, feed),
            feed=feed.name,
        )
        for feed in alarms.feeds.values()
    ]
    public = [kafka.alarms_topic, kafka.decisions_topic]
    if any(alarm.releases_counts for alarm in alarms.running.values()):
        public.append(kafka.counts_topic)
    return [
        *plans,
        *(TopicPlan(name, 1, deleted) for name in public),
        TopicPlan(kafka.ownership_topic, 1, {"cleanup.policy": "compact", **dated}),
        TopicPlan(kafka.wakeup_topic, partitions, deleted),
    ]


def describe(client: KafkaAdminClient, names: list[str]) -> dict[str, TopicFacts]:
    """Return the facts of every topic of ``names`` that exists.

    Raises:
        DependencyError: the broker cannot say, or may not.
    """
    metadata = client.describe_cluster()
    described = client.describe_topics(names)
    for topic in described:
        if topic["error_code"] not in (_NO_ERROR, _NO_SUCH_TOPIC):
            raise DependencyError(
                f"Kafka does not describe topic {topic['name']!r} (error {topic['error_code']})",
                hint="check that every partition has a leader, and this user's ACLs",
            )
    existing = [topic for topic in described if topic["error_code"] == _NO_ERROR]
    if not existing:
        return {}
    resources = [ConfigResource(ConfigResourceType.TOPIC, topic["name"]) for topic in existing]
    configs = client.describe_configs(resources, config_filter="all")["topic"]
    return {
        topic["name"]: TopicFacts(
            name=topic["name"],
            cluster_id=str(metadata["cluster_id"]),
            topic_id=str(topic["topic_id"]),
            partitions=len(topic["partitions"]),
            config={key: str(entry["value"]) for key, entry in configs[topic["name"]].items()},
        )
        for topic in existing
    }


def facts_of(client: KafkaAdminClient, name: str) -> TopicFacts:
    """Return the facts of a topic.

    Raises:
        DependencyError: the broker cannot say, or may not.
        LogChangedError: there is no such topic.
    """
    facts = describe(client, [name]).get(name)
    if facts is None:
        raise LogChangedError(
            f"topic {name!r} does not exist",
            hint="correct its name, or create it with `tocsin topics create FILE`",
        )
    return facts


def problems(wanted: TopicPlan, facts: TopicFacts | None) -> list[str]:
    """Say what is wrong with a topic, and what to set instead; empty when it will do."""
    if facts is None:
        return [f"topic {wanted.name!r} does not exist; create it with `tocsin topics create FILE`"]
    found = [
        f"topic {wanted.name!r} has {key}={facts.config.get(key)}; set {key}={value}"
        for key, value in wanted.config.items()
        if facts.config.get(key) != value
    ]
    if wanted.feed is not None:
        if int(facts.config.get("retention.bytes", "-1")) != -1:
            found.append(
                f"topic {wanted.name!r} has retention.bytes, which deletes events by size; "
                "set retention.bytes=-1"
            )
        retention_ms = int(facts.config.get("retention.ms", "-1"))
        if retention_ms != -1 and retention_ms < wanted.retention_ms:
            found.append(
                f"topic {wanted.name!r} has retention.ms={retention_ms}, shorter than its windows "
                f"need; set retention.ms={wanted.retention_ms} or more"
            )
    return found


def create(client: KafkaAdminClient, wanted: TopicPlan) -> None:
    """Create a topic as planned and wait until every partition has a leader."""
    config = dict(wanted.config)
    if wanted.feed is not None:
        config["retention.bytes"] = "-1"
        config["retention.ms"] = str(max(wanted.retention_ms, 7 * _RETENTION_MARGIN_MS))
    client.create_topics(
        {
            wanted.name: {
                "num_partitions": wanted.partitions,
                "replication_factor": -1,  # as the brokers have it
                "configs": config,
            }
        }
    )
    client.wait_for_topics([wanted.name])


def _needed_retention_ms(alarms: Alarms, feed: Feed) -> int:
    """Longest window + grace + skews + the time a window may wait + a day's margin.

    Under a cap over a period windows are counted from its beginning: its length is added.
    """
    queries, budget = counted_on(feed, alarms)
    longest = max((q.calendar.longest_ms + q.grace_ms + waited_ms(q) for q in queries), default=0)
    capped = any(windows_cap(alarm, budget) is not None for alarm in queries)
    return (
        longest
        + (budget.calendar.longest_ms if capped and budget.calendar is not None else 0)
        + feed.allowed_skew_ms
        + feed.max_append_time_regression_ms
        + feed.idle_partition_timeout_ms
        + _RETENTION_MARGIN_MS
    )
