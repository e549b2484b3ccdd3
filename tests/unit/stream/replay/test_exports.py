"""Exports of a log keep every record as it lay there."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from accountant.errors import DataError
from stream.events.decoder import Record
from stream.replay import exports
from stream.replay.exports import ExportInfo, LoggedRecord, export_info, log_writer, read_log

INFO = ExportInfo(topic="building.badges", partitions=2, begins=(0, 7))
RECORDS = [
    LoggedRecord(0, Record(0, 1_000, log_append=True, value=b"{}"), b"alice"),
    LoggedRecord(1, Record(0, 1_001, log_append=False, value=None), None),
    LoggedRecord(0, Record(5, 999, log_append=True, value=b"\xff\x00", headers=(("k", None),))),
    LoggedRecord(1, Record(1, -1, True, b"", (("k", b"1"), ("k", b"\xff"))), b""),
]


def written(path, records):
    """Write an export and return its path."""
    with log_writer(path, INFO) as write:
        write(records)
    return path


MANY = [
    LoggedRecord(0, Record(at, at, True, str(at)[: at % 2].encode()), str(at)[at % 2 : 1].encode())
    for at in range(1_050)
]


@pytest.mark.parametrize("most", ["_ROWS_PER_GROUP", "_BYTES_PER_GROUP"])
@pytest.mark.parametrize("records", [RECORDS, MANY, []], ids=["all", "groups", "none"])
def test_round_trip(tmp_path, monkeypatch, records, most):
    """Places, times, flags, keys, values and headers come back byte for byte, in order.

    Also of several row groups, and of a log without records.
    """
    monkeypatch.setattr(exports, most, 100)
    path = written(tmp_path / "log.parquet", records)
    assert pq.ParquetFile(path).num_row_groups >= len(records) // 100
    assert export_info(path) == INFO
    assert list(read_log(path)) == records
    assert list(read_log(path, partition=1)) == [one for one in records if one.partition == 1]


def test_other_files_are_no_exports(tmp_path):
    """Text and another Parquet file are none; another version and other columns are refused."""
    text = tmp_path / "text.parquet"
    text.write_text("offset,value\n")
    other = tmp_path / "other.parquet"
    pq.write_table(pa.table({"a": [1]}), other)
    for path in (text, other, tmp_path / "nowhere.parquet"):
        assert export_info(path) is None
    version, columns = tmp_path / "version.parquet", tmp_path / "columns.parquet"
    export = pq.read_table(written(tmp_path / "log.parquet", RECORDS))
    metadata = dict(export.schema.metadata)
    key = b"tocsin.export.version"
    pq.write_table(export.replace_schema_metadata({**metadata, key: b"9"}), version)
    pq.write_table(export.drop_columns(["key"]), columns)
    for path in (version, columns):
        with pytest.raises(DataError, match="not an export of version 1"):
            export_info(path)


def test_a_damaged_export_is_refused(tmp_path):
    """Records that are lost on the way are not taken for none."""
    path = written(tmp_path / "log.parquet", RECORDS)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match="the export is damaged"):
        list(read_log(path))
