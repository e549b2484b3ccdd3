"""The two servers of metrics: who may read what, and how they start and stop."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from prometheus_client import generate_latest

from accountant.errors import ConfigError
from accountant.records import Stand
from stream.metrics import pages
from stream.metrics.readiness import KAFKA, LEDGER
from stream.metrics.server import serve
from tests.support.measured import addresses, fresh_metrics
from tests.support.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Callable


def _refused(said: str, **given: Any) -> None:
    """Check that what is asked for is not served, with what is said."""
    with pytest.raises(ConfigError, match=said), serve(fresh_metrics(), addresses(**given)):
        pytest.fail("it served")


def _get(address: tuple[str, int], path: str = "/metrics", **headers: str) -> tuple[int, bytes]:
    """Return status and body, also of a refusal."""
    host, port = address
    request = Request(f"http://{host}:{port}{path}", headers=headers)
    try:
        with urlopen(request, timeout=PATIENCE_S) as answer:  # noqa: S310  always http
            return answer.status, answer.read()
    except HTTPError as error:
        with error:
            return error.code, error.read()


def test_each_address_serves_its_own_registry() -> None:
    """The public server shows public series only, the custodian's its own only."""
    metrics = fresh_metrics()
    with serve(metrics, addresses()) as at:
        assert _get(at.public) == (200, generate_latest(metrics.public))
        assert _get(at.custodian) == (200, generate_latest(metrics.custodian))


def test_only_known_paths_answer() -> None:
    """Any other is not found, probes are public only, and no query string picks series."""
    with serve(fresh_metrics(), addresses()) as at:
        unknown = ("/", "/metrics/", "/favicon.ico", "/table", "/%2e%2e/metrics", "/readyz/x")
        assert {
            _get(where, path)[0] for where in (at.public, at.custodian) for path in unknown
        } == {404}
        assert {_get(at.custodian, path)[0] for path in ("/healthz", "/readyz")} == {404}
        assert _get(at.public, "/metrics?name[]=up") == _get(at.public)


def test_probes_answer_in_fixed_words() -> None:
    """Alive is alive; ready is a status that orchestrators read, with what is missing beside it."""
    metrics = fresh_metrics()
    steps: list[tuple[Callable[[], object], str]] = [
        (lambda: None, "kafka, ledger, partitions"),
        (lambda: metrics.readiness.answered(LEDGER), "kafka, partitions"),
        (lambda: metrics.readiness.answered(KAFKA), "partitions"),
        (metrics.partitions.shared_out, ""),
        (lambda: metrics.partitions.told("badges", 0, Stand.READING, 5, 12_345), ""),
        (lambda: metrics.partitions.told("badges", 0, Stand.TRANSACTION, 5), "partitions"),
    ]
    with serve(metrics, addresses()) as at:
        for step, missing in steps:
            step()
            told = (503, f"not ready: {missing}\n".encode()) if missing else (200, b"ready\n")
            assert _get(at.public, "/readyz") == _get(at.public, "/readyz?verbose") == told
            assert _get(at.public, "/healthz") == (200, b"alive\n")


@pytest.mark.parametrize(
    "header",
    [None, "Bearer wrong", "Bearer ", "correct", "bearer correct horse", "Bearer correct horse2"],
)
def test_the_custodian_page_asks_for_its_token(header: str | None) -> None:
    """Without the token, or with another one, nothing is said, whatever the path."""
    headers = {} if header is None else {"Authorization": header}
    with serve(fresh_metrics(), addresses(custodian_token="correct horse")) as at:  # noqa: S106  a test's own
        for path in ("/metrics", "/other"):
            assert _get(at.custodian, path, **headers) == (401, b"401 Unauthorized\n")
        assert _get(at.public)[0] == 200


def test_the_right_token_opens_the_custodian_page() -> None:
    """The bearer token opens /metrics and nothing else."""
    metrics = fresh_metrics()
    token = {"Authorization": "Bearer correct hörse".encode().decode("latin-1")}
    with serve(metrics, addresses(custodian_token="correct hörse")) as at:  # noqa: S106  a test's own
        assert _get(at.custodian, **token) == (200, generate_latest(metrics.custodian))
        assert _get(at.custodian, "/other", **token)[0] == 404


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "metrics.example", ""])  # noqa: S104  refused
@pytest.mark.parametrize("token", [None, ""])
def test_beyond_loopback_a_token_is_required(host: str, token: str | None) -> None:
    """The custodian's page does not open to a network without a token."""
    _refused("without a bearer token", custodian_address=(host, 0), custodian_token=token)


def test_beyond_loopback_with_a_token_is_served() -> None:
    """With a token the custodian may listen anywhere."""
    asked = addresses(custodian_address=("0.0.0.0", 0), custodian_token="t")  # noqa: S104, S106  the case
    with serve(fresh_metrics(), asked) as at:
        here = "127.0.0.1", at.custodian[1]
        assert (_get(here)[0], _get(here, Authorization="Bearer t")[0]) == (401, 200)


@pytest.mark.parametrize("which", ["public_address", "custodian_address"])
def test_a_taken_port_is_a_clear_error(which: str) -> None:
    """A port in use names the address and what to do, and leaves nothing listening behind."""
    with socket.socket() as taken, socket.socket() as free:
        for one in (taken, free):
            one.bind(("127.0.0.1", 0))
        taken.listen()
        other, port = free.getsockname(), taken.getsockname()
        free.close()
        given = {"public_address": other, "custodian_address": other, which: port}
        _refused(rf"127.0.0.1:{port[1]}[^$]*hint: ", **given)
    with socket.socket() as probe:
        assert probe.connect_ex(other) != 0


@pytest.mark.parametrize("address", [("no such host", 1), ("127.0.0.1", 70_000)])
def test_an_impossible_address_is_a_clear_error(address: tuple[str, int]) -> None:
    """A host or port that cannot be is a mistake in the configuration."""
    _refused("public cannot listen", public_address=address)


def test_of_a_name_for_several_workers_one_address_is_this_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each of them takes its own; a name for others alone cannot be listened on."""
    found = [
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, 0))
        for host in ("192.0.2.1", "127.0.0.1")
    ]
    monkeypatch.setattr(pages, "getaddrinfo", lambda *_, **__: found)
    with serve(fresh_metrics(), addresses(public_address=("workers", 0))) as at:
        assert _get(at.public)[0] == 200
    del found[1]
    _refused("public cannot listen on workers", public_address=("workers", 0))


def test_the_servers_stop_with_their_context() -> None:
    """The ports are free again afterwards, and can be served anew."""
    with serve(fresh_metrics(), addresses()) as at:
        pass
    again = addresses(public_address=at.public, custodian_address=at.custodian)
    with serve(fresh_metrics(), again) as second:
        assert second == at


def test_a_client_that_says_nothing_keeps_nobody_waiting() -> None:
    """Connections that hang, and scrapes while series move, do not disturb each other."""
    metrics = fresh_metrics()
    with serve(metrics, addresses()) as at, socket.create_connection(at.public):
        with ThreadPoolExecutor(4) as pool:
            answers = [pool.submit(_get, at.custodian) for _ in range(8)]
            for count in range(200):
                metrics.events_dropped("badges", {f"reason{count}": 1})
        assert all(answer.result()[0] == 200 for answer in answers)
        assert _get(at.public)[0] == 200
