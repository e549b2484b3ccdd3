"""Messages on MQTT become events: by templates over topic and payload, or not at all."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import product

import pytest

from stream.events.mqtt_events import (
    MOST_EVENT_BYTES,
    Message,
    TemplateError,
    event_of,
    levels_of,
    overlap,
    route_of,
    template_of,
)
from stream.model.mqtt import Route

UPLINK = {
    "deduplicationId": "3ac7e3c4-4401-4b8d-9386-a5c902f9202d",
    "time": "2026-11-22T09:34:15.775023242+00:00",
    "deviceInfo": {"devEui": "0101010101010101", "tags": {"room": "hall"}},
    "object": {"people_in": 3, "line": [{"out": 2}], "battery": None, "ok": True, "t": 0.5},
}


def route(written="zigbee2mqtt/+room/motion", **templates):
    """Return a route as the configuration makes it."""
    levels, places = levels_of(written)
    fields = {name: template_of(text, places) for name, text in templates.items()}
    return Route(written, levels, fields)


def message(payload=None):
    """Return a message with a JSON payload."""
    return Message("zigbee2mqtt/hall/motion", json.dumps(payload).encode(), 7, 1_700_000_000_000)


def event(templates, payload):
    """Return the event of a message, without its key."""
    made = event_of(route(sensor="{topic.room}", **templates), "sensor", message(payload))
    return None if made is None else json.loads(made[1])


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ("{topic.room}", "hall"),
        ("{payload.deviceInfo.tags.room}", "hall"),
        ("{payload.time}", UPLINK["time"]),
        ("{payload.object.people_in}", 3),
        ("{payload.object.line.0.out}", 2),
        ("{payload.object.ok}", True),
        ("{payload.object.t}", 0.5),
        ("{now}", 1_700_000_000_000),
        ("{topic.room}-{payload.object.people_in}", "hall-3"),
        ("{payload.object.ok} {{{topic.room}}}", "true {hall}"),
        ("fixed", "fixed"),
        ("{payload.object.battery}", None),
        ("{payload.object.people_out}", None),
        ("{payload.object}", None),
        ("{payload}", None),
        ("{payload.object.line.1.out}", None),
        ("{payload.time.0}", None),
    ],
)
def test_a_template_gives_a_value_or_no_event(template, value):
    """A single slot keeps its type; what is missing, null or no value makes no event."""
    found = event({"what": template}, UPLINK)
    assert found == (None if value is None else {"sensor": "hall", "what": value})
    assert found is None or type(found["what"]) is type(value)


@pytest.mark.parametrize("payload", [b"", b"{", b"\xff", b'"\\ud800"', b"[" * 100_000])
def test_a_payload_that_is_no_json_is_no_event(payload):
    """Only where a template asks for it."""
    sent = replace(message(), payload=payload)
    asked = route(sensor="{topic.room}", what="{payload.x}")
    assert event_of(asked, "sensor", sent) is None
    assert event_of(route(sensor="{topic.room}", at="{now}"), "sensor", sent) is not None


def test_plain_payloads_are_json_as_well():
    """A counter that publishes a bare number."""
    assert event({"people": "{payload}"}, 12) == {"sensor": "hall", "people": 12}


def test_the_unit_is_the_key_and_a_text():
    """Partitions are chosen by its UTF-8 bytes; an empty one belongs to nobody."""
    made = event_of(route(sensor="{payload.id}"), "sensor", message({"id": 12}))
    assert made == (b"12", b'{"sensor":"12"}')
    assert event_of(route(sensor="{payload.id}"), "sensor", message({"id": ""})) is None
    long = message({"id": "x" * MOST_EVENT_BYTES})
    assert event_of(route(sensor="{payload.id}"), "sensor", long) is None


def test_copies_have_one_id_and_other_messages_have_others():
    """The broker sends a copy with its number; nothing else is the same in all three."""
    first = message({"occupancy": True})
    copy = replace(first, taken_ms=first.taken_ms + 60_000)
    others = [
        replace(first, number=8),
        replace(first, topic="zigbee2mqtt/lab/motion"),
        replace(first, payload=b"{}"),
        replace(first, number=0, nonce=1),
        replace(first, number=0, nonce=2),
        replace(first, topic=first.topic + "{", payload=first.payload[1:]),
    ]
    assert first.id == copy.id
    assert len({first.id, *(other.id for other in others)}) == 1 + len(others)


def template(written):
    """Read a template for a topic whose level is called room."""
    return template_of(written, {"room": 0})


@pytest.mark.parametrize(
    ("read", "written", "said"),
    [
        (levels_of, "a/b+", "not a filter"),
        (levels_of, "a/#/b", "not a filter"),
        (levels_of, "a/b#", "not a filter"),
        (levels_of, "a/+b-c", "does not name a level"),
        (levels_of, "+a/+a", "two levels are named `a`"),
        (levels_of, "$SYS/+x", "broker's own"),
        (template, "{", "a brace stands alone"),
        (template, "{payload.x:>9}", "plain fields"),
        (template, "{payload.x!r}", "plain fields"),
        (template, "{payload..x}", "is nothing"),
        (template, "{payload.x.}", "is nothing"),
        (template, "{room}", "is nothing"),
        (template, "{}", "is nothing"),
        (template, "{now.x}", "is nothing"),
        (template, "{topic}", "is nothing"),
        (template, "{topic.hall}", "`hall` is not a level of this filter: write one of: room"),
        (lambda written: template_of(written, {}), "{topic.hall}", "write +NAME for a level"),
    ],
)
def test_a_filter_or_template_that_is_none_is_refused(read, written, said):
    """With what to write instead."""
    with pytest.raises(TemplateError) as error:
        read(written)
    assert error.value.hint
    assert said in f"{error.value}: {error.value.hint}"


def test_whether_two_filters_take_one_topic():
    """All filters of few levels: some topic belongs to both, or none does."""
    topics = ["/".join(levels) for size in (1, 2, 3) for levels in product("ab", repeat=size)]
    filters = ["/".join(levels) for size in (1, 2, 3) for levels in product("ab+", repeat=size)]
    filters += ["#", *(f"{each}/#" for each in filters if len(each) < 5)]

    def taken(each):
        pattern = each.replace("/#", "(/.*)?").replace("#", ".*").replace("+", "[^/]*")
        return {topic for topic in topics if re.fullmatch(pattern, topic)}

    of = {each: taken(each) for each in filters}
    for one, other in product(filters, repeat=2):
        assert overlap(one.split("/"), other.split("/")) == bool(of[one] & of[other]), (one, other)


def test_a_topic_has_one_route_or_none():
    """What an older session still subscribes to has none."""
    routes = [route("a/+room"), route("b/#")]
    assert [route_of(routes, topic) for topic in ("a/b", "b/c/d", "c/d")] == [*routes, None]
