"""The schema of a notice refuses what is none; ``test_asyncapi.py`` sends what it takes."""

from __future__ import annotations

import json
import re
from typing import Any, get_args

import jsonschema
import pytest

from stream.decisions.lifecycle import Notice, Status
from stream.decisions.records import schema
from stream.kafka.notify.messages import body
from tests.support.notices import messages

SCHEMA = schema("notice")
VALIDATOR = jsonschema.Draft202012Validator(
    SCHEMA, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER
)


def of_status(status: str) -> dict[str, Any]:
    """Return what a web server would be sent of a status."""
    found = next(one for one in messages({"room": "hall"}) if one.notice.status == status)
    return json.loads(json.dumps(body(found)))  # type: ignore[no-any-return]


def test_the_schema_is_a_schema() -> None:
    """Valid JSON Schema, 2020-12, closed to unknown fields; all but MQTT's and levels' is there."""
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["additionalProperties"] is False
    assert set(SCHEMA["required"]) == set(SCHEMA["properties"]) - {"state", "severity"}
    assert {*SCHEMA["required"], "severity"} == {*Notice.__struct_fields__, "published", "ends"}
    assert set(SCHEMA["properties"]["status"]["enum"]) == set(get_args(Status))


def test_every_format_is_checked() -> None:
    """One that the validator does not know would be let through."""
    formats = set(re.findall(r'"format": "([^"]*)"', json.dumps(SCHEMA)))
    assert formats
    assert formats <= set(jsonschema.Draft202012Validator.FORMAT_CHECKER.checkers)


@pytest.mark.parametrize(
    ("status", "change"),
    [
        ("firing", {"extra": 1}),
        ("firing", {"alarm": ""}),
        ("firing", {"status": "pending"}),
        ("firing", {"window_end": "1970-01-01T01:00:00Z"}),
        ("firing", {"alarm_id": ""}),
        ("firing", {"since": ""}),
        ("firing", {"reason": "budget"}),
        ("firing", {"state": "OFF"}),
        ("ongoing", {"state": "OFF"}),
        ("resolved", {"state": "ON"}),
        ("resolved", {"sequence": -1}),
        ("denied", {"reason": None}),
        ("denied", {"reason": ""}),
        ("denied", {"state": "ON"}),
        ("denied", {"group": {"room": "hall"}}),
        ("denied", {"since": "1970-01-01T01:00:00.000Z"}),
        ("denied", {"annotations": {"summary": "x"}}),
    ],
)
def test_the_schema_refuses(status: str, change: dict[str, Any]) -> None:
    """Unknown fields, other formats, and what contradicts its status."""
    VALIDATOR.validate(of_status(status))
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate({**of_status(status), **change})


@pytest.mark.parametrize("name", SCHEMA["required"])
def test_every_field_is_needed(name: str) -> None:
    """A notice without one of them is refused."""
    content = of_status("firing")
    del content[name]
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate(content)
