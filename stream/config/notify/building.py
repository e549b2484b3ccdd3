"""Lifecycles and targets: from the YAML to the model, checked as a whole."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from stream.config.notify.keys import MOST_WINDOWS
from stream.decisions.templates import FIELDS, LABEL_FIELDS, problem
from stream.model.lifecycles import Lifecycle
from stream.model.notifications import NotifySettings, TargetSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream.config.findings import Findings
    from stream.config.notify.keys import LifecycleModel, NotifyModel

__all__ = ["build_lifecycle", "build_notify"]

_NAME: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_TAKEN: Final = frozenset({"alertname", "fingerprint"})


def build_lifecycle(
    model: LifecycleModel, group: Sequence[str] | None, findings: Findings
) -> Lifecycle:
    """Return the terms of an alarm's lifecycle; errors go to ``findings``.

    Args:
        model: its keys.
        group: fields of its groups; ``None`` where they are not known.
        findings: of the file.
    """
    needed, among = (model.for_ or 1,) * 2 if model.of is None else model.of
    if model.of is not None and model.for_ is not None:
        message = "for and of exclude each other: for: 3 means of: [3, 3]"
        findings.wrong("of", message, "remove one", key=True)
    if not 0 < needed <= among <= MOST_WINDOWS:
        message = f"of is not from 1 to {MOST_WINDOWS:,} windows"
        findings.wrong("of", message, "write of: [2, 3]")
    for key, written, extra in (
        ("labels", model.labels, LABEL_FIELDS),
        ("annotations", model.annotations, FIELDS),
    ):
        known = None if group is None else (*extra, *group)
        for name, template in written.items():
            if not _NAME.fullmatch(name) or name in _TAKEN:
                message = f"`{name[:40]}` is not a valid name here, or is reserved"
                hint = "use letters, digits and underscores, but not alertname or fingerprint"
                findings.wrong((key, name), message, hint, key=True)
            if (found := problem(template, known)) is not None:
                findings.wrong((key, name), *found)
    return Lifecycle(needed, among, model.resolve_after, model.labels, model.annotations)


def build_notify(model: NotifyModel | None, findings: Findings) -> NotifySettings | None:
    """Return where alarms are brought; ``None`` where the file does not say."""
    if model is None:
        return None
    targets = tuple(
        TargetSettings(kind, name, dict(one))
        for kind, written in model
        if isinstance(written, dict)
        for name, one in written.items()
    )
    if not targets:
        hint = "write alertmanagers: {main: http://localhost:9093}, webhooks or mqtt"
        findings.wrong(("notify",), "there is no target", hint, key=True)
    return NotifySettings(model.group, model.lookback_ms, model.retry_for_ms, targets)
