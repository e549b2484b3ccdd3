"""The page over HTTP: read-only, without cookies, scripts of others or anything from elsewhere.

``/`` is the page as it is, whole without any script; ``/events`` sends what is in it again whenever
it changes, as server-sent events; ``/healthz`` and ``/readyz`` are for probes and never ask for the
token. What a reader costs is bounded: one page is kept for all of them, a reader who does not read
is left, and there are so many at most.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
from contextlib import asynccontextmanager, suppress
from importlib.resources import files
from typing import TYPE_CHECKING, Final

import msgspec
from aiohttp import hdrs, web

from stream.metrics.doors import Doors, address_text, cannot_listen

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from aiohttp.typedefs import Handler, Middleware

    from stream.model.boards import Board

__all__ = ["Screen", "serving"]

_BEAT_S: Final = 15.0  # three that are missing tell the page that it is not connected
_PATIENCE_S: Final = 30.0  # of a reader that does not take what it is sent
_MOST_READERS: Final = 200
_AGAIN_MS: Final = 2_000
_FILES: Final[Mapping[str, str]] = {
    "board.css": "text/css",
    "board.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}
_PROBES: Final = frozenset({"/healthz", "/readyz"})
_HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
    "Server": "tocsin",
    "Connection": "close",
}


class Screen:
    """What is shown now, one for all readers, and how they wait for the next."""

    def __init__(self) -> None:
        self.view = ""
        """The part of the page that changes, as HTML."""
        self.page = ""
        """The whole of it."""
        self.lacks: tuple[str, ...] = ("reading",)
        """What is missing until the page can be relied on."""
        self.number = 0
        """Rises whenever the view changes."""
        self._news = asyncio.Event()

    def show(self, view: str, page: str, lacks: tuple[str, ...]) -> None:
        """Show a page to everybody."""
        self.view, self.page, self.lacks = view, page, lacks
        self.number += 1
        self._news.set()
        self._news = asyncio.Event()

    async def after(self, number: int) -> None:
        """Return once there is another view than the one of a number."""
        while self.number == number:
            await self._news.wait()


@asynccontextmanager
async def serving(screen: Screen, board: Board) -> AsyncIterator[str]:
    """Serve a screen until the context ends, and return the address of its page.

    Args:
        screen: what is shown.
        board: where, and with which token.

    Raises:
        ConfigError: the address cannot be listened on.
    """
    host, port = board.listen
    runner = web.AppRunner(
        _app(_Site(screen), board.token),
        access_log=None,
        handler_cancellation=True,  # a reader who leaves ends what waits for it
        shutdown_timeout=1.0,  # readers come back by themselves
        lingering_time=1.0,
    )
    await runner.setup()
    inner, server = runner.server, None
    assert inner is not None  # noqa: S101  # for the type checker: it is set up
    try:
        try:
            server = await asyncio.get_running_loop().create_server(Doors(inner), host, port)
        except (OSError, OverflowError) as error:
            raise cannot_listen("board.listen", board.listen, error) from error
        taken = server.sockets[0].getsockname()[1]
        yield f"http://{address_text(host, taken)}/"
    finally:
        if server is not None:
            server.close()
        await runner.cleanup()


def _app(site: _Site, token: str) -> web.Application:
    app = web.Application(middlewares=[_with_token(token)] if token else [])
    app.on_response_prepare.append(_guard)
    app.router.add_get("/", site.page)
    app.router.add_get("/events", site.events, allow_head=False)
    app.router.add_get("/healthz", site.healthy)
    app.router.add_get("/readyz", site.ready)
    for name in _FILES:
        app.router.add_get(f"/{name}", site.file)
    return app


class _Site:
    """The answers."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._readers = 0
        folder = files("stream.kafka.board") / "static"
        self._files = {name: (folder / name).read_bytes() for name in _FILES}

    async def page(self, _request: web.Request) -> web.Response:
        """Answer with the page as it is."""
        return web.Response(text=self._screen.page, content_type="text/html")

    async def file(self, request: web.Request) -> web.Response:
        """Answer with what the page loads."""
        name = request.path.removeprefix("/")
        return web.Response(body=self._files[name], content_type=_FILES[name], charset="utf-8")

    async def healthy(self, _request: web.Request) -> web.Response:
        """Say that the process lives."""
        return web.Response(text="alive\n")

    async def ready(self, _request: web.Request) -> web.Response:
        """Say whether the page is what was published, and else what is missing."""
        lacks = self._screen.lacks
        if lacks:
            return web.Response(status=503, text=f"not ready: {', '.join(lacks)}\n")
        return web.Response(text="ready\n")

    async def events(self, request: web.Request) -> web.StreamResponse:
        """Send the view now and whenever it changes, and a beat between."""
        if self._readers >= _MOST_READERS:
            return web.Response(status=503, text="too many readers\n")
        self._readers += 1
        try:
            response = web.StreamResponse(headers={hdrs.CONTENT_TYPE: "text/event-stream"})
            await response.prepare(request)
            with suppress(ConnectionError, TimeoutError):
                await self._send(response)
            return response
        finally:
            self._readers -= 1

    async def _send(self, response: web.StreamResponse) -> None:
        screen, shown = self._screen, -1
        await response.write(f"retry: {_AGAIN_MS}\n\n".encode())
        while True:
            said = b"event: beat\ndata:\n\n"
            if screen.number != shown:
                shown = screen.number
                said = b"event: view\ndata: " + msgspec.json.encode(screen.view) + b"\n\n"
            async with asyncio.timeout(_PATIENCE_S):
                await response.write(said)
            with suppress(TimeoutError):
                async with asyncio.timeout(_BEAT_S):
                    await screen.after(shown)


async def _guard(_request: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(_HEADERS)
    response.force_close()


def _with_token(token: str) -> Middleware:
    """Ask for the token, as the password of any user, or as a bearer's."""
    expected = token.encode()

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        given = _given(request.headers.get(hdrs.AUTHORIZATION, ""))
        if request.path not in _PROBES and not hmac.compare_digest(given, expected):
            asked = 'Basic realm="Tocsin board", charset="UTF-8"'
            return web.Response(
                status=401, text="401 Unauthorized\n", headers={hdrs.WWW_AUTHENTICATE: asked}
            )
        return await handler(request)

    return check


def _given(header: str) -> bytes:
    scheme, _, rest = header.partition(" ")
    if scheme.lower() == "bearer":
        return rest.strip().encode("utf-8", "surrogateescape")
    if scheme.lower() == "basic":
        with suppress(binascii.Error, ValueError):
            return base64.b64decode(rest.strip(), validate=True).partition(b":")[2]
    return b""
