"""Recorded events counted under one cap after another, as a run would count them.

Everything here is private: exact counts, and how many events of a window are left out.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from stream.planning.tradeoffs.caps import with_cap
from stream.simulation.history import count_history
from stream.windows.localtime import load_zone

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from accountant.costs.charges import WindowKey
    from stream.model.alarms import Alarms
    from stream.planning.tradeoffs.caps import CapChoices
    from stream.simulation.history import CountedAlarm

__all__ = ["CappedCounts", "LeftOut", "counted_under_caps"]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """How many events a cap leaves out of an alarm's windows, by the local hour of their start.

    Args:
        taken: events that the windows take, before any cap.
        dropped: those of people who counted in as many windows of the period before.
    """

    taken: Counter[int]
    dropped: Counter[int]

    @property
    def share(self) -> float | None:
        """The share of all events that is dropped; ``None`` where there is none."""
        return self.dropped.total() / self.taken.total() if self.taken.total() else None

    def share_at(self, hour: int) -> float | None:
        """Return the share in windows that start at an hour; ``None`` where there is no event."""
        return self.dropped[hour] / self.taken[hour] if self.taken[hour] else None


@dataclass(frozen=True, slots=True, eq=False)
class CappedCounts:
    """One alarm without a cap over its period, and with each that it might have.

    Args:
        choices: what each cap costs.
        uncapped: what is there in truth, as the caps within a window let in.
        capped: the same windows, by cap.
        left_out: by cap.
    """

    choices: CapChoices
    uncapped: CountedAlarm
    capped: Mapping[int, CountedAlarm]
    left_out: Mapping[int, LeftOut]


def counted_under_caps(
    alarms: Alarms,
    files: Mapping[str, Sequence[Path]],
    choices: Sequence[CapChoices],
    *,
    limit: int | None = None,
    on_pass: Callable[[int, int], None] = lambda _done, _total: None,
) -> list[CappedCounts]:
    """Count the alarms that may have a cap, in one pass for every cap.

    Args:
        alarms: the configuration.
        files: per feed name the files to read.
        choices: of alarms that may have one.
        limit: only the first so many windows of every alarm; ``None`` for all.
        on_pass: told how many passes were made, of how many.

    Raises:
        ConfigError: as :func:`stream.simulation.history.count_history`.
        DataError: a file is not what its feed declares.
    """
    names = {each.query.id for each in choices}
    queries = {name: query for name, query in alarms.queries.items() if name in names}
    alarms = replace(alarms, queries=queries)
    caps = sorted({one.cap for each in choices for one in each.choices if one.cap is not None})
    zone = load_zone(alarms.timezone)
    left_out: dict[tuple[str, int | None], LeftOut]
    left_out = {(name, cap): LeftOut(Counter(), Counter()) for name in names for cap in caps}
    counted: dict[int | None, dict[str, CountedAlarm]] = {}
    for done, cap in enumerate((None, *caps)):
        on_pass(done, len(caps) + 1)

        def note(key: WindowKey, taken: int, dropped: int, cap: int | None = cap) -> None:
            hour = datetime.fromtimestamp(key.start_ms / 1000, UTC).astimezone(zone).hour
            left_out[key.query, cap].taken[hour] += taken
            left_out[key.query, cap].dropped[hour] += dropped

        counted[cap] = count_history(
            with_cap(alarms, cap), files, limit=limit, on_events=None if cap is None else note
        )
    found = []
    for each in choices:
        name = each.query.id
        own = [one.cap for one in each.choices if one.cap is not None]
        starts = counted[None][name].starts_ms
        for cap in own:
            starts = np.intersect1d(starts, counted[cap][name].starts_ms)
        found.append(
            CappedCounts(
                each,
                counted[None][name].starting_at(starts),
                {cap: counted[cap][name].starting_at(starts) for cap in own},
                {cap: left_out[name, cap] for cap in own},
            )
        )
    return found
