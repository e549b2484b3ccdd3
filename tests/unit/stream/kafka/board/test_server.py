"""The board's page over HTTP; ``unit/stream/metrics/test_pages.py`` has what all pages promise."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest

from stream.kafka.board.server import Screen, serving
from stream.metrics import pages
from stream.model.boards import Board
from tests.support.answers import FREE, asked
from tests.support.tree import ROOT

ALWAYS = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Server": "tocsin"}


@pytest.fixture
def screen(monkeypatch):
    """What is shown; answers do not wait for their tenth of a second."""
    monkeypatch.setattr(pages, "_EVERY_S", 0.001)
    return Screen()


@pytest.fixture
def ask(screen):
    """Ask for a path of the screen."""
    with serving(screen, Board(FREE)) as url:
        yield lambda path: asked((FREE[0], urlsplit(url).port or 0), path)


def test_every_answer_forbids_what_the_page_does_not_need(ask):
    """The page, what it loads, probes and refusals: the same headers."""
    files = ("board.css", "board.js", "icon.svg", "alarm.schema.json")
    for path in ("/", "/view", "/readyz", "/x", *(f"/{name}" for name in files)):
        headers = ask(path).headers
        policy = headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; script-src 'self';"), path
        assert "unsafe" not in policy
        assert ALWAYS.items() <= dict(headers).items()
        assert "Set-Cookie" not in headers


def test_the_schemas_of_the_public_records_are_served(ask):
    """As they are published in the repository; that of a notice, which is on no topic, is not."""
    for name in ("alarm", "decision", "count"):
        path = ROOT / f"stream/decisions/schemas/{name}.schema.json"
        assert ask(f"/{name}.schema.json")[:2] == (200, path.read_bytes())
    assert ask("/notice.schema.json").status == 404


def test_readiness_says_what_is_missing(screen, ask):
    """Alive at once; ready once the past was read, and while Kafka answers."""
    assert ask("/healthz")[:2] == (200, b"alive\n")
    assert ask("/readyz")[:2] == (503, b"not ready: reading\n")
    for missing, told in ((("kafka",), (503, b"not ready: kafka\n")), ((), (200, b"ready\n"))):
        screen.show("view", "page", missing)
        assert ask("/readyz")[:2] == told
        assert ask("/")[:2] == (200, b"page")


def test_a_reader_gets_what_it_does_not_have(screen, ask):
    """The newest view, and nothing until there is another; one of another process is another."""
    screen.show("view", "page", ())
    status, view, headers = ask("/view?shown=0")
    assert (status, view) == (200, b"view")
    known = f"/view?shown={headers['Tocsin-View']}"
    assert ask(known)[:2] == (204, b"")
    screen.show("next", "page", ())
    assert ask(known)[:2] == (200, b"next")
