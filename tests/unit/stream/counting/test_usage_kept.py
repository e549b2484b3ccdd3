"""Caps over a period on a real ledger: two workers that take partitions from one another.

Both put what they count into one ledger, also the one that lost its partition and does not know it;
windows are decided in between, so that cursors move and what people used up is dropped behind them.
"""

from __future__ import annotations

import os
import random
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from accountant.ledger.counts import Counts
from accountant.ledger.ledger import Ledger
from accountant.records import LogIdentity, PartialStatus, Used
from stream.build import assemble
from stream.counting.partition import PartitionReader, ReadStart
from tests.support.ledgers import Clock
from tests.support.neighbours import neighbours, read, reader_of, record_of
from tests.support.random_logs import END_MS, random_log
from tests.unit.stream.counting.test_usage import (
    FIRST_MS,
    MOST,
    SETUP,
    ForgetsAtRestart,
    capped,
    windows_moved,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pytest

    from accountant.costs.charges import WindowKey
    from accountant.records import Partial
    from stream.build import Runtime
    from stream.model.alarms import Alarms
    from tests.support.random_logs import Log, Message

ALARMS = capped()
FEW = replace(ALARMS, by_name={name: ALARMS.by_name[name] for name in ("count", "people")})


@dataclass
class World:
    """One ledger, and what workers counted into it."""

    runtime: Runtime
    rng: random.Random
    reader: type[PartitionReader]
    found: dict[tuple[int, WindowKey], Partial] = field(default_factory=dict)

    def opened(self, partition: int) -> tuple[PartitionReader, int]:
        """Return the reader of a worker that gets a partition, and since when it reads."""
        ledger, alarms = self.runtime.ledger, self.runtime.alarms
        reader = reader_of(alarms, SETUP, partition, self.reader)
        cursors = ledger.progress.cursors(set(alarms.by_name))
        used = ledger.counts.used(cursors, partition, "log")
        from_ms = reader.reads_from_ms(cursors, used)
        reader.begin(cursors, ReadStart(whole=True), used)
        return reader, from_ms

    def put(self, reader: PartitionReader) -> None:
        """Store what is complete, and decide some of what is due."""
        for partial in reader.partials():
            status = self.runtime.ledger.counts.put_partial(partial)
            assert status is not PartialStatus.CONFLICT
            known = self.found.setdefault((partial.partition, partial.key), partial)
            assert (known.digest, known.used) == (partial.digest, partial.used)
            if self.rng.random() < 0.3:
                self.decide()

    def decide(self) -> None:
        """Decide whatever is due."""
        for query in self.runtime.alarms.by_name:
            list(self.runtime.judge.decide_due(query))

    def count(self, log: Log) -> None:
        """Read all partitions to their ends, handing them on twice on the way."""
        lost: list[tuple[PartitionReader, Sequence[Message]]] = []
        for share in (1 / 3, 2 / 3, 1.0):
            for partition, messages in enumerate(log):
                reader, from_ms = self.opened(partition)
                first = next((i for i, m in enumerate(messages) if m.append_ms >= from_ms), None)
                rest = [] if first is None else messages[first:]
                ends = round(share * len(rest))
                reader.read([record_of(SETUP, message) for message in rest[:ends]])
                if share == 1.0:
                    reader.arrived_through(END_MS)
                self.put(reader)
                lost.append((reader, rest[ends:]))
            for reader, unread in lost:  # whoever has lost a partition has a batch of it in hand
                reader.read([record_of(SETUP, message) for message in unread[:2]])
                self.put(reader)
            lost = [(reader, unread[2:]) for reader, unread in lost if unread[2:]]
        self.decide()


def counted(
    folder: Path, log: Log, seed: str, reader: type[PartitionReader] = PartitionReader
) -> list[dict[WindowKey, Partial]]:
    """Return what two workers counted of each partition, with a ledger of their own."""
    url = f"sqlite:///{folder / seed.replace(' ', '-')}.db"
    identity = LogIdentity("badges", "cluster", "log", "badges", SETUP.partitions)
    with closing(Ledger.open(url, clock_ms=Clock(END_MS), entropy=os.urandom)) as ledger:
        runtime = assemble(
            FEW,
            ledger,
            identities={"badges": identity},
            first_start_ms=dict.fromkeys(FEW.by_name, FIRST_MS),
            clock_ms=lambda: END_MS,
        )
        world = World(runtime, random.Random(seed), reader)
        world.count(log)
        assert ledger.reports.verify() == []
    return [
        {key: partial for (at, key), partial in world.found.items() if at == partition}
        for partition in range(SETUP.partitions)
    ]


def as_one_reader(alarms: Alarms, log: Log) -> list[Mapping[WindowKey, Partial]]:
    """Return what one worker counts that never stops."""
    return [read(alarms, SETUP, at, messages) for at, messages in enumerate(log)]


def differs(folder: Path, seed: int, reader: type[PartitionReader] = PartitionReader) -> bool:
    """Whether two workers count something else than one, or contradict one another."""
    log = random_log(SETUP, random.Random(f"kept {seed}"), size=24)
    whole = as_one_reader(FEW, log)
    try:
        parts = counted(folder, log, f"differs {seed}", reader)
    except AssertionError:
        return True
    assert [one.keys() for one in parts] == [one.keys() for one in whole]
    return any(
        (ours.digest, ours.used) != (whole[at][key].digest, whole[at][key].used)
        for at, partials in enumerate(parts)
        for key, ours in partials.items()
    )


def test_two_workers_count_what_one_does(tmp_path: Path) -> None:
    """Every window, and what people used up of the cap by then, whoever counted it and when."""
    assert not any(differs(tmp_path, seed) for seed in range(2))


def test_nobody_moves_more_windows_than_the_cap_whoever_counts(tmp_path: Path) -> None:
    """All neighbours of a hostile log, each through a ledger of its own."""
    log = random_log(SETUP, random.Random("kept neighbours"), size=8)
    full, moved = counted(tmp_path, log, "full"), 0
    for number, (rest, _) in enumerate(neighbours(SETUP, log)):
        less = counted(tmp_path, rest, f"less {number}")
        moved = max(moved, windows_moved(FEW, full, less))
    assert moved == MOST


def test_forgetting_and_remembering_too_much_are_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that begins with nobody's windows used up, and a ledger that is a window ahead."""
    assert any(differs(tmp_path, seed, ForgetsAtRestart) for seed in range(10))
    right = Counts.used

    def ahead(
        self: Counts, cursors: Mapping[str, int], partition: int, topic_id: str
    ) -> dict[str, Used]:
        later = {name: cursor_ms + 60_001 for name, cursor_ms in cursors.items()}
        found = right(self, later, partition, topic_id)
        return {name: replace(one, start_ms=cursors[name] - 60_000) for name, one in found.items()}

    monkeypatch.setattr(Counts, "used", ahead)
    assert any(differs(tmp_path, seed + 10) for seed in range(10))
