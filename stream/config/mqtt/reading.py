"""What ``tocsin mqtt`` runs on: a small file that knows of no alarm.

It has ``kafka`` and ``mqtt``: whoever runs sensors writes it without the custodian's secrets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pydantic import Field

from stream.config.closed import Closed
from stream.config.declarations import build_kafka, check_token
from stream.config.explaining import read_as
from stream.config.findings import Findings
from stream.config.keys import EXAMPLES, KafkaModel, LogModel
from stream.config.notify.keys import CaFile  # noqa: TC001  # pydantic reads it
from stream.config.scalars import Address, Name, Text, TopicName  # noqa: TC001  # likewise
from stream.config.yamlfile import load_document
from stream.events.mqtt_events import TemplateError, levels_of, overlap, template_of
from stream.model.mqtt import MqttSetup, Page, Route, Sensors

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from stream.config.yamlfile import Loc
    from stream.logs.settings import LogSettings
    from stream.model.alarms import KafkaSettings
    from stream.model.mqtt import Template

__all__ = ["MqttSourceModel", "read_mqtt"]

_TOPICS: Final[Loc] = ("mqtt", "topics")


class MqttSourceModel(Closed):
    """From MQTT to a feed."""

    broker: Address
    """host:port of the broker that sensors publish to; it speaks MQTT 5"""
    client: Name = ""
    """the session's name on the broker; tocsin-TOPIC if left out"""
    username: Text = ""
    """login on the broker"""
    password: Text = ""
    """best from a file: ${file:PATH}"""
    cafile: CaFile = ""
    """authorities of the broker's certificate, in PEM; TLS if it is given"""
    topic: TopicName
    """the feed's topic on Kafka"""
    unit: Text
    """the field with the privacy unit's id, the record's key; partitions are chosen by murmur2"""
    metrics: Address | None = None
    """host:port of a page of metrics, which are exact counts"""
    metrics_token: Text | None = None
    """bearer token of that page; required beyond loopback"""
    topics: dict[str, dict[str, Text]] = Field(min_length=1)
    """by MQTT filter: the event's fields, each with its template"""


class _MqttFile(Closed):
    """The whole file."""

    kafka: KafkaModel
    log: LogModel = LogModel()
    mqtt: MqttSourceModel


_EXAMPLES: Final = {
    "broker": "broker: localhost:1883",
    "unit": "unit: sensor",
    "topics": 'topics: {sensors/+room: {sensor: "{topic.room}"}}',
}


def read_mqtt(path: Path, *, environ: Mapping[str, str]) -> MqttSetup:
    """Return what ``tocsin mqtt`` runs on.

    Args:
        path: of the file.
        environ: environment variables that its values may use.

    Raises:
        ConfigError: the first thing that is wrong with it.
    """
    findings = Findings(load_document(path, environ=environ))
    with findings.decided():
        model = read_as(findings, _MqttFile, EXAMPLES | _EXAMPLES)
        kafka = build_kafka(model.kafka, {}, findings)
        return _setup(model.mqtt, kafka, model.log.settings, findings)


def _setup(
    model: MqttSourceModel, kafka: KafkaSettings, log: LogSettings, findings: Findings
) -> MqttSetup:
    page = None
    if model.metrics is not None:
        check_token(("mqtt", "metrics"), model.metrics, model.metrics_token, findings)
        page = Page(model.metrics, model.metrics_token)
    client = model.client or f"tocsin-{model.topic}"
    sensors = Sensors(model.broker, client, model.username, model.password, model.cafile)
    return MqttSetup(kafka, sensors, model.topic, model.unit, _routes(model, findings), log, page)


def _routes(model: MqttSourceModel, findings: Findings) -> tuple[Route, ...]:
    routes: list[Route] = []
    for written, templates in model.topics.items():
        loc: Loc = (*_TOPICS, written)
        try:
            levels, places = levels_of(written)
        except TemplateError as error:
            findings.wrong(loc, str(error), error.hint, key=True)
            continue
        for other in routes:
            if overlap(levels, other.levels):
                message = f"a message may belong here and to `{other.written[:40]}`"
                findings.wrong(loc, message, "let every topic belong to one filter", key=True)
        if model.unit not in templates:
            message = f"`{model.unit[:40]}` is missing: the unit is the key of every record"
            findings.wrong(loc, message, f'write {model.unit}: "{{topic.NAME}}"', key=True)
        fields: dict[str, Template] = {}
        for name, template in templates.items():
            try:
                fields[name] = template_of(template, places)
            except TemplateError as error:
                findings.wrong((*loc, name), str(error), error.hint)
        routes.append(Route(written, levels, fields))
    return tuple(routes)
