"""Metrics over HTTP: one server for anybody, one for the custodian.

Each answers ``/metrics``; the public one also ``/healthz`` and ``/readyz``, for probes; nothing
else. The custodian's asks for a bearer token where one is configured, and does not start beyond
loopback without one.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from aiohttp import hdrs, web
from prometheus_client.exposition import choose_encoder

from accountant.errors import ConfigError
from stream.metrics.pages import only, probes, running, with_token
from stream.model.addresses import is_loopback

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prometheus_client import CollectorRegistry

    from stream.metrics.pages import Answer
    from stream.metrics.registries import Metrics
    from stream.model.alarms import Settings

__all__ = ["MetricsAddresses", "serve", "serve_with_token"]


class MetricsAddresses(NamedTuple):
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
    public = only({"/metrics": _page(metrics.public), **probes(metrics.readiness.failing)})
    with (
        running(public, settings.public_address, "metrics.public") as at,
        serve_with_token(
            metrics.custodian,
            settings.custodian_address,
            settings.custodian_token,
            "metrics.custodian",
        ) as custodian_at,
    ):
        yield MetricsAddresses(at, custodian_at)


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
    answer = only({"/metrics": _page(registry)})
    answer = with_token(answer, token, "Bearer") if token else answer
    with running(answer, address, setting) as listening:
        yield listening


def _page(registry: CollectorRegistry) -> Answer:
    """Return a registry's text, the same whatever the query string asks for."""

    def answer(request: web.BaseRequest) -> web.Response:
        try:
            encode, kind = choose_encoder(request.headers.get(hdrs.ACCEPT, ""))
        except TypeError:  # a version of which a part is no number
            encode, kind = choose_encoder("")
        return web.Response(body=encode(registry), headers={hdrs.CONTENT_TYPE: kind})

    return answer
