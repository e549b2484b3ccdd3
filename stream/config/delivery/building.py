"""Lifecycles, targets and boards: from the YAML to the model, checked as a whole."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from stream.decisions.templates import FIELDS, LABEL_FIELDS, problem
from stream.model.boards import Board
from stream.model.deliveries import Alertmanager, Broker, Delivery, Webhook
from stream.model.lifecycles import Lifecycle

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream.config.delivery.keys import BoardModel, DeliverModel, LifecycleModel
    from stream.config.findings import Findings

__all__ = ["build_board", "build_delivery", "build_lifecycle", "cafile_of"]

_MOST_WINDOWS: Final = 1_000
_SHORTEST_SECRET: Final = 16
_SHORTEST_RESEND_MS: Final = 1_000
_MOST_SHOWN: Final = 200
_NAME: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_TAKEN: Final = frozenset({"alertname", "fingerprint"})


def build_lifecycle(
    model: LifecycleModel, group: Sequence[str] | None, findings: Findings
) -> Lifecycle:
    """Return the terms of an alarm's lifecycle; errors go to ``findings``.

    Args:
        model: its keys.
        group: fields of its predicates; ``None`` where they are not known.
        findings: of the file.
    """
    needed, among = (model.for_ or 1,) * 2 if model.of is None else model.of
    if model.of is not None and model.for_ is not None:
        message = "for and of say the same in two ways: for: 3 is of: [3, 3]"
        findings.wrong("of", message, "write one of them", key=True)
    windows = "for" if model.of is None else "of"
    if not (model.for_ is None or model.for_ > 0) or not 0 < needed <= among <= _MOST_WINDOWS:
        message = f"an alarm fires after 1 to {_MOST_WINDOWS} rings, among no fewer windows"
        findings.wrong(windows, message, "write for: 3, or of: [2, 3]")
    if not 0 < model.resolve_after <= _MOST_WINDOWS:
        message = f"an alarm is resolved after 1 to {_MOST_WINDOWS} silent windows"
        findings.wrong("resolve_after", message, "write resolve_after: 2")
    for key, written, extra in (
        ("labels", model.labels, LABEL_FIELDS),
        ("annotations", model.annotations, FIELDS),
    ):
        known = None if group is None else (*extra, *group)
        for name, template in written.items():
            if not _NAME.fullmatch(name) or name in _TAKEN:
                message = f"`{name[:40]}` is not a name here, or has a meaning of its own"
                hint = "use letters, digits and underscores, and neither alertname nor fingerprint"
                findings.wrong((key, name), message, hint, key=True)
            if (found := problem(template, known)) is not None:
                findings.wrong((key, name), *found)
    return Lifecycle(needed, among, model.resolve_after, model.labels, model.annotations)


def build_delivery(model: DeliverModel | None, findings: Findings) -> Delivery | None:
    """Return where alarms are brought; ``None`` where the file does not say."""
    if model is None:
        return None
    _check_addresses(model, findings.under("deliver"))
    _check_secrets(model, findings.under("deliver"))
    stem = Path(findings.document.file).stem
    return Delivery(
        group=model.group,
        read_back_ms=model.read_back,
        give_up_ms=model.give_up,
        dead_letters=findings.folder / (model.dead_letters or f"{stem}.dead-letters.jsonl"),
        alertmanagers=tuple(
            Alertmanager(name, one.url.rstrip("/"), one.resend)
            for name, one in model.alertmanagers.items()
        ),
        webhooks=tuple(
            Webhook(name, one.url, one.secret.encode()) for name, one in model.webhooks.items()
        ),
        brokers=tuple(
            Broker(
                name,
                one.broker,
                one.topics,
                one.discovery or "",
                one.username or "",
                one.password or "",
                cafile_of(one.cafile, findings.under("deliver", "mqtt", name)),
            )
            for name, one in model.mqtt.items()
        ),
    )


def build_board(model: BoardModel, findings: Findings) -> Board:
    """Return where alarms are shown; errors go to ``findings``."""
    for key, most in (("windows", model.windows), ("predicates", model.predicates)):
        if not 1 <= most <= _MOST_SHOWN:
            message = f"a board shows 1 to {_MOST_SHOWN} {key} of an alarm"
            findings.wrong(("board", key), message, f"write {key}: 40")
    if model.token is not None and len(model.token.encode()) < _SHORTEST_SECRET:
        hint = "use 16 random characters, or leave it out where everybody who comes may read"
        findings.wrong(("board", "token"), "the token is shorter than 16 bytes", hint)
    return Board(model.listen, model.token or "", model.windows, model.predicates, model.read_back)


def cafile_of(written: str | None, findings: Findings) -> str:
    """Return the path of the authorities of a broker's certificate; empty for none."""
    if written is None:
        return ""
    path = findings.folder / written
    if not path.is_file():
        message = "cafile names no file that can be read"
        findings.wrong("cafile", message, "write the path of a PEM file")
    return str(path)


def _check_addresses(model: DeliverModel, findings: Findings) -> None:
    if not (model.alertmanagers or model.webhooks or model.mqtt):
        hint = "write alertmanagers: {main: http://localhost:9093}, webhooks or mqtt"
        findings.wrong((), "nothing is delivered anywhere", hint, key=True)
    for kind, models in (("alertmanagers", model.alertmanagers), ("webhooks", model.webhooks)):
        for name, one in models.items():
            if not _is_url(one.url):
                hint = "write http://host:port or https://host/path"
                findings.wrong((kind, name, "url"), "not the address of a web server", hint)


def _check_secrets(model: DeliverModel, findings: Findings) -> None:
    for name, manager in model.alertmanagers.items():
        if manager.resend < _SHORTEST_RESEND_MS:
            at = ("alertmanagers", name, "resend")
            findings.wrong(at, "resend is under a second", "write resend: 1m")
    for name, webhook in model.webhooks.items():
        if len(webhook.secret.encode()) < _SHORTEST_SECRET:
            hint = "whoever guesses it can send alarms of their own: use 16 random characters"
            at = ("webhooks", name, "secret")
            findings.wrong(at, "the secret is shorter than 16 bytes", hint)


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
