"""What is delivered is what its published schema says, wherever it goes."""

from __future__ import annotations

import asyncio
import json
import re
from typing import TYPE_CHECKING, Any, get_args

import jsonschema
import pytest

from stream.decisions.lifecycle import Notice, Status
from stream.decisions.records import schema
from stream.kafka.delivery.parcels import DeadLetters, body
from tests.support.notices import notices, on_mqtt, parcels

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = schema("notice")
VALIDATOR = jsonschema.Draft202012Validator(
    SCHEMA, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER
)
PREDICATES = [{"room": "hall"}, {}, {"room": "2/14", "floor": ""}]


def of_status(status: str) -> dict[str, Any]:
    """Return what a web server would be sent of a status."""
    found = next(one for one in parcels(PREDICATES[0]) if one.notice.status == status)
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


@pytest.mark.parametrize("predicate", PREDICATES)
def test_what_web_servers_are_sent_obeys_it(predicate: dict[str, str]) -> None:
    """Notices of every status and of every reason for having no answer."""
    sent = [json.loads(json.dumps(body(one))) for one in parcels(predicate)]
    assert {one["status"] for one in sent} == set(get_args(Status))
    reasons = {one["reason"] for one in sent if one["status"] == "denied"}
    assert reasons == {"budget", "unanswered", "incomplete_records"}
    for one in sent:
        VALIDATOR.validate(one)


@pytest.mark.parametrize("predicate", PREDICATES)
def test_what_is_retained_on_mqtt_obeys_it(predicate: dict[str, str]) -> None:
    """States say in one more word whether it fires."""
    sent = [json.loads(content) for _, content, _ in on_mqtt(predicate)[:-1]]  # then being there
    assert len(sent) == len(notices(predicate))
    assert {one.get("state") for one in sent} == {"ON", "OFF", None}
    for one in sent:
        VALIDATOR.validate(one)


def test_what_dead_letters_keep_obeys_it(tmp_path: Path) -> None:
    """The notice of a line is the one that was not delivered."""
    letters = DeadLetters(tmp_path / "letters")
    (first, *_) = parcels(PREDICATES[0])
    asyncio.run(letters.keep("webhook-desk", first, "answer 400"))
    kept = json.loads((tmp_path / "letters").read_text(encoding="utf-8"))
    VALIDATOR.validate(kept["notice"])


@pytest.mark.parametrize(
    ("status", "change"),
    [
        ("firing", {"extra": 1}),
        ("firing", {"query": ""}),
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
        ("denied", {"predicate": {"room": "hall"}}),
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
