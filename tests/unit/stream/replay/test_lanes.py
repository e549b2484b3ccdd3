"""Which windows an export holds whole: by where its partitions began, also without a record."""

from __future__ import annotations

from pathlib import Path

import pytest

from stream.config.loading import load
from stream.events.decoder import Record
from stream.replay.exact import count_windows
from stream.replay.exports import ExportInfo, LoggedRecord, log_writer
from tests.support.commands import HOUR_MS, configuration


@pytest.mark.parametrize(
    ("begins", "lost"), [((0, 0), 0), ((4, 0), 6), ((0, 9), 24), ((4, 9), 24), ((), 6)]
)
def test_windows_that_an_export_does_not_hold_whole_are_known(tmp_path, begins, lost):
    """Of a partition that retention emptied, all; exports of 0.1.0 say where records begin."""
    alarms, export = load(Path(configuration(tmp_path)), environ={}), tmp_path / "log.parquet"
    with log_writer(export, ExportInfo("building.badges", 2, begins)) as write:
        write([LoggedRecord(0, Record(5, 5 * HOUR_MS, log_append=True, value=b"{}"))])
    windows = list(count_windows(alarms, {"badges": [export]}))
    assert [each.complete for each in windows] == [False] * lost + [True] * (24 - lost)
