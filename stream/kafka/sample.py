"""The last messages of a topic, for ``tocsin init``: a bounded read that leaves no trace.

No group is joined and no place is kept. Whoever looks sees events, as the custodian does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream.events.marks import claims_mark
from stream.kafka.whole import read_whole
from stream.model.alarms import KafkaSettings

if TYPE_CHECKING:
    from stream.kafka.whole import Whole

__all__ = ["last_messages"]


def last_messages(bootstrap: str, topic: str, most: int) -> list[bytes]:
    """Return the values of the last messages of a topic, partition by partition.

    Args:
        bootstrap: ``host:port`` of a Kafka without credentials.
        topic: which one.
        most: at most so many messages, spread evenly over the partitions.

    Raises:
        DependencyError: Kafka cannot be reached, or is too slow to answer.
        LogChangedError: there is no such topic.
    """
    kafka = KafkaSettings(bootstrap, "", "", "", "", "", {})

    async def read(whole: Whole) -> list[bytes]:
        each = max(most // len(whole.ends), 1)
        for place, end in whole.ends.items():
            whole.consumer.seek(place, max(whole.begins[place], end - each))
        return [
            record.value
            async for _, records in whole.records()
            for record in records
            if record.value and not claims_mark(record.headers)
        ]

    return read_whole(kafka, topic, read)[:most]
