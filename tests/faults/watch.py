"""What has to hold, checked as it happens and when everything is over.

As it happens: nothing is drawn that is not reserved on the disk; nothing leaves that is not stored,
charged, vouched for on the topic of ledgers and noted beside the database; whatever leaves twice is
the same; what left stays within the wall. In the end: every draw saw what the log holds, every
window was decided or denied for a reason that is true, what rang is what was drawn, the ledger
knows of all that left, and ``verify`` finds nothing.
"""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING

from accountant.errors import (
    ClockError,
    DependencyError,
    FeedClaimedError,
    LedgerRolledBackError,
)
from stream.build import open_ledger
from stream.custody.archive import archived_in
from tests.faults.recount import ROOMS, WINDOW_MS, Topic, recount
from tests.faults.schedule import PROCESS

if TYPE_CHECKING:
    from accountant.costs.charges import WindowKey
    from stream.model.alarms import Alarms
    from tests.faults.disk import Disk
    from tests.faults.schedule import Process

_PASSING = (DependencyError, ClockError)


class Watch:
    """Sees everything, and collects what must not be.

    Args:
        broker: of the world.
        storage: of the world.
        alarms: the configuration, on any ledger.
    """

    def __init__(self, broker, storage, alarms):
        self.violations = []
        self.published = Topic()
        self.begin_ms = None
        """Start of the first window that any ledger has to decide."""
        self.rolled_back = False
        """Whether somebody put an older copy in place, lost a ledger or had two copies."""
        self.handed_over = False
        """Whether there was more than one ledger."""
        self.excused = []
        """Starts of windows that no ledger has to decide: none was there."""
        self._broker, self._storage = broker, storage
        self._wall_units = int(alarms.budget.epsilon_max * 10**12)
        self._kafka = alarms.kafka
        self._topic = next(iter(alarms.feeds.values())).topic
        self._draws = defaultdict(list)
        """By window: what each draw saw, and the rooms that it let fire."""
        self._stored = {}
        """By window: how many records there were then, and the entry that says how it ended."""
        self._said = {}
        self._denied = []
        broker.on_send.append(self._sent)
        broker.on_append.append(self._appended)

    def violated(self, what: str) -> None:
        """Take note of what must not be."""
        ms = self._broker.schedule.now_ms() % 10_000_000
        self._broker.schedule.say(f"VIOLATION: {what}")
        self.violations.append(f"at {ms / 1000:.3f} s: {what}")

    def restored(self, disk: Disk) -> None:
        """Told that a ledger is another one now than what was seen of it."""
        self.rolled_back = True
        self._stored = {place: at for place, at in self._stored.items() if place[0] is not disk}

    # --- as it happens

    def drawn(self, disk: Disk, key: WindowKey, counts: tuple[int, ...], fired: list[int]) -> None:
        """Told of every draw, once it was made."""
        self._draws[key.start_ms].append((counts, {ROOMS[index] for index in fired}))
        told = disk.story().windows[key.start_ms]
        if told.answer != "reserved" and told.ended is None:
            self.violated(f"{key.start_ms}: drawn, and answered {told.answer}")

    def stored(self, disk: Disk, key: WindowKey, reason: str | None) -> None:
        """Told once a call that stores a decision came back."""
        place = disk, key.start_ms
        if place in self._stored:
            return
        number = disk.story().windows[key.start_ms].number
        self._stored[place] = self._broker.order, number
        if reason is not None:
            self._denied.append((key.start_ms, reason))

    def registered(self, disk: Disk, *, known: bool) -> None:
        """Told once the alarm is registered in a ledger.

        One that does not know it begins with the next window: it is a new one, or lost its
        registration. Of the windows in between nothing has left, and nobody has to decide them.

        Args:
            disk: of the ledger.
            known: whether it was registered before.
        """
        cursor_ms = disk.story().cursor_ms
        if self.begin_ms is None:
            self.begin_ms = cursor_ms
        elif cursor_ms is not None and not known:
            self.excused.append((self.begin_ms, cursor_ms))

    def ended(self, process: Process, error: BaseException | int | None) -> None:
        """Told of every process that ended by itself."""
        allowed = (
            isinstance(error, _PASSING)
            or (self.rolled_back and isinstance(error, LedgerRolledBackError))
            or (self.handed_over and isinstance(error, FeedClaimedError))
        )
        if not allowed:
            self.violated(f"{process.name} ended with {type(error).__name__}: {error}")

    def _sent(self, topic, value):
        if topic != self._kafka.decisions_topic:
            return
        process = PROCESS.get()
        record = json.loads(value)
        disks = self._storage.disks
        disk = next((each for each in disks if process.name.startswith(each.folder.name)), None)
        if disk is None:
            self.violated(f"{record['alarm']}: sent by nobody")
        else:
            self._check(process, disk, record)

    def _check(self, process, disk, record):
        name, found = record["window_start"], disk.story().numbered(record["sequence"])
        if found is None:
            self.violated(f"{name}: leaves, and is not stored")
            return
        start_ms, told = found
        outcome = (told.ended or {})["outcome"]
        if outcome != record["outcome"] or (outcome == "decided" and not told.charged):
            self.violated(f"{name}: leaves as {record['outcome']}, and the log has {told}")
        order, number = self._stored.get((disk, start_ms), (0, 0))
        if self._said.get(process, -1) < order:
            self.violated(f"{name}: leaves before its release was said")
        heads = [json.loads(line)[1] for line in disk.synced_heads.splitlines()]
        noted = max((int(head.split(":")[0]) for head in heads), default=-1)
        if noted < number:
            self.violated(f"{name}: leaves, and of {number} entries {noted} outlive a power cut")

    def _appended(self, topic, entry):
        kafka, value = self._kafka, entry.value or b""
        if topic == kafka.ownership_topic and entry.sender is not None:
            if value and json.loads(value)["record"] == "release":
                self._said[entry.sender] = entry.order
        elif topic == kafka.decisions_topic:
            for line in self.published.decided(value):
                self.violated(line)
            if self.published.spent_units() > self._wall_units:
                self.violated(f"{self.published.spent_units()} units left, past the wall")
        elif topic == kafka.alarms_topic:
            for line in self.published.alarmed(value):
                self.violated(line)

    # --- when everything is over

    def missing(self, until_ms: int) -> list[int]:
        """Return the starts of windows that end by an instant and of which nothing has left."""
        return [
            start_ms
            for start_ms in range(self.begin_ms or until_ms, until_ms - WINDOW_MS + 1, WINDOW_MS)
            if start_ms not in self.published.decisions
            and not any(low <= start_ms < high for low, high in self.excused)
        ]

    def conclude(self, disk: Disk, alarms: Alarms, until_ms: int) -> None:
        """Check what can be known only now.

        Args:
            disk: of the ledger that is in use in the end; every process is dead.
            alarms: the configuration, on that ledger.
            until_ms: windows that end later need not have been decided.
        """
        for start_ms in self.missing(until_ms):
            self.violated(f"{start_ms}: never decided nor denied")
        for line in (*self._wrong_counts(), *self._wrong_alarms(), *self._wrong_reasons(until_ms)):
            self.violated(line)
        if not disk.exists:
            return
        clock = self._broker.schedule.now_ms
        with open_ledger(alarms, clock_ms=lambda: clock() + 60_000) as ledger:
            for line in ledger.reports.verify(archived=archived_in(ledger, disk.archives)):
                self.violated(f"verify: {line}")
            spent = sum(s.spent_units for s in ledger.reports.status().scopes.values())
        if spent < self.published.spent_units():
            self.violated(f"{self.published.spent_units()} units left, the ledger knows of {spent}")

    def _wrong_counts(self):
        log = self._broker.entries(self._topic)
        for start_ms, draws in self._draws.items():
            wanted = recount(log, start_ms)
            for counts, _ in draws:
                if counts != wanted:
                    yield f"{start_ms}: drawn on {counts}, the log has {wanted}"

    def _wrong_alarms(self):
        for key, decision in self.published.decisions.items():
            rang, drawn = self.published.alarms[key], [fired for _, fired in self._draws[key]]
            if decision["outcome"] == "denied":
                if rang:
                    yield f"{key}: denied, and rang"
            elif self.rolled_back and any(rang <= fired for fired in drawn):
                continue  # what rang beside it is lost with the ledger that knew
            elif rang not in drawn:
                yield f"{key}: rang {sorted(rang)}, which nobody drew"
            elif len(rang) != decision["alarms"]:
                yield f"{key}: {len(rang)} alarms left, {decision['alarms']} were said"

    def _wrong_reasons(self, until_ms):
        for start_ms, reason in self._denied:
            if self.rolled_back or start_ms >= until_ms:
                continue  # what was decided before it need not have left
            name = f"{start_ms}: denied as {reason!r}"
            if reason != "budget":
                yield name
                continue
            before = [
                one["epsilon_units"] * one["cells_per_unit"]
                for start, one in self.published.decisions.items()
                if one["outcome"] == "decided" and start <= start_ms
            ]
            if before and sum(before) + max(before) <= self._wall_units:
                yield f"{name}, and would have fitted"
