"""Feeds, budget and settings: from the YAML to the model, checked as a whole."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from stream.config.scalars import closest
from stream.config.security import check_security
from stream.config.tables import read_list, values_of
from stream.model.addresses import is_loopback
from stream.model.alarms import KafkaSettings, Settings
from stream.model.contributions import article
from stream.model.feeds import Clock, Feed, Field, FieldType
from stream.model.numbers import decimal, whole_steps
from stream.windows.instants import instant_ms

if TYPE_CHECKING:
    from collections.abc import Mapping
    from zoneinfo import ZoneInfo

    from stream.config.findings import Findings
    from stream.config.keys import FeedModel, FieldModel, FileModel, KafkaModel
    from stream.config.yamlfile import Loc

__all__ = ["build_domain", "build_feeds", "build_kafka", "build_settings"]

_ROLES = ("alarms_topic", "decisions_topic", "wakeup_topic", "ownership_topic", "counts_topic")
_LARGEST_CLIP = 2**31
_MOST_NAMED = 20
"""Wrong values of one list that are named: all others are likely wrong in the same way."""
_ONE = Fraction(1)
_NUMBERS = (FieldType.INTEGER, FieldType.FLOAT)
_IDENTIFIERS = (FieldType.STRING, FieldType.INTEGER)
_KINDS_WITH = {"domain": _IDENTIFIERS, "clip": _NUMBERS, "resolution": _NUMBERS}
_ROLES_OF_FIELDS = {"time": (FieldType.TIMESTAMP,), "unit": _IDENTIFIERS, "id": _IDENTIFIERS}


def build_feeds(
    models: Mapping[str, FeedModel], zone: ZoneInfo, findings: Findings
) -> dict[str, Feed]:
    """Return the declared feeds; errors go to ``findings``."""
    feeds: dict[str, Feed] = {}
    topics: dict[str, str] = {}
    for name, model in models.items():
        of = findings.under("feeds", name)
        if model.topic in topics:
            of.wrong(
                "topic",
                f"feed `{topics[model.topic]}` already has this topic",
                "declare the topic once, and use WHERE in the alarms",
            )
        topics.setdefault(model.topic, name)
        fields = {
            field: _field(field, spec, of.under("fields", field))
            for field, spec in model.fields.items()
        }
        _check_roles(fields, model, of)
        marks = model.watermarks
        if (model.clock is Clock.WATERMARKS) is not (marks is not None):
            of.wrong(
                "clock",
                "clock: watermarks and watermarks need each other",
                'write both, with watermarks: {interval: 1m, key: "${TOCSIN_WATERMARKS_KEY}"}',
            )
        feeds[name] = Feed(
            **model.model_dump(exclude={"fields", "history", "watermarks"}),
            name=name,
            fields=fields,
            history=_history(model, zone, of),
            watermark_interval_ms=60_000 if marks is None else marks.interval,
            watermark_key=None if marks is None else marks.key.encode(),
        )
    return feeds


def build_kafka(model: KafkaModel, feeds: Mapping[str, Feed], findings: Findings) -> KafkaSettings:
    """Return how Kafka is reached."""
    taken = {feed.topic: f"that of feed `{name}`" for name, feed in feeds.items()}
    for role in sorted(_ROLES, key=model.model_fields_set.__contains__):  # defaults first
        topic = getattr(model, role)
        if topic in taken:
            message = f"{role} is the same topic as {taken[topic]}"
            findings.wrong(("kafka", role), message, "write another name")
        taken[topic] = role
    security = model.security.model_dump(exclude_none=True)
    check_security(security, findings.under("kafka", "security"))
    return KafkaSettings(**{**dict(model), "security": security})


def build_settings(model: FileModel, stem: str, findings: Findings) -> Settings:
    """Return where the ledger lies, where metrics are shown and how lines are written."""
    metrics = model.metrics
    check_token(("metrics", "custodian"), metrics.custodian, metrics.custodian_token, findings)
    if metrics.public == metrics.custodian and metrics.public[1]:
        findings.wrong(
            ("metrics", "custodian"),
            "public and custodian have the same address",
            "write another port for one",
        )
    return Settings(
        ledger_url=model.ledger or f"sqlite:///{findings.folder.resolve()}/.tocsin/{stem}.db",
        public_address=metrics.public,
        custodian_address=metrics.custodian,
        custodian_token=metrics.custodian_token,
        publish_interval_ms=model.publish_interval,
        log=model.log.settings,
    )


def _field(name: str, model: FieldModel, findings: Findings) -> Field:
    kind, step, domain = model.type or FieldType.STRING, model.resolution, None
    if model.type is None and model.domain is None:
        hint = f"write {name}: {' | '.join(FieldType)}"
        findings.wrong((), f"`{name}` has no type", hint, key=True)
    for part, kinds in _KINDS_WITH.items():
        if getattr(model, part) is not None and kind not in kinds:
            message = f"`{name}` is {article(kind)}, which has no {part}"
            findings.wrong(part, message, f"declare type: {' or '.join(kinds)}", key=True)
    if model.domain is not None and kind in _IDENTIFIERS:
        domain = build_domain("domain", model.domain, kind, findings)
    if kind is FieldType.INTEGER:
        step = _ONE if step is None else step
        if step.denominator != 1:
            message = "the resolution of an integer is not a whole number"
            findings.wrong("resolution", message, "write resolution: 1")
            step = None
    lo, hi = model.clip or (None, None)
    if lo is not None and hi is not None:
        _check_clip(lo, hi, step, findings)
    domain_file = model.domain if isinstance(model.domain, str) else None
    return Field(name, kind, domain, lo, hi, step, domain_file)


def _check_clip(lo: Fraction, hi: Fraction, step: Fraction | None, findings: Findings) -> None:
    if lo > hi or lo == hi == 0:
        message = f"the clip is empty: {decimal(lo)} is not below {decimal(hi)}"
        findings.wrong("clip", message, "write the lower bound first: clip: [0, 100]")
    if step is None:
        return
    for bound in (lo, hi):
        steps, hint = whole_steps(bound, step)
        if hint:
            message = f"{decimal(bound)} is not a multiple of the resolution {decimal(step)}"
            findings.wrong("clip", message, hint)
        elif abs(steps) > _LARGEST_CLIP:
            message = f"{decimal(bound)} is more than 2^31 steps of the resolution {decimal(step)}"
            findings.wrong("clip", message, "write a narrower clip, or a coarser resolution")


def build_domain(
    at: str, declared: tuple[str, ...] | str, kind: FieldType, findings: Findings
) -> tuple[str, ...] | None:
    """Return public values; ``None``, with errors in ``findings``, where they cannot be read.

    Args:
        at: the key that declares them.
        declared: a list, or the name of a file beside the configuration.
        kind: of the values.
        findings: of the part of the file that has the key.
    """
    if isinstance(declared, str):
        holds = "one public value per line"
        listed = findings.beside(at, declared, "domain", read_list, holds)
    else:
        listed = [(text, findings.place(at, index)) for index, text in enumerate(declared)]
    if listed is None:
        return None
    values, errors = values_of(listed, kind)
    findings.errors.extend(errors[:_MOST_NAMED])
    return values


def _check_roles(fields: Mapping[str, Field], model: FeedModel, findings: Findings) -> None:
    for role, kinds in _ROLES_OF_FIELDS.items():
        name, wanted = getattr(model, role), " or ".join(kinds)
        if name is None:
            continue
        if name not in fields:
            hint = closest(name, fields)
            findings.wrong(role, f"`{name}` is not a field of the feed", hint)
        elif fields[name].type not in kinds:
            message = f"`{name}` is {article(fields[name].type)}, but {role} needs {wanted}"
            findings.wrong(role, message, f"declare {name}: {kinds[0]}")


def _history(model: FeedModel, zone: ZoneInfo, findings: Findings) -> tuple[int, int] | None:
    if model.history is None:
        return None
    span: list[int] = []
    for key, text in (("from", model.history.from_), ("until", model.history.until)):
        try:
            span.append(instant_ms(text, zone))
        except ValueError as error:
            hint = "write 2011-06-01, 2011-06-01T08:30:00 or 2011-06-01T06:30:00Z"
            findings.wrong(("history", key), f"the time {error}", hint)
    if len(span) < 2:
        return None
    if span[0] >= span[1]:
        hint = "write a from that is earlier than until"
        findings.wrong("history", "the history is empty", hint, key=True)
    return span[0], span[1]


def check_token(loc: Loc, address: tuple[str, int], token: str | None, findings: Findings) -> None:
    """Refuse a page of exact counts beyond loopback without a token.

    Args:
        loc: of the key that has the address; ``_token`` behind it makes that of the token.
        address: ``(host, port)``.
        token: what is asked for.
        findings: where it is said.
    """
    if not is_loopback(address[0]) and token is None:
        key = str(loc[-1])
        message = f"{key} shows exact counts, but is reachable from outside without a token"
        hint = (
            f"write {key}_token: ${{TOCSIN_{key.upper()}_TOKEN}}, or {key}: 127.0.0.1:{address[1]}"
        )
        findings.wrong(loc, message, hint)
