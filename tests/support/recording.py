"""What replays in this process count, in the form of the workers' journals."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from unittest import mock

from accountant.ledger.counts import Counts
from stream.build import open_ledger
from stream.replay.replay import Replay

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from accountant.records import Partial, StoredDecision
    from stream.model.alarms import Alarms


def journalled(partial: Partial) -> dict[str, Any]:
    """Return the fields of a journal's line about a partial."""
    return {
        "alarm": partial.key.query,
        "start_ms": partial.key.start_ms,
        "partition": partial.partition,
        "complete": partial.complete,
        "index": partial.index.tolist(),
        "value": partial.value.tolist(),
        "digest": partial.digest,
    }


@contextmanager
def counts_stored() -> Iterator[list[dict[str, Any]]]:
    """Yield a list that every partial which this process stores meanwhile is added to."""
    stored: list[dict[str, Any]] = []
    put_partial = Counts.put_partial

    def noted(self, partial):
        stored.append(journalled(partial))
        return put_partial(self, partial)

    with mock.patch.object(Counts, "put_partial", noted):
        yield stored


def replayed(
    alarms: Alarms, files: Mapping[str, Sequence[Path]]
) -> tuple[list[StoredDecision], list[dict[str, Any]]]:
    """Replay files into a ledger that must hold; return its decisions, and what was counted."""
    with counts_stored() as stored, open_ledger(alarms) as ledger:
        decisions = list(Replay(alarms, ledger, files).run())
        found = ledger.reports.verify()
        assert not found, found
    return decisions, stored
