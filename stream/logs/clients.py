"""What libraries log, made fit to be written: no event in it, and a few lines a minute.

Faust, mode, aiokafka, kafka-python and SQLAlchemy log through the standard library, and what they
fill into their sentences may be anything: the error of a record that cannot be read, the
representation of a message. So of a record only this goes on: the logger's name, the place in the
code, and the type of the error it tells of. Each place in the code speaks once a minute, all
together twenty times.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from stream.logs.places import place_of
from stream.logs.settings import Level

if TYPE_CHECKING:
    from collections.abc import Callable

    from stream.logs.lines import Log

__all__ = ["MOST", "ClientLines", "redirect", "route"]

MOST: Final = 20
"""Lines of all libraries together in a minute: an outage has some ten kinds."""

_MINUTE_S: Final = 60.0
_CLOSED: Final = "Unclosed AIOKafkaConnection"
"""Said by aiokafka's finaliser, once it has closed what a cancelled start left open."""


class ClientLines(logging.Handler):
    """Hands on what libraries log.

    Args:
        log: returns where to; asked when there is something to write.
        clock_s: a clock that only goes forward, in seconds.
    """

    def __init__(
        self, log: Callable[[], Log], clock_s: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(logging.WARNING)
        self.log = log
        self._clock_s = clock_s
        self._spoke_s: dict[tuple[str, int], float] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record, or nothing; called under the handler's lock."""
        if isinstance(record.msg, str) and record.msg.startswith(_CLOSED):
            return
        if not self._may_speak(record.pathname, record.lineno):
            return
        with suppress(Exception):  # whoever logs must not fail because of it
            error = _error(record)
            # A client tries again by itself: a worker that starts finds no coordinator yet.
            severe = record.levelno >= logging.ERROR and not getattr(error, "retriable", False)
            self.log().client(
                Level.ERROR if severe else Level.WARNING,
                record.name,
                f"{record.funcName}:{record.lineno}",
                error.__name__ if error else "",
            )

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  # the standard name
        """Say nothing: the standard library would print the record with all it holds."""

    def uncaught(self, error: BaseException | None, where: str) -> None:
        """Write of an error that nobody caught, by its type and place.

        Args:
            error: what was raised.
            where: what it ended, one word.
        """
        if error is None:
            return
        with self.lock:  # type: ignore[union-attr]  # every handler that has begun has one
            if self._may_speak(f"{where} {type(error).__name__}", 0):
                self.log().client(Level.ERROR, where, place_of(error), type(error).__name__)

    def _may_speak(self, file: str, line: int) -> bool:
        now_s = self._clock_s()
        recent = {place: s for place, s in self._spoke_s.items() if now_s - s < _MINUTE_S}
        if (file, line) in recent or len(recent) >= MOST:
            return False
        self._spoke_s = {**recent, (file, line): now_s}
        return True


def route(log: Callable[[], Log]) -> None:
    """Send everything that libraries log in this process, and only that, through ``log``.

    The standard library's logging, and what is called for errors that nobody caught, belong to the
    process: this is for its beginning.
    """
    lines = ClientLines(log)
    root = logging.getLogger()
    root.handlers[:] = [lines]
    root.setLevel(logging.WARNING)
    logging.raiseExceptions = False  # or a record that cannot be formatted is printed, values too
    threading.excepthook = lambda args: lines.uncaught(args.exc_value, "thread")
    sys.unraisablehook = lambda args: lines.uncaught(args.exc_value, "interpreter")


def redirect(log: Log) -> None:
    """Send what libraries log to another log, where this process routes it at all."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler, ClientLines):
            handler.log = lambda: log


def _error(record: logging.LogRecord) -> type[BaseException] | None:
    """Return the type of the error that a record tells of, if it tells of one."""
    raised: Any = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
    filled = record.args if isinstance(record.args, tuple) else ()
    for told in (raised, *filled):
        if isinstance(told, BaseException):
            return type(told)
        if isinstance(told, type) and issubclass(told, BaseException):
            return told
    return None
