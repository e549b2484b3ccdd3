"""When targets hear of what is read."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from unittest.mock import AsyncMock, Mock

from stream.kafka.notify import notifier
from stream.kafka.public.pairing import Window
from tests.support.boards import setup_of
from tests.support.published import decision_of
from tests.support.said import Said


async def test_nobody_is_told_of_a_state_before_all_are_read_back(monkeypatch):
    """It may be over. What was delivered, but is whole only later, is delivered again."""

    async def read():
        await asyncio.sleep(0)
        return [Window(decision_of(0), 0, known=True)]

    reader = Mock(read=read, caught_up=AsyncMock(side_effect=[False, True]))
    opened = Mock(opened=lambda: nullcontext(reader))
    monkeypatch.setattr(notifier, "Reader", lambda *_: opened)
    setup = Mock(notify=Mock(targets=[], retry_for_ms=0), subscription=setup_of().subscription)
    process, sender = notifier._Notifier(setup, Said().log), Mock(delivered=0, run=AsyncMock())
    process._senders = [sender]
    await process.run(from_beginning=False)
    names = [name for name, *_ in sender.mock_calls]
    assert names[:4] == ["remember", "remember", "run", "put"]
