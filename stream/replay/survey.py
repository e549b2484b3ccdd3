"""What can be read of recorded events, counted before anything is spent on them.

One pass over the files, a stretch at a time: of whatever length they are, what is held is a stretch
of rows, a bit a group and some hashes a window. Of an export, the windows are counted as a
replay counts them, and thrown away. No ledger is opened.

All of this is exact and private: it is for the terminal of the custodian, who owns the files
(``docs/explanation/guarantees-and-limits.md``).
"""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from stream.events.columns import GOOD, Drop, verdict
from stream.events.decoder import Batcher
from stream.events.files import read_stretches
from stream.model.alarms import each_for_itself
from stream.model.references import feeds_in_use
from stream.replay.lanes import ExportSource, source_of
from stream.replay.replay import windows_of
from stream.replay.tally import Row, Tally
from stream.replay.uncharged import uncharged_lanes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from stream.events.decoder import Batch
    from stream.events.files import Stretch
    from stream.model.alarms import Alarms
    from stream.replay.findings import FeedSurvey

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
    found = []
    for feed in feeds_in_use(alarms):
        source = source_of(feed, files, alarms)
        tally = Tally(feed, alarms)
        if isinstance(source, ExportSource):
            _read_export(source, tally, alarms)
        else:
            for path in files[feed.name]:
                _read_file(path, tally)
        found.append(tally.counted())
    return found


def _read_file(path: Path, tally: Tally) -> None:
    """Count the rows of a file of events, as if each had been appended at its event time."""
    # No hash leaves this object, so its key is immaterial.
    batcher = Batcher(tally.feed, partitions=1, hash_key=bytes(32))
    text = path.suffix.lower() == ".csv"

    def row_at(stretch: Stretch, at: int) -> Row:
        return Row(f"{path.name}, row {stretch.row[at]}", stretch.values(at), text)

    for stretch in read_stretches(path, tally.feed):
        parsed = stretch.parsed
        tally.read(len(parsed.verdicts))
        for drop in Drop:
            bad = np.flatnonzero(parsed.verdicts == verdict(drop))
            if len(bad):
                tally.drop(drop.value, len(bad), partial(row_at, stretch, int(bad[0])))
        good, columns = np.flatnonzero(parsed.verdicts == GOOD), parsed.good().columns
        times = columns[list(tally.feed.fields).index(tally.feed.time)].to_numpy()
        batch, _ = batcher.admit(columns, offset=stretch.row[good], append_ms=times)
        tally.see(batch, lambda at: row_at(stretch, int(good[at])))  # noqa: B023  # called at once


def _read_export(source: ExportSource, tally: Tally, alarms: Alarms) -> None:
    """Count the records of an export as a replay counts them."""
    windows = {alarm.id: list(windows_of(alarms.by_name[alarm.id])) for alarm in tally.alarms}
    if not all(windows.values()):
        return  # nothing would be decided

    def counted(partition: int, batch: Batch, fates: NDArray[np.uint8]) -> None:
        def row_at(at: int) -> Row:
            values = batch.rows.slice(at, 1).to_pylist()[0]
            return Row(f"partition {partition}, offset {batch.offset[at]}", values)

        tally.see(batch, row_at, fates)

    lanes = uncharged_lanes(
        tally.feed,
        source,
        tally.alarms,
        tally.budget,
        windows,
        on_read=tally.read,
        on_drops=tally.told,
        on_counted=counted,
    )
    for lane in lanes:
        while not lane.ended:
            deque(lane.advance(), maxlen=0)  # what the windows count is not asked here
