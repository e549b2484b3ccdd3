"""The page about sensors: its files are read, and its messages become the events that it shows."""

from __future__ import annotations

import json
import re

from stream.config.loading import examine
from stream.config.mqtt.reading import read_mqtt
from stream.events.mqtt_events import Message, event_of, route_of
from tests.support.tree import blocks, text_of

PAGE = text_of("docs/how-to/mqtt-source.md")
ZIGBEE, FEED, CHIRPSTACK = blocks(PAGE, "yaml")
(UPLINK,) = blocks(PAGE, "json")
TAKEN_MS = 1_795_340_055_775


def source_of(folder, text):
    """Read a file as printed, with its variables."""
    path = folder / "sensors.yaml"
    path.write_text(text)
    return read_mqtt(path, environ={"KAFKA_PASSWORD": "x", "MQTT_PASSWORD": "y"})


def event(source, topic, payload):
    """Return the event of a message; the unit is its key."""
    route = route_of(source.routes, topic)
    made = event_of(route, source.unit, Message(topic, payload.encode(), 1, TAKEN_MS))
    found = json.loads(made[1])
    assert made[0] == found[source.unit].encode()
    return found


def test_a_motion_becomes_the_event_that_is_shown(tmp_path):
    """All but the hash, which is printed in part."""
    payload, topic = re.findall(r"Of `(.*?)` on `(.*?)` it makes", PAGE)[0]
    (shown,) = re.findall(r'`(\{"reading".*?)`', PAGE)
    wanted = json.loads(shown)
    found = event(source_of(tmp_path, ZIGBEE), topic, payload)
    start = wanted.pop("reading").removesuffix("...")
    assert found.pop("reading").startswith(start)
    assert found == wanted


def test_an_uplink_becomes_an_event_of_the_counters_recipe(tmp_path):
    """With the fields that the recipe declares."""
    found = event(source_of(tmp_path, CHIRPSTACK), "application/1/device/01/event/up", UPLINK)
    uplink = json.loads(UPLINK)
    reading, at = uplink["deduplicationId"], uplink["time"]
    assert found == {"reading": reading, "room": "hall", "n": 3, "ts": at}


def test_the_feed_is_sound_and_takes_the_fields(tmp_path):
    """Its topic, its unit and its fields are those that the MQTT source writes."""
    path = tmp_path / "alarms.yaml"
    path.write_text(FEED)
    report = examine(path, environ={})
    assert not report.errors
    feed, source = report.alarms.feeds["motion"], source_of(tmp_path, ZIGBEE)
    (route,) = source.routes
    assert (feed.topic, feed.unit) == (source.topic, source.unit)
    assert set(feed.fields) == set(route.fields)
