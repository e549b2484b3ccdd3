"""What holds for every page over HTTP: who may ask what of it, and what one who asks may cost."""

from __future__ import annotations

import base64
import socket
import threading
from contextlib import ExitStack, contextmanager, suppress
from unittest.mock import Mock
from urllib.parse import urlsplit

import pytest

from accountant.errors import ConfigError
from stream.kafka.board.server import Screen, serving
from stream.metrics import pages
from stream.metrics.server import serve
from stream.model.boards import Board
from tests.support.answers import FREE, asked
from tests.support.measured import addresses, fresh_metrics
from tests.support.waiting import PATIENCE_S, wait_until

TOKEN = "correct hörse"  # noqa: S105  # of a server that lives for one test


@contextmanager
def _public(at=FREE, **_):
    with serve(fresh_metrics(), addresses(public_address=at)) as found:
        yield found.public


@contextmanager
def _custodian(at=FREE, token=None):
    given = addresses(custodian_address=at, custodian_token=token)
    with serve(fresh_metrics(), given) as found:
        yield found.custodian


@contextmanager
def _board(at=FREE, token=""):
    with serving(Screen(), Board(at, token)) as url:
        yield at[0], urlsplit(url).port or 0


SERVERS = {
    "metrics.public": _public,
    "metrics.custodian": _custodian,
    "board.listen": _board,
}


@pytest.mark.parametrize("server", SERVERS.values(), ids=SERVERS)
def test_only_known_paths_answer_and_nothing_can_be_written(server):
    """GET and HEAD are all there is."""
    known = "/" if server is _board else "/metrics"
    with server() as at:
        for path in ("/metrics/", "/favicon.ico", "/table", "/static/../board.py", "/%2e%2e/view"):
            assert asked(at, path).status == 404
        assert asked(at, known, method="HEAD").status == 200
        for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
            assert asked(at, known, method=method).status == 405


def _basic(user, password):
    return f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"


@pytest.mark.parametrize("server", [_custodian, _board])
@pytest.mark.parametrize(
    ("given", "opens"),
    [
        ("", False),
        (TOKEN, False),
        (f"Bearer {TOKEN}", True),
        (f"bearer {TOKEN}", False),
        (f"Bearer {TOKEN}2", False),
        ("Bearer ", False),
        (_basic("anybody", TOKEN), True),
        (_basic("anybody", TOKEN[:-1]), False),
        (_basic(TOKEN, ""), False),
        ("Basic %%%", False),
        ("Basic dG9rZW4=", False),
    ],
)
def test_a_token_is_asked_for_everywhere_but_by_probes(server, given, *, opens):
    """As a bearer's, or as the password of any user; without it nothing is said of any path."""
    own = "/view" if server is _board else "/metrics"
    headers = {"Authorization": given.encode().decode("latin-1")} if given else {}
    with server(token=TOKEN) as at:
        found = [asked(at, path, **headers) for path in (own, "/other")]
        assert [one.status for one in found] == ([200, 404] if opens else [401, 401])
        for one in () if opens else found:
            assert one.body == b"401 Unauthorized\n"
            assert one.headers["WWW-Authenticate"].startswith(("Basic ", "Bearer"))
        if server is _board:
            assert [asked(at, path).status for path in ("/healthz", "/readyz")] == [200, 503]


@pytest.mark.parametrize("setting", SERVERS)
def test_where_nobody_can_listen_is_a_clear_error(setting):
    """A taken port, a host or a port that cannot be: with what to write instead."""
    said = rf"{setting} cannot listen on [^$]*hint: "
    with socket.create_server(FREE) as taken:
        for at in (taken.getsockname(), ("no such host", 1), ("127.0.0.1", 70_000)):
            with pytest.raises(ConfigError, match=said), SERVERS[setting](at, token=TOKEN):
                pytest.fail("it served")


def test_the_ports_are_free_again_afterwards():
    """Also where only one of two servers can be had."""
    with socket.create_server(FREE) as one:
        free = one.getsockname()
    with serve(fresh_metrics(), addresses()) as at:
        given = addresses(public_address=free, custodian_address=at.custodian)
        with pytest.raises(ConfigError, match="custodian"), serve(fresh_metrics(), given):
            pytest.fail("it served")
    with _public(free), _public(at.public), _custodian(at.custodian):
        pass


def test_of_a_name_for_several_workers_one_address_is_this_ones(monkeypatch):
    """Each of them takes its own; a name for others alone cannot be listened on."""
    found = [
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, 0))
        for host in ("192.0.2.1", "127.0.0.1")
    ]
    monkeypatch.setattr(pages, "getaddrinfo", lambda *_, **__: found)
    with _public(("workers", 0)) as at:
        assert asked(at).status == 200
    del found[1]
    with pytest.raises(ConfigError, match="cannot listen on workers"), _public(("workers", 0)):
        pytest.fail("it served")


@contextmanager
def _silent(at, many):
    """Open connections that say the beginning of a request and no more."""
    with ExitStack() as stack:
        found = []
        for _ in range(many):
            found.append(stack.enter_context(socket.create_connection(at, PATIENCE_S)))
            found[-1].sendall(b"GET / HTTP/1.1\r\nHost: x\r\n")
        yield found


def _ended(one):
    """Tell whether the server has ended a connection that drips."""
    one.settimeout(0.05)
    try:
        one.sendall(b"x")
        return not one.recv(1)
    except TimeoutError:
        return False
    except ConnectionError:
        return True


def test_many_silent_connections_cost_no_thread_and_no_probe(monkeypatch):
    """The oldest of them make room, as many stay as are allowed, and every probe is answered."""
    monkeypatch.setattr(pages, "_MOST", 20)
    with _public() as at:
        before = threading.active_count()
        with _silent(at, 30) as silent:
            assert [asked(at, "/healthz").status for _ in range(5)] == [200] * 5
            assert threading.active_count() == before
            wait_until("the oldest make room", lambda: all(map(_ended, silent[:11])))
            assert not any(map(_ended, silent[15:]))


def test_nobody_takes_for_ever(monkeypatch):
    """To ask, a byte now and then, or to read; who asks and reads is answered all the same."""
    monkeypatch.setattr(pages, "_LIFETIME_S", 0.3)
    large = 40_000_000
    with (
        pages.running(lambda _: pages.say(200, "x" * large), FREE, "x") as at,
        _silent(at, 2) as (slow, deaf),
    ):
        deaf.sendall(b"\r\n")
        wait_until("it is shut out", lambda: _ended(slow))
        found = 0
        with suppress(ConnectionError):
            while part := deaf.recv(1 << 20):
                found += len(part)
        assert found < large
    with _board() as at:
        assert asked(at, "/view").status == 200


def test_errors_leave_when_answers_do(monkeypatch):
    """Also where nothing was asked: how long one takes does not tell how much is counted."""
    monkeypatch.setattr(pages, "time", Mock(monotonic=lambda: 0.0))
    monkeypatch.setattr(pages, "_EVERY_S", 0.5)
    with pages.running(Mock(side_effect=ValueError), FREE, "x") as at:
        for said in (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\0\r\n\r\n"):
            with socket.create_connection(at, 0.2) as one:
                one.sendall(said)
                with pytest.raises(TimeoutError):
                    one.recv(1)
