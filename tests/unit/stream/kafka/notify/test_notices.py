"""The schema of a notice refuses what is none; ``test_asyncapi.py`` sends what it takes."""

from __future__ import annotations

import json
import re
from typing import get_args

import jsonschema
import pytest

from stream.decisions.lifecycle import Notice, Status
from stream.kafka.notify.messages import body
from tests.support.notices import messages
from tests.support.published import schema

SCHEMA = schema("notice")
VALIDATOR = jsonschema.Draft202012Validator(
    SCHEMA, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER
)


def of_status(status):
    """Return what a web server would be sent of a status."""
    found = next(one for one in messages({"room": "hall"}) if one.notice.status == status)
    return json.loads(json.dumps(body(found)))


def test_the_schema_is_a_schema():
    """Valid JSON Schema, 2020-12, closed to unknown fields; all but MQTT's and levels' is there."""
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["additionalProperties"] is False
    assert set(SCHEMA["required"]) == set(SCHEMA["properties"]) - {"state", "severity"}
    assert {*SCHEMA["required"], "severity"} == {*Notice.__struct_fields__, "published", "ends"}
    assert set(SCHEMA["properties"]["status"]["enum"]) == set(get_args(Status))
    formats = set(re.findall(r'"format": "([^"]*)"', json.dumps(SCHEMA)))
    assert formats <= set(VALIDATOR.format_checker.checkers), "others would be let through"


REFUSED = {
    "firing": (
        {"extra": 1},
        {"alarm": ""},
        {"status": "pending"},
        {"window_end": "1970-01-01T01:00:00Z"},
        {"alarm_id": ""},
        {"since": ""},
        {"reason": "budget"},
        {"state": "OFF"},
    ),
    "ongoing": ({"state": "OFF"},),
    "resolved": ({"state": "ON"}, {"sequence": -1}),
    "denied": (
        {"reason": None},
        {"reason": ""},
        {"state": "ON"},
        {"group": {"room": "hall"}},
        {"since": "1970-01-01T01:00:00.000Z"},
        {"annotations": {"summary": "x"}},
    ),
}


@pytest.mark.parametrize("status", REFUSED)
def test_the_schema_refuses(status):
    """Unknown and missing fields, other formats, and what contradicts its status."""
    content = of_status(status)
    assert VALIDATOR.is_valid(content)
    for name in SCHEMA["required"]:
        assert not VALIDATOR.is_valid({key: content[key] for key in content if key != name}), name
    for change in REFUSED[status]:
        assert not VALIDATOR.is_valid({**content, **change}), change
