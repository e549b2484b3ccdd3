"""One seed: sensors, workers that die and come back, faults, a custodian, and what came of it."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from aiokafka import TopicPartition

from accountant.errors import (
    ClockError,
    FeedClaimedError,
    LedgerRolledBackError,
    TocsinError,
)
from stream.build import open_ledger
from stream.custody.archive import archive
from stream.kafka import takeover, worker
from stream.logs.lines import Log
from tests.faults.disk import Disk, Storage
from tests.faults.log import Broker
from tests.faults.recount import PARTITIONS, WINDOW_MS
from tests.faults.scene import TOPIC, WINDOWS, Sensors, alarms
from tests.faults.schedule import EPOCH_MS, Process, Schedule, Weather
from tests.faults.seams import WorkerPool, world_of
from tests.faults.watch import Watch
from tests.support.schema import empty_ledger

if TYPE_CHECKING:
    from collections.abc import Callable


_PATIENCE_MS = 240_000
_BACK_S = 3.0
"""After a custodian's work: what the dead had sent has arrived or is lost."""
_FAULTS = (
    "crash",
    "pair",
    "rebalance",
    "storage",
    "network",
    "outage",
    "transactions",
    "leaders",
    "clocks",
    "compaction",
    "archive",
    "slow",
    "unlocked",
)
_WEATHER = {
    "slow": {"slowest_s": 0.5},
    "storage": {"unreachable": 0.01, "cut": 0.02, "unsure": 0.02},
    "unlocked": {"unlocked": 0.5},
    "network": {"lost": 0.05, "unanswered": 0.05, "refused": 0.02, "lost_bells": 0.5},
}
"""Of faults that last as long as faults do: what they change."""
_WAYS = ("restore", "restore all", "lost wal", "copy", "lost", "second ledger", "power")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one seed.

    Args:
        seed: of the world.
        violations: what must not have been.
        happened: faults by kind.
        windows: published, by ``decided`` or the reason of their denial.
    """

    seed: int
    violations: list[str]
    happened: Counter[str]
    windows: Counter[str]


def simulate(
    seed: int,
    trace: Callable[[int, str, str], None] | None = None,
    *,
    windows: int = WINDOWS,
) -> Outcome:
    """Live through one seed.

    Args:
        seed: everything follows from it.
        trace: told what happens: world time in ms, who, what.
        windows: how many there are events for; the last does not fit into the budget.
    """
    empty_ledger()  # made outside of the world: who lives through a seed first lives as all others
    with TemporaryDirectory(prefix="tocsin-faults-", dir=_fast_folder()) as folder:
        world = _World(seed, Path(folder), trace, windows)
        try:
            world.live()
        finally:
            world.close()
    decisions = world.watch.published.decisions.values()
    windows_by_reason = Counter(one["reason"] or "decided" for one in decisions)
    return Outcome(seed, world.watch.violations, +world.happened, windows_by_reason)


def _fast_folder():
    """Return a folder in memory, where there is one."""
    memory = Path("/dev/shm")  # noqa: S108  # a folder of its own is made there
    return str(memory) if memory.is_dir() else None


async def _death(process):
    """Wait until a process is dead."""
    dead = asyncio.Event()
    process.buried.append(dead.set)
    await dead.wait()


_NOBODY = Process("nobody", dead=True)


@dataclass
class _Slot:
    """A place for a worker, filled again when it falls empty.

    Args:
        disk: of its ledger.
        worker: who is there.
    """

    disk: Disk
    worker: Process = _NOBODY
    wanted: bool = True


class _World:
    def __init__(self, seed, folder, trace, windows):
        self.windows = windows
        plain = alarms(windows)
        self.schedule = Schedule(seed, trace)
        self.random, self.happened = self.schedule.random, self.schedule.happened
        self.folder = folder
        self.broker = Broker(self.schedule, plain)
        self.storage = Storage(self.schedule)
        self.watch = Watch(self.broker, self.storage, plain)
        self.pool = WorkerPool(self.schedule)
        self.main = self._disk("main")
        self.slots = [_Slot(self.main)]
        self.faults = {name for name in _FAULTS if self.random.random() < 0.35}
        self.way = self.random.choice(_WAYS) if self.random.random() < 0.6 else ""
        self.sensors = Sensors(self.broker, transactions="transactions" in self.faults)
        self.started = 0
        self.custodian = asyncio.Lock()
        self.healed = False
        self.end_ms = EPOCH_MS + windows * WINDOW_MS

    def live(self):
        """Run until everything is published, or patience ends."""
        world = world_of(self.schedule, self.broker, self.storage, self.watch, self.pool)
        with world as self.groups:
            self.schedule.loop.run_until_complete(self._run())
            for disk in self.storage.disks:
                disk.close()
            if not self.watch.violations:
                self.watch.conclude(self.main, self._alarms(self.main), self.end_ms)
        self.happened["published twice"] = self.watch.published.repeated

    def close(self):
        """Let go of everything."""
        for disk in self.storage.disks:
            disk.close()
        self.schedule.loop.close()

    # --- the course of things

    async def _run(self):
        self._say(f"faults: {sorted(self.faults)}, way: {self.way or 'none'}")
        self._set_in()
        running = [asyncio.create_task(each) for each in self._courses()]
        await self._until(self.end_ms + 10_000)
        self._heal()
        await self._finish()
        if self.watch.rolled_back or self.watch.handed_over:
            self._kill(self.main, "started once more: whoever starts knows of all that left")
            await self._finish()
        for slot in self.slots:
            slot.wanted = False
            self.schedule.kill(slot.worker, "over")
        for task in running:
            task.cancel()
        for outcome in await asyncio.gather(*running, return_exceptions=True):
            if isinstance(outcome, Exception):
                raise outcome
        await asyncio.sleep(_BACK_S)

    def _set_in(self):
        """Begin the faults that last as long as faults do."""
        if "pair" in self.faults:
            self.slots.append(_Slot(self.main))
        for fault in self.faults & _WEATHER.keys():
            self.schedule.weather = replace(self.schedule.weather, **_WEATHER[fault])

    def _courses(self):
        """Yield what goes on side by side."""
        yield self.sensors.send(self.end_ms + 3_000)
        yield from map(self._keep, self.slots)
        rare = {
            "rebalance": self._rebalance,
            "outage": self._outage,
            "leaders": self._leaders,
            "clocks": self._clocks,
            "compaction": self._compaction,
            "archive": self._archiving,
        }
        yield from (course() for name, course in rare.items() if name in self.faults)
        if self.way:
            yield self._go_wrong()

    async def _finish(self):
        """Let time pass until everything is decided and has left, or patience ends."""
        while self._waits() and not self.watch.violations:
            if self.schedule.now_ms() > self.end_ms + _PATIENCE_MS:
                self.watch.violated("not over, and no fault has happened for minutes")
                return
            await asyncio.sleep(1.0)

    def _waits(self):
        """Tell whether anything is still to be decided or to leave."""
        if not self.main.exists or self.watch.missing(self.end_ms):
            return True
        # A copy is told apart before it draws: one that has decided all lives on beside the other.
        copies = [slot.disk.story() for slot in self.slots if slot.disk is not self.main]
        if any((copy.cursor_ms or self.end_ms) < self.end_ms for copy in copies):
            return True
        settled = all(self.pool.settled(slot.worker) for slot in self.slots)
        return not settled or self.main.waiting(self.end_ms) > 0

    def _heal(self):
        """End every fault: what was promised has to come true now."""
        self._say("faults end")
        self.healed = True
        self.schedule.weather = Weather()
        for slot in self.slots:
            slot.worker.fuse = None
            slot.worker.ahead_ms = min(slot.worker.ahead_ms, 0)

    # --- workers

    async def _keep(self, slot):
        """Fill a slot again and again."""
        while slot.wanted:
            async with self.custodian:  # nobody starts a worker while a custodian is at it
                pass
            process = self._start(slot)
            await _death(process)
            await asyncio.sleep(self.random.choice((0.5, 2.0, 8.0)))
            error = process.ended
            if error is None:
                continue
            self.happened[f"stopped by {type(error).__name__}"] += 1
            self.watch.ended(process, error)
            if slot.wanted and isinstance(error, TocsinError):
                await self._settle(slot, error)

    def _start(self, slot):
        self.started += 1
        process = Process(f"{slot.disk.folder.name}/{self.started}")
        if not self.healed:
            if "crash" in self.faults:
                process.fuse = self.random.randrange(self.random.choice((60, 300, 1_000, 3_000)))
            if "clocks" in self.faults:
                process.ahead_ms = self.random.choice((0, 0, 600, -400, 1500))
        slot.worker = process
        self._say(f"{process.name} starts, fuse {process.fuse}, ahead {process.ahead_ms} ms")
        main = partial(worker.run, self._alarms(slot.disk), log=Log(StringIO()))
        self.schedule.spawn(process, main)
        return process

    async def _settle(self, slot, error):
        """Do as a custodian does who reads why a worker stopped."""
        own = self._alarms(slot.disk)
        if isinstance(error, ClockError):
            await self._by_hand("reset-clock", slot.disk, lambda led: led.upkeep.reset_clock())
        elif isinstance(error, LedgerRolledBackError):
            await self._by_hand("reconcile", slot.disk, partial(takeover.reconcile, own))
        elif isinstance(error, FeedClaimedError) and slot.disk is self.main:
            await self._by_hand("take-ownership", slot.disk, partial(takeover.transfer, own))

    async def _by_hand(self, name, disk, call):
        """Stop all workers of a ledger, and run a command of the custodian's."""
        async with self.custodian:
            self._kill(disk, f"for {name}")
            await asyncio.sleep(_BACK_S)
            self.happened[name] += 1
            done = []
            while not done:
                custodian, done = await self._command(disk, "custodian", call)
                if not done:
                    self._say(f"{name} failed: {custodian.ended!r}")
                    await asyncio.sleep(1.0)

    async def _command(self, disk, who, call, fuse=None):
        """Run a custodian's command on a ledger; return its process, and what it did, if it did."""
        process, done = Process(f"{disk.folder.name}/{who}", fuse), []

        def main():
            with open_ledger(self._alarms(disk), clock_ms=self.schedule.wall_ms) as ledger:
                done.append(call(ledger))

        self.schedule.spawn(process, main)
        await _death(process)
        return process, done

    def _kill(self, disk, why):
        for slot in self.slots:
            if slot.disk is disk:
                self.schedule.kill(slot.worker, why)

    # --- what goes wrong

    async def _rebalance(self):
        while not self.healed:
            await asyncio.sleep(self.random.uniform(2, 15))
            for group in self.groups.values():
                group.rebalance()

    async def _outage(self):
        await asyncio.sleep(self.random.uniform(5, 40))
        if not self.healed:
            self.happened["outage"] += 1
            weather = self.schedule.weather
            weather.away = True
            await asyncio.sleep(self.random.choice((3, 15, 75)))
            weather.away = False

    async def _leaders(self):
        while not self.healed:
            await asyncio.sleep(self.random.uniform(1, 10))
            self.happened["leader changed"] += 1
            place = TopicPartition(TOPIC, self.random.randrange(PARTITIONS))
            self.broker.elect(place, self.random.randrange(-100, 101))

    async def _clocks(self):
        while not self.healed:
            await asyncio.sleep(self.random.uniform(5, 30))
            slot = self.random.choice(self.slots)
            if slot.worker is not _NOBODY and not self.healed:
                step_ms = self.random.choice((-3_000, -400, 400, 700, 5_000, 3_600_000))
                self.happened["clock set"] += 1
                self._say(f"{slot.worker.name}: clock set by {step_ms} ms")
                slot.worker.ahead_ms += step_ms

    async def _compaction(self):
        while not self.healed:
            await asyncio.sleep(self.random.uniform(5, 20))
            self.happened["compaction"] += 1
            self.broker.compact("tocsin.ownership")

    async def _archiving(self):
        """Move entries to files while workers go on; whoever does it may be killed at any point."""
        while not self.healed:
            await asyncio.sleep(self.random.uniform(5, 15))
            async with self.custodian:  # of copies that are being put back there is nothing to move
                if not self.main.exists or not self.watch.begin_ms:
                    continue
                fuse = self.random.choice((None, None, self.random.randrange(120)))
                custodian, done = await self._command(self.main, "archivist", self._move, fuse)
            moved = [one.entries for one in done]
            self.happened["entries archived"] += bool(sum(moved))
            if not moved and custodian.ended is not None:
                self.happened[f"archive: {type(custodian.ended).__name__}"] += 1
                self.watch.ended(custodian, custodian.ended)

    def _move(self, ledger):
        return archive(ledger, self.main.archives, self.schedule.now_ms())

    async def _go_wrong(self):
        """Go one of the ways past the wall, at a time of the seed's."""
        await self._until(EPOCH_MS + self.random.randrange(12_000, 7_000 * self.windows))
        if not self.main.exists or not self.watch.begin_ms:
            return
        copy, heads = self.main.copy("copy"), self.main.synced_heads
        if self.random.random() < 0.5:
            self.main.carry_over()
        await asyncio.sleep(self.random.uniform(1, 5 * self.windows))
        if self.healed:
            return
        self.happened[self.way] += 1
        self._say(f"way past the wall: {self.way}")
        if self.way in {"copy", "second ledger"}:
            await self._beside(copy if self.way == "copy" else None)
            return
        async with self.custodian:
            self._kill(self.main, self.way)
            await asyncio.sleep(_BACK_S)
            if self.way == "power":
                self.main.close()
                self.main.power_cut()
                return
            self.watch.restored(self.main)
            if self.way == "lost wal":
                self.main.lose_wal()
            elif self.way == "lost":
                self.main.close()
                self.main.remove()
                self.main.heads.unlink(missing_ok=True)
                self.main.synced_heads = b""
            else:
                self.main.restore(copy, heads if self.way == "restore all" else None)
            self.watch.handed_over = self.way in {"lost", "lost wal"}

    async def _beside(self, copy):
        """Let another worker run beside, on a copy of the ledger or on a ledger of its own."""
        disk = self._disk("beside")
        self.watch.rolled_back = self.watch.rolled_back or copy is not None
        self.watch.handed_over = self.watch.handed_over or copy is None
        if copy is not None:
            disk.restore(copy, None)
        slot = _Slot(disk)
        self.slots.append(slot)
        keeping = asyncio.create_task(self._keep(slot))
        await asyncio.sleep(self.random.uniform(5, 25))
        slot.wanted = False
        self._kill(disk, "given up")
        await keeping
        self.slots.remove(slot)

    # --- odds and ends

    def _disk(self, name):
        disk = Disk(self.folder / name)
        self.storage.disks.append(disk)
        return disk

    def _alarms(self, disk):
        plain = alarms(self.windows)
        return replace(plain, settings=replace(plain.settings, ledger_url=disk.url))

    def _say(self, what):
        self.schedule.say(what)

    async def _until(self, time_ms):
        await asyncio.sleep(max(time_ms - self.schedule.now_ms(), 0) / 1000)
