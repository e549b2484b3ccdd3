"""The AsyncAPI file says of topics, records and notices what the code sends."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import AsyncMock

import jsonschema
import pytest

from stream.config.keys import SecurityModel
from stream.config.loading import load
from stream.decisions.records import encode
from stream.kafka.notify.webhooks import WebhookTarget
from stream.kafka.publish import Publisher
from stream.kafka.topics import plan
from stream.model.panes import PATTERN
from tests.support.asyncapi import resolved
from tests.support.commands import configuration
from tests.support.notices import messages, on_mqtt
from tests.support.paned import alarm, configured, opened, replayed, rows
from tests.support.published import alarm_of, count_of, decision_of
from tests.support.targets import Inbox
from tests.support.tree import ROOT, yaml_of

DOCS = ROOT / "docs"
FILE = yaml_of("docs/asyncapi.yaml")
RANG = alarm_of(0, {"room": "hall"})
COUNTED = count_of(0, {"room": "hall"}, -2)
DENIED = decision_of(1, denied=True)
SECRET = "a secret of many bytes"  # noqa: S105  # no server knows it
GROUPS = ({"room": "hall"}, {}, {"room": "2/14", "floor": ""})


def message(channel):
    """Return the only message of a channel, references followed."""
    (found,) = FILE["channels"][channel]["messages"].values()
    return resolved(FILE, found, DOCS)


def validate(content, schema):
    """Check something against a schema of the file, formats included."""
    kind = jsonschema.Draft202012Validator
    kind(schema, format_checker=kind.FORMAT_CHECKER).validate(content)


def operation_of(channel):
    """Return the only operation on a channel."""
    place = {"$ref": f"#/channels/{channel}"}
    (found,) = [one for one in FILE["operations"].values() if one["channel"] == place]
    return found


def test_every_reference_leads_somewhere():
    """In the file, or to a schema of the code; what is shown to be sent is in the channels."""
    whole = resolved(FILE, FILE, DOCS)
    assert whole["asyncapi"] == "3.0.0"
    channels = list(whole["channels"].values())
    sent = [one["channel"] for one in whole["operations"].values()]
    assert all(one in channels for one in sent)
    assert len({one["address"] for one in channels}) == len(channels)


def test_topics_are_those_that_are_made(tmp_path):
    """Their names, partitions and settings, as `tocsin topics create` has them by default."""
    path = Path(configuration(tmp_path))
    path.write_text("kafka: {bootstrap: 'h:1'}\n" + path.read_text())
    alarms = load(path, environ={})
    assert "tocsin.counts" not in {one.name for one in plan(alarms)}, "nobody asked for counts"
    crowd = replace(alarms.by_name["crowd"], releases_counts=True)
    made = {one.name: one for one in plan(replace(alarms, by_name={"crowd": crowd}))}
    for name in ("alarms", "decisions", "counts"):
        channel = FILE["channels"][name]
        binding = channel["bindings"]["kafka"]
        topic = made[channel["address"]]
        assert binding["partitions"] == topic.partitions
        policies = binding["topicConfiguration"]
        assert {key: ",".join(value) for key, value in policies.items()} == topic.config


def test_ways_to_log_in_are_those_of_the_configuration():
    """SASL's mechanisms, and certificates."""
    schemes = {one["type"] for one in FILE["components"]["securitySchemes"].values()}
    schema = SecurityModel.model_json_schema()["properties"]["sasl_mechanism"]
    mechanisms = next(one["enum"] for one in schema["anyOf"] if "enum" in one)
    named = {"".join(re.findall(r"\w", mechanism)).lower() for mechanism in mechanisms}
    assert {one.lower() for one in schemes} == named | {"x509"}
    listed = {one["$ref"].rpartition("/")[2] for one in FILE["servers"]["kafka"]["security"]}
    assert listed == set(FILE["components"]["securitySchemes"])


def published(folder):
    """Return the records of alarms that ring, over panes and not, as a worker sends them."""
    window = "HOP(ts, INTERVAL '1' MINUTE, INTERVAL '2' MINUTE)"
    own = alarm("own", "TUMBLE(ts, INTERVAL '1' MINUTE)", "COUNT(*) > 9", mechanism="tslm")
    hall = alarm("hall", window, "COUNT(*) > 12", release="counts")
    alarms = configured(folder, own, hall, until="00:04")
    kafka = SimpleNamespace(
        alarms_topic="tocsin.alarms",
        decisions_topic="tocsin.decisions",
        counts_topic="tocsin.counts",
    )
    runtime = SimpleNamespace(alarms=replace(alarms, kafka=kafka))
    publisher, brokers = Publisher(runtime, None, None), AsyncMock()
    brokers.send.side_effect = lambda *_, **__: asyncio.sleep(0)  # what can be waited for
    with opened(alarms) as ledger:
        for one in replayed(alarms, ledger, rows(folder, (99, 99, 1, 1))):
            asyncio.run(publisher._send(brokers, one, 5_000))
    return [(*call.args, call.kwargs) for call in brokers.mock_calls]


def test_records_are_what_the_file_says(tmp_path):
    """Topic, key and value of what a worker hands to its producer; headers it gives none."""
    channels = {one["address"]: name for name, one in FILE["channels"].items()}
    sent = published(tmp_path)
    assert {channels[topic] for topic, _, _ in sent} == {"alarms", "decisions", "counts"}
    for topic, value, options in sent:
        said, content = message(channels[topic]), json.loads(value)
        validate(content, said["payload"])
        assert options.keys() == {"key", "timestamp_ms"}
        validate(dict(options.get("headers", ())), said["headers"])
        validate(options["key"].decode(), said["bindings"]["kafka"]["key"])
        assert options["key"].decode() == content["alarm"]
    panes = re.compile(PATTERN)
    assert any(panes.fullmatch(json.loads(value)["alarm"]) for _, value, _ in sent)
    assert "`panes-` and eight hex digits" in FILE["channels"]["decisions"]["description"]


@pytest.mark.parametrize(
    ("channel", "records"),
    [
        ("alarms", [RANG, alarm_of(3, {}), alarm_of(1, {"a": "", "b": "ü"})]),
        ("decisions", [DENIED, decision_of(0, alarms=[RANG]), decision_of(2, unanswered=1)]),
        ("counts", [COUNTED, count_of(2, {}, 0), count_of(1, {"a": "", "b": "ü"}, 1234.5)]),
    ],
)
def test_a_topic_takes_its_own_records_and_no_others(channel, records):
    """Alarms are no decisions, nor counts, nor the other way round; the first is the example."""
    payloads = {one: message(one)["payload"] for one in ("alarms", "decisions", "counts")}
    own = payloads.pop(channel)
    written = [json.loads(encode(record)) for record in records]
    assert own["examples"] == written[:1]
    for record in written:
        validate(record, own)
        for other in payloads.values():
            with pytest.raises(jsonschema.ValidationError):
                validate(record, other)


@pytest.mark.parametrize("group", GROUPS)
def test_letters_are_what_the_file_says(group):
    """Headers and body of every notice that a web server is sent, of every status named."""
    wanted = []
    with Inbox() as inbox:

        async def work():
            target = WebhookTarget("desk", url=f"{inbox.url}/tocsin", secret=SECRET)
            wanted.extend([one for one in messages(group) if target.wants(one.notice)])
            await target.send(wanted)
            await target.close()

        asyncio.run(work())
        letters = inbox.letters
    said = message("webhook")
    assert (
        operation_of("webhook")["bindings"]["http"]["method"] == "POST"
    )  # the inbox takes no other
    assert len(letters) == len(wanted)
    for _, headers, content in letters:
        body = json.loads(content)
        validate(body, said["payload"])
        validate({name.lower(): value for name, value in headers.items()}, said["headers"])
        assert headers["webhook-id"] == body["notice_id"]
        assert headers["Content-Type"] == FILE["defaultContentType"]
    statuses = {json.loads(content)["status"] for _, _, content in letters}
    assert statuses == set(said["payload"]["allOf"][1]["properties"]["status"]["enum"])
    for change in ({"status": "ongoing"}, {"state": "ON"}):
        with pytest.raises(jsonschema.ValidationError):
            validate({**json.loads(letters[0][2]), **change}, said["payload"])


def named(channel, group):
    """Return a pattern for the topics of a channel."""
    address = FILE["channels"][channel]["address"]
    values = "".join("/[^/]+" for _ in group)
    return address.replace("{alarm}", "crowd").replace("/{values}", values)


@pytest.mark.parametrize("group", GROUPS)
def test_what_is_retained_is_what_the_file_says(group):
    """Topics, payloads and quality of service of every notice, and of being there."""
    channels, seen = ("mqttStates", "mqttDenials", "mqttStatus"), set()
    for topic, content, options in on_mqtt(group):
        (channel,) = [one for one in channels if re.fullmatch(named(one, group), topic)]
        seen.add(channel)
        said = message(channel)
        text = "contentType" in said
        validate(content.decode() if text else json.loads(content), said["payload"])
        assert options.items() <= operation_of(channel)["bindings"]["mqtt"].items()
        assert options.keys() == {"qos", "retain"}
    assert seen == set(channels)
