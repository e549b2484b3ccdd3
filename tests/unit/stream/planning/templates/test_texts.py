"""The text of a filled template says what was answered, however it is spelt."""

from __future__ import annotations

from dataclasses import replace

import pytest

from accountant.errors import ConfigError
from stream.planning.templates.answers import TEMPLATES
from stream.planning.templates.filling import fill
from stream.planning.templates.texts import values_text

OFFICE = TEMPLATES["office"]


@pytest.mark.parametrize("name", ["${HOME}", "order", "no", "#x", "a: b", "é", "{x}", "1"])
def test_names_stay_what_they_are(name: str) -> None:
    """No variable is read, no quote closed, no comment begun, no word of YAML or SQL taken."""
    for answers in (replace(OFFICE, unit=name), replace(OFFICE, time=name)):
        (query,) = fill(answers).alarms.by_name.values()
        assert name in {query.feed.unit, query.feed.time}


@pytest.mark.parametrize("name", ['a"b', "a\\b", "a\tb"])
def test_a_name_that_no_reader_of_json_looks_for_is_refused(name: str) -> None:
    """It would pass the check, and end the first run."""
    with pytest.raises(ConfigError, match=r"cannot have quotes, backslashes|cannot be printed"):
        fill(replace(OFFICE, unit=name))


@pytest.mark.parametrize("per", ["../room", "/room", "a b", "", "r" * 300])
def test_no_name_of_a_field_leaves_the_folder(per: str) -> None:
    """The file of values is called after the field where that is a plain word."""
    assert replace(OFFICE, group_by=(per,)).values_file(per) == "values-1.txt"
    assert OFFICE.values_file("room") == "rooms.txt"


@pytest.mark.parametrize("value", ["", " lobby", "lob\nby", "lob\x85by"])
def test_a_value_is_one_line(value: str) -> None:
    """What a file of lines would read as something else is refused."""
    with pytest.raises(ConfigError, match="cannot be a value of room"):
        values_text(replace(OFFICE, values=((value,),)), "room")
