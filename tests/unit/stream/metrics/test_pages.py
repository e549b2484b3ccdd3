"""Connections that say nothing, or little by little: bounded, and in nobody's way."""

from __future__ import annotations

import asyncio
import socket
import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING
from urllib.request import urlopen

from stream.kafka.board.server import Screen, serving
from stream.metrics import pages
from stream.metrics.server import serve
from stream.model.boards import Board
from tests.support.measured import addresses, fresh_metrics
from tests.support.waiting import PATIENCE_S, wait_until

if TYPE_CHECKING:
    import pytest


def status(address: tuple[str, int]) -> int:
    """Return the status of a probe."""
    with urlopen(f"http://{address[0]}:{address[1]}/healthz", timeout=PATIENCE_S) as answer:
        code: int = answer.status
        return code


def held(address: tuple[str, int], many: int, stack: ExitStack) -> list[socket.socket]:
    """Open connections that say the beginning of a request and no more."""
    found = []
    for _ in range(many):
        one = stack.enter_context(socket.create_connection(address, PATIENCE_S))
        one.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n")
        found.append(one)
    return found


def ended(one: socket.socket) -> bool:
    """Tell whether the server has ended a connection."""
    one.settimeout(0.2)
    try:
        return not one.recv(1)
    except TimeoutError:
        return False
    except ConnectionError:
        return True


def test_a_thousand_silent_connections_cost_no_thread_and_no_probe() -> None:
    """The oldest of them make room, as many stay as are allowed, and every probe is answered."""
    with serve(fresh_metrics(), addresses()) as at, ExitStack() as stack:
        before = threading.active_count()
        silent = held(at.public, 700, stack)
        assert [status(at.public) for _ in range(5)] == [200] * 5
        assert threading.active_count() == before
        wait_until("the first one is shut out", lambda: ended(silent[0]))
        assert not ended(silent[-1])


def test_nobody_takes_for_ever_to_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    """A byte now and then is no question; who has asked is answered all the same."""
    monkeypatch.setattr(pages, "_LIFETIME_S", 0.5)
    with serve(fresh_metrics(), addresses()) as at, ExitStack() as stack:
        (slow,) = held(at.public, 1, stack)

        def drips() -> bool:
            try:
                slow.sendall(b"x")
            except ConnectionError:
                return True
            return ended(slow)

        wait_until("it is shut out", drips)
        assert status(at.public) == 200


def test_the_board_lets_nobody_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same doors: who asks nothing is shut out, and readers are answered."""
    monkeypatch.setattr(pages, "_LIFETIME_S", 0.5)

    async def work() -> None:
        with serving(Screen(), Board(("127.0.0.1", 0), "")) as address:
            port = int(address.rstrip("/").rpartition(":")[2])
            silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(900)]
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET /view HTTP/1.1\r\nHost: x\r\n\r\n")
            assert b"200 OK" in await reader.readline()
            for each, _ in silent:
                assert await each.read() == b""
            for each in (writer, *(one for _, one in silent)):
                each.close()

    asyncio.run(asyncio.wait_for(work(), PATIENCE_S))
