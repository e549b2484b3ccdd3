"""The log of a process: a fixed set of sentences, with fields from an allow-list.

Guarantee: nothing of an event can get into a line (promise 6). A sentence is a member of ``Line``.
A field has a name of ``FIELDS`` and a value of that name's shape, which is that of a number, a
type, a place in code or a word; everything else is left out. An error that Tocsin raised on purpose
is written with its text, which holds configuration and released decisions only
(``accountant/errors.py``); of any other only type and place are, since its text may quote an event.

Nothing that a log does ends or stops what it tells of: a stream that is closed is written to in
vain.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from accountant.errors import TocsinError
from stream.logs.places import place_of
from stream.logs.settings import Form, Level, LogSettings

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TextIO

__all__ = ["FIELDS", "Line", "Log"]


class Line(StrEnum):
    """Every sentence that a log may hold."""

    READY = "worker is ready"
    NOTIFYING = "notify is ready"
    UNDELIVERED = "a target did not take a notice; its alarm stays on the alarms topic"
    INCOMPLETE = "alarms of a decision are no longer on their topic"
    SHOWING = "board is ready"
    READING_MQTT = "MQTT source is ready"
    UNFIT = "a message does not match its templates; it is dropped"
    TOO_LARGE = "a message is too large for an event or for its topic on Kafka; it is dropped"
    OLD_SUBSCRIPTION = "a message came by an old subscription of the session; it is dropped"
    TAKEN_OVER = "another client took over the MQTT session; messages may be lost"
    NO_SESSION = "the MQTT broker has no session; messages from before now are not kept"
    OWNED = "this ledger charges the feeds from now on; charges of another are not known to it"
    UNREACHABLE = "a dependency is unreachable; trying again"
    BACK = "a dependency is reachable again"
    BLOCKED = "a partition is blocked; the others are read"
    READ_ON = "a blocked partition is read again"
    STOPPING = "stopping"
    STOPPED = "stopped"
    CUT_OFF = "stopped without waiting for clients; nothing is lost"
    FATAL = "fatal"
    CLIENT = "message of a client library"


_NUMBER: Final = re.compile(r"\d{1,12}")
_WORD: Final = re.compile(r"[A-Za-z][\w.+-]{0,99}")
_PLACES: Final = re.compile(r"[\w.<>]+(:\d+)?( [\w<>]+)?( < [\w.<>]+(:\d+)?( [\w<>]+)?){0,9}")
_TEXT: Final = re.compile(r"[^\x00-\x1f\x7f]{1,2000}")

FIELDS: Final[Mapping[str, re.Pattern[str]]] = {
    "alarms": _NUMBER,
    "at": _PLACES,
    "unreachable_s": _NUMBER,
    "client": _WORD,
    "code": _NUMBER,
    "dependency": _WORD,
    "error": _WORD,
    "filter": _TEXT,
    "hint": _TEXT,
    "message": _TEXT,
    "partition": _NUMBER,
    "see": _TEXT,
    "signal": _WORD,
    "state": _WORD,
    "topic": _WORD,
    "version": re.compile(r"\d[\w.+-]{0,49}"),
}
"""Every field a line may have, and what its value looks like.

``message`` and ``hint`` are taken from Tocsin's own errors, and cannot be given by name.
"""

_TAKEN: Final = frozenset({"message", "hint", "see", "at"})
"""Fields that ``Log`` fills in itself."""

_REFUSED: Final = "(left out)"


class Log:
    """Where a process writes its lines, one line of text each.

    Args:
        stream: standard error, as a rule.
        settings: level and form.
    """

    def __init__(self, stream: TextIO, settings: LogSettings | None = None) -> None:
        settings = settings or LogSettings()
        self.level = settings.level
        self._stream = stream
        self._rendered = _json if settings.form is Form.JSON else _text

    def info(self, line: Line, /, **fields: Any) -> None:
        """Write a line that an operator wants to find."""
        self._write(Level.INFO, line, fields)

    def warning(self, line: Line, /, **fields: Any) -> None:
        """Write a line that an operator should see."""
        self._write(Level.WARNING, line, fields)

    def error(self, line: Line, /, **fields: Any) -> None:
        """Write a line that somebody has to act on."""
        self._write(Level.ERROR, line, fields)

    def client(self, level: Level, name: str, place: str, error: str) -> None:
        """Write that a library said something, as :mod:`stream.logs.clients` allows it.

        Args:
            level: how much it matters.
            name: of its logger.
            place: in its code.
            error: the type it told of; empty where there is none.
        """
        fields = {"client": name, "at": place, **({"error": error} if error else {})}
        self._print(level, Line.CLIENT, fields)

    def _write(self, level: Level, line: Line, given: Mapping[str, Any]) -> None:
        fields = {name: given[name] for name in FIELDS if name in given and name not in _TAKEN}
        error = fields.get("error")
        if isinstance(error, BaseException):
            fields |= _told(error)
        self._print(level, line, fields)

    def _print(self, level: Level, line: Line, fields: Mapping[str, Any]) -> None:
        if level.rank < self.level.rank:
            return
        text = self._rendered(_allowed(level, line, fields))
        with suppress(OSError, ValueError):
            self._stream.write(f"{text}\n")
            self._stream.flush()


def _told(error: BaseException) -> dict[str, str]:
    name = type(error).__name__
    if isinstance(error, TocsinError):
        message, hint = (" ".join(text.split()) for text in (error.sentence, error.hint))
        told = {"error": name, "message": message, "hint": hint, "see": error.see}
        return {field: text for field, text in told.items() if text}
    place = place_of(error)
    return {"error": name, **({"at": place} if place else {})}


def _allowed(level: Level, line: object, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return a line with whatever is not on the list left out: sentences, names, values."""
    kept: dict[str, Any] = {
        "timestamp": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ}",
        "level": level.value,
        "event": line.value if isinstance(line, Line) else _REFUSED,
    }
    for name, shape in FIELDS.items():
        if name not in fields:
            continue
        value = fields[name]
        whole = isinstance(value, int) and not isinstance(value, bool)
        if shape.fullmatch(str(value) if whole else value if isinstance(value, str) else ""):
            kept[name] = value
        else:
            kept[name] = _REFUSED
    return kept


def _json(line: Mapping[str, Any]) -> str:
    return json.dumps(line, ensure_ascii=False)


def _text(line: Mapping[str, Any]) -> str:
    (_, when), (_, level), (_, sentence), *rest = line.items()
    fields = " ".join(f"{name}={_quoted(value)}" for name, value in rest)
    return f"{when} {level:7} {sentence}{'  ' if fields else ''}{fields}"


def _quoted(value: str | int) -> str:
    text = str(value)
    return text if re.fullmatch(r"[\w.:+-]+", text) else json.dumps(text, ensure_ascii=False)
