"""What can be read of recorded events, counted before anything is spent on them.

One pass over the files, a stretch at a time: of whatever length they are, what is held is a stretch
of rows, a bit a group and some hashes a window. Of an export, the windows are counted as a
replay counts them, and thrown away. No ledger is opened.

All of this is exact and private: it is for the terminal of the custodian, who owns the files
(``docs/explanation/guarantees-and-limits.md``).
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from stream.events.columns import GOOD, Drop, verdict
from stream.events.decoder import Batcher
from stream.events.files import read_stretches
from stream.model.alarms import each_for_itself
from stream.model.references import feeds_in_use
from stream.replay.findings import FeedSurvey
from stream.replay.lanes import source_of
from stream.replay.uncharged import uncharged_lanes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from stream.events.decoder import Batch
    from stream.model.alarms import Alarms
    from stream.replay.lanes import Source

__all__ = ["survey"]


def survey(alarms: Alarms, files: Mapping[str, Sequence[Path]]) -> list[FeedSurvey]:
    """Read the files once and count what a replay could use of them.

    Args:
        alarms: the checked configuration; every feed with alarms declares its history.
        files: per feed name the files to read.

    Returns:
        Every feed that some alarm reads, in the order of the file.

    Raises:
        ConfigError: a feed has no history or no file.
        DataError: a file is not what its feed declares.
    """
    alarms = each_for_itself(alarms)
    surveys = []
    for feed in feeds_in_use(alarms):
        source, found = source_of(feed, files, alarms), FeedSurvey(feed, alarms)
        if source.export is not None:
            _read_export(source, found)
        else:
            for path in source.paths:
                _read_file(path, found)
        surveys.append(found)
    return surveys


def _read_file(path: Path, found: FeedSurvey) -> None:
    """Count the rows of a file of events, as if each had been appended at its event time."""
    # No hash leaves this object, so its key is immaterial.
    batcher = Batcher(found.declared, partitions=1, hash_key=bytes(32))
    where, text = f"{path.name}, row", path.suffix.lower() == ".csv"
    for stretch in read_stretches(path, found.declared):
        parsed = stretch.parsed
        found.read(len(parsed.verdicts))
        drops: dict[str, int] = {}
        parsed.count_drops(drops)
        found.drops(drops)
        for reason in drops:
            at = int(np.argmax(parsed.verdicts == verdict(Drop(reason))))
            found.example(reason, f"{where} {stretch.row[at]}", stretch.values(at), text=text)
        rows = stretch.row[parsed.verdicts == GOOD]
        batch, _ = batcher.admit(parsed.good().columns, offset=rows, append_ms=np.zeros_like(rows))
        found.see(batch, where)


def _read_export(source: Source, found: FeedSurvey) -> None:
    """Count the records of an export as a replay counts them."""
    if not all(found.windows.values()):
        return  # nothing would be decided

    def counted(partition: int, batch: Batch, fates: NDArray[np.uint8]) -> None:
        found.see(batch, f"partition {partition}, offset", fates)

    lanes = uncharged_lanes(
        source,
        found.counted,
        found.budget,
        found.windows,
        on_read=found.read,
        on_drops=found.drops,
        on_counted=counted,
    )
    for lane in lanes:
        while not lane.ended:
            deque(lane.advance(), maxlen=0)  # what the windows count is not asked here
