"""Where a worker stands in its partitions: told while it is known, gone when it is not."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from prometheus_client import CollectorRegistry

from accountant.records import Stand
from stream.metrics.partitions import SILENT_S, STATES, STILL_S, PartitionFamilies


@pytest.fixture
def clock() -> SimpleNamespace:
    """A clock that stands."""
    return SimpleNamespace(now_s=100.0)


@pytest.fixture
def families(clock: SimpleNamespace) -> PartitionFamilies:
    """Nothing is told yet of what is assigned."""
    families = PartitionFamilies(lambda: clock.now_s)
    assert not families.moving()
    families.shared_out()
    assert families.moving()
    return families


Shown = tuple[float | None, set[str]]


def _shown(families: PartitionFamilies, partition: int = 0) -> Shown:
    """Return the lag and the current states; every state has a series, or none has."""
    registry, of = CollectorRegistry(), {"feed": "badges", "partition": str(partition)}
    registry.register(families)
    value = registry.get_sample_value
    found = {each: value("tocsin_ingest_state", {**of, "state": each}) for each in STATES}
    assert set(found.values()) in ({None}, {0.0, 1.0})
    return value("tocsin_ingest_lag_records", of), {each for each, on in found.items() if on}


def test_a_lag_is_the_last_one_told(families: PartitionFamilies) -> None:
    """Each partition has its own."""
    families.told("badges", 0, Stand.READING, 5, 12)
    families.told("badges", 10, Stand.END, 9)
    families.told("badges", 0, Stand.READING, 12, 5)
    assert (_shown(families), _shown(families, 10)) == ((5, {"reading"}), (0, {"end"}))


@pytest.mark.parametrize("stand", STATES)
def test_one_state_is_current(families: PartitionFamilies, stand: Stand) -> None:
    """The state told last, whatever the lag; out of reach no lag is known."""
    families.told("badges", 0, Stand.READING, 5, 2)
    families.told("badges", 0, stand, 5, 3)
    assert _shown(families) == (None if stand is Stand.UNREACHABLE else 3, {stand.value})
    assert families.moving() == (stand in {Stand.READING, Stand.END})


def test_what_was_told_before_an_outage_is_forgotten(families: PartitionFamilies) -> None:
    """Others may have its partitions now; it is ready once it knows its own again."""
    families.told("badges", 0, Stand.UNREACHABLE, None)
    families.begun()
    assert (_shown(families), families.moving()) == ((None, set()), False)
    families.shared_out()
    assert families.moving()


def test_an_old_lag_is_not_shown(families: PartitionFamilies, clock: SimpleNamespace) -> None:
    """A worker that does not look any more, as when Kafka is frozen, does not know."""
    families.told("badges", 0, Stand.READING, 5, 12)
    clock.now_s += SILENT_S
    assert (_shown(families), families.moving()) == ((12, {"reading"}), True)
    clock.now_s += 1
    assert (_shown(families), families.moving()) == ((None, {"unreachable"}), False)
    families.told("badges", 0, Stand.READING, 17)
    assert (_shown(families), families.moving()) == ((0, {"reading"}), True)


def test_reading_without_getting_on_is_not_moving(
    families: PartitionFamilies, clock: SimpleNamespace
) -> None:
    """A worker that says it reads must move within a minute; at its end it may stand for ever."""
    reading, end = Stand.READING, Stand.END
    for stand, offset in ((end, 5), (reading, 5), (reading, 5), (reading, 6), (end, 6)):
        for _ in range(2):
            clock.now_s += SILENT_S / 2
            families.told("badges", 0, stand, offset)
        assert families.moving()
    for _ in range(5):
        families.told("badges", 0, reading, 6, 1)
        clock.now_s += SILENT_S / 2
    assert STILL_S == 4 * SILENT_S / 2
    assert (_shown(families), families.moving()) == ((1, {"reading"}), False)
    families.told("badges", 0, reading, 7)
    assert families.moving()


def test_a_lost_partition_has_no_series(families: PartitionFamilies) -> None:
    """What another worker reads is its to tell; leaving twice is leaving."""
    families.told("badges", 0, Stand.CORRUPT, 5)
    families.told("badges", 1, Stand.READING, 5, 4)
    for _ in range(2):
        families.unassigned("badges", 0)
    assert _shown(families) == (None, set())
    assert (_shown(families, 1)[0], families.moving()) == (4, True)
