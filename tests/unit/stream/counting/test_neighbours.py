"""Two-neighbour tests of the whole pipeline, from the bytes of Kafka records to step counts.

Random logs of JSON messages and of Arrow batches, with every kind of bad event among good ones, are
read by ``PartitionReader``. Adding or removing one event (unit ``event``), or all events of one
person within one budget period (unit ``user``), may move no cell by more than its sensitivity and
no other cell at all; how a log is split into reads, or where reading starts again, may change
nothing. Readers that are broken on purpose (``test_broken_readers.py``) must be caught by the same
checks.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from accountant.units import PrivacyUnit
from stream.counting.partition import PartitionReader
from stream.model.feeds import Codec
from tests.support.decoding import ipc
from tests.support.neighbours import breach, dense, read, scattered
from tests.support.random_logs import SETUPS, START_MS, Event, Message, Setup, alarms_of, random_log

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accountant.costs.charges import WindowKey
    from accountant.records import Partial
    from stream.events.decoder import Record

    Reader = type[PartitionReader]
    Partials = dict[WindowKey, Partial]


SEEDS = range(2)


@pytest.mark.long
@pytest.mark.parametrize("setup", SETUPS, ids=str)
def test_no_neighbour_moves_more_than_its_share(setup: Setup) -> None:
    """One event, or one person in one period, moves its own cells by at most D, one step of s'."""
    alarms = alarms_of(setup.codec, setup.unit, setup.ids)
    for seed in SEEDS:
        log = random_log(setup, random.Random(f"{setup} {seed}"))
        assert not breach(alarms, setup, log), seed


@pytest.mark.long
@pytest.mark.parametrize("setup", SETUPS, ids=str)
def test_nothing_depends_on_reads_or_restarts(setup: Setup) -> None:
    """Partials, offsets included, are the same for any split and from any later slice on."""
    alarms = alarms_of(setup.codec, setup.unit, setup.ids)
    for seed in SEEDS:
        rng = random.Random(f"split {setup} {seed}")
        log = random_log(setup, rng, size=30)
        assert not scattered(alarms, setup, log, rng, PartitionReader), seed


@pytest.mark.parametrize("setup", SETUPS, ids=str)
def test_offsets_say_nothing_but_the_order(setup: Setup) -> None:
    """Numbering the records anew changes no statistic, so a removed record leaves no gap."""
    alarms = alarms_of(setup.codec, setup.unit, setup.ids)
    log = random_log(setup, random.Random(str(setup)), size=30)
    for partition, messages in enumerate(log):
        renumbered = [replace(message, offset=at) for at, message in enumerate(messages)]
        before = read(alarms, setup, partition, messages)
        after = read(alarms, setup, partition, renumbered)
        assert before.keys() == after.keys()
        assert all((dense(before[key]) == dense(after[key])).all() for key in before)


def test_the_random_logs_count_something() -> None:
    """Most logs have cells that count, some at their caps: the checks are not about nothing."""
    setup = Setup(Codec.ARROW, PrivacyUnit.USER, ids=False, partitions=2)
    alarms = alarms_of(setup.codec, setup.unit, setup.ids)
    largest = []
    for seed in SEEDS:
        log = random_log(setup, random.Random(f"{setup} {seed}"))
        partials = [read(alarms, setup, at, messages) for at, messages in enumerate(log)]
        largest.append(max(abs(dense(p)).max() for found in partials for p in found.values()))
    assert sum(value >= 2 for value in largest) > len(SEEDS) // 2, largest


def dictionary_message(rows: int, others: int = 0) -> bytes:
    """Return a small message that spells out a long name in every row; ``others`` are another's."""
    indices = pa.array([0] * rows + [1] * others, pa.int8())
    columns = {
        "person": pa.DictionaryArray.from_arrays(indices, pa.array(["p" * 1_000, "q" * 1_000])),
        "room": pa.DictionaryArray.from_arrays(indices, pa.array(["bar", "bar"])),
        "ts": pa.DictionaryArray.from_arrays(indices, pa.array([START_MS, START_MS])),
    }
    return ipc(columns)


class RefusesUnfolding(PartitionReader):
    """Refuses messages that spell out to more than 64 times their size and a mebibyte."""

    def read(self, records: Sequence[Record]) -> None:
        """Leave those out."""
        super().read([record for record in records if self._unfolded(record) <= self._most(record)])

    @staticmethod
    def _most(record: Record) -> int:
        return 64 * len(record.value or b"") + (1 << 20)

    @staticmethod
    def _unfolded(record: Record) -> int:
        with pa.ipc.open_stream(record.value) as stream:
            columns = stream.read_all().select(["person", "room"])
        return sum(len(text) for column in columns for text in column.to_pylist())


@pytest.mark.parametrize("twin", [PartitionReader, RefusesUnfolding])
def test_a_row_does_not_refuse_a_message_that_others_filled(twin: Reader) -> None:
    """However much a message spells out to, one row more is one event more."""
    setup = Setup(Codec.ARROW, PrivacyUnit.EVENT, ids=False, partitions=1)
    alarms = alarms_of(setup.codec, setup.unit, setup.ids)
    raw = Event(None, None, None, None, None, None)

    def counted(value: bytes) -> Partials:
        event = replace(raw, raw=value)
        return read(alarms, setup, 0, [Message(0, START_MS, True, (event,), 0)], twin=twin)

    full = next(
        rows
        for rows in range(1_000, 2_000)
        if rows * 1_003 > 64 * len(dictionary_message(rows)) + (1 << 20)
    )
    here, there = (counted(dictionary_message(full - 1, others)) for others in (1, 0))
    moved = [
        int(np.abs(dense(here[key]) - dense(there[key])).max())
        for key in here
        if key.query == "count"
    ]
    (sensitivity,) = alarms.by_name["count"].condition.sensitivities
    assert max(moved) == (sensitivity if twin is PartitionReader else full - 1)
