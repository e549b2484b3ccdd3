"""What ``tocsin notify`` and ``tocsin board`` run on: a file of alarms, or one without feeds.

A small file has ``kafka``, ``notify`` or ``board``, and of each alarm its lifecycle alone: an
analyst writes it without the custodian's secrets, and needs none of the variables that name them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from pydantic import Field

from accountant.errors import ConfigError
from stream.config.budgets import build_budget
from stream.config.closed import Closed
from stream.config.declarations import build_domain, build_kafka
from stream.config.explaining import read_as
from stream.config.findings import Findings
from stream.config.keys import BudgetModel, KafkaModel, LogModel, PublicValues
from stream.config.loading import examine
from stream.config.notify.building import build_lifecycle, build_notify
from stream.config.notify.keys import BoardModel, LifecycleModel, NotifyModel
from stream.config.places import TimeZone  # noqa: TC001  # pydantic reads it
from stream.config.scalars import Name  # noqa: TC001  # pydantic reads it
from stream.config.yamlfile import load_document
from stream.model.alarms import require_kafka
from stream.model.boards import Board
from stream.model.feeds import Domain, FieldType
from stream.model.subscriptions import BoardSetup, NotifySetup, Subscription
from stream.windows.cumulative import whole_windows
from stream.windows.localtime import DAY_MS, load_zone

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from stream.model.alarm import Alarm
    from stream.model.notifications import NotifySettings

__all__ = ["read_board", "read_subscription"]

_MISSING: Final = "add `notify: {alertmanagers: {main: http://localhost:9093}}`"


class _SmallAlarm(Closed):
    """What an analyst says of an alarm."""

    lifecycle: LifecycleModel = LifecycleModel()
    groups: dict[str, PublicValues] = Field(default_factory=dict)


class _SmallFile(Closed):
    """A file without feeds."""

    timezone: TimeZone = "UTC"
    kafka: KafkaModel
    log: LogModel = LogModel()
    notify: NotifyModel | None = None
    board: BoardModel = BoardModel()
    budget: BudgetModel | None = None
    alarms: dict[Name, _SmallAlarm] = Field(default_factory=dict)


def read_subscription(path: Path, *, environ: Mapping[str, str]) -> NotifySetup:
    """Return what ``tocsin notify`` runs on.

    Args:
        path: a file of alarms, or one without feeds.
        environ: environment variables that its values may use.

    Raises:
        ConfigError: the first thing that is wrong with it.
    """
    setup, notify = _read(path, environ)
    if notify is None:
        message = "this configuration has no target for alarms"
        raise ConfigError(message, file=str(path), line=1, column=1, hint=_MISSING)
    return NotifySetup(setup.subscription, notify)


def read_board(path: Path, *, environ: Mapping[str, str]) -> BoardSetup:
    """Return what ``tocsin board`` runs on; ``board`` may be left out.

    Args:
        path: a file of alarms, or one without feeds.
        environ: environment variables that its values may use.

    Raises:
        ConfigError: the first thing that is wrong with it.
    """
    return _read(path, environ)[0]


def _read(path: Path, environ: Mapping[str, str]) -> tuple[BoardSetup, NotifySettings | None]:
    document = load_document(path, environ=environ)
    if isinstance(document.tree, dict) and "feeds" in document.tree:
        return _of_alarms(path, environ)
    findings = Findings(document)
    with findings.decided():
        return _of_small(read_as(findings, _SmallFile), findings)


def _of_alarms(path: Path, environ: Mapping[str, str]) -> tuple[BoardSetup, NotifySettings | None]:
    report = examine(path, environ=environ)
    alarms = report.alarms
    if alarms is None:
        raise report.errors[0]
    kafka = require_kafka(alarms)
    declared = {**alarms.by_name, **alarms.open}
    lifecycles = {name: alarm.lifecycle for name, alarm in declared.items()}
    groups = {name: alarm.domain for name, alarm in declared.items()}
    subscription = Subscription(kafka, alarms.timezone, lifecycles, alarms.settings.log)
    board, notify, least_ms = alarms.board, alarms.notify, max(map(_least_ms, declared.values()))
    board = replace(board, lookback_ms=max(board.lookback_ms, least_ms))
    if notify is not None:
        notify = replace(notify, lookback_ms=max(notify.lookback_ms, least_ms))
    return BoardSetup(subscription, board, alarms.budget, groups), notify


def _least_ms(alarm: Alarm) -> int:
    """Return how far back what fires has to be looked for: a shorter ``lookback`` would forget it.

    It fires by at most ``among`` windows, the last of them fewer than ``resolve_after`` ago. Those
    of a hold are left out of both, and so is what a schedule pauses: it repeats every week. A
    window more, and its length, are for what leaves late.
    """
    calendar, terms = whole_windows(alarm.calendar), alarm.lifecycle
    first = last = calendar.first_active_at(0)
    for _ in range(terms.among + terms.resolve_after):
        last = calendar.next_active(last + 1)
    windows_ms = calendar.bounds(last)[1] - calendar.bounds(first)[0]
    pause_ms = 7 * DAY_MS if calendar.schedule else 0
    return windows_ms + pause_ms + terms.needed * alarm.hold_ms


def _of_small(model: _SmallFile, findings: Findings) -> tuple[BoardSetup, NotifySettings | None]:
    zone = load_zone(model.timezone)
    kafka = build_kafka(model.kafka, {}, findings)
    notify = build_notify(model.notify, findings)
    lifecycles = {
        name: build_lifecycle(alarm.lifecycle, None, findings.under("alarms", name, "lifecycle"))
        for name, alarm in model.alarms.items()
    }
    groups = {
        name: _groups(alarm.groups, findings.under("alarms", name, "groups"))
        for name, alarm in model.alarms.items()
        if alarm.groups
    }
    budget = None if model.budget is None else build_budget(model.budget, zone.key, findings)
    subscription = Subscription(kafka, zone.key, lifecycles, model.log.settings)
    return BoardSetup(subscription, Board(**dict(model.board)), budget, groups), notify


def _groups(declared: Mapping[str, tuple[str, ...] | str], findings: Findings) -> Domain:
    """Return the groups of an alarm: every combination of its fields' public values."""
    values = [
        build_domain(name, each, FieldType.STRING, findings) for name, each in declared.items()
    ]
    return Domain(tuple(declared), tuple(each or () for each in values))
