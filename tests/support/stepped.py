"""Early alarms on a live feed: what each look must see, and what its window's noise was drawn as.

The reference is written from the promises and from nothing of Tocsin's: one pass over the log for
every look, one record at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from operators.single.lookstate import LookState
from tests.support.oracle import ALLOWED_SKEW_MS, GRACE_MS, well_formed
from tests.support.scenario import ROOMS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from accountant.ledger.ledger import Ledger

STEP_MS: Final = 1_000
SIZE_MS: Final = 3_000


def looks(
    records: Sequence[Any], steps_ms: Iterable[int], *, partitions: int
) -> dict[int, tuple[int, ...]]:
    """Return per start of a step the events per room, from its window's start to its own end.

    An event that came late for its step is in no look whose cut it missed, and in all later ones.
    Copies of an event, by its id, count once.

    Args:
        records: of the events topic, by partition, then offset.
        steps_ms: starts of the steps to look at.
        partitions: of the topic.
    """
    events = [
        (event, record.timestamp)
        for record in records
        if record.timestamp_type == 1
        and (event := well_formed(record, partitions)) is not None
        and record.timestamp >= event["ts"] - ALLOWED_SKEW_MS
    ]
    found = {}
    for start_ms in steps_ms:
        opened_ms, end_ms = start_ms // SIZE_MS * SIZE_MS, start_ms + STEP_MS
        copies = {
            (event["room"], event["person"], event["event"])
            for event, appended_ms in events
            if opened_ms <= event["ts"] < end_ms and appended_ms < end_ms + GRACE_MS
        }
        found[start_ms] = tuple(sum(room == one[0] for one in copies) for room in ROOMS)
    return found


def noise_of_windows(ledger: Ledger) -> dict[tuple[str, int], bytes]:
    """Return what the looks at every alarm's newest window share, by alarm and the window's number.

    It is private: tests look whether it is ever anything else.
    """
    with ledger._door.read() as (tx, state):
        runs = [tx.private.run(one.run, one.left) for one in state.queries.values()]
    states = {run.query: LookState.from_bytes(run.state) for run in runs if run is not None}
    return {
        (query, state.number * STEP_MS // SIZE_MS): state.shared.tobytes()
        for query, state in states.items()
    }
