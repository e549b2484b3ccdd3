"""The file of ``tocsin mqtt``: what it becomes, and what is refused, each at its place."""

from __future__ import annotations

import re

import pytest

from accountant.errors import ConfigError
from stream.config.mqtt.reading import read_mqtt
from stream.events.mqtt_events import Message

FILE = """\
kafka: {bootstrap: localhost:9092}
mqtt:
  broker: localhost:1883
  password: "${SECRET}"
  topic: building.motion
  unit: sensor
  topics:
    zigbee2mqtt/+room/motion: {sensor: "{topic.room}", at: "{now}"}
"""
MARK = "⟦"


def read(folder, text):
    """Read a file with this text."""
    path = folder / "mqtt.yaml"
    path.write_text(text)
    return read_mqtt(path, environ={"SECRET": "hush"})


def test_a_file_becomes_an_mqtt_source(tmp_path):
    """Its session has the name of the topic; its filter is MQTT's."""
    setup = read(tmp_path, FILE)
    assert setup.kafka.bootstrap == "localhost:9092"
    assert (setup.topic, setup.unit, setup.sensors.client) == (
        "building.motion",
        "sensor",
        "tocsin-building.motion",
    )
    assert setup.sensors.password == "hush"  # noqa: S105  # of no server
    assert "hush" not in repr(setup)
    (route,) = setup.routes
    assert route.filter == "zigbee2mqtt/+/motion"
    message = Message("zigbee2mqtt/hall/motion", b"", 1, 7)
    made = {name: template(message) for name, template in route.fields.items()}
    assert made == {"sensor": "hall", "at": 7}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"{topic.room}"', '⟦"{topic.hall}"', "`hall` is not a level of this filter"),
        ('"{now}"', '⟦"{then}"', "`{then}` is nothing that a message has"),
        ('"{now}"', '⟦"{now"', "a brace stands alone"),
        ("zigbee2mqtt/+room/", "⟦zigbee2mqtt/room+/", "not a filter"),
        (
            "    zigbee2mqtt/+room/motion: {sensor",
            "    ⟦zigbee2mqtt/+room/motion: {who",
            "is missing",
        ),
        (
            '"{now}"}\n',
            '"{now}"}\n    ⟦zigbee2mqtt/#: {sensor: x}\n',
            "may belong here and to `zigbee2mqtt/+room/motion`",
        ),
        ("unit: sensor", "unit: sensor\n  ⟦buffer: x", "unknown key `buffer`"),
        ("localhost:1883\n", "localhost:1883\n  cafile: ⟦none.pem\n", "is not a readable file"),
        ("broker: localhost:1883", "broker: ⟦localhost", "port"),
        ("building.motion", "⟦building/motion", "not a valid name"),
        ("localhost:9092", "⟦nowhere", "not a list of host:port"),
    ],
)
def test_what_says_nothing_is_refused_at_its_place(tmp_path, old, new, said):
    """With the line and the column of the mistake, and what to write instead."""
    text = FILE.replace(old, new)
    before, _, after = text.partition(MARK)
    assert after
    with pytest.raises(ConfigError) as refused:
        read(tmp_path, before + after)
    error = refused.value
    assert said in str(error)
    assert error.hint
    place = (before.count("\n") + 1, len(before) - before.rfind("\n"))
    assert (error.line, error.column) == place


@pytest.mark.parametrize("key", ["broker", "topic", "unit", "topics"])
def test_a_key_that_is_missing_is_named(tmp_path, key):
    """With an example; a source without topics would wait for ever."""
    text = re.sub(rf"  {key}:.*\n(    .*\n)*", "", FILE)
    with pytest.raises(ConfigError, match=f"`{key}` is missing"):
        read(tmp_path, text)
    if key == "topics":
        with pytest.raises(ConfigError):
            read(tmp_path, f"{text}  topics: {{}}\n")
