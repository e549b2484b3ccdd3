"""Fetched batches come out as columns, and are the records that aiokafka would have handed out.

Everything here runs aiokafka's own fetcher over bytes as a broker sends them; only the network is
left out. A new aiokafka that unpacks elsewhere, or otherwise, fails here.
"""

from __future__ import annotations

import asyncio
import struct
from functools import partial
from types import SimpleNamespace

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.consumer import fetcher
from aiokafka.record.legacy_records import LegacyRecordBatchBuilder
from aiokafka.record.memory_records import MemoryRecords

from stream.events.marks import MARK_HEADER
from stream.kafka import columns
from stream.kafka.columns import Fetched, as_columns, fetch
from stream.kafka.headers import TolerantRecords
from tests.support.batches import LOG_APPEND, TRANSACTIONAL, batch, marker, signed

PLACE, OTHER = (TopicPartition("badges", number) for number in (1, 2))
NO_CODEC, GZIP, SNAPPY, LZ4, ZSTD = range(5)


@pytest.fixture(autouse=True)
def _seams():
    """Leave aiokafka as it was."""
    before = fetcher.PartitionRecords, fetcher.MemoryRecords
    yield
    fetcher.PartitionRecords, fetcher.MemoryRecords = before


def old(base, values, *, magic, codec=NO_CODEC):
    """Return messages of the formats before 0.11."""
    builder = LegacyRecordBatchBuilder(magic=magic, compression_type=codec, batch_size=1 << 20)
    for at, value in enumerate(values):
        builder.append(at, 7_000 + at if magic else None, b"key", value)
    data = bytearray(builder.build())
    # A compressed set is one message with the place of its last.
    struct.pack_into(">q", data, 0, base + len(values) - 1 if codec else base)
    return bytes(data)


class Reader:
    """A consumer whose fetcher was just answered; everything behind the network is aiokafka's.

    It is the assignment, too: its states are positions as aiokafka keeps them.
    """

    active = True

    def __init__(self, logs, *, start=0, aborted=(), **arguments):
        self.logs, self.aborted = logs, aborted
        self.decode = arguments.get("value_deserializer")
        self.states = {place: SimpleNamespace(position=start, paused=False) for place in logs}
        for state in self.states.values():
            state.consumed_to = partial(setattr, state, "position")
        self.state_value = self.states.__getitem__
        self.fetched = {}
        self.answer()

    def answer(self):
        """Fetch what lies from every position on, whole batches as a broker does."""
        for place, log in self.logs.items():
            position = self.states[place].position
            records = fetcher.MemoryRecords(from_position(log, position))
            if records.has_next():
                given = (place, records, self.aborted, position, None, self.decode, True)
                found = fetcher.PartitionRecords(*given, fetcher.READ_COMMITTED)
                self.fetched[place] = fetcher.FetchResult(
                    place, assignment=self, partition_records=found, backoff=0
                )

    async def getmany(self, *, timeout_ms, max_records):
        """Take what was fetched."""
        del timeout_ms
        waiting = SimpleNamespace(
            _subscriptions=SimpleNamespace(reassignment_in_progress=False),
            _records=self.fetched,
            _notify=lambda _: None,
            _wait_consume_future=None,
        )
        return await fetcher.Fetcher.fetched_records(waiting, (), 0, max_records)

    def read(self):
        """Fetch once, as the ingest does."""
        return asyncio.run(fetch(self, timeout_ms=0))


def from_position(log, position):
    """Return the batches that do not end before a position."""
    at, found = 0, b""
    while at < len(log):
        base, length = struct.unpack_from(">qi", log, at)
        data = log[at : at + 12 + length]
        deltas = struct.unpack_from(">i", data, 23)[0] if data[16] == 2 else 0
        if base + deltas >= position:
            found += data
        at += 12 + length
    return found


def plain(log, **how):
    """What aiokafka hands out by itself."""
    reader = Reader({PLACE: log}, **how)
    found = asyncio.run(reader.getmany(timeout_ms=0, max_records=10**6))
    return [
        (
            record.offset,
            -1 if record.timestamp is None else record.timestamp,
            record.timestamp_type == 1,
            record.value,
            tuple(record.headers),
        )
        for record in found.get(PLACE, ())
    ]


def in_columns(log, **how):
    """The same read as columns, to the end of the log."""
    reader = Reader({PLACE: log}, **how, **as_columns(headers_of=[PLACE.topic]))
    rows = []
    while reader.fetched:
        fetched = reader.read()
        assert not fetched.damaged
        for records in fetched.records.values():
            assert len(records)
            rows += zip(
                records.offset.tolist(),
                records.timestamp_ms.tolist(),
                records.log_append.tolist(),
                records.value,
                map(tuple, records.headers),
                strict=True,
            )
    return rows


def in_transaction(base, producer, *values):
    """Return a batch of a transaction."""
    return batch(base, values, producer=producer, attributes=LOG_APPEND | TRANSACTIONAL)


TRANSACTIONS = (
    batch(0, [b"plain"])
    + in_transaction(1, 7, b"7a")
    + in_transaction(2, 8, b"8a")
    + in_transaction(3, 7, b"7b", b"7c")
    + marker(5, 7, commit=False)
    + in_transaction(6, 8, b"8b")
    + marker(7, 8, commit=True)
)
LOGS = {
    "one batch": batch(0, [b"a", None, b"", b"d"]),
    "dated by its producer": batch(0, [b"a", b"b"], attributes=0),
    "codecs": b"".join(
        batch(3 * codec, [b"a", b"b", b"c"], codec=codec)
        for codec in (NO_CODEC, GZIP, SNAPPY, LZ4, ZSTD)
    ),
    "headers": batch(0, [b"a"], headers=[(MARK_HEADER, b"1"), (MARK_HEADER, None)])
    + batch(1, [b"b"]),
    "a compacted log": batch(4, [b"a", b"b"], deltas=[1, 7]) + batch(40, [b"c"], deltas=[3]),
    "the oldest format": old(0, [b"a"], magic=0) + old(1, [b"b"], magic=0),
    "the second format": old(0, [b"a"], magic=1) + old(1, [None], magic=1),
    "sets of the second format": old(0, [b"a", b"b", b"c"], magic=1, codec=SNAPPY)
    + old(3, [b"d", b"e"], magic=1, codec=GZIP),
    "batches without a record": batch(0, [b"a"]) + batch(1, [], deltas=[]) + batch(9, [b"b"]),
    "transactions": TRANSACTIONS + in_transaction(8, 7, b"7d"),
}
ABORTED = [(7, 1)]


@pytest.mark.parametrize("name", LOGS)
@pytest.mark.parametrize("start", [0, 1, 2, 5, 8])
def test_columns_are_the_records(name, start):
    """Places, times, values and headers are those of aiokafka, from any position on."""
    expected = plain(LOGS[name], start=start, aborted=ABORTED)
    assert in_columns(LOGS[name], start=start, aborted=ABORTED) == expected
    assert expected or start


def test_only_what_was_committed_is_read():
    """Aborted batches and marks are passed by, also a mark that ends the log."""
    reader = Reader({PLACE: TRANSACTIONS}, aborted=ABORTED, **as_columns())
    assert reader.read().records[PLACE].value == [b"plain", b"8a", b"8b"]
    assert reader.states[PLACE].position == 8


def test_headers_that_are_not_text_cost_nothing():
    """Offsets, times, keys and values arrive, and so does all behind them.

    By itself the client fails the whole fetch.
    """
    good = batch(0, [b"a", None], headers=[("zz", b"")])
    bad = signed(good.replace(b"zz", b"\xff\xfe"))
    with pytest.raises(UnicodeDecodeError):
        list(MemoryRecords(bad).next_batch())
    keys = [[record.key for record in TolerantRecords(log).next_batch()] for log in (good, bad)]
    assert keys[0] == keys[1]
    assert TolerantRecords(b"").next_batch() is None
    behind = batch(2, [b"c"], headers=[("ok", b"")])
    (first, _) = TolerantRecords(bad).next_batch()
    assert first.headers == [("\N{REPLACEMENT CHARACTER}" * 2, b"")]
    assert in_columns(bad + behind) == in_columns(good + behind)


def test_headers_are_left_out_where_nobody_asks():
    """Only feeds with watermarks look at headers, and at those of marks."""
    for log, topics in (
        (LOGS["headers"], []),
        (batch(0, [b""] * 2, headers=[("h", b"")]), ["badges"]),
    ):
        found = Reader({PLACE: log}, **as_columns(topics)).read().records[PLACE].headers
        assert list(map(list, found)) == [[], []]


@pytest.mark.parametrize(
    "bad",
    [
        batch(2, [b"bad", b"bad"]).replace(b"bad", b"bat"),
        signed(batch(2, [b"bad"], attributes=LOG_APPEND | 7)),
    ],
    ids=["checksum", "codec"],
)
def test_a_batch_that_cannot_be_read_stops_its_partition_alone(bad):
    """What lies before it and all other partitions arrive, and its own place stands."""
    log = batch(0, [b"a", b"b"]) + bad + batch(4, [b"behind"])
    reader = Reader({PLACE: log, OTHER: batch(0, [b"c"])}, **as_columns())
    fetched = reader.read()
    values = {place: records.value for place, records in fetched.records.items()}
    assert values == {PLACE: [b"a", b"b"], OTHER: [b"c"]}
    assert fetched.damaged == {PLACE}
    assert [state.position for state in reader.states.values()] == [2, 1]
    reader.answer()
    assert reader.read() == Fetched({}, {PLACE})


def spoilt(*deltas, first_ms=5_000, **how):
    """Return a batch of places 2 and 3 as a broker takes it, whatever it says of them inside."""
    data = bytearray(batch(2, [b"bad"] * 2, deltas=deltas, **how))
    struct.pack_into(">iq", data, 23, 1, first_ms)
    return bytes(data)


@pytest.mark.parametrize(
    "bad",
    [
        spoilt(0, 1000),
        spoilt(-1, 1),
        spoilt(1, 0),
        spoilt(0, 0),
        spoilt(0, 1, attributes=LOG_APPEND | GZIP),
        spoilt(0, 1)[:-9],
        spoilt(0, 1, codec=GZIP) + b"trailing",
        spoilt(0, 1, codec=SNAPPY) + b"\0\0\0",
        spoilt(0, 1, attributes=0, first_ms=2**63 - 1, headers=[("zz", b"")]).replace(
            b"zz", b"\xff\xfe"
        ),
        spoilt(0, 1, headers=[("zz", bytes(1 << 22))]).replace(b"zz", b"\xff\xfe"),
    ],
    ids=["far", "before", "falling", "same", "no gzip", "short", "gzip", "snappy", "time", "long"],
)
def test_a_batch_that_its_sender_spoilt_is_one_record_that_cannot_be_decoded(bad):
    """Its checksum is right: no replica has it well, and what others wrote behind it counts."""
    rows = in_columns(batch(0, [b"a", b"b"]) + signed(bad) + batch(4, [b"behind"]))
    assert [row[::3] for row in rows] == [(0, b"a"), (1, b"b"), (3, b""), (4, b"behind")]


@pytest.mark.parametrize(
    ("name", "limit", "value", "headers"),
    [
        ("_BLOCK_RECORDS", 5, b"xxxx", []),
        ("_BLOCK_BYTES", 13, b"xxxx", []),
        ("_BLOCK_BYTES", 13, None, [(MARK_HEADER, b"xxxx")]),
        ("_BLOCK_S", 0, None, []),
    ],
)
def test_blocks_are_bounded_and_lose_nothing(monkeypatch, name, limit, value, headers):
    """However many records a fetch holds, few come at once, and the next call goes on behind."""
    monkeypatch.setattr(columns, "_BLOCKS", 2)
    monkeypatch.setattr(columns, name, limit)
    log = b"".join(batch(3 * at, [value] * 3, headers=headers) for at in range(10))
    reader = Reader({PLACE: log}, **as_columns(["badges"]))
    offsets = []
    while len(offsets) < 30:
        found = reader.read().records[PLACE].offset.tolist()
        assert len(found) <= 12
        offsets += found
        assert reader.states[PLACE].position >= offsets[-1] + 1
    assert offsets == list(range(30))


def test_other_consumers_are_as_they_were():
    """The worker's host reads its own topics record by record, in the same process."""
    as_columns()
    reader = Reader({PLACE: batch(0, [b"four"])}, value_deserializer=len)
    (record,) = asyncio.run(reader.getmany(timeout_ms=0, max_records=10))[PLACE]
    assert record.value == 4


async def test_aiokafka_unpacks_where_we_think_it_does():
    """The names that are replaced are the ones its fetcher uses, with the arguments we expect."""
    arguments = as_columns(headers_of=["badges"])
    names = fetcher.Fetcher._proc_fetch_request.__code__.co_names
    assert {"PartitionRecords", "MemoryRecords"} <= set(names)
    consumer = AIOKafkaConsumer(bootstrap_servers="127.0.0.1:9", **arguments)
    await consumer.stop()
    assert consumer._value_deserializer is arguments["value_deserializer"]
    with pytest.raises(TypeError, match="_AsColumns"):
        arguments["value_deserializer"](b"")
    assert MemoryRecords is not fetcher.MemoryRecords
