"""The log: fixed sentences, fields from a list, and nothing that an event could say."""

from __future__ import annotations

import io
import json
import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accountant.errors import ConfigError, LedgerError
from stream.logs.lines import FIELDS, Line, Log
from stream.logs.settings import Form, Level
from tests.support.said import Said

EVENT = "Zoë Q. visited room 7\nat 09:12"
"""What an event might hold; it has no shape that a field allows."""


def test_a_line_is_a_sentence_with_fields():
    """As JSON: when, how much it matters, which sentence, and the fields."""
    said = Said()
    said.log.info(Line.BACK, dependency="kafka", unreachable_s=61)
    assert json.loads(said.text)["timestamp"].endswith("Z")
    fields = {"dependency": "kafka", "unreachable_s": 61}
    assert said.lines == [{"level": "info", "event": Line.BACK, **fields}]


def test_a_line_of_text_reads_from_left_to_right():
    """As text: the same in one line, values that have spaces quoted."""
    said = Said(form=Form.TEXT)
    error = LedgerError("no luck", hint="try\nagain")
    said.log.warning(Line.UNREACHABLE, dependency="kafka", error=error)
    said.log.info(Line.READY)
    first, second = said.text.splitlines()
    assert first.partition(" ")[2] == (
        f"warning {Line.UNREACHABLE}  "
        'dependency=kafka error=LedgerError hint="try again" message="no luck" '
        'see="docs/how-to/troubleshoot.md#the-ledger-refuses"'
    )
    assert second.endswith(f"info    {Line.READY}")


@pytest.mark.parametrize("level", Level)
def test_lines_below_the_level_are_not_written(level):
    """The level may be set while it is in use."""
    said = Said(Level.ERROR)
    said.log.level = level
    for write in (said.log.info, said.log.warning, said.log.error):
        write(Line.READY)
    assert [line["level"] for line in said.lines] == list(Level)[level.rank :]


def test_what_is_not_listed_is_left_out():
    """An event handed over as fields, under the name of one, or as the sentence, is not written."""
    said = Said()
    log, given = said.log, dict.fromkeys
    log.error(Line.FATAL, **given(("person", "room", "ts", "event", "level", "exc_info"), EVENT))
    log.error(Line.FATAL, **given(("self", "line", "timestamp", "_record"), EVENT))
    log.error(Line.FATAL, **given(("message", "hint", "see", "at"), "Zoe"))
    log.error(Line.FATAL, **given(FIELDS, EVENT))
    log.error(Line.FATAL, **given(FIELDS, {"person": EVENT}))
    log.error("read " + EVENT)  # noqa: G003  # the mistake that is caught
    plain = {"level": "error", "event": Line.FATAL}
    refused = given(set(FIELDS) - {"message", "hint", "see", "at"}, "(left out)")
    other = {**plain, "event": "(left out)"}
    assert said.lines == [*[plain] * 3, *[{**plain, **refused}] * 2, other]


@given(st.text(alphabet=string.printable), st.sampled_from(sorted(FIELDS)))
def test_a_line_stays_one_line(value, name):
    """No value ends a line or begins another field."""
    for form in Form:
        said = Said(form=form)
        said.log.client(Level.ERROR, value, value, value)
        said.log.info(Line.READY, **{name: value})
        assert said.text.count("\n") == len(said.text.splitlines()) == 2


def test_errors_raised_on_purpose_are_told_with_their_text():
    """Their text holds configuration and released decisions only; a place is part of it."""
    said = Said()
    said.log.error(Line.FATAL, code=2, error=ConfigError("no", file="a.yaml", line=3, column=1))
    said.log.error(Line.FATAL, code=2, error=ConfigError("no", file="a.yaml", hint="yes"))
    first, second = said.lines
    assert (first["message"], first["error"]) == ("a.yaml:3:1: no", "ConfigError")
    assert (second["message"], second["hint"]) == ("a.yaml: no", "yes")


def test_other_errors_are_told_by_type_and_place():
    """Their text may quote an event, and so may that of what they came from."""

    def read():
        try:
            {}[EVENT]
        except KeyError as error:
            raise ValueError(EVENT) from error

    said = Said()
    try:
        read()
    except ValueError as error:
        said.log.error(Line.FATAL, code=70, error=error)  # noqa: TRY400  # not the standard library
    (line,) = said.lines
    assert line["error"] == "ValueError"
    assert re.match(rf"{re.escape(__name__)}:\d+ read( <|$)", line["at"])
    assert "Zo" not in said.text


def test_a_closed_stream_ends_nothing():
    """Standard error that was closed, or whose reader is gone, is written to in vain."""
    stream = io.StringIO()
    stream.close()
    Log(stream).error(Line.READY)
