"""``tocsin topics``: check every topic a configuration uses, and make those that are missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream.kafka.settings import require_kafka
from stream.kafka.topics import admin_client, create, describe, plan, problems

if TYPE_CHECKING:
    from stream.model.alarms import Alarms

__all__ = ["check"]


def check(alarms: Alarms, *, apply: bool, partitions: int) -> list[str]:
    """Return what is wrong with the topics, after creating the missing ones if told to.

    An existing topic is never altered: changing the timestamp type or the partitions of a feed
    under a running ledger would make its windows wrong, and only its owner may decide that.

    Args:
        alarms: the checked configuration.
        apply: create missing topics.
        partitions: of the feeds that are created.

    Raises:
        ConfigError: the configuration has no ``kafka`` section.
        DependencyError: Kafka cannot be reached.
    """
    kafka = require_kafka(alarms)
    wanted = plan(alarms, partitions=partitions)
    names = [topic.name for topic in wanted]
    with admin_client(kafka) as client:
        facts = describe(client, names)
        if apply:
            for topic in wanted:
                if topic.name not in facts:
                    create(client, topic)
            facts = describe(client, names)
    return [line for topic in wanted for line in problems(topic, facts.get(topic.name))]
