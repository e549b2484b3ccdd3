"""What ``tocsin deliver`` runs on: a file of alarms, or one that knows of no feed.

A small file has ``kafka`` and ``deliver``, and of each alarm its lifecycle alone: an analyst writes
it without the custodian's secrets, and needs none of the variables that name them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pydantic import BaseModel, Field

from accountant.errors import ConfigError
from stream.config.closed import Closed
from stream.config.declarations import build_kafka
from stream.config.delivery.building import build_delivery, build_lifecycle
from stream.config.delivery.keys import DeliverModel, LifecycleModel
from stream.config.keys import EXAMPLES, MODELS, KafkaModel, LogModel
from stream.config.loading import examine, zone_of
from stream.config.scalars import Name, Text  # noqa: TC001  # pydantic reads them
from stream.config.smallfile import KAFKA_EXAMPLE, read_small
from stream.config.yamlfile import load_document
from stream.logs.settings import LogSettings
from stream.model.alarms import require_kafka
from stream.model.subscriptions import Subscription

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from stream.config.yamlfile import Document

__all__ = ["read_subscription"]

_MISSING: Final = "add `deliver: {alertmanagers: {main: http://localhost:9093}}`"


class _DeliveryFile(Closed):
    """A file without feeds."""

    timezone: Text = "UTC"
    kafka: KafkaModel
    log: LogModel = LogModel()
    deliver: DeliverModel
    alarms: dict[Name, LifecycleModel] = Field(default_factory=dict)


_MODELS: Final[dict[tuple[str, ...], type[BaseModel]]] = {
    **{place: model for place, model in MODELS.items() if place[:1] in {("kafka",), ("deliver",)}},
    (): _DeliveryFile,
    ("log",): LogModel,
    ("alarms", "*"): LifecycleModel,
}
_EXAMPLES: Final = {
    **EXAMPLES,
    "kafka": KAFKA_EXAMPLE,
    "deliver": "deliver: {alertmanagers: {main: http://localhost:9093}}",
}


def read_subscription(path: Path, *, environ: Mapping[str, str]) -> Subscription:
    """Return what ``tocsin deliver`` runs on.

    Args:
        path: a file of alarms, or one without feeds.
        environ: environment variables that its values may use.

    Raises:
        ConfigError: the first thing that is wrong with it.
    """
    document = load_document(path, environ=environ)
    whole = isinstance(document.tree, dict) and "feeds" in document.tree
    return _of_alarms(path, environ) if whole else _of_delivery(document, path)


def _of_alarms(path: Path, environ: Mapping[str, str]) -> Subscription:
    report = examine(path, environ=environ)
    alarms = report.alarms
    if alarms is None:
        raise report.errors[0]
    kafka = require_kafka(alarms)
    if alarms.delivery is None:
        message = "this configuration does not say where alarms are delivered"
        raise ConfigError(message, file=alarms.file, line=1, column=1, hint=_MISSING)
    lifecycles = {
        name: query.lifecycle for name, query in {**alarms.queries, **alarms.wanted}.items()
    }
    return Subscription(kafka, alarms.delivery, alarms.timezone, lifecycles, alarms.settings.log)


def _of_delivery(document: Document, path: Path) -> Subscription:
    model, findings = read_small(document, path, _DeliveryFile, _MODELS, _EXAMPLES)
    zone = zone_of(model.timezone, findings)
    kafka = build_kafka(model.kafka, {}, findings)
    delivery = build_delivery(model.deliver, findings)
    lifecycles = {
        name: build_lifecycle(alarm, None, ("alarms", name), findings)
        for name, alarm in model.alarms.items()
    }
    if findings.errors or kafka is None or delivery is None:
        raise findings.errors[0]
    log = LogSettings(model.log.level, model.log.format)
    return Subscription(kafka, delivery, zone.key, lifecycles, log)
