"""The severities of published alarms, beside those that were stored with their decision."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from stream.decisions.release import released_severities

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from accountant.records import StoredDecision
    from stream.decisions.records import Alarm

__all__ = ["other_severities"]


def other_severities(
    alarms: Iterable[Alarm], decision: StoredDecision, where: str
) -> Iterator[str]:
    """Name the alarms of a decision whose severity is not the one that it stored."""
    stored = released_severities(decision)
    for one in alarms:
        if one.severity != stored.get(one.alarm_id, msgspec.UNSET):
            yield f"{where}: alarm {one.alarm_id} was altered: severity"
