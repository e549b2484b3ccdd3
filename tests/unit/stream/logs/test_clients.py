"""What libraries log: their own words, once a minute, and nothing that they filled in."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from aiokafka.conn import AIOKafkaConnection
from aiokafka.errors import (
    GroupCoordinatorNotAvailableError,
    KafkaConnectionError,
    KafkaError,
    TopicAuthorizationFailedError,
)
from mode import Service

from stream.logs import clients
from stream.logs.clients import MOST, ClientLines
from stream.logs.lines import Line, Log
from stream.logs.settings import Form, Level, LogSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

EVENT = "Zoë Q."
MESSAGES = "cannot read all of %r"


class Heard:
    """A log that libraries write to, and a clock."""

    def __init__(self) -> None:
        self.now_s = 1000.0
        self.stream = io.StringIO()
        self.log = Log(self.stream, LogSettings(Level.DEBUG, Form.JSON))
        self.lines = ClientLines(lambda: self.log, lambda: self.now_s)

    def logger(self, name: str = "library") -> logging.Logger:
        """Return a library's logger, which no other handler listens to."""
        made = logging.Logger(name)  # noqa: LOG001  # pytest listens to those that are registered
        made.addHandler(self.lines)
        return made

    def __call__(self) -> list[dict[str, Any]]:
        """Return the lines so far, without the time."""
        found = [json.loads(line) for line in self.stream.getvalue().splitlines()]
        return [{name: line[name] for name in line if name != "timestamp"} for line in found]


@pytest.fixture
def heard() -> Iterator[Heard]:
    """A log, and libraries that write to it; nothing of an event is on it in the end."""
    made = Heard()
    yield made
    assert "Zo" not in made.stream.getvalue()


def test_its_own_words_are_written_without_what_was_filled_in(heard: Heard) -> None:
    """Of the values only the type of an error is."""
    logger = heard.logger("library.client")
    logger.error('Unable to read "%s:%d": %r', EVENT, 17, TopicAuthorizationFailedError(EVENT))
    logger.warning(MESSAGES, EVENT)
    first, second = heard()
    at = first.pop("at")
    assert at.startswith("test_its_own_words_are_written_without_what_was_filled_in:")
    assert first == {
        "client": "library.client",
        "level": "error",
        "event": Line.CLIENT,
        "text": 'Unable to read "…:…": …',
        "error": "TopicAuthorizationFailedError",
    }
    assert (second["text"], second["level"]) == ("cannot read all of …", "warning")


def test_a_sentence_made_of_values_is_not_written(heard: Heard) -> None:
    """Only constants of the code that logs are; a hostile value can be none of them."""
    logger = heard.logger()
    for number, sentence in enumerate((EVENT, f"read {EVENT}", MESSAGES % EVENT, EVENT * 99)):
        exec(f"{chr(10) * number}log(said)", {"log": logger.error, "said": sentence})  # noqa: S102  # places of their own
    logger.error(f"this record cannot be read: {EVENT}")  # noqa: G004  # the mistake that is caught
    logger.error("cannot be read", extra={"person": EVENT}, stack_info=True)
    logger.error({"person": EVENT})
    logger.error("%s %s %d", EVENT)  # noqa: PLE1206  # the standard library would print the values
    found = heard()
    assert len(found) == 8
    assert [line["text"] for line in found if "text" in line] == ["cannot be read", "… … …"]


def test_an_error_is_named_by_its_type(heard: Heard) -> None:
    """Its text, its traceback and the locals of its frames are not written."""
    logger = heard.logger()
    try:
        {}[EVENT]
    except KeyError:
        logger.exception("Unexpected error in a routine")
    logger.error("Failed with %s", KafkaConnectionError)
    assert [line["error"] for line in heard()] == ["KeyError", "KafkaConnectionError"]


@pytest.mark.parametrize("retried", [KafkaConnectionError, GroupCoordinatorNotAvailableError])
def test_what_a_client_tries_again_is_a_warning(heard: Heard, retried: type[KafkaError]) -> None:
    """Whatever the client calls it: a worker that starts finds no coordinator yet."""
    heard.logger().error("Group Coordinator Request failed: %s", retried())
    (line,) = heard()
    assert (line["level"], line["error"]) == ("warning", retried.__name__)


def test_a_service_s_name_is_not_part_of_its_words(heard: Heard) -> None:
    """Services of mode put their own representation before every sentence."""

    class Reader(Service):  # type: ignore[misc]  # mode is not followed by mypy
        logger = heard.logger("library.mode")

        def _repr_name(self) -> str:
            return EVENT

    async def crash() -> None:
        await Reader().crash(ValueError(EVENT))

    asyncio.run(crash())
    (line,) = heard()
    assert (line["text"], line["error"]) == ("Crashed reason=…", "ValueError")


def test_asyncio_s_reports_are_routed_too(heard: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    """A task whose error nobody asked for quotes it; here it is a type."""
    monkeypatch.setattr("asyncio.base_events.logger", heard.logger("library.asyncio"))

    async def fail() -> None:
        raise ValueError(EVENT)

    async def forget() -> None:
        forgotten = asyncio.create_task(fail())
        await asyncio.sleep(0.01)
        del forgotten

    asyncio.run(forget())
    (line,) = heard()
    assert line["error"] == "ValueError"


def test_a_connection_that_a_finaliser_closed_is_no_news(
    heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who ends a process while its client starts is not told that the client closed itself."""
    monkeypatch.setattr("asyncio.base_events.logger", heard.logger("asyncio"))
    monkeypatch.setattr(AIOKafkaConnection, "_do_version_lookup", lambda _: asyncio.sleep(0))

    async def leave() -> None:
        async with await asyncio.start_server(lambda _, to: to.close(), "127.0.0.1", 0) as server:
            connection = AIOKafkaConnection(*server.sockets[0].getsockname())
            await connection.connect()
            del connection

    with pytest.warns(ResourceWarning, match="Unclosed AIOKafkaConnection"):
        asyncio.run(leave())
    assert heard() == []


def test_what_has_no_text_fails_nobody(heard: Heard) -> None:
    """Who logs goes on; and a consumer that was left open is still told of."""

    class Hostile:
        def __str__(self) -> str:
            raise ValueError(EVENT)

    logger = heard.logger()
    logger.error(Hostile())
    logger.error("Unclosed AIOKafkaConsumer")
    assert [line.get("text") for line in heard()] == [None, "Unclosed AIOKafkaConsumer"]
    assert "Zo" not in heard.stream.getvalue()


def test_a_place_in_the_code_speaks_once_a_minute(heard: Heard) -> None:
    """However often it logs, whatever it fills in."""
    logger = heard.logger()
    for second in range(150):
        heard.now_s = 1000 + second
        for number in range(50):
            logger.error("cannot connect to %s", number)
    assert len(heard()) == 3


def test_all_places_together_speak_so_often(heard: Heard) -> None:
    """A library that logs from many places, or under many names, is limited too."""
    for number in range(200):
        code = f"{chr(10) * number}log('cannot connect')"
        exec(code, {"log": heard.logger(f"library.{number}").error})  # noqa: S102  # places of their own
    assert len(heard()) == MOST


def test_a_worker_takes_the_lines_over() -> None:
    """Once it knows what the configuration says of its log."""
    before, after = Heard(), Heard()
    with restored():
        clients.redirect(after.log)  # nothing is routed yet
        clients.route(lambda: before.log)
        logging.getLogger("library").error("cannot connect")
        clients.redirect(after.log)
        logging.getLogger("library").error("cannot connect")
    assert (len(before()), len(after())) == (1, 1)


def test_what_is_below_a_warning_is_not_news(heard: Heard) -> None:
    """Libraries tell of every record at lower levels."""
    logger = heard.logger()
    logger.setLevel(logging.DEBUG)
    logger.info("fetched records")
    logger.debug("fetched records")
    assert heard() == []


@contextmanager
def restored() -> Iterator[None]:
    """Put the process's logging and hooks back as they were."""
    root = logging.getLogger()
    handlers, level, raising = root.handlers[:], root.level, logging.raiseExceptions
    hooks = threading.excepthook, sys.unraisablehook
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
        logging.raiseExceptions = raising
        threading.excepthook, sys.unraisablehook = hooks


class Broken:
    """An object whose end fails."""

    def __del__(self) -> None:
        """Fail."""
        raise ValueError(EVENT)


def test_a_process_says_nothing_beside_its_log(
    heard: Heard, capsys: pytest.CaptureFixture[str]
) -> None:
    """Loggers of any name, threads and finalisers that fail: all by type and place."""
    with restored():
        clients.route(lambda: heard.log)
        logging.getLogger("aiokafka.client").error("Unable connect to %s", EVENT)
        logging.getLogger(EVENT).error("cannot go on")

        def fail() -> None:
            raise KeyError(EVENT)

        failing = threading.Thread(target=fail)
        failing.start()
        failing.join()
        broken = Broken()
        del broken
    assert capsys.readouterr() == ("", "")
    assert [line.get("error") for line in heard()] == [None, None, "KeyError", "ValueError"]
    assert heard()[1]["client"] == "(left out)"
