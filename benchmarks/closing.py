"""What a worker and its ledger pay when windows close: processor time by stage.

Every stage takes a worker's own way, in one process: the partitions' partial aggregates are stored,
each alarm's window is reserved, drawn and settled, and what was decided is published to a real
broker. Every group has events in every partition. The first window, which registers and connects,
does not count.

``python -m benchmarks.closing ALARMS GROUPS PARTITIONS`` prints the figures of one window on
PostgreSQL, in which about fifty alarms fire in one group each.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from collections import defaultdict
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.costs.charges import WindowKey
from accountant.records import Partial
from benchmarks.checkouts import ROOT, apart, processor_s
from benchmarks.ledger_age import transactions
from benchmarks.system import System
from deploy.kafka.broker import Broker
from stream.build import wall_clock_ms
from stream.kafka.clock import HeldClock
from stream.kafka.guard import claim_feeds
from stream.kafka.publish import Publisher
from stream.kafka.witness import Witness
from tests.support.postgres import Postgres

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from stream.model.alarms import Alarms

STAGES: Final = ("store", "decide", "publish")
WINDOWS: Final = 3  # that count, behind the first
WINDOW_MS: Final = 1_000
FIRING: Final = 50


@cache
def measured(alarms: int, groups: int, partitions: int) -> Mapping[str, float]:
    """Return what closing one window costs at least, in ms, in a process of its own.

    By ``stage taker``, as in ``store database``, with ``clock`` among the takers.
    """
    found: dict[str, float] = apart(ROOT, __file__, alarms, groups, partitions)
    return found


def main() -> None:
    """Measure in this process."""
    alarms, groups, partitions = map(int, sys.argv[2:])
    with (
        Broker(fast_start=False) as broker,
        Postgres(durable=True) as postgres,
        tempfile.TemporaryDirectory() as folder,
    ):
        system = System(
            broker,
            Path(folder) / "closing",
            "closing",
            rooms=groups,
            window="'1' SECOND",
            partitions=partitions,
            grace_ms=0,
            alarms_count=alarms,
            ledger=postgres.new_database(),
        )
        crowd = np.ones(groups, dtype=np.int64)
        crowd[0] = (system.threshold + FIRING) // partitions + 1
        meter = Meter({"broker": broker.pid or 0, "database": postgres.pid})
        asyncio.run(close(system, crowd, WINDOWS, meter))
    print(json.dumps({name: min(each) for name, each in meter.ms.items()}))


class Meter:
    """Keeps what a stage takes of each window, in ms, by ``stage taker``.

    Args:
        servers: process ids of the takers beside this process.
    """

    def __init__(self, servers: Mapping[str, int]) -> None:
        self.ms: defaultdict[str, list[float]] = defaultdict(list)
        self._servers = servers
        self._last = self._now()

    def took(self, stage: str, windows: int = 1) -> None:
        """Put what was taken since the last call down to a stage of so many windows."""
        now = self._now()
        for taker, spent_s in now.items():
            self.ms[f"{stage} {taker}"].append(1000 * (spent_s - self._last[taker]) / windows)
        self._last = now

    def _now(self) -> dict[str, float]:
        found = {"clock": time.perf_counter(), "worker": time.process_time()}
        return found | {taker: processor_s(pid) for taker, pid in self._servers.items()}


async def close(system: System, crowd: NDArray[np.int64], windows: int, meter: Meter) -> int:
    """Close some windows, and return how many alarms they published.

    Args:
        system: on a new ledger; its windows last a second.
        crowd: what every partition counts in each group.
        windows: how many, behind the first.
        meter: told what a window takes, by stage.
    """
    first_ms = (wall_clock_ms() // WINDOW_MS - windows - 2) * WINDOW_MS
    runtime, identities = system.runtime(first_ms)
    alarms, ledger, judge = runtime.alarms, runtime.ledger, runtime.judge
    (identity,) = identities.values()
    witness = Witness(alarms, ledger, identities, "benchmark", HeldClock(alarms))
    await asyncio.to_thread(claim_feeds, witness)
    fired = 0
    for window in range(windows + 1):
        start_ms = first_ms + window * WINDOW_MS
        counted = list(_partials(system, alarms, identity.topic_id, start_ms, crowd))
        meter.took("between")
        if window == 1:
            meter.ms.clear()
        for one in counted:
            ledger.counts.put_partial(one)
        meter.took("store")
        with transactions(ledger) as spans:
            decided = list(judge.decide_due(*judge.due()))
        meter.took("decide")
        meter.ms["decide locked"].append(1000 * sum(cpu_s for _, cpu_s in spans))
        if len(decided) != system.alarms_count or any(one.reason for one in decided):
            raise RuntimeError("not every window was decided")
        fired += sum(one.alarm_count for one in decided)
    # Records that are still to be released, but for the last one.
    left, last = iter(range(fired + len(alarms.by_name) * (windows + 1))[1:]), asyncio.Event()
    publisher = Publisher(
        runtime,
        witness.opened,
        lambda _: None if next(left, None) else last.set(),
    )
    meter.took("between")
    publishing = asyncio.create_task(publisher.run())
    await asyncio.wait(
        [publishing, asyncio.create_task(last.wait())], return_when="FIRST_COMPLETED"
    )
    meter.took("publish", windows + 1)
    publishing.cancel()
    with suppress(asyncio.CancelledError):
        await publishing  # raises what ended it
    ledger.close()
    return fired


def _partials(
    system: System, alarms: Alarms, topic_id: str, start_ms: int, crowd: NDArray[np.int64]
) -> Iterator[Partial]:
    for alarm in alarms.by_name.values():
        for partition in range(system.partitions):
            yield Partial(
                key=WindowKey(end_ms=start_ms + WINDOW_MS, query=alarm.id, start_ms=start_ms),
                partition=partition,
                fingerprint=alarm.fingerprint,
                topic_id=topic_id,
                complete=True,
                cells=len(crowd),
                index=np.flatnonzero(crowd),
                value=crowd[crowd > 0],
                first_offset=0,
                last_offset=0,
            )


if __name__ == "__main__":
    main()
