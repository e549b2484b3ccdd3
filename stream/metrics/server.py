"""Metrics over HTTP: one server for anybody, one for the custodian.

Each answers ``/metrics``; the public one also ``/healthz`` and ``/readyz``, for probes; nothing
else. The custodian's asks for a bearer token where one is configured, and does not start beyond
loopback without one.
"""

from __future__ import annotations

import asyncio
import hmac
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from errno import EADDRNOTAVAIL
from socket import SO_REUSEADDR, SOCK_STREAM, SOL_SOCKET, getaddrinfo, socket
from threading import Thread
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from aiohttp import hdrs, web
from prometheus_client.exposition import choose_encoder

from accountant.errors import ConfigError
from stream.metrics.doors import Doors, cannot_listen
from stream.model.addresses import is_loopback

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from prometheus_client import CollectorRegistry

    from stream.metrics.readiness import Readiness
    from stream.metrics.registries import Metrics
    from stream.model.alarms import Settings

    _Answer: TypeAlias = Callable[[web.BaseRequest], web.Response]

__all__ = ["MetricsAddresses", "serve", "serve_with_token"]

_LIFETIME_S: Final = 30.0
_EVERY_S: Final = 0.1
"""Public answers leave ten times a second: how long one took tells little of what else was done."""


@dataclass(frozen=True, slots=True)
class MetricsAddresses:
    """Where the servers listen; differs from the settings where those ask for port 0.

    Args:
        public: ``(host, port)``.
        custodian: ``(host, port)``.
    """

    public: tuple[str, int]
    custodian: tuple[str, int]


@contextmanager
def serve(metrics: Metrics, settings: Settings) -> Iterator[MetricsAddresses]:
    """Serve both registries until the context ends, each from a thread of its own.

    Args:
        metrics: both registries, and readiness.
        settings: addresses and token.

    Raises:
        ConfigError: an address cannot be listened on, or the custodian's lies beyond loopback and
            there is no token.
    """
    public_app = _only(
        {
            "/metrics": _page(metrics.public),
            "/healthz": _healthy,
            "/readyz": _ready(metrics.readiness),
        }
    )
    with ExitStack() as stack:
        yield MetricsAddresses(
            public=stack.enter_context(
                _running(public_app, settings.public_address, "metrics.public", every_s=_EVERY_S)
            ),
            custodian=stack.enter_context(
                serve_with_token(
                    metrics.custodian,
                    settings.custodian_address,
                    settings.custodian_token,
                    "metrics.custodian",
                )
            ),
        )


@contextmanager
def serve_with_token(
    registry: CollectorRegistry, address: tuple[str, int], token: str | None, setting: str
) -> Iterator[tuple[str, int]]:
    """Serve a page of exact counts until the context ends, from a thread of its own.

    Args:
        registry: what it shows.
        address: to listen on.
        token: that is asked for; ``None`` for nobody's, on loopback alone.
        setting: that has the address, for errors; ``_token`` behind it makes that of the token.

    Raises:
        ConfigError: the address cannot be listened on, or lies beyond loopback without a token.
    """
    host, port = address
    if not token and not is_loopback(host):
        raise ConfigError(
            f"exact counts may not be shown on {host}:{port} without a bearer token",
            hint=f"write {setting}_token, or {setting}: 127.0.0.1:{port}",
        )
    app = _only({"/metrics": _page(registry)})
    with _running(_with_token(app, token) if token else app, address, setting) as listening:
        yield listening


@contextmanager
def _running(
    answer: _Answer, address: tuple[str, int], setting: str, *, every_s: float = 0.0
) -> Iterator[tuple[str, int]]:
    """Serve until the context ends, from one thread of its own that nothing else is done in.

    Args:
        answer: of every request.
        address: to listen on.
        setting: that has it, for errors.
        every_s: answers leave at whole multiples of this time alone; 0 as they are ready.
    """
    listening = _listening(address, setting)
    loop = asyncio.new_event_loop()
    thread = Thread(
        target=lambda: loop.run_until_complete(_serve(answer, listening, every_s, ended)),
        name=setting,
        daemon=True,
    )
    ended = asyncio.Event()
    thread.start()
    try:
        yield listening.getsockname()[:2]
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join()
        loop.close()


async def _serve(answer: _Answer, listening: socket, every_s: float, ended: asyncio.Event) -> None:
    """Answer until told that it is over."""
    loop = asyncio.get_running_loop()

    async def answered(request: web.BaseRequest) -> web.StreamResponse:
        said = answer(request)
        said.force_close()
        if every_s:
            await asyncio.sleep(every_s - loop.time() % every_s)
        return said

    inner = web.Server(answered, access_log=None, lingering_time=1.0)
    runner = web.ServerRunner(inner)
    await runner.setup()
    server = await loop.create_server(Doors(inner, lifetime_s=_LIFETIME_S), sock=listening)
    await ended.wait()
    server.close()
    await runner.cleanup()


def _listening(address: tuple[str, int], setting: str) -> socket:
    host, port = address
    try:
        *others, last = getaddrinfo(host, port, type=SOCK_STREAM)
        for found in others:  # one name may stand for all workers of a network: one address is ours
            try:
                return _bound(found, port)
            except OSError as error:
                if error.errno != EADDRNOTAVAIL:
                    raise
        return _bound(last, port)
    except (OSError, OverflowError) as error:
        raise cannot_listen(setting, address, error) from error


def _bound(found: tuple[Any, ...], port: int) -> socket:
    family, kind, _, _, resolved = found
    listening = socket(family, kind)
    try:
        listening.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)
        listening.bind((str(resolved[0]), port))
        listening.listen()
    except BaseException:
        listening.close()
        raise
    return listening


def _page(registry: CollectorRegistry) -> _Answer:
    """Return a registry's text, the same whatever the query string asks for."""

    def answer(request: web.BaseRequest) -> web.Response:
        encode, kind = choose_encoder(request.headers.get(hdrs.ACCEPT, ""))
        return web.Response(body=encode(registry), headers={hdrs.CONTENT_TYPE: kind})

    return answer


def _healthy(_request: web.BaseRequest) -> web.Response:
    """Say that the process lives: that this is answered says it all."""
    return _say(200, "alive")


def _ready(readiness: Readiness) -> _Answer:
    """Say whether the worker can do its work, and else which checks fail."""

    def answer(_request: web.BaseRequest) -> web.Response:
        failing = readiness.failing()
        if failing:
            return _say(503, "not ready: " + ", ".join(failing))
        return _say(200, "ready")

    return answer


def _only(pages: Mapping[str, _Answer]) -> _Answer:
    """Answer these paths and no other."""

    def answer(request: web.BaseRequest) -> web.Response:
        page = pages.get(request.path)
        return _say(404, "404 Not Found") if page is None else page(request)

    return answer


def _with_token(answer: _Answer, token: str) -> _Answer:
    """Ask for the bearer token before anything else is said."""
    expected = f"Bearer {token}".encode()

    def asked(request: web.BaseRequest) -> web.Response:
        # Comparing bytes takes the same time wherever they differ.
        given = request.headers.get(hdrs.AUTHORIZATION, "").encode("utf-8", "surrogateescape")
        if not hmac.compare_digest(given, expected):
            refused = _say(401, "401 Unauthorized")
            refused.headers[hdrs.WWW_AUTHENTICATE] = "Bearer"
            return refused
        return answer(request)

    return asked


def _say(status: int, text: str) -> web.Response:
    """Answer with one line."""
    return web.Response(status=status, text=f"{text}\n")
