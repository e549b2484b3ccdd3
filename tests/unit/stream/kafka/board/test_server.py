"""The page over HTTP: read-only, guarded, and no reader costs more than a page."""

from __future__ import annotations

import asyncio
import base64
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest

from accountant.errors import ConfigError
from stream.kafka.board.server import Screen, serving
from stream.metrics import pages
from stream.model.boards import Board
from tests.support.tree import ROOT

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

TOKEN = "a token of many b\u00fctes"  # noqa: S105  # of a server that lives for one test
ALWAYS = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Server": "tocsin"}


@asynccontextmanager
async def served(token: str = "") -> AsyncIterator[tuple[Screen, aiohttp.ClientSession]]:
    """Serve a screen on a free port; paths are asked for through the session."""
    screen = Screen()
    with serving(screen, Board(("127.0.0.1", 0), token)) as address:
        async with aiohttp.ClientSession(address) as session:
            yield screen, session


async def told(session: aiohttp.ClientSession, path: str, **more: Any) -> tuple[int, str]:
    """Return status and text of an answer."""
    async with session.get(path, **more) as answer:
        return answer.status, await answer.text()


async def test_every_answer_forbids_what_the_page_does_not_need() -> None:
    """The page, what it loads, probes and refusals: the same headers."""
    async with served() as (screen, session):
        screen.show("view", "page", ())
        files = ("board.css", "board.js", "icon.svg", "alarm.schema.json")
        for path in ("/", "/view", "/readyz", "/x", *(f"/{name}" for name in files)):
            async with session.get(path) as answer:
                policy = answer.headers["Content-Security-Policy"]
                assert policy.startswith("default-src 'none'; script-src 'self';"), path
                assert "unsafe" not in policy
                assert ALWAYS.items() <= answer.headers.items()
                assert "Set-Cookie" not in answer.headers
                answer.close()


async def test_nothing_can_be_written() -> None:
    """GET and HEAD are all there is, of a few paths."""
    async with served() as (_, session):
        for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
            async with session.request(method, "/", data=b"x" * 100) as answer:
                assert answer.status == 405
        for path in ("/static/../board.py", "/board.py", "/metrics", "/%2e%2e/board.py"):
            assert (await told(session, path))[0] == 404


async def test_the_schemas_of_the_public_records_are_served() -> None:
    """As they are published in the repository; that of a notice, which is on no topic, is not."""
    async with served() as (_, session):
        for name in ("alarm", "decision", "count"):
            path = ROOT / f"stream/decisions/schemas/{name}.schema.json"
            assert await told(session, f"/{name}.schema.json") == (200, path.read_text("utf-8"))
        assert (await told(session, "/notice.schema.json"))[0] == 404


async def test_readiness_says_what_is_missing() -> None:
    """Alive at once; ready once the past was read, and while Kafka answers."""
    async with served() as (screen, session):
        assert await told(session, "/healthz") == (200, "alive\n")
        assert await told(session, "/readyz") == (503, "not ready: reading\n")
        screen.show("view", "page", ("kafka",))
        assert await told(session, "/readyz") == (503, "not ready: kafka\n")
        screen.show("view", "page", ())
        assert await told(session, "/readyz") == (200, "ready\n")
        assert await told(session, "/") == (200, "page")


async def test_a_reader_gets_what_it_does_not_have() -> None:
    """The newest view, and nothing until there is another; one of another process is another."""
    async with served() as (screen, session):
        screen.show("view", "page", ())
        async with session.get("/view?shown=0") as answer:
            mark = answer.headers["Tocsin-View"]
            assert (answer.status, await answer.text()) == (200, "view")
        assert await told(session, f"/view?shown={mark}") == (204, "")
        screen.show("next", "page", ())
        assert await told(session, f"/view?shown={mark}") == (200, "next")


def basic(user: str, password: str) -> str:
    """Return what a browser sends."""
    return f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ("", 401),
        (basic("anybody", TOKEN), 200),
        (basic(TOKEN, ""), 401),
        (basic("anybody", TOKEN[:-1]), 401),
        (f"Bearer {TOKEN}", 200),
        ("Bearer ", 401),
        ("Basic %%%", 401),
        ("Basic dG9rZW4=", 401),
    ],
)
async def test_a_token_is_asked_for_everywhere_but_by_probes(given: str, status: int) -> None:
    """As the password of any user, which browsers ask for, or as a bearer's."""
    async with served(TOKEN) as (_, session):
        for path in ("/", "/view", "/board.js", "/x"):
            headers = {"Authorization": given} if given else {}
            async with session.get(path, headers=headers) as answer:
                assert answer.status == (404 if (path, status) == ("/x", 200) else status)
                if status == 401:
                    assert answer.headers["WWW-Authenticate"].startswith("Basic ")
                answer.close()
        assert (await told(session, "/healthz"))[0] == 200
        assert (await told(session, "/readyz"))[0] == 503


async def test_a_reader_that_does_not_read_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its connection ends, whatever is left to send."""
    monkeypatch.setattr(pages, "_LIFETIME_S", 0.2)
    async with served() as (screen, session):
        screen.show("x" * 40_000_000, "page", ())
        reader, deaf = await asyncio.open_connection(*_place(session))
        deaf.write(b"GET /view HTTP/1.1\r\nHost: board\r\n\r\n")
        await asyncio.sleep(1)
        with suppress(ConnectionError):
            assert len(await reader.read()) < 40_000_000
        deaf.close()


def _place(session: aiohttp.ClientSession) -> tuple[str, int]:
    base = session._base_url
    assert base is not None
    return str(base.host), int(base.port or 0)


async def test_a_port_that_is_taken_is_bad_input() -> None:
    """With what to write instead."""
    async with served() as (screen, session):
        with (
            pytest.raises(ConfigError, match=r"board\.listen cannot listen on"),
            serving(screen, Board(_place(session))),
        ):
            raise AssertionError
