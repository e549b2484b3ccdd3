"""What a start and ``mark-spent`` read of the decisions topic: back to the ledger's cursors."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from accountant.costs.charges import WindowKey
from stream.build import open_ledger
from stream.config.loading import load
from stream.decisions.records import encode, make_decision
from stream.decisions.registration import registration, scopes_of, terms_of
from stream.kafka import guard

if TYPE_CHECKING:
    from pathlib import Path

    from stream.model.alarms import Alarms

HOUR_MS = 3_600_000
HOURS = 2_500
SLOW_HOURS = 1_000

CONFIG = """\
kafka: {bootstrap: "localhost:9092"}
feeds:
  badges:
    topic: badges
    time: ts
    unit: person
    fields: {person: string, ts: timestamp}
budget: {unit: event, epsilon_max: "40"}
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

    def __init__(self, alarms: Alarms) -> None:
        ends = [(hour, "hourly", 1) for hour in range(1, HOURS + 1)]
        ends += [(hour, "slow", SLOW_HOURS) for hour in range(SLOW_HOURS, HOURS, SLOW_HOURS)]
        self.records = [
            SimpleNamespace(offset=at, timestamp=end * HOUR_MS, value=_decision(*each, alarms))
            for at, (each, end) in enumerate((each, each[0]) for each in sorted(ends))
        ]
        self.at = self.first = 0
        self.place: Any = None

    async def start(self) -> None:
        pass

    async def stop(self) -> None:
        pass

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


def _decision(end: int, query: str, hours: int, alarms: Alarms) -> bytes:
    key = WindowKey(end * HOUR_MS, query, (end - hours) * HOUR_MS)
    return encode(
        make_decision(
            key,
            denied=None,
            alarms=0,
            epsilon_units=1,
            cells_per_unit=1,
            ledger="f" * 32,
            sequence=end // hours,
            fingerprint=alarms.queries[query].fingerprint,
        )
    )


@pytest.fixture
def alarms(tmp_path: Path) -> Alarms:
    """Two alarms, one with an hourly window, one whose windows are long."""
    path = tmp_path / "alarms.yaml"
    path.write_text(CONFIG, encoding="utf-8")
    return load(path, environ={})


def _seen(
    alarms: Alarms, monkeypatch: pytest.MonkeyPatch, cursors: dict[str, int]
) -> tuple[set[tuple[str, int]], int]:
    """Return the windows that a ledger with cursors (in hours) sees, and where reading began."""
    topic = _Topic(alarms)
    monkeypatch.setattr(guard, "AIOKafkaConsumer", lambda **_: topic)
    monkeypatch.setattr(guard, "admin_client", lambda _: nullcontext())
    facts = SimpleNamespace(partitions=1)
    monkeypatch.setattr(guard, "describe", lambda _, names: dict.fromkeys(names, facts))
    with open_ledger(alarms) as ledger:
        for scope in scopes_of(alarms):
            ledger.pins.register_budget(terms_of(alarms, scope))
        for name, hours in cursors.items():
            ledger.pins.register_query(registration(alarms.queries[name], alarms, hours * HOUR_MS))
        found = guard.seen_decisions(alarms, ledger)
    assert len({one.digest for one in found}) == len(found)
    return {(one.query, one.start_ms // HOUR_MS) for one in found}, topic.first


def test_an_old_copy_sees_every_window_from_its_cursors_on(
    alarms: Alarms, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many there are, and a slow alarm's too; what the copy has is not compared again."""
    seen, _ = _seen(alarms, monkeypatch, {"hourly": 300, "slow": 0})
    assert seen == {("hourly", hour) for hour in range(300, HOURS)} | {("slow", 0), ("slow", 1000)}


def test_a_ledger_that_is_up_to_date_reads_the_newest_records(
    alarms: Alarms, monkeypatch: pytest.MonkeyPatch
) -> None:
    """These tell whether another ledger serves the topic."""
    seen, first = _seen(alarms, monkeypatch, {"hourly": HOURS, "slow": HOURS})
    assert first == HOURS + 2 - 1_000
    assert seen == {("hourly", hour) for hour in range(1_501, HOURS)} | {("slow", 1000)}


def test_the_oldest_cursor_is_read_back_to(alarms: Alarms, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow alarm makes reading begin earlier; known windows of others are left out."""
    seen, first = _seen(alarms, monkeypatch, {"hourly": HOURS, "slow": 1_000})
    assert first == 998  # an hour before the cursor: brokers' clocks
    assert ("slow", 1_000) in seen
    assert ("hourly", 1_400) not in seen


def test_an_empty_ledger_sees_everything(alarms: Alarms, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ledger that was lost altogether is charged all that was ever published."""
    seen, first = _seen(alarms, monkeypatch, {})
    assert (len(seen), first) == (HOURS + 2, 0)


def test_alarms_that_have_passed_their_history_are_not_read_back_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of them was published after their last window."""
    path = tmp_path / "alarms.yaml"
    history = "history: {from: 1970-01-01, until: 1970-02-01}\n    fields:"
    path.write_text(CONFIG.replace("fields:", history), encoding="utf-8")
    replayed = load(path, environ={})
    _, first = _seen(replayed, monkeypatch, {"hourly": 744, "slow": 1_000})
    assert first == HOURS + 2 - 1_000
