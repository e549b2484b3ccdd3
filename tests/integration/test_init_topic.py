"""``tocsin init --from-topic`` on a real broker, over topics that nobody made for it.

The events are a shop's, of the Online Retail data set (``examples/retail/ATTRIBUTION.md``).
"""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from aiokafka import AIOKafkaProducer

from stream.config.loading import load
from stream.kafka.sample import last_messages
from stream.model.feeds import Codec
from tests.support.commands import tocsin
from tests.support.examples import SALES
from tests.support.kafka import broker_topic

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from click.testing import Result

    from stream.model.alarms import Alarms
    from tests.support.kafka import Broker

pytestmark = pytest.mark.integration

_CODECS: Final = (None, "gzip", "snappy", "lz4", "zstd")
_JUNK: Final = (b"\xff" * 40, b"\0", b"\xff\xff\xff\xff\x10\0\0\0", b"[1]", b"{", b"null", b"")
_ROWS: Final = 500
_LOOKED_WITHIN_S: Final = 25.0
"""A hang guard: whoever waits for what does not come waits for half a minute."""


@pytest.fixture(scope="module")
def sales() -> pa.Table:
    """The first sales of the data set."""
    with pq.ParquetFile(SALES) as file:
        batch = next(file.iter_batches(batch_size=_ROWS))
    return pa.Table.from_batches([batch])


def _as_json(sales: pa.Table) -> list[bytes]:
    rows = sales.to_pylist()
    return [json.dumps({**row, "at": row["at"].isoformat()}).encode() for row in rows]


def _as_arrow(sales: pa.Table) -> list[bytes]:
    """Return messages of a hundred rows each."""
    messages = []
    for batch in sales.to_batches(max_chunksize=100):
        sink = pa.BufferOutputStream()
        options = pa.ipc.IpcWriteOptions(compression="zstd")
        with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
            writer.write_batch(batch)
        messages.append(bytes(sink.getvalue()))
    return messages


def _send(broker: Broker, topic: str, values: Sequence[bytes | None], **how: Any) -> None:
    """Send values, and tombstones of one key, wherever they come to lie."""

    async def send() -> None:
        producer = AIOKafkaProducer(bootstrap_servers=broker.bootstrap, linger_ms=20, **how)
        async with producer:
            keys = [b"gone" if value is None else None for value in values]
            pairs = zip(values, keys, strict=True)
            sent = [await producer.send(topic, value, key=key) for value, key in pairs]
            await asyncio.gather(*sent)

    asyncio.run(send())


def _init(broker: Broker, topic: str, folder: Path) -> Result:
    """Let ``init`` look at a topic of sales."""
    return tocsin(
        *("init", folder / "made", "--template", "shop", "--yes", "--domain-from-sample"),
        *("--from-topic", topic, "--bootstrap", broker.bootstrap),
        *("--amount", "quantity", "--group-by", "country"),
    )


def _right(made: Result, folder: Path) -> Alarms:
    """Check what was written as its reader would, and return it."""
    assert made.exit_code == 0, made.stderr
    file = folder / "made" / "alarms.yaml"
    checked = tocsin("check", file)
    assert (checked.exit_code, checked.stdout) == (0, "ok\n"), checked.stderr
    tocsin("plan", file, code=0)
    return load(file, environ={})


def test_a_topic_as_others_fill_it_makes_a_configuration(
    broker: Broker, tmp_path: Path, sales: pa.Table
) -> None:
    """Batches of every codec over three partitions, with tombstones and junk between them."""
    topic = broker_topic(broker, name="sales", partitions=3)
    events = _as_json(sales)
    for at, codec in enumerate(_CODECS):
        _send(broker, topic, [*events[at :: len(_CODECS)], None], compression_type=codec)
    _send(broker, topic, _JUNK)
    made = _init(broker, topic, tmp_path)
    alarms = _right(made, tmp_path)
    (feed,) = alarms.feeds.values()
    assert (feed.topic, feed.codec) == (topic, Codec.JSON)
    assert (feed.time, feed.unit) == ("at", "customer")
    countries = set(sales.column("country").to_pylist())
    assert set(feed.fields["country"].domain or ()) == countries
    # A tombstone and an empty message hold nothing to look at.
    assert f"{len(_JUNK) - 1} of {_ROWS + len(_JUNK) - 1} rows cannot be read" in made.stderr
    assert events[0].decode() not in made.output  # names and types are shown, and no event


def test_a_topic_of_arrow_messages_is_told_from_json(
    broker: Broker, tmp_path: Path, sales: pa.Table
) -> None:
    """Compressed record batches, in compressed Kafka batches."""
    topic = broker_topic(broker, name="sales", partitions=2)
    _send(broker, topic, [*_as_arrow(sales), b"\xff\xff\xff\xffjunk"], compression_type="gzip")
    (feed,) = _right(_init(broker, topic, tmp_path), tmp_path).feeds.values()
    assert (feed.codec, feed.time) == (Codec.ARROW, "at")


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ((), "none of the 0 rows of the sample"),
        ((None, b""), "none of the 0 rows of the sample"),
        (_JUNK, f"none of the {len(_JUNK) - 1} rows of the sample"),
        ((b'{"n": 1}',), "the sample has no field that could be its time"),
    ],
)
def test_a_topic_with_nothing_to_look_at_is_said_to_be_so(
    broker: Broker, tmp_path: Path, values: Sequence[bytes | None], says: str
) -> None:
    """Exit code 2, a sentence and a remedy, and nothing is written."""
    topic = broker_topic(broker, name="odd", partitions=2)
    _send(broker, topic, values)
    _refused(_init(broker, topic, tmp_path), says, tmp_path)


def test_a_topic_that_is_not_there_is_said_so(broker: Broker, tmp_path: Path) -> None:
    """And it is not made by asking for it."""
    for _ in range(2):
        _refused(_init(broker, "nobody.made-this", tmp_path), "does not exist", tmp_path)


def _refused(made: Result, says: str, folder: Path) -> None:
    assert made.exit_code == 2, made.output
    assert says in made.stderr
    assert "hint:" in made.stderr
    assert not (folder / "made").exists()


def test_transactions_hold_nobody_up(broker: Broker) -> None:
    """What was committed is looked at, what is open or was aborted is not, and nobody waits."""
    topic = broker_topic(broker, name="held", partitions=1)

    async def look() -> tuple[list[bytes], float]:
        async with AIOKafkaProducer(
            bootstrap_servers=broker.bootstrap, transactional_id=topic
        ) as producer:
            for value in (b"committed", b"aborted", b"open"):
                await producer.begin_transaction()
                await producer.send_and_wait(topic, value)
                if value == b"committed":
                    await producer.commit_transaction()
                elif value == b"aborted":
                    await producer.abort_transaction()
            began = time.monotonic()
            found = await asyncio.to_thread(last_messages, broker.bootstrap, topic, 100)
            took_s = time.monotonic() - began
            await producer.abort_transaction()
        again = await asyncio.to_thread(last_messages, broker.bootstrap, topic, 100)
        assert again == found
        return found, took_s

    found, took_s = asyncio.run(look())
    assert found == [b"committed"]
    assert took_s < _LOOKED_WITHIN_S
