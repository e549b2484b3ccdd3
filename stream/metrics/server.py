"""Metrics over HTTP: one server for anybody, one for the custodian.

Each answers ``/metrics``; the public one also ``/healthz`` and ``/readyz``, for probes; nothing
else. The custodian's asks for a bearer token where one is configured, and does not start beyond
loopback without one.
"""

from __future__ import annotations

import hmac
import logging
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from socket import SOCK_STREAM, getaddrinfo
from socketserver import TCPServer, ThreadingMixIn
from threading import Thread
from typing import TYPE_CHECKING, Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from prometheus_client import make_wsgi_app

from accountant.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

    from prometheus_client import CollectorRegistry

    from stream.metrics.readiness import Readiness
    from stream.metrics.registries import Metrics
    from stream.model.alarms import Settings

__all__ = ["MetricsAddresses", "serve"]

_log = logging.getLogger(__name__)

_IDLE_CLIENT_S = 10
_SHUTDOWN_POLL_S = 0.1


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
    """Serve both registries until the context ends, each from threads of its own.

    Args:
        metrics: both registries, and readiness.
        settings: addresses and token.

    Raises:
        ConfigError: an address cannot be listened on, or the custodian's lies beyond loopback and
            there is no token.
    """
    host, port = settings.custodian_address
    if not settings.custodian_token and not _is_loopback(host):
        raise ConfigError(
            f"the custodian's metrics may not listen on {host}:{port} without a bearer token",
            hint="set metrics.custodian_token, or metrics.custodian to 127.0.0.1:9465",
        )
    custodian_app = _only({"/metrics": _page(metrics.custodian)})
    if settings.custodian_token:
        custodian_app = _with_token(custodian_app, settings.custodian_token)
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
                _running(public_app, settings.public_address, "metrics.public")
            ),
            custodian=stack.enter_context(
                _running(custodian_app, settings.custodian_address, "metrics.custodian")
            ),
        )


class _Server(ThreadingMixIn, WSGIServer):
    """A thread per request, none of which keeps the process alive."""

    daemon_threads = True
    allow_reuse_port = False  # a second worker must be told that the port is taken

    def __init__(self, address: tuple[str, int], family: int) -> None:
        self.address_family = family
        super().__init__(address, _Handler)

    def server_bind(self) -> None:
        """Bind without the reverse name look-up of the base class, which may take seconds."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]  # type: ignore[assignment]  # bytes for Unix sockets only
        self.setup_environ()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002  signature of the base class
        """Note that a client went away, without its traceback."""
        _log.debug("a metrics client went away", exc_info=True)


class _Handler(WSGIRequestHandler):
    """Drops clients that say nothing, and does not log requests."""

    timeout = _IDLE_CLIENT_S

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  name in the base class
        """Stay silent: a scrape every few seconds is not news."""


@contextmanager
def _running(
    app: WSGIApplication, address: tuple[str, int], setting: str
) -> Iterator[tuple[str, int]]:
    server = _listen(address, setting)
    server.set_app(app)
    thread = Thread(
        target=server.serve_forever, args=(_SHUTDOWN_POLL_S,), name=setting, daemon=True
    )
    thread.start()
    try:
        yield server.server_name, server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _listen(address: tuple[str, int], setting: str) -> _Server:
    host, port = address
    try:
        family, _, _, _, resolved = getaddrinfo(host, port, type=SOCK_STREAM)[0]
        return _Server((str(resolved[0]), port), family)
    except (OSError, OverflowError) as error:
        shown = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        reason = getattr(error, "strerror", None) or "not an address"
        raise ConfigError(
            f"{setting} cannot listen on {shown}: {reason}",
            hint=f"stop what listens there, or set {setting} to another host:port",
        ) from error


def _page(registry: CollectorRegistry) -> WSGIApplication:
    """Return a registry's text, the same whatever the query string asks for."""
    app = make_wsgi_app(registry, disable_compression=True)

    def answer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        said: Iterable[bytes] = app({**environ, "QUERY_STRING": ""}, start_response)
        return said

    return answer


def _healthy(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Say that the process lives: that this is answered says it all."""
    del environ
    return _say(start_response, "200 OK", "alive")


def _ready(readiness: Readiness) -> WSGIApplication:
    """Say whether the worker can do its work, and else which checks fail."""

    def answer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        del environ
        failing = readiness.failing()
        if failing:
            said = "not ready: " + ", ".join(failing)
            return _say(start_response, "503 Service Unavailable", said)
        return _say(start_response, "200 OK", "ready")

    return answer


def _only(pages: Mapping[str, WSGIApplication]) -> WSGIApplication:
    """Answer these paths and no other."""

    def answer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        page = pages.get(environ.get("PATH_INFO", ""))
        if page is None:
            return _say(start_response, "404 Not Found")
        return page(environ, start_response)

    return answer


def _with_token(app: WSGIApplication, token: str) -> WSGIApplication:
    """Ask for the bearer token before anything else is said."""
    expected = f"Bearer {token}".encode()

    def answer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        # WSGI hands headers over as Latin-1 text; comparing bytes takes the same time wherever
        # they differ.
        given = environ.get("HTTP_AUTHORIZATION", "").encode("latin-1", "replace")
        if not hmac.compare_digest(given, expected):
            asked = ("WWW-Authenticate", "Bearer")
            return _say(start_response, "401 Unauthorized", None, asked)
        return app(environ, start_response)

    return answer


def _say(
    start_response: StartResponse, status: str, text: str | None = None, *headers: tuple[str, str]
) -> Iterable[bytes]:
    """Answer with one line: the status itself unless there is something to say."""
    body = f"{text or status}\n".encode()
    start_response(
        status,
        [("Content-Type", "text/plain"), ("Content-Length", str(len(body))), *headers],
    )
    return [body]


def _is_loopback(host: str) -> bool:
    """Say whether only this machine reaches ``host``; a name other than localhost never counts."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
