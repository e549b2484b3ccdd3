"""The page over HTTP: read-only, without cookies, scripts of others or anything from elsewhere.

``/`` is the page as it is, whole without any script; ``/view`` is the part of it that changes, for
the script; ``/healthz`` and ``/readyz`` are for probes and never ask for the token. What a reader
costs is bounded: one page is kept for all of them, whoever has it already gets nothing, and a
reader who does not read is left.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from aiohttp import web

from stream import decisions
from stream.metrics.pages import address_text, only, probes, running, with_token

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from importlib.resources.abc import Traversable

    from stream.model.boards import Board

__all__ = ["Screen", "serving"]

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
}


class Screen:
    """What is shown now, one for all readers, and what they are answered; for any thread."""

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
        # Another view has another mark, also of another process.
        self._shown = view, page, lacks, str(time.time_ns())

    def page(self, _request: web.BaseRequest) -> web.Response:
        """Answer with the page as it is."""
        return web.Response(text=self._shown[1], content_type="text/html")

    def view(self, request: web.BaseRequest) -> web.Response:
        """Answer with the part that changes; with nothing where the reader has it already."""
        view, _, _, mark = self._shown
        headers = {"Tocsin-View": mark}
        if request.query.get("shown") == mark:
            return web.Response(status=204, headers=headers)
        return web.Response(text=view, content_type="text/html", headers=headers)

    def file(self, request: web.BaseRequest) -> web.Response:
        """Answer with what the page loads or links to."""
        name = request.path.removeprefix("/")
        return web.Response(body=self._files[name], content_type=_FILES[name][1], charset="utf-8")

    def lacks(self) -> tuple[str, ...]:
        """Return what is missing until the page is what was published."""
        return self._shown[2]


@contextmanager
def serving(screen: Screen, board: Board) -> Iterator[str]:
    """Serve a screen until the context ends, and return the address of its page.

    Args:
        screen: what is shown.
        board: where, and with which token.

    Raises:
        ConfigError: the address cannot be listened on.
    """
    pages = {"/": screen.page, "/view": screen.view}
    answer = only(pages | {f"/{name}": screen.file for name in _FILES})
    if board.token:
        answer = with_token(answer, board.token, 'Basic realm="Tocsin board", charset="UTF-8"')
    answer = only(probes(screen.lacks), answer)

    def guarded(request: web.BaseRequest) -> web.Response:
        said = answer(request)
        said.headers.update(_HEADERS)
        return said

    with running(guarded, board.listen, "board.listen") as at:
        yield f"http://{address_text(*at)}/"
