"""The page over HTTP: read-only, without cookies, scripts of others or anything from elsewhere.

``/`` is the page as it is, whole without any script; ``/view`` is the part of it that changes, for
the script; ``/healthz`` and ``/readyz`` are for probes and never ask for the token. What a reader
costs is bounded: one page is kept for all of them, whoever has it already gets nothing, and a
reader who does not read is left.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
import time
from contextlib import asynccontextmanager, suppress
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from aiohttp import hdrs, web

from stream import decisions
from stream.metrics.doors import Doors, address_text, cannot_listen

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from importlib.resources.abc import Traversable

    from aiohttp.typedefs import Handler, Middleware

    from stream.model.boards import Board

__all__ = ["Screen", "serving"]

_PATIENCE_S: Final = 30.0  # of a reader that does not take what it is sent
_STATIC: Final = files(__package__) / "static"
_SCHEMAS: Final = files(decisions) / "schemas"
_FILES: Final[Mapping[str, tuple[Traversable, str]]] = {
    "board.css": (_STATIC, "text/css"),
    "board.js": (_STATIC, "text/javascript"),
    "icon.svg": (_STATIC, "image/svg+xml"),
    "alarm.schema.json": (_SCHEMAS, "application/schema+json"),
    "count.schema.json": (_SCHEMAS, "application/schema+json"),
    "decision.schema.json": (_SCHEMAS, "application/schema+json"),
}
"""What the page loads and links to: where it lies, and its type."""
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
    """What is shown now, one for all readers, and what they are answered."""

    def __init__(self) -> None:
        self._files = {name: (folder / name).read_bytes() for name, (folder, _) in _FILES.items()}
        self.show("", "", ("reading",))

    def show(self, view: str, page: str, lacks: tuple[str, ...]) -> None:
        """Show a page to everybody.

        Args:
            view: the part of the page that changes, as HTML.
            page: the whole of it.
            lacks: what is missing until the page can be relied on.
        """
        self._view, self._page, self._lacks = view, page, lacks
        # Another view has another mark, also of another process.
        self._mark = str(time.time_ns())

    async def page(self, _request: web.Request) -> web.Response:
        """Answer with the page as it is."""
        return web.Response(text=self._page, content_type="text/html")

    async def view(self, request: web.Request) -> web.Response:
        """Answer with the part that changes; with nothing where the reader has it already."""
        headers = {"Tocsin-View": self._mark}
        if request.query.get("shown") == self._mark:
            return web.Response(status=204, headers=headers)
        return web.Response(text=self._view, content_type="text/html", headers=headers)

    async def file(self, request: web.Request) -> web.Response:
        """Answer with what the page loads or links to."""
        name = request.path.removeprefix("/")
        return web.Response(body=self._files[name], content_type=_FILES[name][1], charset="utf-8")

    async def healthy(self, _request: web.Request) -> web.Response:
        """Say that the process lives."""
        return web.Response(text="alive\n")

    async def ready(self, _request: web.Request) -> web.Response:
        """Say whether the page is what was published, and else what is missing."""
        if self._lacks:
            return web.Response(status=503, text=f"not ready: {', '.join(self._lacks)}\n")
        return web.Response(text="ready\n")


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
        _app(screen, board.token),
        access_log=None,
        shutdown_timeout=1.0,  # readers come back by themselves
        lingering_time=1.0,
    )
    await runner.setup()
    inner, server = runner.server, None
    assert inner is not None  # noqa: S101  # for the type checker: it is set up
    try:
        try:
            doors = Doors(inner, lifetime_s=_PATIENCE_S)
            server = await asyncio.get_running_loop().create_server(doors, host, port)
        except (OSError, OverflowError) as error:
            raise cannot_listen("board.listen", board.listen, error) from error
        taken = server.sockets[0].getsockname()[1]
        yield f"http://{address_text(host, taken)}/"
    finally:
        if server is not None:
            server.close()
        await runner.cleanup()


def _app(screen: Screen, token: str) -> web.Application:
    app = web.Application(middlewares=[_with_token(token)] if token else [])
    app.on_response_prepare.append(_guard)
    answers = {"": screen.page, "view": screen.view}
    probes = {"healthz": screen.healthy, "readyz": screen.ready}
    for name, answer in {**answers, **probes, **dict.fromkeys(_FILES, screen.file)}.items():
        app.router.add_get(f"/{name}", answer)
    return app


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
