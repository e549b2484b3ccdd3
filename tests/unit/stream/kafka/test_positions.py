"""The ledger hears at once of a partition that is blocked, and of the others now and then."""

from __future__ import annotations

from accountant.records import Stand
from stream.kafka.positions import Reports

Seen = dict[str, dict[int, tuple[int, Stand]]]


class Watch:
    """A clock that a test moves."""

    now_s = 0.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now_s


def told(looks: list[Seen]) -> list[bool]:
    """Return whether the ledger is told at each of these looks, half a second apart."""
    watch = Watch()
    reports = Reports(watch)
    found = []
    for seen in looks:
        found.append(reports.due(seen))
        watch.now_s += 0.5
    return found


def at(offset: int, stand: Stand = Stand.READING) -> Seen:
    """Return one partition of one feed."""
    return {"badges": {0: (offset, stand)}}


def test_a_partition_that_is_read_is_reported_every_two_seconds() -> None:
    """However far it went, and whether it stood at its end when it was looked at."""
    looks = [at(n, Stand.END if n % 2 else Stand.READING) for n in range(9)]
    assert told(looks) == [n in {0, 4, 8} for n in range(9)]


def test_what_holds_a_partition_back_is_reported_at_once() -> None:
    """When it begins, when it is something else, and when it is over; two seconds from then on."""
    held = [
        *(at(1), at(1, Stand.TRANSACTION), at(1, Stand.TRANSACTION), at(1, Stand.CORRUPT)),
        *(at(2), at(3), at(4), at(5), at(6)),
    ]
    assert told(held) == [True, True, False, True, True, False, False, False, True]


def test_other_partitions_are_reported_at_once() -> None:
    """Those that came with a rebalance, and what is left after one."""
    both = {"badges": {0: (1, Stand.END), 1: (1, Stand.END)}}
    other = {"badges": {0: (1, Stand.END)}, "forecast": {1: (1, Stand.END)}}
    assert told([at(1), both, both, other, other]) == [True, True, False, True, False]


def test_nothing_is_written_where_nothing_is_read() -> None:
    """A worker without a partition has nothing to say."""
    assert told([{}, at(1), {}, {}]) == [False, True, False, False]
