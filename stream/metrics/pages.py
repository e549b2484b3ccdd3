"""Pages over HTTP, for metrics and for the board: what may be asked, by whom, and by how many.

A server of pages has a thread of its own; one loop in it serves all connections, so that none of
them costs a thread. Every connection asks once. There are so many at once, and none lasts for long.
Where there is no room, whoever has waited longest without asking anything makes room for the next:
probes get in whatever others do.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
import time
from contextlib import contextmanager, suppress
from errno import EADDRNOTAVAIL
from socket import AF_INET6, SOCK_STREAM, create_server, getaddrinfo
from threading import Thread
from typing import TYPE_CHECKING, Final, TypeAlias

from aiohttp import hdrs, web

from accountant.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from socket import socket

    Answer: TypeAlias = Callable[[web.BaseRequest], web.Response]

__all__ = ["Answer", "address_text", "only", "probes", "running", "say", "with_token"]

_MOST: Final = 512
_LIFETIME_S: Final = 30.0
_EVERY_S: Final = 0.1
"""Answers leave ten times a second: how long one took tells little of what else was done."""


def say(status: int, text: str) -> web.Response:
    """Return an answer of one line."""
    return web.Response(status=status, text=f"{text}\n")


def only(
    pages: Mapping[str, Answer], other: Answer = lambda _: say(404, "404 Not Found")
) -> Answer:
    """Return what answers these paths, whatever the query string is, and nothing but reading.

    Args:
        pages: by path.
        other: answers any other path.
    """

    def answer(request: web.BaseRequest) -> web.Response:
        if request.path not in pages:
            return other(request)
        if request.method not in {hdrs.METH_GET, hdrs.METH_HEAD}:
            return say(405, "405 Method Not Allowed")
        return pages[request.path](request)

    return answer


def probes(failing: Callable[[], Sequence[str]]) -> dict[str, Answer]:
    """Return the pages of probes: that the process lives, and whether it can do its work.

    Args:
        failing: returns which checks fail.
    """

    def ready(_request: web.BaseRequest) -> web.Response:
        found = failing()
        return say(503, f"not ready: {', '.join(found)}") if found else say(200, "ready")

    return {"/healthz": lambda _: say(200, "alive"), "/readyz": ready}


def with_token(answer: Answer, token: str, scheme: str) -> Answer:
    """Ask for a token before anything else is said: a bearer's, or as the password of any user.

    Args:
        answer: of whoever has it.
        token: that is asked for.
        scheme: that others are asked to use.
    """
    expected = token.encode()

    def asked(request: web.BaseRequest) -> web.Response:
        # Comparing bytes takes the same time wherever they differ.
        if hmac.compare_digest(_given(request.headers.get(hdrs.AUTHORIZATION, "")), expected):
            return answer(request)
        refused = say(401, "401 Unauthorized")
        refused.headers[hdrs.WWW_AUTHENTICATE] = scheme
        return refused

    return asked


def _given(header: str) -> bytes:
    scheme, _, rest = header.partition(" ")
    if scheme == "Bearer":
        return rest.encode("utf-8", "surrogateescape")
    if scheme == "Basic":
        with suppress(binascii.Error, ValueError):
            return base64.b64decode(rest, validate=True).partition(b":")[2]
    return b""


@contextmanager
def running(answer: Answer, address: tuple[str, int], setting: str) -> Iterator[tuple[str, int]]:
    """Serve until the context ends, and yield where: another port where 0 is asked for.

    Args:
        answer: of every request.
        address: host and port to listen on.
        setting: that has it, for errors.

    Raises:
        ConfigError: the address cannot be listened on.
    """
    listening = _listening(address, setting)
    loop, ended = asyncio.new_event_loop(), asyncio.Event()
    thread = Thread(
        target=lambda: loop.run_until_complete(_serve(answer, listening, ended)),
        name=setting,
        daemon=True,
    )
    thread.start()
    try:
        yield listening.getsockname()[:2]
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join()
        loop.close()


async def _serve(answer: Answer, listening: socket, ended: asyncio.Event) -> None:
    """Answer until told that it is over."""
    server = _Server(answer)
    accepting = await asyncio.get_running_loop().create_server(server, sock=listening)
    await ended.wait()
    accepting.close()
    await server.shutdown(1.0)


class _Server(web.Server):
    """Makes the protocol of each connection, and ends those that are too many or last too long."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(self._answered, access_log=None, lingering_time=1.0)
        self._answer = answer
        self._limits: dict[web.RequestHandler, asyncio.TimerHandle] = {}
        self._waiting: dict[web.RequestHandler, asyncio.Transport] = {}

    def __call__(self) -> web.RequestHandler:
        """Return the protocol of a new connection."""
        return _Protocol(self, loop=self._loop, **self._kwargs)

    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        """Let one in, for a while, at the price of the one that has waited longest."""
        super().connection_made(handler, transport)
        self._waiting[handler] = transport
        self._limits[handler] = self._loop.call_later(_LIFETIME_S, transport.abort)
        if len(self._limits) > _MOST:
            self._waiting.pop(next(iter(self._waiting))).abort()

    def connection_lost(
        self, handler: web.RequestHandler, exc: BaseException | None = None
    ) -> None:
        """Let one out."""
        super().connection_lost(handler, exc)
        self._waiting.pop(handler, None)
        self._limits.pop(handler).cancel()

    async def _answered(self, request: web.BaseRequest) -> web.Response:
        self._waiting.pop(request.protocol, None)
        said = self._answer(request)
        said.force_close()
        return said


class _Protocol(web.RequestHandler):
    """Sends an answer when it is time, also one that aiohttp gives by itself: an error."""

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        """Wait, then send."""
        await asyncio.sleep(_EVERY_S - time.monotonic() % _EVERY_S)
        return await super().finish_response(request, resp, start_time)


def _listening(address: tuple[str, int], setting: str) -> socket:
    """Listen on the address, or on the first of a name that is this machine's.

    One name may stand for all workers of a network.
    """
    host, port = address
    missed: Exception = OSError()
    try:
        for each, *_, place in getaddrinfo(host, port, type=SOCK_STREAM):
            try:
                return create_server(
                    (str(place[0]), port), family=each, dualstack_ipv6=each == AF_INET6
                )
            except OSError as error:
                missed = error
                if error.errno != EADDRNOTAVAIL:
                    break
    except (OSError, OverflowError) as error:
        missed = error
    reason = (getattr(missed, "strerror", None) or "not an address").partition(" (")[0]
    raise ConfigError(
        f"{setting} cannot listen on {address_text(host, port)}: {reason}",
        hint=f"stop what listens there, or write another host:port in {setting}",
    ) from missed


def address_text(host: str, port: int) -> str:
    """Return an address as it is written."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
