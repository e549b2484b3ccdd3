"""From where a group goes on, and for what it does not wait."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from unittest.mock import AsyncMock, Mock

import pytest

from stream.decisions.records import encode
from stream.kafka.public import reader as public
from stream.kafka.public.reader import Position, Reader, delivered_to
from tests.support.boards import setup_of
from tests.support.published import alarm_of, decision_of


@pytest.mark.parametrize(
    ("known", "from_beginning", "place"),
    [
        (None, False, 90),  # a new group begins with the next record
        (None, True, 10),  # or with the oldest
        (40, False, 40),
        (40, True, 40),  # which is for groups that have delivered nothing
        (5, False, 10),  # what retention took is gone
        (90, False, 90),
        (91, False, 10),  # the topic was made anew: nothing of it is passed over in silence
    ],
)
def test_a_group_goes_on_where_it_stopped(known, *, from_beginning, place):
    """Of a partition that holds the offsets 10 to 89."""
    assert delivered_to(known, 10, 90, from_beginning=from_beginning) == place


def test_alarms_that_are_gone_are_given_up_though_records_come_without_a_pause(monkeypatch):
    """Retention took the first decision's: else its alarm is silent for as long as others speak."""
    decisions = decision_of(0, alarms=[alarm_of(0, {})]), decision_of(1)
    polled = [
        SimpleNamespace(value=encode(one), offset=one.sequence, timestamp=0) for one in decisions
    ]
    consumer = AsyncMock(**{"getmany.return_value": {"": polled}, "end_offsets.return_value": {}})
    monkeypatch.setattr(public, "AIOKafkaConsumer", Mock(return_value=consumer))
    reader = Reader(setup_of().subscription.kafka, Mock(), Position())
    reader._committed[""] = 0
    assert [window.whole for window in asyncio.run(reader.read())] == [False, True]
    reader._pairing = Mock(blocked=True)
    assert not asyncio.run(reader.caught_up())
