"""Where a worker stands in its partitions: told while it is known, gone when it is not."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry

from accountant.records import Stand
from stream.metrics.partitions import SILENT_S, STATES, STILL_S, PartitionFamilies

READING, END = Stand.READING, Stand.END


class Worker:
    """A worker that knows its share, its clock, and what is shown of it."""

    def __init__(self):
        self.now_s = 100.0
        self.families = PartitionFamilies(lambda: self.now_s)
        self.families.shared_out()
        self._page = CollectorRegistry()
        self._page.register(self.families)

    def told(self, stand, offset=5, records=0, partition=0):
        """Tell of a partition."""
        self.families.told("badges", partition, stand, offset, records)

    def expect(self, state, lag, *, moving, partition=0):
        """Check what is shown of a partition: every state has a series, or none has."""
        labels, value = {"feed": "badges", "partition": str(partition)}, self._page.get_sample_value
        found = [value("tocsin_ingest_state", {**labels, "state": each}) for each in STATES]
        assert found == [None if state is None else float(each is state) for each in STATES]
        assert value("tocsin_ingest_lag_records", labels) == lag
        assert self.families.moving() == moving


@pytest.fixture
def worker():
    """Nothing is told yet of what is assigned."""
    return Worker()


def test_nothing_moves_before_the_worker_knows_its_share(worker):
    """Nor after an outage: others may have its partitions now."""
    worker.expect(None, None, moving=True)
    worker.told(Stand.UNREACHABLE)
    worker.families.begun()
    worker.expect(None, None, moving=False)
    worker.families.shared_out()
    worker.expect(None, None, moving=True)


@pytest.mark.parametrize("stand", STATES)
def test_what_was_told_last_is_shown(worker, stand):
    """The lag and one state of each partition; out of reach no lag is known."""
    worker.told(READING, 5, 12)
    worker.told(END, 9, partition=10)
    worker.told(stand, 5, 3)
    moving = stand in {READING, END}
    worker.expect(stand, None if stand is Stand.UNREACHABLE else 3, moving=moving)
    worker.expect(END, 0, moving=moving, partition=10)


def test_an_old_lag_is_not_shown(worker):
    """A worker that does not look any more, as when Kafka is frozen, does not know."""
    worker.told(READING, 5, 12)
    worker.now_s += SILENT_S
    worker.expect(READING, 12, moving=True)
    worker.now_s += 1
    worker.expect(Stand.UNREACHABLE, None, moving=False)
    worker.told(READING, 17)
    worker.expect(READING, 0, moving=True)


def test_reading_without_getting_on_is_not_moving(worker):
    """A worker that says it reads must move within a minute; at its end it may stand for ever."""
    for stand, offset in ((END, 5), (READING, 5), (READING, 6), (END, 6), (READING, 6)):
        worker.told(stand, offset)
        for _ in range(4):
            worker.now_s += STILL_S / 4
            worker.told(stand, offset)
        worker.expect(stand, 0, moving=True)
    worker.now_s += 1
    worker.expect(READING, 0, moving=False)
    worker.told(READING, 7)
    worker.expect(READING, 0, moving=True)


def test_a_lost_partition_has_no_series(worker):
    """What another worker reads is its to tell; leaving twice is leaving."""
    worker.told(Stand.CORRUPT)
    worker.told(READING, 5, 4, partition=1)
    for _ in range(2):
        worker.families.unassigned("badges", 0)
    worker.expect(None, None, moving=True)
    worker.expect(READING, 4, moving=True, partition=1)
