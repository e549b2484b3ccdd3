"""The Kafka settings of a configuration that must have them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accountant.errors import ConfigError

if TYPE_CHECKING:
    from stream.model.alarms import Alarms, KafkaSettings

__all__ = ["require_kafka"]


def require_kafka(alarms: Alarms) -> KafkaSettings:
    """Return the Kafka settings of a configuration.

    Raises:
        ConfigError: it has none.
    """
    if alarms.kafka is None:
        raise ConfigError(
            "this configuration has no kafka section",
            file=alarms.file,
            line=1,
            column=1,
            hint="add `kafka: {bootstrap: host:port}`, or give files with --replay",
        )
    return alarms.kafka
