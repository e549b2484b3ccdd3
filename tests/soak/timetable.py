"""What happens when in a soak: load, faults in turn, an outage; long, and two minutes of it.

Everything else follows the wall clock and this page, so the two differ in these numbers alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Fault(StrEnum):
    """What is done to the system."""

    WORKER = "kill -9 of a worker"
    BROKER = "kill -9 of the broker"
    DATABASE = "kill -9 of the database"
    CLOCK_AHEAD = "a worker's clock ahead"
    CLOCK_BEHIND = "a worker's clock far behind"
    ARCHIVING = "entries archived"
    OUTAGE = "everything away"


@dataclass(frozen=True, slots=True)
class Planned:
    """One fault of the timetable.

    Args:
        at_s: seconds after the load began.
        fault: what.
        worker: which of the two, where it is one's.
    """

    at_s: float
    fault: Fault
    worker: int = 0


@dataclass(frozen=True, slots=True)
class Pace:
    """One version of the soak.

    Args:
        name: of the version.
        load_s: how long sensors send, the outage included.
        events_per_s: of both feeds together.
        people: privacy units of each feed.
        window_s: of tumbling windows.
        step_s: of hopping windows.
        hop_s: size of hopping windows.
        grace_ms: of every alarm.
        idle_partition_timeout_ms: of both feeds; a clock may be wrong by less than this.
        publish_delay_ms: of every alarm.
        decide_timeout_s: of every alarm, shorter than the outage: that must deny nothing.
        away_s: how long a killed broker or database stays away.
        outage_s: how long everything stays away.
        ahead_ms: by how much a worker's clock is set ahead; less than
            ``idle_partition_timeout_ms``.
        ahead_s: for how long.
        idle_s: a partition in turn gets nothing for so long.
        sample_s: between two looks at memory, threads and files.
        warm_up_s: a process's growth in its first seconds is not looked at.
        faults: in order of time.
        judges_growth: whether lives are long enough to judge growth by.
        around_s: windows cut for so long before and after a fault stand for before and after.
    """

    name: str
    load_s: float
    events_per_s: int
    people: int
    window_s: int
    step_s: int
    hop_s: int
    grace_ms: int
    idle_partition_timeout_ms: int
    publish_delay_ms: int
    decide_timeout_s: int
    away_s: float
    outage_s: float
    ahead_ms: int
    ahead_s: float
    idle_s: int
    sample_s: float
    warm_up_s: float
    faults: tuple[Planned, ...]
    judges_growth: bool
    around_s: int


SHORT = Pace(
    name="short",
    load_s=108,
    events_per_s=200,
    people=150,
    window_s=4,
    step_s=2,
    hop_s=6,
    grace_ms=1_000,
    idle_partition_timeout_ms=3_000,
    publish_delay_ms=5_000,
    decide_timeout_s=25,
    away_s=2,
    outage_s=30,
    ahead_ms=1_500,
    ahead_s=8,
    idle_s=5,
    sample_s=1,
    warm_up_s=10,
    faults=(
        Planned(8, Fault.WORKER, 0),
        Planned(16, Fault.BROKER),
        Planned(30, Fault.DATABASE),
        Planned(40, Fault.CLOCK_AHEAD, 0),
        Planned(49, Fault.ARCHIVING),
        Planned(54, Fault.OUTAGE),
        Planned(96, Fault.CLOCK_BEHIND, 1),
    ),
    judges_growth=False,
    around_s=12,
)

LONG = Pace(
    name="long",
    load_s=2_280,
    events_per_s=2_000,
    people=2_000,
    window_s=10,
    step_s=5,
    hop_s=15,
    grace_ms=2_000,
    idle_partition_timeout_ms=5_000,
    publish_delay_ms=7_000,
    decide_timeout_s=300,
    away_s=10,
    outage_s=900,
    ahead_ms=3_000,
    ahead_s=30,
    idle_s=40,
    sample_s=2,
    warm_up_s=60,
    faults=(
        Planned(120, Fault.WORKER, 0),
        Planned(240, Fault.BROKER),
        Planned(300, Fault.ARCHIVING),
        Planned(360, Fault.DATABASE),
        Planned(480, Fault.WORKER, 1),
        Planned(540, Fault.CLOCK_AHEAD, 0),
        Planned(600, Fault.BROKER),
        Planned(720, Fault.DATABASE),
        Planned(780, Fault.CLOCK_BEHIND, 1),
        Planned(840, Fault.WORKER, 0),
        Planned(900, Fault.ARCHIVING),
        Planned(960, Fault.BROKER),
        Planned(1_080, Fault.DATABASE),
        Planned(1_200, Fault.OUTAGE),
    ),
    judges_growth=True,
    around_s=60,
)

PACES = {pace.name: pace for pace in (SHORT, LONG)}
