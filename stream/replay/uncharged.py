"""Lanes that count as those of a replay do, for whoever decides nothing: no ledger, no charge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Unpack

from operators.noise.source import NoiseSource
from stream.counting.partition import PartitionReader

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from accountant.costs.charges import WindowKey
    from accountant.layouts import Layouts
    from stream.counting.partition import Told
    from stream.model.alarm import Alarm
    from stream.model.alarms import Budget
    from stream.replay.lanes import Lane, Source

__all__ = ["uncharged_lanes"]

_HASH_KEY_BYTES: Final = 32  # of a key that units are compared by; a new one for each pass
_NO_TOPIC: Final = "uncharged"


def uncharged_lanes(
    source: Source,
    alarms: Sequence[Alarm],
    budget: Budget,
    keys: Mapping[str, Sequence[WindowKey]],
    *,
    public: bool = False,
    **told: Unpack[Told],
) -> list[Lane]:
    """Begin to read a feed from the first window on.

    Args:
        source: its files.
        alarms: what is counted of them.
        budget: its contribution bounds hold.
        keys: per alarm id its windows, at least one, in order.
        public: as :class:`PartitionReader` has it.
        told: as there.
    """
    hash_key = NoiseSource().token(_HASH_KEY_BYTES)

    def make(partition: int, layouts: Layouts) -> PartitionReader:
        return PartitionReader(
            feed=source.feed,
            partition=partition,
            layouts=layouts,
            topic_id=_NO_TOPIC,
            alarms=alarms,
            budget=budget,
            hash_key=hash_key,
            public=public,
            **told,
        )

    return source.lanes(
        make,
        {alarm.id: keys[alarm.id][0].start_ms for alarm in alarms},
        max(keys[alarm.id][-1].end_ms + alarm.grace_ms for alarm in alarms),
    )
