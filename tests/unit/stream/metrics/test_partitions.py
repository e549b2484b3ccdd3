"""Where a worker stands in its partitions: told while it is known, gone when it is not."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from prometheus_client import CollectorRegistry

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
    """Each partition has its own; with nothing said of its state, the lag says it."""
    families.lag("badges", 0, 12)
    families.lag("badges", 10, 0)
    families.lag("badges", 0, 5)
    assert (_shown(families), _shown(families, 10)) == ((5, {"reading"}), (0, {"end"}))


@pytest.mark.parametrize("why", STATES)
def test_one_state_is_current(families: PartitionFamilies, why: str) -> None:
    """The state told last, whatever the lag, and before there is any."""
    families.held("badges", 0, "reading")
    families.held("badges", 0, why)
    assert _shown(families) == (None, {why})
    families.lag("badges", 0, 3)
    assert _shown(families)[1] == {why}
    assert families.moving() == (why in {"reading", "end"})


def test_an_old_lag_is_not_shown(families: PartitionFamilies, clock: SimpleNamespace) -> None:
    """A worker that does not look any more, as when Kafka is frozen, does not know."""
    families.lag("badges", 0, 12)
    families.held("badges", 0, "reading")
    clock.now_s += SILENT_S
    assert (_shown(families), families.moving()) == ((12, {"reading"}), True)
    clock.now_s += 1
    assert (_shown(families), families.moving()) == ((None, {"unreachable"}), False)
    families.lag("badges", 0, 0)
    assert (_shown(families), families.moving()) == ((0, {"reading"}), True)


def test_a_state_keeps_no_old_lag_alive(
    families: PartitionFamilies, clock: SimpleNamespace
) -> None:
    """A worker may go on saying that a partition is out of reach: its lag is not known then."""
    families.lag("badges", 0, 12)
    for _ in range(4):
        clock.now_s += SILENT_S / 2
        families.held("badges", 0, "unreachable")
    assert _shown(families) == (None, {"unreachable"})


def test_reading_without_getting_on_is_not_moving(
    families: PartitionFamilies, clock: SimpleNamespace
) -> None:
    """A worker that says it reads must move within a minute; at its end it may stand for ever."""
    for why, offset in (("end", 5), ("reading", 5), ("reading", 5), ("reading", 6), ("end", 6)):
        for _ in range(2):
            clock.now_s += SILENT_S / 2
            families.held("badges", 0, why, offset)
        assert families.moving()
    for _ in range(5):
        families.held("badges", 0, "reading", 6)
        clock.now_s += SILENT_S / 2
    assert STILL_S == 4 * SILENT_S / 2
    assert (_shown(families), families.moving()) == ((None, {"reading"}), False)
    families.held("badges", 0, "reading", 7)
    assert families.moving()


def test_a_lost_partition_has_no_series(families: PartitionFamilies) -> None:
    """What another worker reads is its to tell; leaving twice is leaving."""
    families.held("badges", 0, "corrupt")
    families.lag("badges", 1, 4)
    for _ in range(2):
        families.unassigned("badges", 0)
    assert _shown(families) == (None, set())
    assert (_shown(families, 1)[0], families.moving()) == (4, True)


def test_a_word_that_is_no_state_is_refused(families: PartitionFamilies) -> None:
    """A state without a series would be seen by no alert."""
    with pytest.raises(ValueError, match="one of reading, end, "):
        families.held("badges", 0, "asleep")
