"""What libraries log: who, where and of what error, once a minute, and none of their words."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading

import pytest
from aiokafka.conn import AIOKafkaConnection
from aiokafka.errors import (
    GroupCoordinatorNotAvailableError,
    KafkaConnectionError,
    TopicAuthorizationFailedError,
)
from mode import Service

from stream.logs import clients
from stream.logs.clients import MOST, ClientLines
from stream.logs.lines import Line
from stream.logs.settings import Level
from tests.support.said import Said

EVENT = "Zoë Q."


class Heard(Said):
    """A log that libraries write to, and a clock."""

    def __init__(self):
        super().__init__(Level.INFO)
        self.now_s = 1000.0
        self.handler = ClientLines(lambda: self.log, lambda: self.now_s)

    def logger(self, name="library"):
        """Return a library's logger, which no other handler listens to."""
        made = logging.Logger(name)  # noqa: LOG001  # pytest listens to those that are registered
        made.addHandler(self.handler)
        return made

    def values(self, *fields):
        """Return what the lines have in some fields."""
        found = [tuple(line.get(field) for field in fields) for line in self.lines]
        return found if len(fields) > 1 else [value for (value,) in found]


@pytest.fixture
def heard():
    """A log, and libraries that write to it; nothing of an event is on it in the end."""
    made = Heard()
    yield made
    assert "Zo" not in made.text


def test_who_says_something_is_written_without_its_words(heard):
    """Of the values only the type of an error is."""
    logger = heard.logger("library.client")
    logger.error('Unable to read "%s:%d": %r', EVENT, 17, TopicAuthorizationFailedError(EVENT))
    logger.warning("cannot read all of %r", EVENT)
    first, second = heard.lines
    at = first.pop("at")
    assert at.startswith("test_who_says_something_is_written_without_its_words:")
    assert first == {
        "client": "library.client",
        "level": "error",
        "event": Line.CLIENT,
        "error": "TopicAuthorizationFailedError",
    }
    assert (second["level"], "error" in second) == ("warning", False)


def in_places(log, sentences):
    """Log sentences, each from a place of its own."""
    for number, sentence in enumerate(sentences):
        exec(f"{chr(10) * number}log(said)", {"log": log, "said": sentence})  # noqa: S102  # places


def test_whatever_is_logged_fails_nobody(heard):
    """Also what has no text, or whose values do not fit its words."""

    class Hostile:
        def __str__(self):
            raise ValueError(EVENT)

    logger = heard.logger()
    logger.error(Hostile())
    logger.error("cannot be read", extra={"person": EVENT}, stack_info=True)
    logger.error({"person": EVENT})
    logger.error("%s %s %d", EVENT)  # noqa: PLE1206  # the standard library would print the values
    assert len(heard.lines) == 4


def test_an_error_is_named_by_its_type(heard):
    """Its text, its traceback and the locals of its frames are not written.

    What a client tries again is a warning, whatever the client calls it: a worker that starts finds
    no coordinator yet.
    """
    logger = heard.logger()
    try:
        {}[EVENT]
    except KeyError:
        logger.exception("Unexpected error in a routine")
    logger.error("Failed with %s", TopicAuthorizationFailedError)
    logger.error("Request failed: %s", KafkaConnectionError())
    logger.error("Group Coordinator Request failed: %s", GroupCoordinatorNotAvailableError())
    assert heard.values("level", "error") == [
        ("error", "KeyError"),
        ("error", "TopicAuthorizationFailedError"),
        ("warning", "KafkaConnectionError"),
        ("warning", "GroupCoordinatorNotAvailableError"),
    ]


def test_a_service_that_crashes_is_named_by_its_error(heard):
    """Services of mode put their own representation before every sentence."""

    class Reader(Service):
        logger = heard.logger("library.mode")

        def _repr_name(self):
            return EVENT

    async def crash():
        await Reader().crash(ValueError(EVENT))

    asyncio.run(crash())
    assert heard.values("client", "error") == [("library.mode", "ValueError")]


def test_asyncio_s_reports_are_routed_too(heard, monkeypatch):
    """A task whose error nobody asked for quotes it; here it is a type."""
    monkeypatch.setattr("asyncio.base_events.logger", heard.logger("library.asyncio"))

    async def fail():
        raise ValueError(EVENT)

    async def forget():
        forgotten = asyncio.create_task(fail())
        await asyncio.sleep(0.01)
        del forgotten

    asyncio.run(forget())
    assert heard.values("error") == ["ValueError"]


def test_a_connection_that_a_finaliser_closed_is_no_news(heard, monkeypatch):
    """Who ends a process while its client starts is not told that the client closed itself."""
    monkeypatch.setattr("asyncio.base_events.logger", heard.logger("asyncio"))
    monkeypatch.setattr(AIOKafkaConnection, "_do_version_lookup", lambda _: asyncio.sleep(0))

    async def leave():
        async with await asyncio.start_server(lambda _, to: to.close(), "127.0.0.1", 0) as server:
            connection = AIOKafkaConnection(*server.sockets[0].getsockname())
            await connection.connect()
            del connection

    with pytest.warns(ResourceWarning, match="Unclosed AIOKafkaConnection"):
        asyncio.run(leave())
    heard.logger("library").error("Unclosed AIOKafkaConsumer")  # one left open is told of
    assert heard.values("client") == ["library"]


def test_libraries_speak_so_often(heard):
    """A place in the code once a minute, whatever it fills in; many places are limited, too."""
    logger = heard.logger()
    for _ in range(150):
        for number in range(50):
            logger.error("cannot connect to %s", number)
        heard.now_s += 1
    assert len(heard.lines) == 3
    heard.now_s += 60
    for number in range(4):
        in_places(heard.logger(f"library.{number}").error, ["cannot connect"] * 50)
        heard.now_s += 10
    assert len(heard.lines) == 3 + MOST


def test_what_is_below_a_warning_is_not_news(heard):
    """Libraries tell of every record at lower levels."""
    logger = heard.logger()
    logger.setLevel(logging.DEBUG)
    logger.info("fetched records")
    logger.debug("fetched records")
    assert heard.lines == []


@pytest.fixture
def process(monkeypatch):
    """The process's own logging and hooks, which are put back as they were."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    for owner, name in (
        (logging, "raiseExceptions"),
        (threading, "excepthook"),
        (sys, "unraisablehook"),
    ):
        monkeypatch.setattr(owner, name, getattr(owner, name))
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.mark.usefixtures("process")
def test_a_worker_takes_the_lines_over():
    """Once it knows what the configuration says of its log."""
    before, after = Heard(), Heard()
    clients.redirect(after.log)  # nothing is routed yet
    clients.route(lambda: before.log)
    logging.getLogger("library").error("cannot connect")
    clients.redirect(after.log)
    logging.getLogger("library").error("cannot connect")
    assert (len(before.lines), len(after.lines)) == (1, 1)


class Broken:
    """An object whose end fails."""

    def __del__(self):
        """Fail."""
        raise ValueError(EVENT)


@pytest.mark.usefixtures("process")
def test_a_process_says_nothing_beside_its_log(heard, capsys):
    """Loggers of any name, threads and finalisers that fail: all by type and place."""
    clients.route(lambda: heard.log)
    logging.getLogger("aiokafka.client").error("Unable connect to %s", EVENT)
    logging.getLogger(EVENT).error("cannot go on")

    def fail():
        raise KeyError(EVENT)

    failing = threading.Thread(target=fail)
    failing.start()
    failing.join()
    broken = Broken()
    del broken
    assert capsys.readouterr() == ("", "")
    assert heard.values("error") == [None, None, "KeyError", "ValueError"]
    assert heard.lines[1]["client"] == "(left out)"
