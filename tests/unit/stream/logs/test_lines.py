"""The log: fixed sentences, fields from a list, and nothing that an event could say."""

from __future__ import annotations

import io
import json
import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accountant.errors import ConfigError, LedgerError
from stream.logs.lines import FIELDS, Line, Log
from stream.logs.settings import Form, Level, LogSettings

EVENT = "Zoë Q. visited room 7\nat 09:12"
"""What an event might hold; it has no shape that a field allows."""


def written(level: Level = Level.DEBUG, form: Form = Form.JSON) -> tuple[Log, io.StringIO]:
    """Return a log and the stream it writes to."""
    stream = io.StringIO()
    return Log(stream, LogSettings(level, form)), stream


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    """Return the JSON lines of a stream."""
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_line_is_a_sentence_with_fields() -> None:
    """As JSON: when, how much it matters, which sentence, and the fields."""
    log, stream = written()
    log.info(Line.BACK, dependency="kafka", unreachable_s=61)
    (line,) = lines(stream)
    assert line.pop("timestamp").endswith("Z")
    assert line == {"level": "info", "event": Line.BACK, "dependency": "kafka", "unreachable_s": 61}


def test_a_line_of_text_reads_from_left_to_right() -> None:
    """As text: the same in one line, values that have spaces quoted."""
    log, stream = written(form=Form.TEXT)
    log.warning(
        Line.UNREACHABLE, dependency="kafka", error=LedgerError("no luck", hint="try\nagain")
    )
    log.info(Line.READY)
    first, second = stream.getvalue().splitlines()
    assert first.partition(" ")[2] == (
        f"warning {Line.UNREACHABLE}  "
        'dependency=kafka error=LedgerError hint="try again" message="no luck" '
        'see="docs/how-to/troubleshoot.md#the-ledger-refuses"'
    )
    assert second.endswith(f"info    {Line.READY}")


@pytest.mark.parametrize("level", Level)
def test_lines_below_the_level_are_not_written(level: Level) -> None:
    """The level may be set while it is in use."""
    log, stream = written(Level.ERROR)
    log.level = level
    for write in (log.debug, log.info, log.warning, log.error):
        write(Line.READY)
    assert [line["level"] for line in lines(stream)] == list(Level)[level.rank :]


def test_fields_that_are_not_listed_are_left_out() -> None:
    """An event handed over as fields, or under the name of one, does not get in."""
    log, stream = written()
    event: dict[str, Any] = {
        **dict.fromkeys(("person", "room", "ts", "event", "level", "exc_info"), EVENT),
        **dict.fromkeys(("self", "line", "timestamp", "_record"), EVENT),
    }
    log.error(Line.FATAL, **event)
    log.error(Line.FATAL, **dict.fromkeys(FIELDS, EVENT))
    log.error(Line.FATAL, **{name: {"person": EVENT} for name in FIELDS})
    log.error(Line.FATAL, message="Zoe", hint="Zoe", text="Zoe", see="Zoe", at="Zoe")
    assert "Zo" not in stream.getvalue()
    first, second, third, fourth = lines(stream)
    assert set(first) == set(fourth) == {"timestamp", "level", "event"}
    taken = {"message", "hint", "text", "see", "at"}
    assert set(second) == set(third) == set(FIELDS) - taken | set(first)
    assert {value for name, value in second.items() if name not in first} == {"(left out)"}


def test_another_sentence_is_left_out() -> None:
    """A text that is not one of the sentences is not written, whatever its type says."""
    log, stream = written()
    log.info("read " + EVENT)  # type: ignore[arg-type]  # noqa: G003  # the mistake that is caught
    assert lines(stream)[0]["event"] == "(left out)"


@given(st.text(alphabet=string.printable), st.sampled_from(sorted(FIELDS)))
def test_a_line_stays_one_line(value: str, name: str) -> None:
    """No value ends a line or begins another field."""
    for form in Form:
        log, stream = written(form=form)
        log.client(Level.ERROR, value, value, value, value)
        log.info(Line.READY, **{name: value})
        assert stream.getvalue().count("\n") == 2
        assert len(stream.getvalue().splitlines()) == 2


def test_errors_raised_on_purpose_are_told_with_their_text() -> None:
    """Their text holds configuration and released decisions only; a place is part of it."""
    log, stream = written()
    log.error(Line.FATAL, code=2, error=ConfigError("no", file="a.yaml", line=3, column=1))
    log.error(Line.FATAL, code=2, error=ConfigError("no", file="a.yaml", hint="yes"))
    first, second = lines(stream)
    assert (first["message"], first["error"]) == ("a.yaml:3:1: no", "ConfigError")
    assert (second["message"], second["hint"]) == ("a.yaml: no", "yes")


def test_other_errors_are_told_by_type_and_place() -> None:
    """Their text may quote an event, and so may that of what they came from."""

    def read() -> None:
        try:
            {}[EVENT]
        except KeyError as error:
            raise ValueError(EVENT) from error

    log, stream = written()
    try:
        read()
    except ValueError as error:
        log.error(Line.FATAL, code=70, error=error)  # noqa: TRY400  # not the standard library
    (line,) = lines(stream)
    assert line["error"] == "ValueError"
    assert (
        line["at"].partition(" < ")[0] == f"{__name__}:{line['at'].split()[0].split(':')[1]} read"
    )
    assert "Zo" not in stream.getvalue()


def test_a_closed_stream_ends_nothing() -> None:
    """Standard error that was closed, or whose reader is gone, is written to in vain."""
    log, stream = written()
    stream.close()
    log.error(Line.READY)
