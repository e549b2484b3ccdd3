"""When targets hear of what is read."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from unittest.mock import AsyncMock, Mock

import pytest

from stream.kafka.notify import notifier
from stream.kafka.public.pairing import Window
from tests.support.boards import setup_of
from tests.support.published import decision_of
from tests.support.said import Said


@pytest.mark.parametrize("full", [False, True])
async def test_nobody_is_told_of_a_state_before_all_are_read_back(monkeypatch, *, full):
    """It may be over. What was delivered, but is whole only later, is delivered again.

    While too many wait for a target, no more are read.
    """

    async def read():
        await asyncio.sleep(0)
        return [Window(decision_of(0), 0, known=True)]

    reader = Mock(read=read, caught_up=AsyncMock(side_effect=[False, True]))
    opened = Mock(opened=lambda: nullcontext(reader))
    monkeypatch.setattr(notifier, "Reader", lambda *_: opened)
    setup = Mock(notify=Mock(targets=[], retry_for_ms=0), subscription=setup_of().subscription)
    sender = Mock(delivered=0, run=AsyncMock(), full=full)
    process = notifier._Notifier(setup, Said().log)
    process._senders = [sender]
    await process.run(from_beginning=False)
    names = [name for name, *_ in sender.mock_calls]
    assert names[:4] == ["remember", "remember", "run", *["put"] * (not full)]
