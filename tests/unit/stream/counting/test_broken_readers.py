"""Readers that are broken on purpose: the checks that the pipeline passes must catch them."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from accountant.units import PrivacyUnit
from stream.counting.partition import PartitionReader
from stream.events.units import Units
from stream.model.feeds import Codec
from tests.support.neighbours import breach, part_of, scattered
from tests.support.random_logs import END_MS, MINUTE_MS, START_MS, Setup, random_log


class StopsAtLate(PartitionReader):
    """Takes the first late record for the end of what counts."""

    stopped = False

    def count_batch(self, batch):
        """Count until a record comes two minutes after its event time."""
        late = np.flatnonzero(batch.append_ms - batch.time_ms > MINUTE_MS)
        keep = slice(0, 0 if self.stopped else late[0] if len(late) else None)
        self.stopped = self.stopped or bool(len(late))
        super().count_batch(part_of(batch, keep))


class DropsBatches(PartitionReader):
    """Its decoder drops the whole message for one bad row."""

    def read(self, records):
        """Leave out messages that are not good throughout."""
        for record in records:
            decoder = self._decoders[self.layouts.newest]
            drops = any(drops for _, drops in decoder.batches([record]))
            super().read([] if drops else [record])


class SharesCaps(PartitionReader):
    """Takes everybody for one person, so that one person's events use up the caps of others."""

    def count_batch(self, batch):
        """Forget who it was."""
        super().count_batch(replace(batch, unit=Units.of(np.zeros((len(batch), 2), np.uint64))))


class Watermark(PartitionReader):
    """Tells lateness by the largest event time seen so far, as stream processors do."""

    seen_ms = 0

    def count_batch(self, batch):
        """Replace append times by the watermark."""
        sane = np.where(batch.time_ms < 2 * START_MS, batch.time_ms, 0)
        marks = np.maximum.accumulate(np.append(self.seen_ms, sane))[1:]
        self.seen_ms = int(marks[-1]) if len(marks) else self.seen_ms
        super().count_batch(replace(batch, append_ms=np.maximum(marks, batch.append_ms)))


class NoCaps(PartitionReader):
    """Counts every event of a person."""

    def count_batch(self, batch):
        """Make every event a person of its own."""
        unit = batch.unit.hashes()
        unit[:, 0] ^= batch.offset.astype(np.uint64)
        super().count_batch(replace(batch, unit=Units.of(unit)))


class ClosesBySending(PartitionReader):
    """Believes times that senders chose, and takes them for the progress of the log."""

    def read(self, records):
        """Let any record's time close windows."""
        super().read(records)
        times = [record.timestamp_ms for record in records]
        self._arrival_ms = max(self._arrival_ms, *(min(time_ms, END_MS) for time_ms in times))


class CutsByReads(PartitionReader):
    """Forgets a window as soon as a read shows that it is over, before it counts that read."""

    def read(self, records):
        """Move on first, then count."""
        newest_ms = max((r.timestamp_ms for r in records if r.log_append), default=0)
        for counter in self._counters.all:
            index = counter.alarm.calendar.first_starting_at(newest_ms - 6 * MINUTE_MS)
            counter.go_to(max(index, counter.index))
        super().read(records)


class StartsAtWindow(PartitionReader):
    """Takes the start of its oldest window for the start of the slice."""

    def begin(self, cursors, used=None):
        """Remember where that is."""
        self.oldest_ms = min(cursors.values())
        return super().begin(cursors, used)

    def count_batch(self, batch):
        """Leave out what was appended before."""
        super().count_batch(part_of(batch, batch.append_ms >= self.oldest_ms))


@pytest.mark.long
@pytest.mark.parametrize(
    ("twin", "codec", "unit"),
    [
        (StopsAtLate, Codec.JSON, PrivacyUnit.EVENT),
        (DropsBatches, Codec.ARROW, PrivacyUnit.EVENT),
        (DropsBatches, Codec.ARROW, PrivacyUnit.USER),
        (SharesCaps, Codec.JSON, PrivacyUnit.USER),
        (Watermark, Codec.JSON, PrivacyUnit.EVENT),
        (NoCaps, Codec.ARROW, PrivacyUnit.USER),
        (ClosesBySending, Codec.JSON, PrivacyUnit.EVENT),
    ],
)
def test_broken_readers_are_caught(twin, codec, unit):
    """The check that the pipeline passes fails readers that let one event do more."""
    setup = Setup(codec, unit, ids=False, partitions=2)
    logs = (random_log(setup, random.Random(f"twin {seed}")) for seed in range(30))
    assert any(breach(setup.alarms, setup, log, twin) for log in logs)


@pytest.mark.long
@pytest.mark.parametrize("twin", [CutsByReads, StartsAtWindow])
def test_readers_that_depend_on_reads_are_caught(twin):
    """The check that the pipeline passes fails readers whose counts depend on how they read."""
    setup = Setup(Codec.JSON, PrivacyUnit.EVENT, ids=False, partitions=1)
    rng = random.Random(5)
    logs = (random_log(setup, rng, size=30) for _ in range(30))
    assert any(scattered(setup.alarms, setup, log, rng, twin) for log in logs)


def test_a_sensitivity_without_caps_is_caught():
    """Step counts of a test that forgot ``events_per_cell`` move by more than one."""
    setup = Setup(Codec.ARROW, PrivacyUnit.USER, ids=False, partitions=1)
    alarms = setup.alarms
    careless = {}
    for name, query in alarms.by_name.items():
        condition = replace(query.condition, sensitivities=(1,) * len(query.aggregates))
        careless[name] = replace(query, condition=condition)
    forgetful = replace(alarms, by_name=careless)
    logs = (random_log(setup, random.Random(seed)) for seed in range(20))
    assert any(breach(forgetful, setup, log) for log in logs)
