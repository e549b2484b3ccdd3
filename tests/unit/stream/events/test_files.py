"""Recorded events come out of files in event-time order, bad rows dropped alone."""

from __future__ import annotations

import csv
import json
from collections import Counter
from operator import itemgetter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stream.events import files
from stream.events.decoder import Record
from stream.events.files import EventFiles
from stream.events.formats import SUFFIXES
from stream.model.feeds import Codec, Field
from tests.support.decoding import HASH_KEY, KINDS, a_decoder, a_feed, laid_out
from tests.support.files import write_rows

FEED = a_feed(
    Codec.JSON, fields={name: Field(name, KINDS[name]) for name in ("person", "ts", "x", "n", "b")}
)
ROWS = [
    {"person": "bob", "ts": 2_000, "x": 1.5, "n": 1, "b": True},
    {"person": "ann", "ts": 1_000, "x": None, "n": -7, "b": False},
    {"person": 'a "quoted", name', "ts": 2_000, "x": 1e3, "n": None, "b": None},
]
EXPECTED = [ROWS[1], ROWS[0], ROWS[2]]


def write(path, rows):
    """Write rows in the format that the suffix names, with a column too many in the tables."""
    if path.suffix == ".csv":
        names = ["ts", "extra", "x", "b", "n", "person"]
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, names, restval="more", lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    elif path.suffix == ".jsonl":
        write_rows(path, rows)
    else:
        table = pa.Table.from_pylist(rows)
        pq.write_table(table.append_column("extra", pa.nulls(len(rows))), path)
    return path


def rows_of(*paths):
    """Return the rows of all batches of some files."""
    return EventFiles(FEED, paths).between(0, 2**62).to_pylist()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_format_gives_the_same_rows(tmp_path, suffix):
    """Three formats, one result: declared fields and types, by event time, ties in file order."""
    path = write(tmp_path / f"sales{suffix}", ROWS)
    assert rows_of(path) == EXPECTED
    replay = EventFiles(FEED, [path])
    assert (len(replay), replay.drops) == (3, {})


def test_windows_line_ends_and_byte_order_marks(tmp_path):
    """CSV as spreadsheets write it is read like any other."""
    path = write(tmp_path / "sales.csv", ROWS)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert rows_of(path) == EXPECTED


def test_files_are_merged(tmp_path, monkeypatch):
    """Rows of several files are put in one order; batches cut it without losing a row."""
    times = ([5, 1], [4, 0], [3, 2])
    paths = [
        write(tmp_path / f"sales{suffix}", [{**ROWS[0], "ts": ts} for ts in some])
        for suffix, some in zip(SUFFIXES, times, strict=True)
    ]
    replay = EventFiles(FEED, paths)
    monkeypatch.setattr(files, "BATCH_ROWS", 4)
    batches = list(replay.batches(hash_key=HASH_KEY))
    assert [len(batch) for batch in batches] == [4, 2]
    for name in ("time_ms", "append_ms", "offset"):
        assert [one for batch in batches for one in getattr(batch, name)] == list(range(6))


def test_batches_are_those_of_the_codecs(tmp_path):
    """A replayed row has the unit hash that it has on Kafka."""
    rows = [{**ROWS[0], "person": f"person-{number}", "ts": number} for number in range(50)]
    replay = EventFiles(FEED, [write(tmp_path / "sales.jsonl", rows)])
    values = [json.dumps(row).encode() for row in rows]
    records = [Record(at, at, log_append=True, value=value) for at, value in enumerate(values)]
    decoded, _ = a_decoder(Codec.JSON, fields=FEED.fields).decode(records)
    (batch,) = replay.batches(hash_key=HASH_KEY)
    assert batch.rows.schema == decoded.rows.schema
    assert laid_out(batch) == laid_out(decoded)


CSV_HEADER = "person,ts,x,n,b"
CSV_LINES = [
    "ann,1000,1.5,1,true",
    "ann,2010-12-01 08:26:00,,,",
    '"a,b",5,1e3,-3,False',
    ",1,,,",
    "ann,,,,",
    "ann,-1,,,",
    "ann,soon,,,",
    "ann,1,cheap,,",
    "ann,1,nan,,",
    "ann,1,inf,,",
    "ann,1,1e999,,",
    "ann,1,,1.5,",
    "ann,1,,9223372036854775808,",
    "ann,1,,1_000,",
    "ann,1,,9007199254740993.0,",
    "ann,1,,null,",
    "ann,1,NULL,,",
    "ann,1,,,null",
    "ann,1,,,yes",
    "ann,1",
    "ann,1,,,,,",
    '"open,1,,,',
    'an"n,1,,,',
    "x" * 1025 + ",1,,,",
]
CSV_REASONS = {
    "missing_field": 2,
    "bad_time": 1,
    "wrong_type": 11,
    "not_finite": 2,
    "undecodable": 3,
    "too_long": 1,
}


def test_why_a_line_of_csv_is_dropped(tmp_path):
    """Bad lines of CSV are dropped alone, each for its reason; good ones around them stay."""
    path = tmp_path / "sales.csv"
    path.write_text("\n".join([CSV_HEADER, *CSV_LINES]))
    replay = EventFiles(FEED, [path])
    assert dict(replay.drops) == CSV_REASONS
    assert len(replay) == 4


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.sampled_from([line.encode() for line in CSV_LINES]) | st.binary(max_size=12), max_size=6
    )
)
def test_lines_are_independent(tmp_path, lines):
    """A file of lines gives what the files of each single line give, in CSV and in JSON lines."""
    for suffix, header in [(".csv", CSV_HEADER.encode() + b"\n"), (".jsonl", b"")]:
        path = tmp_path / f"sales{suffix}"

        def read(content, path=path):
            path.write_bytes(content)
            return Counter(EventFiles(FEED, [path]).drops), rows_of(path)

        drops, rows = read(header + b"\n".join(lines))
        alone = [read(header + line) for line in lines]
        assert drops == sum((each for each, _ in alone), Counter())
        assert rows == sorted((row for _, each in alone for row in each), key=itemgetter("ts"))


def test_bad_rows_of_parquet(tmp_path):
    """Nulls, NaN and text that is not UTF-8 cost their rows of a Parquet file, no more."""
    columns = {
        "person": pa.array([b"ann", None, b"\xff", b"ann"], pa.binary()),
        "ts": pa.array([1, 2, 3, None], pa.timestamp("us")),
        "x": pa.array([1.0, 1.0, 1.0, float("nan")]),
        "n": pa.array([1.0, None, 2.0, 3.0]),
        "b": pa.array([True] * 4),
    }
    path = tmp_path / "sales.parquet"
    pq.write_table(pa.table(columns), path)
    replay = EventFiles(FEED, [path])
    assert len(replay) == 1
    assert replay.drops == {"missing_field": 1, "undecodable": 1, "not_finite": 1}


def test_empty_files(tmp_path):
    """Files without rows, and no files at all, replay nothing."""
    for name, content in [("a.csv", CSV_HEADER), ("b.jsonl", ""), ("c.jsonl", "\n\n")]:
        path = tmp_path / name
        path.write_text(content)
        replay = EventFiles(FEED, [path])
        assert (len(replay), list(replay.batches(hash_key=HASH_KEY))) == (0, [])
    assert rows_of() == []
