"""What a start and ``reconcile`` read of the decisions topic: back to the ledger's cursors."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest.mock import AsyncMock

import msgspec
import pytest

from accountant.ledger.upkeep import Upkeep
from stream.build import open_ledger
from stream.config.loading import load
from stream.decisions.records import decision_loss_fields, encode
from stream.decisions.registration import registration, scopes_of, terms_of
from stream.kafka import guard, whole
from stream.windows.instants import iso_utc
from tests.support.published import decision_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from accountant.ledger.ledger import Ledger
    from accountant.records import SeenDecision
    from stream.model.alarms import Alarms

HOUR_MS = 3_600_000
HOURS = 2_500
SLOW_HOURS = 1_000
OTHER = "f" * 32

CONFIG = """\
kafka: {bootstrap: "localhost:9092"}
feeds:
  badges:
    topic: badges
    time: ts
    unit: person
    fields: {person: string, ts: timestamp}
budget: {privacy_unit: event, epsilon_max: "40"}
alarms:
  hourly:
    sql: SELECT 1 FROM badges GROUP BY TUMBLE(ts, INTERVAL '1' HOUR) HAVING COUNT(*) > 5
    max_fnr: 0.05
    tolerance: 2
  slow:
    sql: SELECT 1 FROM badges GROUP BY TUMBLE(ts, INTERVAL '1000' HOUR) HAVING COUNT(*) > 5
    max_fnr: 0.05
    tolerance: 2
"""


class _Topic:
    """A topic of one partition, and the consumer that reads it."""

    def __init__(self) -> None:
        ends = [(hour, "hourly", 1) for hour in range(1, HOURS + 1)]
        ends += [(hour, "slow", SLOW_HOURS) for hour in range(SLOW_HOURS, HOURS, SLOW_HOURS)]
        self.records = [
            SimpleNamespace(offset=at, timestamp=end * HOUR_MS, value=_decision(*each))
            for at, (each, end) in enumerate((each, each[0]) for each in sorted(ends))
        ]
        self.at = self.first = 0
        self.place: Any = None

    start = stop = AsyncMock()

    def assign(self, places: Any) -> None:
        (self.place,) = places

    async def beginning_offsets(self, places: Any) -> dict[Any, int]:
        return dict.fromkeys(places, 0)

    async def end_offsets(self, places: Any) -> dict[Any, int]:
        return dict.fromkeys(places, len(self.records))

    async def offsets_for_times(self, times: dict[Any, int]) -> dict[Any, Any]:
        (since_ms,) = times.values()
        found = next((one for one in self.records if one.timestamp >= since_ms), None)
        return dict.fromkeys(times, found)

    def seek(self, _place: Any, offset: int) -> None:
        self.at = self.first = offset

    async def position(self, _place: Any) -> int:
        return self.at

    async def getmany(self, **_: Any) -> dict[Any, Any]:
        batch = self.records[self.at : self.at + 100]
        self.at += len(batch)
        return {self.place: batch}


def _decision(end: int, query: str, hours: int, ledger: str = OTHER) -> bytes:
    decision = decision_of(end // hours, alarm=query, ledger=ledger)
    start, end_text = iso_utc((end - hours) * HOUR_MS), iso_utc(end * HOUR_MS)
    lost = decision_loss_fields(1, gaussian=False)
    window = {"window_start": start, "window_end": end_text, "next_start": end_text}
    return encode(msgspec.structs.replace(decision, budget="feed:badges", **window, **lost))


def _loaded(folder: Path, fields: str = "fields:") -> Alarms:
    """Return two alarms, one with an hourly window, one whose windows are long."""
    path = folder / "alarms.yaml"
    path.write_text(CONFIG.replace("fields:", fields), encoding="utf-8")
    return load(path, environ={})


@pytest.fixture
def alarms(tmp_path: Path) -> Alarms:
    """The two alarms on a live feed."""
    return _loaded(tmp_path)


def _seen(
    alarms: Alarms,
    monkeypatch: pytest.MonkeyPatch,
    cursors: dict[str, int],
    *,
    decided: int | None = None,
    add: Callable[[Ledger], list[bytes]] = lambda _: [],
) -> tuple[set[tuple[str, int]], int]:
    """Return the windows that a start compares, and where reading began.

    Args:
        alarms: the configuration.
        monkeypatch: puts a topic in the broker's place.
        cursors: of the ledger's alarms, in hours.
        decided: when it decided last, in hours; ``None`` for never.
        add: returns values that stand behind all others on the topic.
    """
    topic = _Topic()
    monkeypatch.setattr(whole, "AIOKafkaConsumer", lambda **_: topic)
    monkeypatch.setattr(whole, "admin_client", lambda _: nullcontext())
    facts = SimpleNamespace(partitions=1)
    monkeypatch.setattr(whole, "facts_of", lambda *_: facts)
    decided_ms = None if decided is None else decided * HOUR_MS
    monkeypatch.setattr(Upkeep, "last_decided_ms", lambda _: decided_ms)
    compared: list[SeenDecision] = []
    monkeypatch.setattr(Upkeep, "unknown_decisions", lambda _, seen: compared.extend(seen))
    with open_ledger(alarms) as ledger:
        for value in add(ledger):
            topic.records.append(
                SimpleNamespace(offset=len(topic.records), timestamp=HOURS * HOUR_MS, value=value)
            )
        for scope in scopes_of(alarms):
            ledger.pins.register_budget(terms_of(alarms, scope))
        for name, hours in cursors.items():
            ledger.pins.register_query(registration(alarms.by_name[name], alarms, hours * HOUR_MS))
        guard.check_ledger(alarms, ledger)
    assert len({one.digest for one in compared}) == len(compared)
    return {(one.query, one.start_ms // HOUR_MS) for one in compared}, topic.first


EVERYTHING = {("hourly", hour) for hour in range(HOURS)} | {("slow", 0), ("slow", 1000)}
NEWEST, LAST = HOURS + 2 - 1_000, ("slow", 1000)


@pytest.mark.parametrize(
    ("cursors", "decided", "first", "seen"),
    [
        # back to its last decision, an hour earlier as brokers' clocks go, however much there is
        ((300, 1000), 301, 298, {one for one in EVERYTHING if one[1] >= 298 or one[0] == "slow"}),
        # up to date: the newest records tell whether another ledger serves the topic
        ((HOURS, HOURS), HOURS, NEWEST, {one for one in EVERYTHING if one[1] > 1_500} | {LAST}),
        # where a clock ran ahead the last decision is dated too late: back to the oldest cursor
        (
            (HOURS, 1_000),
            9 * HOURS,
            998,
            {one for one in EVERYTHING if one[1] > 997 or one[0] == "slow"},
        ),
        # lost and made anew, also where a start that was refused has registered every alarm
        ((), None, 0, EVERYTHING),
        ((HOURS, HOURS), None, 0, EVERYTHING),
    ],
)
def test_a_start_reads_back_to_what_the_ledger_may_lack(
    alarms: Alarms,
    monkeypatch: pytest.MonkeyPatch,
    *,
    cursors: tuple[int, ...],
    decided: int | None,
    first: int,
    seen: set[tuple[str, int]],
) -> None:
    """By its last decision and its cursors, the earlier of the two."""
    known = dict(zip(("hourly", "slow"), cursors, strict=False))
    assert _seen(alarms, monkeypatch, known, decided=decided) == (seen, first)


def test_an_alarm_that_was_removed_spent_all_the_same(
    alarms: Alarms, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What this ledger published of it counts, also where this copy never had it."""

    def removed(ledger: Ledger) -> list[bytes]:
        mine = _decision(HOURS, "removed", 1, ledger=ledger.ledger_id)
        return [mine, _decision(HOURS, "another-file's", 1)]

    seen, _ = _seen(alarms, monkeypatch, {"hourly": HOURS}, decided=HOURS, add=removed)
    assert ("removed", HOURS - 1) in seen
    assert {name for name, _ in seen} == {"removed", "hourly", "slow"}
