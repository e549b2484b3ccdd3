"""The buffer between two tasks: waited for when it is empty, and when it is full."""

from __future__ import annotations

import asyncio
import io
from typing import TYPE_CHECKING

from stream.kafka.mqtt import store as stores
from stream.kafka.mqtt.buffer import HEAD_BYTES, Buffer
from stream.kafka.mqtt.store import Store, packed, unpacked
from stream.logs.lines import Line, Log

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

TEN = bytes(10)


def test_a_key_and_a_value_are_one_and_two_again() -> None:
    """Whatever bytes they have."""
    for key, value in ((b"", b""), (b"k", b""), (b"\0key", b"\xffvalue")):
        assert unpacked(packed(key, value)) == (key, value)


async def test_who_reads_waits_for_records_and_who_writes_for_room(tmp_path: Path) -> None:
    """A full buffer says so, once, and takes again when all of it was delivered."""
    said = io.StringIO()
    with Buffer(tmp_path / "buffer", 20 + HEAD_BYTES + 10) as buffer:
        store = Store(buffer, Log(said))
        reader = asyncio.create_task(store.next(10))
        await asyncio.sleep(0)
        assert not reader.done()
        await store.append([TEN])
        assert await reader == [TEN]
        assert not store.fits([TEN])
        writer = asyncio.create_task(store.room(TEN))
        await asyncio.sleep(0)
        assert not writer.done()
        await store.delivered([TEN])
        await writer
        await store.append([TEN])
        assert await store.next(10) == [TEN]
    assert said.getvalue().count(Line.FULL) == 1


async def test_a_full_disk_is_waited_for_and_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who reads goes on meanwhile."""
    said = io.StringIO()
    monkeypatch.setattr(stores, "_AGAIN_S", 0.01)
    with Buffer(tmp_path / "buffer", 1_000) as buffer:
        store = Store(buffer, Log(said))
        await store.append([TEN])
        with monkeypatch.context() as patched:
            patched.setattr(buffer, "append", lambda _bodies: False)
            writer = asyncio.create_task(store.append([b"next"]))
            while not store.full:  # noqa: ASYNC110  # it sets no event
                await asyncio.sleep(0.01)
            assert await store.next(10) == [TEN]
            await store.delivered([TEN])
        await writer
        assert not store.full
        assert await store.next(10) == [b"next"]
    assert said.getvalue().count(Line.FULL) == 1
