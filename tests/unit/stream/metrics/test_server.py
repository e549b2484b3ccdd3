"""The two servers of metrics: what each shows, and to whom; ``test_pages.py`` has the rest."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor

import pytest
from prometheus_client import generate_latest

from accountant.errors import ConfigError
from stream.metrics.readiness import CHECKS
from stream.metrics.server import serve
from tests.support.answers import asked
from tests.support.measured import addresses, fresh_metrics, ledger_status


def test_each_address_serves_its_own_registry():
    """Whatever is asked for, also as no format is; probes are on the public one alone."""
    metrics = fresh_metrics()
    with serve(metrics, addresses()) as at:
        for where, registry in ((at.public, metrics.public), (at.custodian, metrics.custodian)):
            for path, accept in (
                ("/metrics", "application/openmetrics-text;version=x"),
                ("/metrics?name[]=up", ""),
            ):
                assert asked(where, path, Accept=accept)[:2] == (200, generate_latest(registry))
        assert {asked(at.custodian, path).status for path in ("/healthz", "/readyz")} == {404}


def test_probes_answer_in_fixed_words():
    """Alive is alive; ready is a status that orchestrators read, with what is missing beside it."""
    metrics = fresh_metrics()
    with serve(metrics, addresses()) as at:
        told = f"not ready: {', '.join(CHECKS)}\n".encode()
        assert asked(at.public, "/readyz?verbose")[:2] == (503, told)
        metrics.readiness.answered(CHECKS[0])
        metrics.ledger(ledger_status())
        metrics.partitions.shared_out()
        assert asked(at.public, "/readyz")[:2] == (200, b"ready\n")
        assert asked(at.public, "/healthz")[:2] == (200, b"alive\n")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "metrics.example", ""])  # noqa: S104  refused
@pytest.mark.parametrize("token", [None, ""])
def test_beyond_loopback_a_token_is_required(host, token):
    """The custodian's page does not open to a network without a token."""
    given = addresses(custodian_address=(host, 0), custodian_token=token)
    with (
        pytest.raises(ConfigError, match="without a bearer token"),
        serve(fresh_metrics(), given),
    ):
        pytest.fail("it served")


def test_beyond_loopback_with_a_token_is_served():
    """With a token the custodian may listen anywhere."""
    given = addresses(custodian_address=("0.0.0.0", 0), custodian_token="t")  # noqa: S104, S106  the case
    with serve(fresh_metrics(), given) as at:
        here = "127.0.0.1", at.custodian[1]
        assert (asked(here).status, asked(here, Authorization="Bearer t").status) == (401, 200)


def test_scrapes_do_not_disturb_each_other():
    """Nor do connections that hang and series that move meanwhile."""
    metrics = fresh_metrics()
    with (
        serve(metrics, addresses()) as at,
        socket.create_connection(at.public),
        ThreadPoolExecutor(4) as pool,
    ):
        answers = [pool.submit(asked, at.custodian) for _ in range(8)]
        for count in range(200):
            metrics.events_dropped("badges", {f"reason{count}": 1})
        assert {answer.result().status for answer in answers} == {200}
        assert asked(at.public).status == 200
